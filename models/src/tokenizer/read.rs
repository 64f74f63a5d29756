//! A tokenizer from the files that checkpoints come with, or without them.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, Tokenizer};

use super::encoder::{Encoder, O200K_LARGEST_ID};
use crate::checkpoint_files::CheckpointFiles;
use crate::{Error, Result};

/// What a tokenizer is told by the files around it.
pub(super) struct SpecialIds {
    pub(super) bos: Option<i32>,
    pub(super) eos: Vec<i32>,
    pub(super) add_bos: bool,
}

/// `tokenizer.json`, else byte-level BPE from `vocab.json` and `merges.txt`,
/// else o200k_harmony for the models that were trained with it.
pub(super) fn tokenizer(files: &CheckpointFiles) -> Result<Encoder> {
    let pipeline = |tokenizer| Encoder::Pipeline(Box::new(tokenizer));
    if let Some(bytes) = files.read("tokenizer.json")? {
        return from_json(&bytes, files.name_of("tokenizer.json")).map(pipeline);
    }
    let (vocab, merges) = (files.read("vocab.json")?, files.read("merges.txt")?);
    match (vocab, merges) {
        (Some(vocab), Some(merges)) => from_vocab_and_merges(files, &vocab, &merges).map(pipeline),
        (Some(_), None) => Err(Error::Tokenizer {
            file: files.name_of("vocab.json"),
            message: "comes without merges.txt; a byte-level BPE needs both".to_owned(),
        }),
        (None, Some(_)) => Err(Error::Tokenizer {
            file: files.name_of("merges.txt"),
            message: "comes without vocab.json; a byte-level BPE needs both".to_owned(),
        }),
        (None, None) if speaks_o200k(files)? => Ok(Encoder::o200k()),
        (None, None) => Err(Error::NoTokenizer {
            place: files.place(),
        }),
    }
}

/// Whether a checkpoint is a gpt-oss of the published vocabulary.
fn speaks_o200k(files: &CheckpointFiles) -> Result<bool> {
    let config = files.read_json("config.json")?.unwrap_or_default();
    Ok(config["model_type"] == "gpt_oss"
        && config["vocab_size"].as_u64() == Some(u64::from(O200K_LARGEST_ID) + 1))
}

fn from_json(bytes: &[u8], file: String) -> Result<Tokenizer> {
    let failed = |message: String| Error::Tokenizer {
        file: file.clone(),
        message,
    };
    check_merges_of_json(bytes).map_err(failed)?;
    let mut tokenizer = Tokenizer::from_bytes(bytes)
        .map_err(|e| failed(format!("cannot be read as a tokenizer: {e}")))?;
    // A file may ask to cut or pad what it encodes, which is for training batches.
    tokenizer
        .with_truncation(None)
        .map_err(|e| failed(format!("cannot switch truncation off: {e}")))?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}

fn from_vocab_and_merges(
    files: &CheckpointFiles,
    vocab: &[u8],
    merges: &[u8],
) -> Result<Tokenizer> {
    let vocab: HashMap<String, u32> =
        serde_json::from_slice(vocab).map_err(|e| Error::Tokenizer {
            file: files.name_of("vocab.json"),
            message: format!("is not a JSON object from tokens to ids: {e}"),
        })?;
    let merges_error = |message: String| Error::Tokenizer {
        file: files.name_of("merges.txt"),
        message,
    };
    let text =
        std::str::from_utf8(merges).map_err(|e| merges_error(format!("is not UTF-8: {e}")))?;
    let merges = parse_merges(text).map_err(merges_error)?;
    check_merges(&merges, "", |token| vocab.contains_key(token)).map_err(merges_error)?;
    let model = BPE::builder()
        .vocab_and_merges(Vocab::from_iter(vocab.clone()), merges)
        .build()
        .map_err(|e| merges_error(format!("does not fit vocab.json: {e}")))?;

    let mut tokenizer = Tokenizer::new(model);
    let byte_level = ByteLevel::default().add_prefix_space(false);
    tokenizer.with_pre_tokenizer(Some(byte_level));
    tokenizer.with_decoder(Some(byte_level));
    let special = special_tokens(files, &vocab)?;
    tokenizer
        .add_special_tokens(special)
        .map_err(|e| merges_error(format!("special tokens cannot be added: {e}")))?;
    Ok(tokenizer)
}

/// One pair per line, separated by one space; the first line may be a version.
fn parse_merges(text: &str) -> std::result::Result<Vec<(String, String)>, String> {
    text.lines()
        .enumerate()
        .filter(|(i, line)| !(line.is_empty() || *i == 0 && line.starts_with("#version")))
        .map(|(i, line)| match line.split_once(' ') {
            Some((left, right))
                if !left.is_empty() && !right.is_empty() && !right.contains(' ') =>
            {
                Ok((left.to_owned(), right.to_owned()))
            }
            _ => Err(format!(
                "line {} is not two tokens with a space between: {line:?}",
                i + 1
            )),
        })
        .collect()
}

/// The tokenizer library takes it for granted that what a merge makes is in the
/// vocabulary, and panics on some files where it is not.
fn check_merges<S: AsRef<str>>(
    merges: &[(S, S)],
    prefix: &str,
    has_token: impl Fn(&str) -> bool,
) -> std::result::Result<(), String> {
    let mut merged = String::new();
    for (left, right) in merges {
        let (left, right) = (left.as_ref(), right.as_ref());
        merged.clear();
        merged.push_str(left);
        merged.push_str(right.strip_prefix(prefix).ok_or_else(|| {
            format!("merges {left:?} with {right:?}, which does not begin with {prefix:?}")
        })?);
        if let Some(missing) = [left, right, &merged]
            .into_iter()
            .find(|token| !has_token(token))
        {
            return Err(format!(
                "merges {left:?} with {right:?}, but the vocabulary does not have {missing:?}"
            ));
        }
    }
    Ok(())
}

/// The part of `tokenizer.json` that [`check_merges`] is about.
#[derive(Deserialize)]
struct TokenizerJson<'a> {
    #[serde(borrow)]
    model: ModelJson<'a>,
}

#[derive(Deserialize)]
struct ModelJson<'a> {
    #[serde(default)]
    r#type: Option<String>,
    #[serde(borrow, default)]
    vocab: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow, default)]
    merges: Option<&'a serde_json::value::RawValue>,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
}

/// A merge is written as one string with a space, or as two strings.
#[derive(Deserialize)]
#[serde(untagged)]
enum MergeJson<'a> {
    Line(#[serde(borrow)] Cow<'a, str>),
    Pair(#[serde(borrow)] Cow<'a, str>, #[serde(borrow)] Cow<'a, str>),
}

fn check_merges_of_json(bytes: &[u8]) -> std::result::Result<(), String> {
    let json = |e: serde_json::Error| format!("is not a tokenizer file: {e}");
    let TokenizerJson { model } = serde_json::from_slice(bytes).map_err(json)?;
    let (Some(vocab), Some(merges)) = (model.vocab, model.merges) else {
        return Ok(());
    };
    if model.r#type.is_some_and(|name| name != "BPE") {
        return Ok(());
    }
    let prefix = model.continuing_subword_prefix.unwrap_or_default();
    let vocab: HashMap<Cow<'_, str>, u32> = serde_json::from_str(vocab.get()).map_err(json)?;
    let merges: Vec<MergeJson<'_>> = serde_json::from_str(merges.get()).map_err(json)?;
    let merges = merges
        .iter()
        .map(|merge| match merge {
            MergeJson::Pair(left, right) => Ok((left.as_ref(), right.as_ref())),
            MergeJson::Line(line) => line
                .split_once(' ')
                .ok_or_else(|| format!("has a merge that is not two tokens: {line:?}")),
        })
        .collect::<std::result::Result<Vec<_>, _>>()?;
    check_merges(&merges, &prefix, |token| vocab.contains_key(token))
}

/// The tokens that must not be split: GPT-2's own, and what `tokenizer_config.json` names.
fn special_tokens(
    files: &CheckpointFiles,
    vocab: &HashMap<String, u32>,
) -> Result<Vec<AddedToken>> {
    let mut names = vec!["<|endoftext|>".to_owned()];
    if let Some(config) = files.read_json("tokenizer_config.json")? {
        for key in ["bos_token", "eos_token", "unk_token", "pad_token"] {
            names.extend(token_name(&config[key]).map(str::to_owned));
        }
        if let Some(added) = config["added_tokens_decoder"].as_object() {
            let special = added
                .values()
                .filter(|token| token["special"] != Value::Bool(false));
            names.extend(special.filter_map(token_name).map(str::to_owned));
        }
    }
    names.sort_unstable();
    names.dedup();
    names.retain(|name| vocab.contains_key(name));
    Ok(names
        .into_iter()
        .map(|name| AddedToken::from(name, true))
        .collect())
}

/// A token is written as a string, or as an object with its `content`.
fn token_name(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value["content"].as_str())
}

/// Which tokens begin and end a text, from `generation_config.json`, else
/// `config.json`, else `tokenizer_config.json`.
pub(super) fn special_ids(files: &CheckpointFiles, encoder: &Encoder) -> Result<SpecialIds> {
    let generation = files.read_json("generation_config.json")?;
    let config = files.read_json("config.json")?;
    let tokenizer_config = files.read_json("tokenizer_config.json")?;
    let by_id = |key: &str| -> Result<Vec<i32>> {
        for (file, json) in [
            ("generation_config.json", &generation),
            ("config.json", &config),
        ] {
            let Some(value) = json.as_ref().and_then(|json| json.get(key)) else {
                continue;
            };
            let ids = ids(value).ok_or_else(|| Error::Config {
                file: files.name_of(file),
                message: format!("{key} is {value}, expected a token id or a list of them"),
            })?;
            if !ids.is_empty() {
                return Ok(ids);
            }
        }
        Ok(Vec::new())
    };
    let by_name = |key: &str| -> Option<i32> {
        let name = token_name(tokenizer_config.as_ref()?.get(key)?)?;
        encoder.token_to_id(name).map(|id| id as i32)
    };

    let mut eos = by_id("eos_token_id")?;
    if eos.is_empty() {
        eos.extend(by_name("eos_token"));
    }
    if eos.is_empty() && matches!(encoder, Encoder::O200k(_)) {
        let ends = ["<|return|>", "<|call|>", "<|endoftext|>"];
        eos.extend(
            ends.iter()
                .filter_map(|name| encoder.token_to_id(name))
                .map(|id| id as i32),
        );
    }
    let bos = by_id("bos_token_id")?
        .first()
        .copied()
        .or_else(|| by_name("bos_token"));
    let add_bos = tokenizer_config
        .as_ref()
        .is_some_and(|config| config["add_bos_token"] == Value::Bool(true));
    Ok(SpecialIds { bos, eos, add_bos })
}

/// An id, a list of ids, or null for none; `None` for anything else.
fn ids(value: &Value) -> Option<Vec<i32>> {
    let id = |value: &Value| value.as_i64().and_then(|id| i32::try_from(id).ok());
    match value {
        Value::Null => Some(Vec::new()),
        Value::Array(values) => values.iter().map(id).collect(),
        value => id(value).map(|id| vec![id]),
    }
}
