//! The Hub's cache on disk.
//!
//! ```text
//! models--owner--name/
//!   blobs/<etag>               contents, each complete
//!   refs/main                  the commit that `main` was last seen at
//!   snapshots/<commit>/<file>  links into blobs
//! ```

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{HubError, RepoId, select};

/// The part of the cache that belongs to one repository.
#[derive(Debug)]
pub(super) struct RepoCache {
    root: PathBuf,
}

impl RepoCache {
    pub(super) fn new(cache: &Path, repo: &RepoId) -> Self {
        Self {
            root: cache.join(repo.cache_folder()),
        }
    }

    /// Makes the folders.
    pub(super) fn create(&self) -> Result<(), HubError> {
        for folder in ["blobs", "refs", "snapshots"] {
            let path = self.root.join(folder);
            std::fs::create_dir_all(&path).map_err(HubError::cache("create the folder", path))?;
        }
        Ok(())
    }

    /// The folder of a commit's files.
    pub(super) fn snapshot(&self, commit: &str) -> PathBuf {
        self.root.join("snapshots").join(commit)
    }

    /// The file with the content of that ETag.
    pub(super) fn blob(&self, etag: &str) -> PathBuf {
        self.root.join("blobs").join(etag)
    }

    /// The folder of a revision, if it has all files that loading needs;
    /// otherwise the names of those that are missing.
    pub(super) fn complete_snapshot(&self, revision: &str) -> Result<PathBuf, Vec<String>> {
        let commit = select::is_plain_path(revision)
            .then(|| std::fs::read_to_string(self.root.join("refs").join(revision)).ok())
            .flatten()
            .map_or_else(|| revision.to_owned(), |commit| commit.trim().to_owned());
        // A damaged reference must not lead out of the cache.
        let folder = if select::is_plain_path(&commit) {
            self.snapshot(&commit)
        } else {
            self.snapshot("unknown")
        };
        let missing = select::missing(&folder);
        if missing.is_empty() {
            Ok(folder)
        } else {
            Err(missing)
        }
    }

    /// Notes that `revision` was last seen at `commit`.
    pub(super) fn write_ref(&self, revision: &str, commit: &str) -> Result<(), HubError> {
        if revision == commit || !select::is_plain_path(revision) {
            return Ok(());
        }
        let path = self.root.join("refs").join(revision);
        let folder = path.parent().unwrap_or(&self.root);
        std::fs::create_dir_all(folder).map_err(HubError::cache("create the folder", folder))?;
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            std::io::Write::write_all(&mut file, commit.as_bytes())?;
            file.persist(&path).map_err(|e| e.error)
        };
        write().map(drop).map_err(HubError::cache("write", &path))
    }

    /// Makes `name` of a commit's files the content of `blob`.
    pub(super) fn link(&self, commit: &str, name: &str, blob: &Path) -> Result<(), HubError> {
        let pointer = self.snapshot(commit).join(name);
        let folder = pointer.parent().unwrap_or(&self.root);
        std::fs::create_dir_all(folder).map_err(HubError::cache("create the folder", folder))?;
        // A new link under another name takes the old one's place in one step.
        static LINKS: AtomicU64 = AtomicU64::new(0);
        let number = LINKS.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!(".link-{}-{number}", std::process::id()));
        let _ = std::fs::remove_file(&temporary);
        link_file(&relative(folder, blob), blob, &temporary)
            .and_then(|()| std::fs::rename(&temporary, &pointer))
            .map_err(HubError::cache("link", pointer))
    }
}

/// `blob` as seen from `folder`, so that the cache can be moved.
fn relative(folder: &Path, blob: &Path) -> PathBuf {
    let mut up = PathBuf::new();
    for ancestor in folder.ancestors() {
        if let Ok(rest) = blob.strip_prefix(ancestor) {
            return up.join(rest);
        }
        up.push("..");
    }
    blob.to_owned()
}

#[cfg(unix)]
fn link_file(relative: &Path, _blob: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(relative, link)
}

/// Symbolic links need a privilege on Windows; a second name for the file does not.
#[cfg(not(unix))]
fn link_file(_relative: &Path, blob: &Path, link: &Path) -> std::io::Result<()> {
    std::fs::hard_link(blob, link).or_else(|_| std::fs::copy(blob, link).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_go_up_to_the_blobs() {
        let from = relative(
            Path::new("/c/m/snapshots/abc/sub"),
            Path::new("/c/m/blobs/e"),
        );
        assert_eq!(from, Path::new("../../../blobs/e"));
    }
}
