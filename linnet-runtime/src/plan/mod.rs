//! From a descriptor and the sizes of a call to a list of instructions.
//!
//! 1. [`trace`] runs the descriptor on sizes instead of elements: it inlines
//!    calls, unrolls loops, resolves optionals, turns views into strides and
//!    lists what is left in a [`graph`].
//! 2. [`lower`] merges element-wise operations, decides what must be copied
//!    because a state is overwritten while its old content is still needed, and
//!    lays temporaries out in one arena.

pub(crate) mod bind;
pub(crate) mod expr;
pub(crate) mod graph;
pub(crate) mod lower;
pub(crate) mod product;
pub(crate) mod requirement;
pub(crate) mod trace;
pub(crate) mod view;

/// The number of a buffer in a graph.
pub(crate) type RootId = usize;

/// The number of a scalar that is known when a call runs.
pub(crate) type ScalarId = usize;
