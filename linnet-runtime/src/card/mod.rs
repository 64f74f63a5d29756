//! A model's card: what its `model.toml` says, as constant data.
//!
//! A model crate's build script calls `linnet_build::model("model.toml")`, which
//! checks the card and writes it as a [`Card`] named `CARD`, beside a type alias
//! for each known checkpoint. [`include_card!`](crate::include_card) brings both
//! into the crate. Here the card is used: [`Card::bind`] turns a `config.json`
//! into the values of the model's generics, and [`load`] loads a checkpoint.

mod config;
mod error;
mod load;
mod words;

pub use config::{Bound, Choices};
pub use error::{ConfigError, ConfigProblem};
pub use load::{LoadOptions, Loaded, Source, load, load_reported, read_config};

use crate::descriptor::DimExpr;
use crate::weights::{GenericValues, NameRules};

/// Includes what `linnet_build::model` made of the model's card: `CARD`, and a
/// type alias for each known checkpoint.
#[macro_export]
macro_rules! include_card {
    () => {
        include!(concat!(env!("OUT_DIR"), "/card.rs"));
    };
}

/// What is known of a model outside its source.
#[derive(Debug, Clone, Copy)]
pub struct Card {
    /// The model's name, such as `GPT-2`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub summary: &'static str,
    /// The licence of the published weights.
    pub licence: &'static str,
    /// Titles and addresses of papers and publications.
    pub links: &'static [(&'static str, &'static str)],
    /// The block that is the whole model.
    pub model: &'static str,
    /// Where the value of each of its generics comes from, in the order of its declaration.
    pub generics: &'static [GenericRule],
    /// Other keys of `config.json`, and which of their values the model computes.
    pub rules: &'static [Rule],
    /// Keys that change nothing that the model computes. A `*` at an end stands
    /// for any characters.
    pub harmless: &'static [&'static str],
    /// The published checkpoints.
    pub checkpoints: &'static [Known],
    /// How checkpoints name the model's tensors.
    pub names: NameRules,
}

/// Where the value of a generic comes from.
#[derive(Debug, Clone, Copy)]
pub struct GenericRule {
    /// The generic.
    pub name: &'static str,
    /// Its source.
    pub source: GenericSource,
}

/// What decides a generic.
#[derive(Debug, Clone, Copy)]
pub enum GenericSource {
    /// A whole number of `config.json`, at least 1.
    Config {
        /// The key; further keys are other spellings of it. A dot leads into an object.
        keys: &'static [&'static str],
        /// What it is where no key is there; without, its absence is an error.
        default: Option<DimExpr>,
        /// The largest value that is taken. A guard: products of such values
        /// must not overflow, and a larger one is a damaged file.
        max: u64,
    },
    /// Whoever loads the model, as a batch size.
    Chosen {
        /// What it is where nobody chose.
        default: DimExpr,
        /// The largest value that is taken.
        max: u64,
    },
    /// The dtype that the model's type names.
    DType,
}

/// What a key of `config.json` may say.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The key; further keys are other spellings of it. A dot leads into an object.
    pub keys: &'static [&'static str],
    /// The values that the model computes.
    pub allowed: &'static [Allowed],
    /// Whether all of them may be absent.
    pub optional: bool,
    /// What the key decides, as `the width of the feed-forward layer`.
    pub about: &'static str,
}

/// A value that a key may have.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Allowed {
    /// `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number, however it is written.
    Number(f64),
    /// A text.
    Text(&'static str),
    /// The value of an expression over the model's generics.
    Dim(DimExpr),
    /// A list as long as the expression says that repeats these texts.
    Cycle(&'static [&'static str], DimExpr),
}

/// A published checkpoint.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its name, such as `gpt2-medium`.
    pub name: &'static str,
    /// The type alias that `include_card!` brings, such as `Gpt2Medium`.
    pub alias: &'static str,
    /// Its repository on the Hugging Face Hub.
    pub repository: &'static str,
    /// The number of its parameters, as published.
    pub parameters: u64,
    /// The generics that its `config.json` binds.
    pub dims: &'static [(&'static str, usize)],
}

impl Card {
    /// The known checkpoint whose dimensions these are.
    pub fn checkpoint_matching(&self, values: &GenericValues) -> Option<&'static Known> {
        self.checkpoints.iter().find(|known| {
            known
                .dims
                .iter()
                .all(|(name, size)| values.dim(name) == Some(*size))
        })
    }

    /// The known checkpoint of this name, alias or repository.
    pub fn checkpoint_named(&self, name: &str) -> Option<&'static Known> {
        self.checkpoints
            .iter()
            .find(|known| [known.name, known.alias, known.repository].contains(&name))
    }
}
