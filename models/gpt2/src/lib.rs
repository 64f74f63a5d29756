//! GPT-2 in linnet.
