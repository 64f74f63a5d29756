//! `model.toml` as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

type Map<T> = BTreeMap<Spanned<String>, T>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCard {
    pub name: Spanned<String>,
    pub summary: String,
    pub licence: String,
    /// The path of the model's block from the crate's root.
    pub model: Spanned<String>,
    /// The name of the type alias with `Dyn` dimensions.
    pub dyn_type: Option<Spanned<String>>,
    #[serde(default)]
    pub links: BTreeMap<String, String>,
    pub generics: Map<Spanned<RawGeneric>>,
    #[serde(default)]
    pub config: Vec<RawRule>,
    #[serde(default)]
    pub harmless: Vec<Spanned<String>>,
    #[serde(default)]
    pub names: RawNames,
    #[serde(default)]
    pub tensors: Map<Spanned<String>>,
    #[serde(default)]
    pub tied: Map<Spanned<String>>,
    #[serde(default)]
    pub checkpoint: Vec<RawCheckpoint>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawGeneric {
    /// The key of `config.json`, or its spellings.
    pub config: Option<OneOrMore>,
    /// What it is where no key is there.
    pub default: Option<Spanned<String>>,
    /// Open to whoever loads: the default.
    pub chosen: Option<Spanned<String>>,
    /// A dtype generic.
    #[serde(default)]
    pub dtype: bool,
    pub max: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawRule {
    /// The key, or its spellings.
    pub key: Spanned<OneOrMore>,
    pub any_of: Vec<RawAllowed>,
    #[serde(default)]
    pub optional: bool,
    pub about: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum RawAllowed {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Special(RawSpecial),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawSpecial {
    /// `null`, which TOML lacks.
    #[serde(default)]
    pub null: bool,
    /// An expression over the generics.
    pub dim: Option<String>,
    /// A list that repeats these texts.
    pub cycle: Option<Vec<String>>,
    /// The length of that list, an expression over the generics.
    pub length: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawNames {
    #[serde(default)]
    pub prefixes: Vec<Spanned<String>>,
    #[serde(default)]
    pub ignore: Vec<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawCheckpoint {
    pub name: Spanned<String>,
    /// The name of its type alias.
    #[serde(rename = "type")]
    pub alias: Spanned<String>,
    pub repository: String,
    pub parameters: u64,
    pub dims: Map<Spanned<i64>>,
}
