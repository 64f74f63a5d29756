//! The name of a repository on the Hub.

use std::fmt;
use std::str::FromStr;

/// `owner/name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoId {
    owner: String,
    name: String,
}

impl RepoId {
    /// The folder of this repository in the Hub's cache.
    pub(super) fn cache_folder(&self) -> String {
        format!("models--{}--{}", self.owner, self.name)
    }
}

impl FromStr for RepoId {
    /// What is wrong with the name.
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((owner, name)) = text.split_once('/') else {
            return Err("a Hub id is written owner/name");
        };
        for part in [owner, name] {
            if part.is_empty() || part.len() > 96 {
                return Err("both parts of a Hub id, owner/name, have 1 to 96 characters");
            }
            if !part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
            {
                return Err("a Hub id has only letters, digits, '-', '_' and '.' in owner/name");
            }
            if part.starts_with(['-', '.']) || part.ends_with(['-', '.']) {
                return Err("the parts of a Hub id neither begin nor end with '-' or '.'");
            }
            if part.contains("--") || part.contains("..") {
                return Err("a Hub id has no '--' or '..' in it");
            }
        }
        Ok(Self {
            owner: owner.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        let id: RepoId = "openai-community/gpt2-xl".parse().unwrap();
        assert_eq!(id.to_string(), "openai-community/gpt2-xl");
        assert_eq!(id.cache_folder(), "models--openai-community--gpt2-xl");
        for bad in [
            "gpt2", "a/", "/b", "a/b/c", "../x", "a/..", "a b/c", "a/b--c", "a/é", ".a/b",
        ] {
            assert!(bad.parse::<RepoId>().is_err(), "{bad}");
        }
    }
}
