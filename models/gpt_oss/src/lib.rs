//! gpt-oss in linnet: OpenAI's mixture-of-experts models.
//!
//! Read [`model`] first; each file holds one block.

pub mod attention;
pub mod experts;
pub mod layer;
pub mod model;
pub mod pair;

pub use attention::SinkAttention;
pub use experts::MixtureOfExperts;
pub use layer::DecoderLayer;
pub use model::Model;
pub use pair::LayerPair;

// The card's contents: `CARD` and the types with the sizes of the known checkpoints.
linnet_runtime::include_card!();
