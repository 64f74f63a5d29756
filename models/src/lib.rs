//! Language models on linnet: load one, and let it write.
//!
//! ```
//! fn main() -> linnet_models::Result<()> {
//!     let mut model = linnet_models::load("tales-gpt2", Default::default())?;
//!     for piece in model.generate("Once upon a time", Default::default())? {
//!         print!("{}", piece?);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! [`load`] takes the name of a bundled model, a folder, or a Hub id, and gives
//! a [`TextModel`]: a [`LanguageModel`] with its [`Tokenizer`] and the
//! conversation so far. [`GenerateOptions`] say how it writes, and when it
//! stops. Models that answer in turns hold a [`TextModel::chat`], in the format
//! of [`harmony`]. Programs that work on token ids use [`load_model`].
//!
//! `chat` and the programs beside it are built on this library.

mod architectures;
mod bundled;
mod cancellation;
mod causal_model;
mod checkpoint_files;
mod conversation;
mod error;
mod generation;
mod gpt2_model;
mod gpt_oss_model;
pub mod harmony;
pub mod hub;
mod load;
mod memory;
mod model;
mod quantisable;
mod sampling;
mod stop;
mod text_model;
mod tokenizer;

#[cfg(test)]
mod test_model;

pub use bundled::Bundled;
pub use cancellation::Cancellation;
pub use checkpoint_files::CheckpointFiles;
pub use conversation::Conversation;
pub use error::{Error, Result};
pub use generation::{FinishReason, GenerateOptions, Generation, Statistics};
pub use load::{FloatType, LoadOptions, Numerics, load, load_model};
pub use memory::peak_memory_bytes;
pub use model::{LanguageModel, Logits, Pack};
pub use quantisable::{Quantisable, QuantisableMap};
pub use sampling::{Sampler, Sampling};
pub use stop::{StopStrings, Watched};
pub use text_model::TextModel;
pub use tokenizer::{TextStream, Tokenizer};
