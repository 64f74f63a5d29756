//! The files of a checkpoint, wherever they are.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use linnet_runtime::card::Source;

use crate::bundled::Bundled;
use crate::{Error, Result};

/// A checkpoint: a folder of files, or one that is part of this library.
#[derive(Debug, Clone)]
pub enum CheckpointFiles {
    /// A folder in the layout that the Hub publishes.
    Folder(PathBuf),
    /// A model that is compiled into this library.
    Bundled(&'static Bundled),
}

impl CheckpointFiles {
    /// The content of a file, `None` when the checkpoint does not have it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when it is there but cannot be read.
    pub fn read(&self, name: &str) -> Result<Option<Cow<'static, [u8]>>> {
        match self {
            Self::Folder(folder) => {
                let path = folder.join(name);
                match std::fs::read(&path) {
                    Ok(bytes) => Ok(Some(Cow::Owned(bytes))),
                    Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
                    Err(e) => Err(Error::io("read", path)(e)),
                }
            }
            Self::Bundled(bundled) => Ok(bundled.file(name).map(Cow::Borrowed)),
        }
    }

    /// A JSON file, `None` when the checkpoint does not have it.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] when it is not JSON, [`Error::Io`] when it cannot be read.
    pub fn read_json(&self, name: &str) -> Result<Option<serde_json::Value>> {
        let Some(bytes) = self.read(name)? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|e| Error::Config {
                file: self.name_of(name),
                message: format!("is not valid JSON: {e}"),
            })
    }

    /// Where the runtime reads config and weights.
    pub(crate) fn source(&self) -> Source {
        match self {
            Self::Folder(folder) => Source::Path(folder.clone()),
            Self::Bundled(bundled) => Source::Embedded {
                name: bundled.name(),
                config: bundled.config(),
                weights: bundled.weights(),
            },
        }
    }

    /// The folder, where there is one.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Bundled(_) => None,
        }
    }

    /// Where the checkpoint is, for messages.
    pub fn place(&self) -> String {
        match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Bundled(bundled) => format!("the bundled {}", bundled.name()),
        }
    }

    /// A file's name with its place, for messages.
    pub fn name_of(&self, name: &str) -> String {
        match self {
            Self::Folder(folder) => folder.join(name).display().to_string(),
            Self::Bundled(bundled) => format!("{name} of the bundled {}", bundled.name()),
        }
    }
}
