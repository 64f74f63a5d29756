//! What can go wrong.

use std::path::{Path, PathBuf};

use indicatif::HumanBytes;
use linnet_runtime::weights::ManifestProblem;

/// Why no checkpoint was written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that no card knows.
    #[error("no published model is called {found:?}; there are {known}")]
    UnknownModel {
        /// The name.
        found: String,
        /// Those that there are.
        known: String,
    },
    /// Layers that the model cannot have.
    #[error("{model} cannot have {layers} layers: {reason}")]
    Layers {
        /// The model.
        model: &'static str,
        /// The number asked for.
        layers: usize,
        /// Why not.
        reason: String,
    },
    /// Sizes that no model can have.
    #[error(transparent)]
    Manifest(#[from] ManifestProblem),
    /// A path that no stored name follows from.
    #[error("the card has no name for `{path}`")]
    NoName {
        /// The member.
        path: String,
    },
    /// The folder holds something.
    #[error("{} is not empty; choose another folder, or replace the checkpoint in it with --force", .0.display())]
    NotEmpty(PathBuf),
    /// There is a file in the way.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// Too little room.
    #[error(
        "the checkpoint takes {}, but only {} are free at {}",
        HumanBytes(*needed), HumanBytes(*free), folder.display()
    )]
    NoSpace {
        /// Bytes that it takes.
        needed: u64,
        /// Bytes that are free.
        free: u64,
        /// The folder.
        folder: PathBuf,
    },
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl Error {
    /// For `map_err`: what was tried, with which path.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }
}
