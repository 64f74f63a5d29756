//! The standard blocks and operations, written in the language.
//!
//! Each operation's body is its meaning. Where a kernel is named, it computes
//! the same faster, and [`Numerics`](crate::Numerics) chooses between the two.
//!
//! One alphabet of dimensions: `B` batch, `S` sequence (or, as `*S`, any
//! leading axes), `H` width, `Heads` query heads, `KvHeads` key and value
//! heads, `D` width of a head, `M` positions that a cache holds, `N` prompts,
//! `P` tokens of several prompts side by side, `In` and `Out` features, `Vocab`
//! entries of an embedding.

pub mod activations;
pub mod attention;
pub mod cache;
pub mod embedding;
pub mod linear;
pub mod norm;
pub mod rope;
pub mod sink_attention;
pub mod softmax;
pub mod top_k;
