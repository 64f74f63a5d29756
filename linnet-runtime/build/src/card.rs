//! A card, read and checked by itself: what it says of the model is checked in [`crate::prove`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use linnet_compiler::ast::Dim;
use toml::Spanned;

use crate::dim;
use crate::error::Error;
use crate::pattern::Pattern;
use crate::raw::{OneOrMore, RawAllowed, RawCard, RawGeneric, RawRule, RawSpecial};

/// The largest value of a dimension where the card sets no other.
const MAX: u64 = 1 << 24;

/// The largest that a card may set: the product of any three fits 63 bits.
const LARGEST_MAX: u64 = 1 << 31;

/// A card.
#[derive(Debug)]
pub(crate) struct Card {
    pub name: String,
    pub summary: String,
    pub licence: String,
    pub links: BTreeMap<String, String>,
    /// The path of the model's block, and the line that says so.
    pub model: Located<String>,
    pub dyn_type: Option<String>,
    pub generics: BTreeMap<String, Located<Generic>>,
    pub rules: Vec<Rule>,
    pub harmless: Vec<String>,
    pub prefixes: Vec<String>,
    pub ignore: Vec<Pattern>,
    /// In the order in which they are tried.
    pub tensors: Vec<(Located<Pattern>, Pattern)>,
    pub tied: Vec<(String, String)>,
    pub checkpoints: Vec<Checkpoint>,
}

/// Something with the line of the card that says it.
#[derive(Debug)]
pub(crate) struct Located<T> {
    pub line: usize,
    pub value: T,
}

#[derive(Debug)]
pub(crate) enum Generic {
    Config {
        keys: Vec<String>,
        default: Option<Dim>,
        max: u64,
    },
    Chosen {
        default: Dim,
        max: u64,
    },
    DType,
}

#[derive(Debug)]
pub(crate) struct Rule {
    /// The key, then its other spellings.
    pub keys: Vec<String>,
    pub allowed: Vec<Allowed>,
    pub optional: bool,
    pub about: String,
}

#[derive(Debug)]
pub(crate) enum Allowed {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Dim(Dim),
    Cycle(Vec<String>, Dim),
}

#[derive(Debug)]
pub(crate) struct Checkpoint {
    pub line: usize,
    pub name: String,
    pub alias: String,
    pub repository: String,
    pub parameters: u64,
    pub dims: BTreeMap<String, Located<i64>>,
}

impl Card {
    /// Reads a card. `file` names it in errors.
    pub fn parse(file: &str, text: &str) -> Result<Card, Error> {
        let raw: RawCard = toml::from_str(text).map_err(|e| {
            let line = e.span().map(|span| line_of(text, &span));
            let message = e.message().to_owned();
            match line {
                Some(line) => Error::at(file, line, message),
                None => Error::new(file, message),
            }
        })?;
        Reader { file, text }.card(raw)
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn card(&self, raw: RawCard) -> Result<Card, Error> {
        let model = self.located(&raw.model, raw.model.get_ref().clone());
        syn::parse_str::<syn::Path>(&model.value).map_err(|_| {
            self.error(
                &raw.model,
                "expected the path of the model's block, such as `model::Model`",
            )
        })?;
        let mut generics = BTreeMap::new();
        for (name, generic) in raw.generics {
            self.ident(&name)?;
            let value = self.generic(&name, generic.into_inner())?;
            generics.insert(name.get_ref().clone(), self.located(&name, value));
        }
        let checkpoints = self.checkpoints(raw.checkpoint)?;
        let dyn_type = raw
            .dyn_type
            .map(|name| self.ident(&name).map(|()| name.into_inner()))
            .transpose()?;
        let mut rules = Vec::new();
        let mut keys = BTreeSet::new();
        for rule in raw.config {
            let at = rule.key.clone();
            let rule = self.rule(rule)?;
            for key in &rule.keys {
                if !keys.insert(key.clone()) {
                    return Err(self.error(&at, format!("`{key}` stands twice")));
                }
            }
            rules.push(rule);
        }
        for pattern in &raw.harmless {
            self.glob(pattern)?;
        }
        let mut tensors = Vec::new();
        for (member, stored) in raw.tensors {
            tensors.push(self.tensor(&member, &stored)?);
        }
        tensors.sort_by(|(a, _), (b, _)| a.value.rank().cmp(&b.value.rank()));
        let mut ignore = Vec::new();
        for text in &raw.names.ignore {
            ignore.push(self.pattern(text, true)?);
        }
        for (second, first) in &raw.tied {
            if second.get_ref() == first.get_ref() {
                return Err(self.error(second, format!("`{}` is tied to itself", second.get_ref())));
            }
        }
        Ok(Card {
            name: raw.name.into_inner(),
            summary: raw.summary,
            licence: raw.licence,
            links: raw.links,
            model,
            dyn_type,
            generics,
            rules,
            harmless: raw.harmless.into_iter().map(Spanned::into_inner).collect(),
            prefixes: raw
                .names
                .prefixes
                .into_iter()
                .map(Spanned::into_inner)
                .filter(|p| !p.is_empty())
                .collect(),
            ignore,
            tensors,
            tied: raw
                .tied
                .into_iter()
                .map(|(second, first)| (second.into_inner(), first.into_inner()))
                .collect(),
            checkpoints,
        })
    }

    fn generic(&self, name: &Spanned<String>, raw: RawGeneric) -> Result<Generic, Error> {
        let max = raw.max.unwrap_or(MAX);
        if !(1..=LARGEST_MAX).contains(&max) {
            return Err(self.error(name, format!("`max` must be from 1 to {LARGEST_MAX}")));
        }
        match (raw.config, raw.chosen, raw.dtype) {
            (Some(keys), None, false) => {
                let keys = match keys {
                    OneOrMore::One(key) => vec![key],
                    OneOrMore::More(keys) => keys,
                };
                if keys.iter().any(String::is_empty) || keys.is_empty() {
                    return Err(self.error(name, "`config` names no key"));
                }
                let default = raw.default.map(|default| self.dim(&default)).transpose()?;
                Ok(Generic::Config { keys, default, max })
            }
            (None, Some(default), false) if raw.default.is_none() => Ok(Generic::Chosen {
                default: self.dim(&default)?,
                max,
            }),
            (None, None, true) if raw.default.is_none() && raw.max.is_none() => Ok(Generic::DType),
            _ => Err(self.error(
                name,
                format!(
                    "`{}` needs exactly one of `config = \"key\"` (with or without `default`), \
                     `chosen = \"default\"` and `dtype = true`",
                    name.get_ref()
                ),
            )),
        }
    }

    fn rule(&self, raw: RawRule) -> Result<Rule, Error> {
        let mut allowed = Vec::new();
        for value in raw.any_of {
            allowed.push(match value {
                RawAllowed::Bool(value) => Allowed::Bool(value),
                RawAllowed::Integer(value) => Allowed::Number(value as f64),
                RawAllowed::Float(value) => Allowed::Number(value),
                RawAllowed::Text(value) => Allowed::Text(value),
                RawAllowed::Special(RawSpecial {
                    null: true,
                    dim: None,
                    cycle: None,
                    length: None,
                }) => Allowed::Null,
                RawAllowed::Special(RawSpecial {
                    null: false,
                    dim: Some(text),
                    cycle: None,
                    length: None,
                }) => Allowed::Dim(dim::parse(&text).map_err(|e| self.error(&raw.key, e))?),
                RawAllowed::Special(RawSpecial {
                    null: false,
                    dim: None,
                    cycle: Some(cycle),
                    length: Some(length),
                }) if !cycle.is_empty() => {
                    let length = dim::parse(&length).map_err(|e| self.error(&raw.key, e))?;
                    Allowed::Cycle(cycle, length)
                }
                RawAllowed::Special(_) => {
                    return Err(self.error(
                        &raw.key,
                        "expected `{ null = true }`, `{ dim = \"4 * H\" }` or \
                         `{ cycle = [\"a\", \"b\"], length = \"Layers\" }`",
                    ));
                }
            });
        }
        let keys = match raw.key.get_ref().clone() {
            OneOrMore::One(key) => vec![key],
            OneOrMore::More(keys) => keys,
        };
        let Some(first) = keys.first() else {
            return Err(self.error(&raw.key, "`key` names no key"));
        };
        if allowed.is_empty() {
            return Err(self.error(&raw.key, format!("`{first}` allows no value")));
        }
        Ok(Rule {
            keys,
            allowed,
            optional: raw.optional,
            about: raw.about,
        })
    }

    fn tensor(
        &self,
        member: &Spanned<String>,
        stored: &Spanned<String>,
    ) -> Result<(Located<Pattern>, Pattern), Error> {
        let from = self.pattern(member, true)?;
        let to = self.pattern(stored, false)?;
        if let Some(unknown) = to.numbers().difference(&from.numbers()).next() {
            return Err(self.error(
                stored,
                format!(
                    "`{{{unknown}}}` has no value: `{}` does not have it",
                    from.text
                ),
            ));
        }
        if from.has_rest() != to.has_rest() {
            return Err(self.error(
                stored,
                "a `*` must stand at the end of both sides or of none",
            ));
        }
        Ok((self.located(member, from), to))
    }

    fn pattern(&self, text: &Spanned<String>, plain: bool) -> Result<Pattern, Error> {
        let pattern =
            Pattern::parse(text.get_ref()).map_err(|message| self.error(text, message))?;
        if plain && !pattern.is_plain() {
            return Err(self.error(
                text,
                format!(
                    "the pattern `{}` may not compute: write `{{i}}`",
                    pattern.text
                ),
            ));
        }
        Ok(pattern)
    }

    fn glob(&self, pattern: &Spanned<String>) -> Result<(), Error> {
        let text = pattern.get_ref();
        let inner = text.strip_prefix('*').unwrap_or(text);
        let inner = inner.strip_suffix('*').unwrap_or(inner);
        if inner.is_empty() || inner.contains('*') {
            return Err(self.error(
                pattern,
                format!("`{text}` must be a key, with a `*` at its ends at most"),
            ));
        }
        Ok(())
    }

    fn checkpoints(&self, raw: Vec<crate::raw::RawCheckpoint>) -> Result<Vec<Checkpoint>, Error> {
        let mut names = BTreeSet::new();
        let mut checkpoints = Vec::new();
        for checkpoint in raw {
            self.ident(&checkpoint.alias)?;
            for name in [&checkpoint.name, &checkpoint.alias] {
                if !names.insert(name.get_ref().clone()) {
                    return Err(self.error(name, format!("`{}` stands twice", name.get_ref())));
                }
            }
            checkpoints.push(Checkpoint {
                line: self.line(&checkpoint.name),
                name: checkpoint.name.into_inner(),
                alias: checkpoint.alias.into_inner(),
                repository: checkpoint.repository,
                parameters: checkpoint.parameters,
                dims: checkpoint
                    .dims
                    .into_iter()
                    .map(|(name, size)| {
                        let size = self.located(&size, *size.get_ref());
                        (name.into_inner(), size)
                    })
                    .collect(),
            });
        }
        Ok(checkpoints)
    }

    fn dim(&self, text: &Spanned<String>) -> Result<Dim, Error> {
        dim::parse(text.get_ref()).map_err(|message| self.error(text, message))
    }

    fn ident(&self, name: &Spanned<String>) -> Result<(), Error> {
        match syn::parse_str::<syn::Ident>(name.get_ref()) {
            Ok(_) => Ok(()),
            Err(_) => Err(self.error(name, format!("`{}` is no Rust name", name.get_ref()))),
        }
    }

    fn located<S, T>(&self, at: &Spanned<S>, value: T) -> Located<T> {
        Located {
            line: self.line(at),
            value,
        }
    }

    fn line<S>(&self, at: &Spanned<S>) -> usize {
        line_of(self.text, &at.span())
    }

    fn error<S>(&self, at: &Spanned<S>, message: impl Into<String>) -> Error {
        Error::at(self.file, self.line(at), message)
    }
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    1 + text
        .bytes()
        .take(span.start)
        .filter(|&b| b == b'\n')
        .count()
}
