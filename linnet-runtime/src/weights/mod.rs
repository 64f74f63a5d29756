//! Checkpoints: safetensors files opened safely, and bound to a model's parameters.
//!
//! 1. [`Checkpoint`] opens a folder, a file or bytes, and trusts nothing in them.
//! 2. [`Manifest`] lists every tensor of a model from its descriptor.
//! 3. [`NameRules`] say what a checkpoint calls each of them.
//! 4. [`Binding`] matches the two, reports every difference at once, and brings
//!    the parameters into memory: mapped where dtype and address allow,
//!    converted in parallel otherwise.

mod bind;
mod bytes;
mod checkpoint;
mod convert;
mod error;
mod header;
mod index;
mod manifest;
mod names;
pub(crate) mod nearest;
mod quantised;
pub(crate) mod quote;
mod report;
pub(crate) mod symbol;
#[cfg(test)]
pub(crate) mod testing;
mod values;

pub use bind::{Binding, ReadSummary};
pub use bytes::SharedBytes;
pub use checkpoint::{Checkpoint, StoredDType, StoredTensor};
pub use error::WeightsError;
pub use header::HeaderProblem;
pub use index::{IndexProblem, ShardReport};
pub use manifest::{Manifest, ManifestProblem, ManifestTensor, TensorKind};
pub use names::{NameRules, Pattern, Piece};
pub use quantised::AffineSite;
pub use report::{FitProblem, FitReport};
pub use symbol::SymbolProblem;
pub use values::GenericValues;
