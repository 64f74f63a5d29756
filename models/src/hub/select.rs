//! Which of a repository's files loading needs.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use super::{HubError, Listing, RepoId};

/// Weights in one file.
const SINGLE: &str = "model.safetensors";
/// The list of the files that weights are spread over.
const INDEX: &str = "model.safetensors.index.json";
/// Small files; those that a repository has are taken along.
const SMALL: [&str; 8] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
];

/// What to download first.
pub(super) struct Selected {
    /// Files of the repository.
    pub(super) files: Vec<String>,
    /// The one of them that names further ones.
    pub(super) index: Option<String>,
}

/// Chooses from what a repository has.
pub(super) fn files(repo: &RepoId, listing: &Listing) -> Result<Selected, HubError> {
    let has = |name: &str| listing.files.contains_key(name);
    let unusable = |message: String| HubError::Unusable {
        repo: repo.to_string(),
        message,
    };
    if !has("config.json") {
        return Err(unusable(
            "it has no config.json, so it is not a model".to_owned(),
        ));
    }
    let mut files: Vec<String> = SMALL
        .iter()
        .filter(|name| has(name))
        .map(|&name| name.to_owned())
        .collect();
    let weights = if has(SINGLE) { SINGLE } else { INDEX };
    if !has(weights) {
        let other: Vec<&str> = listing
            .files
            .keys()
            .map(String::as_str)
            .filter(|name| {
                [".bin", ".pt", ".h5", ".msgpack", ".gguf"]
                    .iter()
                    .any(|e| name.ends_with(e))
            })
            .take(4)
            .collect();
        let found = if other.is_empty() {
            String::new()
        } else {
            format!(
                " (its weights are in {}; look for a converted copy)",
                other.join(", ")
            )
        };
        return Err(unusable(format!(
            "it has neither {SINGLE} nor {INDEX}{found}"
        )));
    }
    files.push(weights.to_owned());
    let index = (weights == INDEX).then(|| INDEX.to_owned());
    Ok(Selected { files, index })
}

/// The files that an index names.
pub(super) fn shards(folder: &Path, index: &str) -> Result<Vec<String>, HubError> {
    #[derive(serde::Deserialize)]
    struct Index {
        weight_map: BTreeMap<String, String>,
    }
    let path = folder.join(index);
    let bytes = std::fs::read(&path).map_err(HubError::cache("read", &path))?;
    let answer = |message: String| HubError::Answer {
        url: path.display().to_string(),
        message,
    };
    let index: Index = serde_json::from_slice(&bytes)
        .map_err(|e| answer(format!("is not an index of weights: {e}")))?;
    let mut names: Vec<String> = index.weight_map.into_values().collect();
    names.sort_unstable();
    names.dedup();
    match names.iter().find(|name| !is_plain_path(name)) {
        Some(name) => Err(answer(format!(
            "names {name:?}, which is not a file of the repository"
        ))),
        None => Ok(names),
    }
}

/// The files that a folder lacks to be loaded. A tokenizer is named among them,
/// but it alone does not make a folder incomplete: some programs need none.
pub(super) fn missing(folder: &Path) -> Vec<String> {
    let has = |name: &str| folder.join(name).is_file();
    let mut missing = Vec::new();
    if !has("config.json") {
        missing.push("config.json".to_owned());
    }
    if has(INDEX) && !has(SINGLE) {
        match shards(folder, INDEX) {
            Ok(shards) => missing.extend(shards.into_iter().filter(|name| !has(name))),
            Err(error) => missing.push(format!("a readable {INDEX} ({error})")),
        }
    } else if !has(SINGLE) {
        missing.push(format!("{SINGLE} (or {INDEX} with its shards)"));
    }
    let tokenizer = has("tokenizer.json") || has("vocab.json") && has("merges.txt");
    if !missing.is_empty() && !tokenizer {
        missing.push("tokenizer.json (or vocab.json and merges.txt)".to_owned());
    }
    missing
}

/// Whether a name stays within the folder that it is joined to.
pub(super) fn is_plain_path(name: &str) -> bool {
    !name.is_empty()
        && !name.contains('\\')
        && !name.contains(':')
        && Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_their_folder() {
        for good in ["model.safetensors", "a/b.json", "refs/pr/1"] {
            assert!(is_plain_path(good), "{good}");
        }
        for bad in [
            "",
            "/etc/passwd",
            "../x",
            "a/../../x",
            "c:\\x",
            "a\\..\\x",
            "./x",
        ] {
            assert!(!is_plain_path(bad), "{bad}");
        }
    }

    #[test]
    fn a_folder_is_complete_or_says_what_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        assert_eq!(missing(folder.path()).len(), 3);
        write("config.json", "{}");
        write("vocab.json", "{}");
        write("merges.txt", "");
        assert_eq!(
            missing(folder.path()),
            ["model.safetensors (or model.safetensors.index.json with its shards)"]
        );
        write(
            INDEX,
            r#"{"weight_map": {"a": "1.safetensors", "b": "2.safetensors", "c": "1.safetensors"}}"#,
        );
        write("2.safetensors", "");
        assert_eq!(missing(folder.path()), ["1.safetensors"]);
        write("1.safetensors", "");
        assert!(missing(folder.path()).is_empty());
        write(INDEX, r#"{"weight_map": {"a": "../../secret"}}"#);
        assert!(missing(folder.path())[0].contains("not a file of the repository"));
    }
}
