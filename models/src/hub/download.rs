//! Files from the server into the cache.
//!
//! A file grows as `blobs/<etag>.incomplete` under a lock and gets its name
//! when it has its full size, so nobody ever sees a part of one; what an
//! interrupted download left is continued by the next.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::ProgressBar;
use ureq::Body;
use ureq::http::{Response, StatusCode};

use super::cache::RepoCache;
use super::client::{Client, Listing, Metadata};
use super::{HubError, Progress, RepoId};

/// How often a download is tried before it is given up.
const ATTEMPTS: u32 = 4;

const BUFFER_BYTES: usize = 1 << 18;

/// Downloads files of one commit.
pub(super) struct Downloader<'a> {
    pub(super) client: &'a Client,
    pub(super) cache: &'a RepoCache,
    pub(super) repo: &'a RepoId,
    pub(super) listing: &'a Listing,
    pub(super) progress: Progress,
    pub(super) retry_delay: Duration,
}

impl Downloader<'_> {
    /// Makes sure that the commit's folder has the file `name`.
    pub(super) fn fetch(&self, name: &str) -> Result<(), HubError> {
        let commit = &self.listing.commit;
        let Some(&listed_size) = self.listing.files.get(name) else {
            return Err(HubError::Unusable {
                repo: self.repo.to_string(),
                message: format!("{name} is named by the index of its weights, but is not there"),
            });
        };
        if has_size(&self.cache.snapshot(commit).join(name), listed_size) {
            return Ok(());
        }
        let url = self.client.url(self.repo, commit, name);
        let metadata = self.retry(|| self.client.metadata(&url))?;
        let blob = self.cache.blob(&metadata.etag);
        if !has_size(&blob, Some(metadata.size)) {
            self.download(name, &url, &metadata, &blob)?;
        }
        self.cache.link(commit, name, &blob)
    }

    /// Asks again, a few times, what failed for a passing reason.
    fn retry<T>(&self, ask: impl Fn() -> Result<T, HubError>) -> Result<T, HubError> {
        let mut delay = self.retry_delay;
        for _ in 1..ATTEMPTS {
            match ask() {
                Err(error) if error.is_unreachable() => {
                    std::thread::sleep(delay);
                    delay *= 2;
                }
                result => return result,
            }
        }
        ask()
    }

    fn download(
        &self,
        name: &str,
        url: &str,
        metadata: &Metadata,
        blob: &Path,
    ) -> Result<(), HubError> {
        let path = incomplete_path(blob);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(HubError::cache("create", &path))?;
        self.lock(&file, name, &path)?;
        if has_size(blob, Some(metadata.size)) {
            // Another process finished it meanwhile.
            let _ = std::fs::remove_file(&path);
            return Ok(());
        }
        let size = metadata.size;
        let cache_error = || HubError::cache("write", &path);
        let have = file.seek(SeekFrom::End(0)).map_err(cache_error())?;
        let bar = self.progress.file(name, size, have);
        let mut delay = self.retry_delay;
        let mut attempt = 1;
        loop {
            let error = match self.continue_file(url, size, &mut file, &path, &bar) {
                Ok(()) => {
                    file.sync_all().map_err(cache_error())?;
                    std::fs::rename(&path, blob).map_err(HubError::cache("rename", &path))?;
                    bar.finish_and_clear();
                    return Ok(());
                }
                Err(error) => error,
            };
            let passing = error.is_unreachable() || matches!(error, HubError::Truncated { .. });
            if !passing || attempt == ATTEMPTS {
                bar.abandon();
                return Err(error);
            }
            std::thread::sleep(delay);
            delay *= 2;
            attempt += 1;
        }
    }

    /// Waits for other processes that download the same file.
    fn lock(&self, file: &File, name: &str, path: &Path) -> Result<(), HubError> {
        match file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => {
                self.progress
                    .message(&format!("another process is downloading {name}; waiting"));
                file.lock().map_err(HubError::cache("lock", path))
            }
            // Some network file systems have no locks; then the sizes alone must do.
            Err(TryLockError::Error(e)) if e.kind() == std::io::ErrorKind::Unsupported => Ok(()),
            Err(TryLockError::Error(e)) => Err(HubError::cache("lock", path)(e)),
        }
    }

    /// One attempt to get what the file still lacks.
    fn continue_file(
        &self,
        url: &str,
        size: u64,
        file: &mut File,
        path: &Path,
        bar: &ProgressBar,
    ) -> Result<(), HubError> {
        let cache_error = || HubError::cache("write", path);
        let mut have = file.seek(SeekFrom::End(0)).map_err(cache_error())?;
        if have > size {
            file.set_len(0).map_err(cache_error())?;
            have = 0;
        }
        if have == size {
            return Ok(());
        }
        let mut response = self.client.content(url, have, size)?;
        if response.status() != StatusCode::PARTIAL_CONTENT || !continues_at(&response, have) {
            // The server sends the whole file, or cannot continue there.
            file.set_len(0).map_err(cache_error())?;
            have = 0;
        }
        if response.status() == StatusCode::RANGE_NOT_SATISFIABLE
            || response.status() == StatusCode::PARTIAL_CONTENT && !continues_at(&response, have)
        {
            return Err(HubError::Truncated {
                url: url.to_owned(),
                received: 0,
                expected: size,
                message: "the server could not continue the file".to_owned(),
            });
        }
        file.seek(SeekFrom::Start(have)).map_err(cache_error())?;
        bar.set_position(have);
        let mut body = response.body_mut().as_reader();
        let mut buffer = vec![0; BUFFER_BYTES];
        let message = loop {
            let n = match body.read(&mut buffer) {
                Ok(0) => break "the connection was closed".to_owned(),
                Ok(n) => n,
                Err(e) => break e.to_string(),
            };
            if have + n as u64 > size {
                file.set_len(0).map_err(cache_error())?;
                return Err(HubError::TooLong {
                    url: url.to_owned(),
                    expected: size,
                });
            }
            file.write_all(&buffer[..n]).map_err(cache_error())?;
            have += n as u64;
            bar.set_position(have);
        };
        if have < size {
            return Err(HubError::Truncated {
                url: url.to_owned(),
                received: have,
                expected: size,
                message,
            });
        }
        Ok(())
    }
}

/// Whether a part of a file begins at byte `from`: `Content-Range: bytes 5-9/10`.
fn continues_at(response: &Response<Body>, from: u64) -> bool {
    let range = response
        .headers()
        .get("content-range")
        .and_then(|value| value.to_str().ok());
    range
        .and_then(|range| {
            range
                .strip_prefix("bytes ")?
                .split_once('-')?
                .0
                .parse::<u64>()
                .ok()
        })
        .is_some_and(|start| start == from)
}

/// Whether a file is there, with the size that it should have if that is known.
fn has_size(path: &Path, size: Option<u64>) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|found| found.is_file() && size.is_none_or(|size| size == found.len()))
}

fn incomplete_path(blob: &Path) -> PathBuf {
    let mut name = blob.file_name().unwrap_or_default().to_owned();
    name.push(".incomplete");
    blob.with_file_name(name)
}
