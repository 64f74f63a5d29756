//! From a `config.json` to the values of a model's generics.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::{ConfigError, ConfigProblem};
use super::words::{looks_arithmetic, matches};
use super::{Allowed, Card, GenericRule, GenericSource, Rule};
use crate::block::StaticArg;
use crate::descriptor::{BlockDescriptor, DimExpr, Requirement};
use crate::dtype::DType;
use crate::env::{Env, GenericValue};
use crate::quant::Scheme;
use crate::quant::scheme::{KEY, SchemeProblem};
use crate::weights::GenericValues;

/// The characters of a value that a message shows.
const SHOWN: usize = 80;

/// What `quantization_config` decides.
const ABOUT_SCHEME: &str = "how the weights are stored";

/// What whoever loads a model decides: generics that the config leaves open,
/// and unknown config keys that are known to change nothing.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    generics: BTreeMap<String, GenericValue>,
    accepted_keys: Vec<String>,
}

impl Choices {
    /// No choices: every open generic has the card's default.
    pub fn new() -> Choices {
        Choices::default()
    }

    /// Sets a dimension that the card leaves open, such as `Batch` or `MaxSeq`.
    pub fn dim(mut self, name: impl Into<String>, size: usize) -> Choices {
        self.generics.insert(name.into(), GenericValue::Dim(size));
        self
    }

    /// Sets a dtype generic, such as `T`. Only for models whose type does not
    /// say it already.
    pub fn dtype(mut self, name: impl Into<String>, dtype: DType) -> Choices {
        self.generics
            .insert(name.into(), GenericValue::DType(dtype));
        self
    }

    /// The rows of the caches: the generic `Batch`.
    pub fn batch(self, rows: usize) -> Choices {
        self.dim("Batch", rows)
    }

    /// The positions of the caches: the generic `MaxSeq`.
    pub fn max_seq(self, positions: usize) -> Choices {
        self.dim("MaxSeq", positions)
    }

    /// Accepts a config key that the card does not know. Its value changes nothing.
    pub fn accept_key(mut self, key: impl Into<String>) -> Choices {
        self.accepted_keys.push(key.into());
        self
    }
}

/// A model's generics, bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The values, in the order of the model's declaration.
    pub values: GenericValues,
    /// Keys of the config that nobody knows and that change nothing by their names.
    pub ignored_keys: Vec<String>,
    /// How affine maps are stored in few bits, if the config says so.
    pub quantisation: Option<Scheme>,
}

impl Card {
    /// Binds the generics of the model `block` from its parsed `config.json`, which
    /// `origin` names in messages, from `choices`, and from what the model's Rust
    /// type says (`static_args`, or none of it).
    ///
    /// Keys of the config are bound, compared with the values that the model
    /// computes, or listed as harmless. A key that is none of these is accepted
    /// if its value is null, false or empty, which turns a feature off, or if no
    /// word in it is one that models use for their arithmetic; such keys are
    /// listed in [`Bound::ignored_keys`]. Every other unknown key is an error.
    /// A `quantization_config` that is a [`Scheme`] holds for every model.
    ///
    /// # Errors
    ///
    /// One [`ConfigError`] with every problem: keys that are missing, of the
    /// wrong type, out of range or in conflict; settings that the model does not
    /// compute; requirements that do not hold; a type that disagrees.
    pub fn bind(
        &self,
        block: &BlockDescriptor,
        config: &Value,
        origin: &str,
        choices: &Choices,
        static_args: &[StaticArg],
    ) -> Result<Bound, ConfigError> {
        let fail = |problems| ConfigError {
            origin: origin.to_owned(),
            model: self.name,
            problems,
        };
        if !config.is_object() {
            return Err(fail(vec![ConfigProblem::NotAnObject {
                found: show(config),
            }]));
        }
        let (scheme, rest) = Scheme::split(config).unzip();
        let config = rest.as_ref().unwrap_or(config);
        let mut binder = Binder {
            card: self,
            config,
            choices,
            env: Env::default(),
            sources: BTreeMap::new(),
            problems: Vec::new(),
        };
        binder.bind_config();
        binder.bind_open(block, static_args);
        binder.check_type(block, static_args);
        binder.check_choices();
        binder.check_rules();
        let quantisation = binder.check_scheme(scheme);
        let ignored_keys = binder.check_unknown();
        if binder.problems.is_empty() {
            binder.check_requirements(block);
        }
        let values = binder.values(block);
        match values {
            Some(values) if binder.problems.is_empty() => Ok(Bound {
                values,
                ignored_keys,
                quantisation,
            }),
            _ => Err(fail(binder.problems)),
        }
    }
}

struct Binder<'a> {
    card: &'a Card,
    config: &'a Value,
    choices: &'a Choices,
    env: Env,
    /// Where the value of each generic came from, for messages: `n_embd`.
    sources: BTreeMap<&'static str, String>,
    problems: Vec<ConfigProblem>,
}

impl Binder<'_> {
    fn bind_config(&mut self) {
        for GenericRule { name, source } in self.card.generics {
            let GenericSource::Config { keys, default, max } = *source else {
                continue;
            };
            match self.config_value(name, keys, max) {
                Found::Size(size, key) => self.set(name, GenericValue::Dim(size), key.to_owned()),
                Found::Nothing => match default {
                    Some(default) => self.bind_default(name, &default, max),
                    None => self.problems.push(ConfigProblem::Missing {
                        key: keys.first().copied().unwrap_or(name).to_owned(),
                        expected: whole_number(max),
                        generic: name,
                    }),
                },
                Found::Problem => {}
            }
        }
    }

    /// The value of the first of `keys` that is there, if the others agree.
    fn config_value(
        &mut self,
        generic: &'static str,
        keys: &'static [&'static str],
        max: u64,
    ) -> Found {
        let mut found: Option<(usize, &'static str)> = None;
        for &key in keys {
            let value = match lookup(self.config, key) {
                None | Some(Value::Null) => continue,
                Some(value) => value,
            };
            let size = value
                .as_u64()
                .filter(|size| (1..=max).contains(size))
                .and_then(|size| usize::try_from(size).ok());
            let Some(size) = size else {
                self.problems.push(ConfigProblem::Value {
                    key: key.to_owned(),
                    value: show(value),
                    expected: whole_number(max),
                    generic,
                });
                return Found::Problem;
            };
            match found {
                Some((first, first_key)) if first != size => {
                    self.problems.push(ConfigProblem::Conflict {
                        first: first_key.to_owned(),
                        first_value: first.to_string(),
                        second: key.to_owned(),
                        second_value: size.to_string(),
                        generic,
                    });
                    return Found::Problem;
                }
                Some(_) => {}
                None => found = Some((size, key)),
            }
        }
        found.map_or(Found::Nothing, |(size, key)| Found::Size(size, key))
    }

    fn bind_default(&mut self, generic: &'static str, default: &DimExpr, max: u64) {
        if self.names_unbound(default) {
            // A problem with what it depends on stands already.
            return;
        }
        let size = self.env.size(default).map_err(|e| e.to_string());
        match size {
            Ok(size) if size as u64 <= max => {
                self.set(
                    generic,
                    GenericValue::Dim(size),
                    format!("the default, {default}"),
                );
            }
            Ok(size) => self.problems.push(ConfigProblem::Default {
                generic,
                message: format!("its default, {default}, is {size}, more than {max}"),
            }),
            Err(message) => self
                .problems
                .push(ConfigProblem::Default { generic, message }),
        }
    }

    /// Binds what the config leaves open: from the model's type, a choice, or the default.
    fn bind_open(&mut self, block: &BlockDescriptor, static_args: &[StaticArg]) {
        for GenericRule { name, source } in self.card.generics {
            let in_type = static_arg(block, static_args, name);
            let choice = self.choices.generics.get(*name).copied();
            match (*source, in_type, choice) {
                (GenericSource::Config { .. }, ..) => {}
                (_, Some(value), _) => self.set(name, value, "the model's type".to_owned()),
                (GenericSource::Chosen { max, .. }, None, Some(GenericValue::Dim(size))) => {
                    if (1..=max).contains(&(size as u64)) {
                        self.set(name, GenericValue::Dim(size), "as chosen".to_owned());
                    } else {
                        self.problems.push(ConfigProblem::Choice {
                            name,
                            value: size.to_string(),
                            expected: whole_number(max),
                        });
                    }
                }
                (GenericSource::DType, None, Some(GenericValue::DType(dtype))) => {
                    self.set(name, GenericValue::DType(dtype), "as chosen".to_owned());
                }
                (GenericSource::Chosen { .. }, None, Some(value)) => {
                    self.problems.push(ConfigProblem::Choice {
                        name,
                        value: value.to_string(),
                        expected: "a dimension".to_owned(),
                    });
                }
                (GenericSource::DType, None, Some(value)) => {
                    self.problems.push(ConfigProblem::Choice {
                        name,
                        value: value.to_string(),
                        expected: "a dtype".to_owned(),
                    });
                }
                (GenericSource::Chosen { default, max }, None, None) => {
                    self.bind_default(name, &default, max)
                }
                // The type of a model always says its dtypes; without a type it is f32.
                (GenericSource::DType, None, None) => {
                    self.set(
                        name,
                        GenericValue::DType(DType::F32),
                        "the default".to_owned(),
                    );
                }
            }
        }
    }

    /// Compares what the type says with the config and the choices.
    fn check_type(&mut self, block: &BlockDescriptor, static_args: &[StaticArg]) {
        for GenericRule { name, source } in self.card.generics {
            let Some(in_type) = static_arg(block, static_args, name) else {
                continue;
            };
            let (other, source_of, help) = match source {
                GenericSource::Config { .. } => {
                    let key = self.sources.get(name).cloned().unwrap_or_default();
                    (self.env.get(name), key, self.type_help())
                }
                _ => {
                    let choice = self.choices.generics.get(*name).copied();
                    (
                        choice,
                        "the choice".to_owned(),
                        "make it Dyn, or do not choose".to_owned(),
                    )
                }
            };
            if let Some(value) = other.filter(|value| *value != in_type) {
                self.problems.push(ConfigProblem::Type {
                    generic: name,
                    in_type: in_type.to_string(),
                    source_of,
                    value: value.to_string(),
                    help,
                });
            }
        }
    }

    /// Which type would have fitted.
    fn type_help(&self) -> String {
        let values = self.env.entries().iter().copied().collect();
        match self.card.checkpoint_matching(&values) {
            Some(known) => format!("this is {}: load it as `{}`", known.name, known.alias),
            None => "load it as the type with `Dyn` dimensions".to_owned(),
        }
    }

    fn check_choices(&mut self) {
        let open: Vec<&str> = self
            .card
            .generics
            .iter()
            .filter(|generic| !matches!(generic.source, GenericSource::Config { .. }))
            .map(|generic| generic.name)
            .collect();
        for name in self.choices.generics.keys() {
            if !open.contains(&name.as_str()) {
                self.problems.push(ConfigProblem::NotAChoice {
                    name: name.clone(),
                    model: self.card.name,
                    open: open.join(", "),
                });
            }
        }
    }

    fn check_rules(&mut self) {
        for rule in self.card.rules {
            let found: Vec<(&str, &Value)> = rule
                .keys
                .iter()
                .filter_map(|key| Some((*key, lookup(self.config, key)?)))
                .collect();
            if found.is_empty() && rule.optional {
                continue;
            }
            // A comparison with a generic that has no value would only repeat its problem.
            let open = rule.allowed.iter().any(|allowed| match allowed {
                Allowed::Dim(dim) | Allowed::Cycle(_, dim) => self.names_unbound(dim),
                _ => false,
            });
            if open {
                continue;
            }
            let (about, expected) = (rule.about, self.expected(rule));
            if found.is_empty() {
                self.problems.push(ConfigProblem::RuleMissing {
                    key: rule.keys.join(" or "),
                    expected,
                    about,
                });
                continue;
            }
            // Every spelling that is there must say what is computed.
            for (key, value) in found {
                if !rule
                    .allowed
                    .iter()
                    .any(|allowed| self.allows(allowed, value))
                {
                    self.problems.push(ConfigProblem::Refused {
                        key: key.to_owned(),
                        value: show(value),
                        expected: expected.clone(),
                        about,
                    });
                }
            }
        }
    }

    fn allows(&self, allowed: &Allowed, value: &Value) -> bool {
        match allowed {
            Allowed::Null => value.is_null(),
            Allowed::Bool(expected) => value.as_bool() == Some(*expected),
            Allowed::Number(expected) => value.as_f64() == Some(*expected),
            Allowed::Text(expected) => value.as_str() == Some(expected),
            Allowed::Dim(dim) => {
                let expected = self.env.eval(dim).ok();
                expected.is_some() && value.as_i64() == expected
            }
            Allowed::Cycle(texts, length) => {
                let expected = self.env.size(length).ok();
                value.as_array().is_some_and(|items| {
                    expected == Some(items.len())
                        && items
                            .iter()
                            .zip(texts.iter().cycle())
                            .all(|(item, text)| item.as_str() == Some(text))
                })
            }
        }
    }

    fn expected(&self, rule: &Rule) -> String {
        let values: Vec<String> = rule
            .allowed
            .iter()
            .map(|allowed| match allowed {
                Allowed::Null => "null".to_owned(),
                Allowed::Bool(value) => value.to_string(),
                Allowed::Number(value) => value.to_string(),
                Allowed::Text(value) => format!("{value:?}"),
                Allowed::Dim(dim) => match self.env.eval(dim) {
                    Ok(value) => format!("{dim} = {value}"),
                    Err(_) => dim.to_string(),
                },
                Allowed::Cycle(texts, length) => match self.env.eval(length) {
                    Ok(n) => format!("{texts:?} in turn, {length} = {n} of them"),
                    Err(_) => format!("{texts:?} in turn, {length} of them"),
                },
            })
            .collect();
        values.join(" or ")
    }

    fn check_scheme(
        &mut self,
        scheme: Option<Result<Scheme, Vec<SchemeProblem>>>,
    ) -> Option<Scheme> {
        let problems = match scheme? {
            Ok(scheme) => return Some(scheme),
            Err(problems) => problems,
        };
        self.problems.extend(problems.into_iter().map(|problem| {
            let SchemeProblem {
                key,
                value,
                expected,
            } = problem;
            match value {
                Some(value) => ConfigProblem::Refused {
                    key,
                    value: show(&value),
                    expected,
                    about: ABOUT_SCHEME,
                },
                None => ConfigProblem::RuleMissing {
                    key,
                    expected,
                    about: ABOUT_SCHEME,
                },
            }
        }));
        None
    }

    /// Keys that nobody knows: those that may matter are problems, the others are returned.
    fn check_unknown(&mut self) -> Vec<String> {
        let Some(object) = self.config.as_object() else {
            return Vec::new();
        };
        let mut ignored = Vec::new();
        for (key, value) in object {
            if is_off(value) {
                continue;
            }
            if self.is_known(key) {
                self.check_unknown_within(key, value);
                continue;
            }
            let accepted = self.choices.accepted_keys.contains(key);
            if key == KEY && !accepted {
                let method = &value["quant_method"];
                self.problems.push(ConfigProblem::Refused {
                    key: format!("{KEY}.quant_method"),
                    value: show(method),
                    expected: "\"linnet\"".to_owned(),
                    about: ABOUT_SCHEME,
                });
            } else if looks_arithmetic(key) && !accepted {
                self.problems.push(ConfigProblem::Unknown {
                    key: key.clone(),
                    value: show(value),
                });
            } else {
                ignored.push(key.clone());
            }
        }
        ignored
    }

    /// The same for an object that known keys lead into. All that such an object
    /// says matters.
    fn check_unknown_within(&mut self, key: &str, value: &Value) {
        let Some(object) = value.as_object() else {
            return;
        };
        let inside = format!("{key}.");
        if !self.paths().any(|path| path.starts_with(&inside)) {
            return;
        }
        for (name, value) in object {
            let path = format!("{inside}{name}");
            let known = self.paths().any(|known| known == path)
                || self
                    .card
                    .harmless
                    .iter()
                    .any(|pattern| matches(pattern, &path));
            if !known && !is_off(value) && !self.choices.accepted_keys.contains(&path) {
                self.problems.push(ConfigProblem::Unknown {
                    key: path,
                    value: show(value),
                });
            }
        }
    }

    /// The keys that bind generics or have rules.
    fn paths(&self) -> impl Iterator<Item = &'static str> {
        let generics = self
            .card
            .generics
            .iter()
            .flat_map(|generic| match generic.source {
                GenericSource::Config { keys, .. } => keys,
                _ => &[],
            });
        let rules = self.card.rules.iter().flat_map(|rule| rule.keys);
        generics.chain(rules).copied()
    }

    fn is_known(&self, key: &str) -> bool {
        self.paths().any(|path| path.split('.').next() == Some(key))
            || self
                .card
                .harmless
                .iter()
                .any(|pattern| matches(pattern, key))
    }

    fn check_requirements(&mut self, block: &BlockDescriptor) {
        for requirement in block.requires {
            let Requirement::Compare {
                left, right, text, ..
            } = requirement
            else {
                continue;
            };
            if self.env.check(block.name, requirement).is_ok() {
                continue;
            }
            let mut names = Vec::new();
            left.names(&mut names);
            right.names(&mut names);
            let values: Vec<String> = names
                .iter()
                .map(|name| {
                    let value = self
                        .env
                        .get(name)
                        .map_or_else(|| "unknown".to_owned(), |value| value.to_string());
                    match self.sources.get(name) {
                        Some(source) => format!("{name} is {value} ({source})"),
                        None => format!("{name} is {value}"),
                    }
                })
                .collect();
            let clause = (*text).to_owned();
            self.problems.push(ConfigProblem::Requirement {
                clause,
                values: values.join(" and "),
            });
        }
    }

    fn values(&mut self, block: &BlockDescriptor) -> Option<GenericValues> {
        let mut values = GenericValues::new();
        for generic in block.generics {
            match self.env.get(generic.name) {
                Some(value) => values.set(generic.name, value),
                None if self.problems.is_empty() => {
                    self.problems.push(ConfigProblem::NotInCard {
                        model: self.card.name,
                        generic: generic.name,
                    });
                    return None;
                }
                None => return None,
            }
        }
        Some(values)
    }

    fn set(&mut self, name: &'static str, value: GenericValue, source: String) {
        self.env.bind(name, value);
        self.sources.insert(name, source);
    }

    fn names_unbound(&self, dim: &DimExpr) -> bool {
        let mut names = Vec::new();
        dim.names(&mut names);
        names.iter().any(|name| self.env.get(name).is_none())
    }
}

/// What a config says of a generic.
enum Found {
    Size(usize, &'static str),
    Nothing,
    Problem,
}

/// What the model's type says of a generic, if it says anything.
fn static_arg(
    block: &BlockDescriptor,
    static_args: &[StaticArg],
    name: &str,
) -> Option<GenericValue> {
    let i = block
        .generics
        .iter()
        .position(|generic| generic.name == name)?;
    match static_args.get(i)? {
        StaticArg::Dim(size) => size.map(GenericValue::Dim),
        StaticArg::DType(dtype) => Some(GenericValue::DType(*dtype)),
    }
}

/// The value at a path of keys.
fn lookup<'a>(config: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(config, |value, key| value.as_object()?.get(key))
}

/// Whether a value turns a feature off, whatever the feature is.
fn is_off(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

fn whole_number(max: u64) -> String {
    format!("a whole number from 1 to {max}")
}

/// A value as JSON, shortened.
fn show(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
