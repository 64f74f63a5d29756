//! What can be wrong with a `config.json`, or with what was chosen beside it.

use std::fmt;

use crate::weights::quote::Quoted;

/// Every problem between a config and a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigError {
    /// The config's file.
    pub origin: String,
    /// The model's name.
    pub model: &'static str,
    /// The problems; never empty.
    pub problems: Vec<ConfigProblem>,
}

/// One problem between a config and a model. Values are JSON, shortened.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigProblem {
    /// The file is no JSON.
    #[error("it is not valid JSON: {message}")]
    NotJson {
        /// What the parser says, with line and column.
        message: String,
    },
    /// The file is no JSON object.
    #[error("expected an object of keys and values, found {found}")]
    NotAnObject {
        /// What it is instead.
        found: String,
    },
    /// A key that binds a generic is not there.
    #[error(
        "{} is missing; expected {expected}, which sets {generic}",
        Quoted(key)
    )]
    Missing {
        /// The key.
        key: String,
        /// What it should be.
        expected: String,
        /// The generic that it binds.
        generic: &'static str,
    },
    /// A key has a value of the wrong kind or outside its range.
    #[error("{} = {value}; expected {expected}, which sets {generic}", Quoted(key))]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What it should be.
        expected: String,
        /// The generic that it binds.
        generic: &'static str,
    },
    /// Two spellings of a key disagree.
    #[error(
        "{} = {first_value}, but {} = {second_value}, and both set {generic}",
        Quoted(first),
        Quoted(second)
    )]
    Conflict {
        /// The one.
        first: String,
        /// Its value.
        first_value: String,
        /// The other.
        second: String,
        /// Its value.
        second_value: String,
        /// The generic that both bind.
        generic: &'static str,
    },
    /// A key asks for something that the model does not compute.
    #[error(
        "{} = {value} is not supported; expected {expected} ({about})",
        Quoted(key)
    )]
    Refused {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What is computed.
        expected: String,
        /// What the key decides.
        about: &'static str,
    },
    /// A key that decides what is computed is not there.
    #[error("{} is missing; expected {expected} ({about})", Quoted(key))]
    RuleMissing {
        /// The key.
        key: String,
        /// What is computed.
        expected: String,
        /// What the key decides.
        about: &'static str,
    },
    /// A key that the model does not know, and that may change what it computes.
    #[error(
        "{} = {value} is unknown and may change what the model computes; \
         if it does not, accept the key when loading or list it as harmless in the model's card",
        Quoted(key)
    )]
    Unknown {
        /// The key.
        key: String,
        /// Its value.
        value: String,
    },
    /// A requirement of the model does not hold.
    #[error("the model requires `{clause}`, but {values}")]
    Requirement {
        /// The clause as written.
        clause: String,
        /// The values in it, with the keys they come from.
        values: String,
    },
    /// A default cannot be computed.
    #[error("{generic}: {message}")]
    Default {
        /// The generic.
        generic: &'static str,
        /// Why.
        message: String,
    },
    /// A choice that does not exist.
    #[error("{} cannot be chosen; {model} leaves {open} open", Quoted(name))]
    NotAChoice {
        /// What was chosen.
        name: String,
        /// The model.
        model: &'static str,
        /// What can be chosen.
        open: String,
    },
    /// A choice outside its range.
    #[error("{name} = {value} was chosen; expected {expected}")]
    Choice {
        /// The generic.
        name: &'static str,
        /// The value.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// The model's type says one thing and the config another.
    #[error("the model's type has {generic} = {in_type}, but {source_of} = {value}; {help}")]
    Type {
        /// The generic.
        generic: &'static str,
        /// Its value in the type.
        in_type: String,
        /// The key or choice that says otherwise.
        source_of: String,
        /// Its value.
        value: String,
        /// What to do.
        help: String,
    },
    /// The card does not say where a generic's value comes from.
    #[error("the card of {model} does not say what {generic} is")]
    NotInCard {
        /// The model.
        model: &'static str,
        /// The generic.
        generic: &'static str,
    },
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConfigError {
            origin,
            model,
            problems,
        } = self;
        write!(f, "{origin} is no config that {model} can run")?;
        match problems.as_slice() {
            [problem] => write!(f, ": {problem}"),
            problems => {
                write!(f, ": {} problems", problems.len())?;
                problems
                    .iter()
                    .try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}
