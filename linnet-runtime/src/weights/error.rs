//! What can go wrong between a checkpoint's files and a model's parameters.

use std::io;
use std::path::PathBuf;

use super::header::HeaderProblem;
use super::index::IndexProblem;
use super::manifest::ManifestProblem;
use super::quote::QuotedList;
use super::report::FitReport;

/// An error while a checkpoint is opened or bound to a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder without weights.
    #[error(
        "{} holds no weights: expected `model.safetensors`, or `model.safetensors.index.json` and its shards; {}",
        folder.display(), found(found_instead)
    )]
    NoWeights {
        /// The folder.
        folder: PathBuf,
        /// Files in it that look like weights all the same.
        found_instead: Vec<String>,
    },
    /// A damaged safetensors file.
    #[error("{file}: {problem}")]
    Header {
        /// The file.
        file: String,
        /// What is wrong.
        problem: Box<HeaderProblem>,
    },
    /// A damaged index, or one that does not agree with the shards.
    #[error("{file}: {problem}")]
    Index {
        /// The index.
        file: String,
        /// What is wrong.
        problem: Box<IndexProblem>,
    },
    /// A model's members cannot be listed for these values of its generics.
    #[error(transparent)]
    Manifest(#[from] Box<ManifestProblem>),
    /// The checkpoint's tensors are not those of the model.
    #[error(transparent)]
    Fit(#[from] Box<FitReport>),
}

fn found(names: &[String]) -> String {
    if names.is_empty() {
        return "it has no file that looks like weights".to_owned();
    }
    let list = QuotedList(names, 8);
    format!(
        "found {list}; convert the weights to safetensors or give the path of a .safetensors file"
    )
}
