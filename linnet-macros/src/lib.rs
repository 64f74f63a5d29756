//! linnet.
