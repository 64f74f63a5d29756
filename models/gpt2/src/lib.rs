//! GPT-2 in linnet: the reference for how a model is written.
//!
//! Read [`model`] first; each file holds one block.

pub mod attention;
pub mod block;
pub mod conv1d;
pub mod layer_norm;
pub mod mlp;
pub mod model;

pub use model::Model;

// The card's contents: `CARD` and the types with the sizes of the known checkpoints.
linnet_runtime::include_card!();
