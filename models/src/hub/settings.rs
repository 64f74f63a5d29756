//! Where the Hub is, where its cache is, and who asks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{HubError, Progress};

/// The Hub's usual settings.
#[derive(Clone)]
pub struct Settings {
    /// The server, without a slash at the end: `https://huggingface.co`.
    pub endpoint: String,
    /// The token that opens private and gated repositories.
    pub token: Option<String>,
    /// The cache's folder: `~/.cache/huggingface/hub`.
    pub cache: PathBuf,
    /// Uses the cache alone.
    pub offline: bool,
    /// What is shown of downloads.
    pub progress: Progress,
    /// How long to wait before asking again after a failure; doubled each time.
    pub retry_delay: Duration,
}

impl Settings {
    /// The settings that the environment asks for.
    ///
    /// # Errors
    ///
    /// [`HubError::Settings`] when no cache folder can be told from it, or the
    /// endpoint is no URL.
    pub fn from_environment() -> Result<Self, HubError> {
        Self::from_variables(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// The same for any set of variables.
    pub(super) fn from_variables(
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, HubError> {
        let home = variable("HF_HOME").map(PathBuf::from).or_else(|| {
            let caches = variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| {
                Some(
                    std::env::home_dir()
                        .filter(|h| !h.as_os_str().is_empty())?
                        .join(".cache"),
                )
            })?;
            Some(caches.join("huggingface"))
        });
        let cache = variable("HF_HUB_CACHE")
            .or_else(|| variable("HUGGINGFACE_HUB_CACHE"))
            .map(PathBuf::from)
            .or_else(|| Some(home.as_ref()?.join("hub")))
            .ok_or_else(|| {
                HubError::Settings(
                    "there is no home folder to keep downloads in; set HF_HUB_CACHE to a folder"
                        .to_owned(),
                )
            })?;
        let endpoint =
            variable("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned());
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        if !endpoint.starts_with("http://") && !endpoint.starts_with("https://") {
            return Err(HubError::Settings(format!(
                "HF_ENDPOINT is {endpoint:?}, expected a URL that begins with https://"
            )));
        }
        let token_file = variable("HF_TOKEN_PATH")
            .map(PathBuf::from)
            .or_else(|| Some(home.as_ref()?.join("token")));
        let token = variable("HF_TOKEN")
            .or_else(|| variable("HUGGING_FACE_HUB_TOKEN"))
            .or_else(|| read_token(&token_file?))
            .map(|token| token.trim().to_owned())
            .filter(|token| !token.is_empty());
        let offline = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"]
            .iter()
            .any(|name| {
                variable(name).is_some_and(|value| {
                    ["1", "on", "yes", "true"].contains(&value.to_lowercase().as_str())
                })
            });
        Ok(Self {
            endpoint,
            token,
            cache,
            offline,
            progress: Progress::Bars,
            retry_delay: Duration::from_secs(1),
        })
    }
}

fn read_token(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

impl std::fmt::Debug for Settings {
    /// Without the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("endpoint", &self.endpoint)
            .field("token", &self.token.as_ref().map(|_| "(set)"))
            .field("cache", &self.cache)
            .field("offline", &self.offline)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, HubError> {
        Settings::from_variables(&|name| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_usual_variables() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "hf_from_file\n").unwrap();
        let home = folder.path().to_str().unwrap();

        let s = settings(&[("HF_HOME", home)]).unwrap();
        assert_eq!(s.cache, folder.path().join("hub"));
        assert_eq!(s.token.as_deref(), Some("hf_from_file"));
        assert_eq!(s.endpoint, "https://huggingface.co");
        assert!(!s.offline);

        let s = settings(&[
            ("HF_HOME", home),
            ("HF_HUB_CACHE", "/elsewhere"),
            ("HF_TOKEN", "hf_x"),
            ("HF_ENDPOINT", "http://127.0.0.1:1/"),
            ("HF_HUB_OFFLINE", "True"),
        ])
        .unwrap();
        assert_eq!(s.cache, Path::new("/elsewhere"));
        assert_eq!(s.token.as_deref(), Some("hf_x"));
        assert_eq!(s.endpoint, "http://127.0.0.1:1");
        assert!(s.offline);
        assert!(!format!("{s:?}").contains("hf_x"));

        let s = settings(&[("XDG_CACHE_HOME", "/caches"), ("HF_HUB_OFFLINE", "0")]).unwrap();
        assert_eq!(s.cache, Path::new("/caches/huggingface/hub"));
        assert!(!s.offline);
    }

    #[test]
    fn an_endpoint_must_be_a_url() {
        let error = settings(&[("HF_ENDPOINT", "huggingface.co")])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("HF_ENDPOINT is \"huggingface.co\""),
            "{error}"
        );
    }
}
