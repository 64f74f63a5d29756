//! Checkpoints from the Hugging Face Hub, in the cache that its own tools use.
//!
//! [`Hub::fetch`] gives the folder of a repository's files. It downloads what
//! the cache lacks; a file becomes visible there only when it is complete.
//! The environment variables are the usual ones: `HF_HOME`, `HF_HUB_CACHE`,
//! `HF_ENDPOINT`, `HF_TOKEN`, `HF_TOKEN_PATH` and `HF_HUB_OFFLINE`.

mod cache;
mod client;
mod download;
mod error;
mod progress;
mod repo_id;
mod select;
mod settings;

use std::path::PathBuf;

pub use error::HubError;
pub use progress::Progress;
pub use repo_id::RepoId;
pub use settings::Settings;

use self::cache::RepoCache;
use self::client::{Client, Listing};
use self::download::Downloader;

/// The Hub as this process is set up to use it.
#[derive(Debug, Clone)]
pub struct Hub {
    settings: Settings,
}

impl Hub {
    /// The Hub with these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// The folder with the files of `repo` at `revision` (a branch, tag or
    /// commit; `main` is the usual one), downloaded if need be.
    ///
    /// Offline, or when the server cannot be reached, a complete copy in the
    /// cache is used as it is.
    ///
    /// # Errors
    ///
    /// [`HubError`], which says what is missing, why, and what to do.
    pub fn fetch(&self, repo: &RepoId, revision: &str) -> Result<PathBuf, HubError> {
        let cache = RepoCache::new(&self.settings.cache, repo);
        if self.settings.offline {
            return cache
                .complete_snapshot(revision)
                .map_err(|missing| HubError::Offline {
                    repo: repo.to_string(),
                    missing,
                    cache: self.settings.cache.clone(),
                    endpoint: self.settings.endpoint.clone(),
                    reason: "offline mode is on (HF_HUB_OFFLINE or --offline)".to_owned(),
                });
        }
        let client = Client::new(&self.settings);
        let listing = match client.list(repo, revision) {
            Ok(listing) => listing,
            Err(error) if error.is_unreachable() => {
                return self.cached_instead(&cache, repo, revision, &error);
            }
            Err(error) => return Err(error),
        };
        self.download(&client, &cache, repo, revision, &listing)
    }

    fn cached_instead(
        &self,
        cache: &RepoCache,
        repo: &RepoId,
        revision: &str,
        error: &HubError,
    ) -> Result<PathBuf, HubError> {
        let folder = cache
            .complete_snapshot(revision)
            .map_err(|missing| HubError::Offline {
                repo: repo.to_string(),
                missing,
                cache: self.settings.cache.clone(),
                endpoint: self.settings.endpoint.clone(),
                reason: error.to_string(),
            })?;
        self.settings
            .progress
            .message(&format!("{error}; using the copy of {repo} in the cache"));
        Ok(folder)
    }

    fn download(
        &self,
        client: &Client,
        cache: &RepoCache,
        repo: &RepoId,
        revision: &str,
        listing: &Listing,
    ) -> Result<PathBuf, HubError> {
        let downloader = Downloader {
            client,
            cache,
            repo,
            listing,
            progress: self.settings.progress,
            retry_delay: self.settings.retry_delay,
        };
        let selected = select::files(repo, listing)?;
        cache.create()?;
        for name in &selected.files {
            downloader.fetch(name)?;
        }
        if let Some(index) = selected.index {
            let folder = cache.snapshot(&listing.commit);
            for shard in select::shards(&folder, &index)? {
                downloader.fetch(&shard)?;
            }
        }
        cache.write_ref(revision, &listing.commit)?;
        Ok(cache.snapshot(&listing.commit))
    }
}

#[cfg(test)]
mod tests;
