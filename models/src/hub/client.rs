//! What is asked of the Hub's server.

use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use ureq::config::RedirectAuthHeaders;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

use super::{HubError, RepoId, Settings, select};

/// The slowest connection that a download is not given up on, in bytes per second.
const SLOWEST: u64 = 20_000;

/// The longest list of files that is read, in bytes.
const LISTING_LIMIT: u64 = 64 << 20;

/// A repository at one commit.
#[derive(Debug)]
pub(super) struct Listing {
    /// The commit.
    pub(super) commit: String,
    /// Its files with their sizes, where the server gives them.
    pub(super) files: BTreeMap<String, Option<u64>>,
}

/// A file before it is downloaded.
#[derive(Debug)]
pub(super) struct Metadata {
    /// The name of its content.
    pub(super) etag: String,
    /// Its length in bytes.
    pub(super) size: u64,
}

/// The server.
pub(super) struct Client {
    agent: Agent,
    endpoint: String,
    authorization: Option<String>,
}

impl Client {
    pub(super) fn new(settings: &Settings) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .timeout_resolve(Some(Duration::from_secs(15)))
            .timeout_connect(Some(Duration::from_secs(15)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .user_agent(concat!("linnet/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Self {
            agent,
            endpoint: settings.endpoint.clone(),
            authorization: settings
                .token
                .as_ref()
                .map(|token| format!("Bearer {token}")),
        }
    }

    /// The commit that `revision` is at, and its files.
    pub(super) fn list(&self, repo: &RepoId, revision: &str) -> Result<Listing, HubError> {
        #[derive(serde::Deserialize)]
        struct Answer {
            sha: String,
            #[serde(default)]
            siblings: Vec<Sibling>,
        }
        #[derive(serde::Deserialize)]
        struct Sibling {
            rfilename: String,
            #[serde(default)]
            size: Option<u64>,
        }
        let revision = escape(revision, "/");
        let url = format!(
            "{}/api/models/{repo}/revision/{revision}?blobs=true",
            self.endpoint
        );
        let mut response = self.get(&url, None, Duration::from_secs(60))?;
        if response.status() != StatusCode::OK {
            return Err(refused(&url, &response));
        }
        let mut bytes = Vec::new();
        let reader = response.body_mut().as_reader();
        reader
            .take(LISTING_LIMIT)
            .read_to_end(&mut bytes)
            .map_err(|e| HubError::Unreachable {
                url: url.clone(),
                message: e.to_string(),
            })?;
        let answer = |message: String| HubError::Answer {
            url: url.clone(),
            message,
        };
        let listing: Answer = serde_json::from_slice(&bytes)
            .map_err(|e| answer(format!("the list of files cannot be read: {e}")))?;
        if listing.sha.contains('/') || !select::is_plain_path(&listing.sha) {
            return Err(answer(format!("the commit {:?} is not one", listing.sha)));
        }
        let files = listing
            .siblings
            .into_iter()
            .map(|file| (file.rfilename, file.size))
            .collect();
        Ok(Listing {
            commit: listing.sha,
            files,
        })
    }

    /// The address of a file.
    pub(super) fn url(&self, repo: &RepoId, commit: &str, name: &str) -> String {
        format!(
            "{}/{repo}/resolve/{commit}/{}",
            self.endpoint,
            escape(name, "/")
        )
    }

    /// Asks for a file's ETag and size. Large files are redirected to another
    /// server; what is asked for is in the headers of the redirection.
    pub(super) fn metadata(&self, url: &str) -> Result<Metadata, HubError> {
        let mut place = url.to_owned();
        for _ in 0..5 {
            let response = self.head(&place)?;
            let header = |name: &str| {
                response
                    .headers()
                    .get(name)
                    .and_then(|value| value.to_str().ok())
            };
            let etag = header("x-linked-etag").or_else(|| header("etag"));
            let size = header("x-linked-size").or_else(|| header("content-length"));
            if response.status().is_redirection() && header("x-linked-etag").is_none() {
                // A renamed repository: the same question at its new address.
                let Some(location) = header("location").filter(|l| l.starts_with('/')) else {
                    return Err(HubError::Answer {
                        url: place.clone(),
                        message: "it is redirected without an ETag".to_owned(),
                    });
                };
                place = format!("{}{location}", self.endpoint);
                continue;
            }
            if !response.status().is_success() && !response.status().is_redirection() {
                return Err(refused(&place, &response));
            }
            let answer = |message: &str| HubError::Answer {
                url: place.clone(),
                message: message.to_owned(),
            };
            let etag = etag
                .map(plain_etag)
                .ok_or_else(|| answer("the server gives no ETag"))?;
            if etag.contains('/') || !select::is_plain_path(&etag) {
                return Err(answer("the ETag cannot be a file's name"));
            }
            let size = size
                .and_then(|size| size.parse().ok())
                .ok_or_else(|| answer("the server gives no size"))?;
            return Ok(Metadata { etag, size });
        }
        Err(HubError::Answer {
            url: url.to_owned(),
            message: "too many redirections".to_owned(),
        })
    }

    /// The content of a file from byte `from` on, `size` bytes in all.
    /// The status is left to the caller where it may be 200, 206 or 416.
    pub(super) fn content(
        &self,
        url: &str,
        from: u64,
        size: u64,
    ) -> Result<Response<Body>, HubError> {
        let patience = Duration::from_secs(300 + size / SLOWEST);
        let range = (from > 0).then(|| format!("bytes={from}-"));
        let response = self.get(url, range.as_deref(), patience)?;
        match response.status() {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => {
                Ok(response)
            }
            _ => Err(refused(url, &response)),
        }
    }

    fn get(
        &self,
        url: &str,
        range: Option<&str>,
        patience: Duration,
    ) -> Result<Response<Body>, HubError> {
        let mut request = self
            .agent
            .get(url)
            .config()
            .timeout_recv_body(Some(patience))
            .build()
            .header("accept-encoding", "identity");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        if let Some(range) = range {
            request = request.header("range", range);
        }
        request.call().map_err(|e| unreachable_server(url, &e))
    }

    fn head(&self, url: &str) -> Result<Response<Body>, HubError> {
        let mut request = self
            .agent
            .head(url)
            .config()
            .max_redirects(0)
            .build()
            .header("accept-encoding", "identity");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        request.call().map_err(|e| unreachable_server(url, &e))
    }
}

fn unreachable_server(url: &str, error: &ureq::Error) -> HubError {
    HubError::Unreachable {
        url: url.to_owned(),
        message: error.to_string(),
    }
}

fn refused(url: &str, response: &Response<Body>) -> HubError {
    let header = |name: &str| {
        response
            .headers()
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let status = response.status().as_u16();
    let meaning = match (header("x-error-code"), status) {
        (Some("GatedRepo"), _) | (_, 403) => {
            "access is restricted: accept the conditions on the repository's page, and set HF_TOKEN \
             to a token of your account"
        }
        (Some("RevisionNotFound"), _) => "the repository has no such revision",
        (Some("EntryNotFound"), _) => "the repository has no such file",
        (Some("RepoNotFound"), _) | (_, 401) => {
            "there is no such repository, or it is private: check the spelling, and set HF_TOKEN to \
             a token that may read it"
        }
        (_, 404) => "there is no such repository, revision or file: check the spelling",
        (_, 429) => "too many requests: wait a while, or set HF_TOKEN",
        (_, 500..) => "the server has a problem: try again later",
        _ => "this answer was not expected",
    };
    let meaning = match header("x-error-message") {
        Some(message) => format!("{meaning} ({message})"),
        None => meaning.to_owned(),
    };
    HubError::Status {
        url: url.to_owned(),
        status,
        meaning,
    }
}

/// `W/"abc"` and `"abc"` are abc.
fn plain_etag(etag: &str) -> String {
    etag.trim()
        .trim_start_matches("W/")
        .trim_matches('"')
        .to_owned()
}

/// Percent-encodes all but the characters that URLs leave alone, and those in `keep`.
fn escape(text: &str, keep: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        if c.is_ascii_alphanumeric() || "-_.~".contains(c) || keep.contains(c) {
            escaped.push(c);
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etags_and_escapes() {
        assert_eq!(plain_etag("W/\"abc\""), "abc");
        assert_eq!(plain_etag("\"abc\""), "abc");
        assert_eq!(escape("a b/ü.json", "/"), "a%20b/%C3%BC.json");
        assert_eq!(escape("refs/pr/1", ""), "refs%2Fpr%2F1");
    }
}
