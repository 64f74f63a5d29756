//! What can go wrong between here and the Hub.

use std::path::PathBuf;

/// A failure to get a checkpoint from the Hub or its cache.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// The environment asks for something impossible.
    #[error("{0}")]
    Settings(String),

    /// The cache has no complete copy, and there is no way to get one now.
    #[error(
        "{repo} is not complete in the cache {}: it lacks {}; {reason}. With a connection, run the \
         same command again, or `hf download {repo}`; or put the files of {endpoint}/{repo}/tree/main \
         into a folder and give that folder as the model",
        cache.display(),
        missing.join(", ")
    )]
    Offline {
        /// The repository.
        repo: String,
        /// The files that are missing.
        missing: Vec<String>,
        /// The cache's folder.
        cache: PathBuf,
        /// The server.
        endpoint: String,
        /// Why nothing can be downloaded.
        reason: String,
    },

    /// The server cannot be reached.
    #[error("cannot reach {url}: {message}")]
    Unreachable {
        /// What was asked for.
        url: String,
        /// The network's reason.
        message: String,
    },

    /// The server refuses.
    #[error("{url} answered {status}: {meaning}")]
    Status {
        /// What was asked for.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What it means here and what to do.
        meaning: String,
    },

    /// The server's answer makes no sense.
    #[error("{url}: {message}")]
    Answer {
        /// What was asked for.
        url: String,
        /// What is wrong with the answer.
        message: String,
    },

    /// A download ended early, again and again.
    #[error(
        "{url} ended after {received} of {expected} bytes ({message}); what arrived is kept, and \
         the next attempt continues there"
    )]
    Truncated {
        /// The file.
        url: String,
        /// Bytes received so far.
        received: u64,
        /// The file's size.
        expected: u64,
        /// The last attempt's end.
        message: String,
    },

    /// A download is longer than it should be.
    #[error("{url} sent more than the {expected} bytes of the file; nothing of it was kept")]
    TooLong {
        /// The file.
        url: String,
        /// The file's size.
        expected: u64,
    },

    /// A repository has no weights that can be loaded.
    #[error("{repo} cannot be loaded: {message}")]
    Unusable {
        /// The repository.
        repo: String,
        /// What it lacks, and what to do.
        message: String,
    },

    /// The cache cannot be written or read.
    #[error(
        "cannot {action} {}: {source}; set HF_HUB_CACHE to a folder that can be written and has room",
        path.display()
    )]
    Cache {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl HubError {
    /// A [`HubError::Cache`], for use in `map_err`.
    pub(super) fn cache(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Cache {
            action,
            path,
            source,
        }
    }

    /// Whether the server could not answer, so that a copy in the cache may do.
    pub(super) fn is_unreachable(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Status { status, .. } => *status >= 500 || *status == 429,
            _ => false,
        }
    }
}
