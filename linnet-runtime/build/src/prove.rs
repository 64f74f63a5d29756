//! The card against the model's source: its generics, its members, and its
//! requirements on the numbers of every known checkpoint.

use std::collections::BTreeSet;

use linnet_compiler::ast::{BlockDecl, Dim, Member, MemberKind, Requirement, RequirementKind};
use linnet_compiler::ir::{Comparison, GenericKind};

use crate::card::{Allowed, Card, Checkpoint, Generic};
use crate::dim::{self, Values};
use crate::error::Error;
use crate::pattern::{Pattern, Piece};
use crate::source::Source;

/// Checks everything; returns the model's declaration.
pub(crate) fn prove<'a>(
    file: &str,
    card: &Card,
    source: &'a Source,
) -> Result<&'a BlockDecl, Error> {
    let model = find_model(file, card, source)?;
    check_generics(file, card, model)?;
    check_expressions(file, card)?;
    for (pattern, _) in &card.tensors {
        check_member(&pattern.value, model, source)
            .map_err(|message| Error::at(file, pattern.line, message))?;
    }
    for checkpoint in &card.checkpoints {
        check_checkpoint(file, card, model, checkpoint)?;
    }
    Ok(model)
}

fn find_model<'a>(file: &str, card: &Card, source: &'a Source) -> Result<&'a BlockDecl, Error> {
    let path = &card.model.value;
    let name = path.rsplit("::").next().unwrap_or(path).trim();
    if let Some(block) = source.block(name) {
        return Ok(block);
    }
    let count = source
        .blocks
        .iter()
        .filter(|block| block.name == name)
        .count();
    let message = match (&source.broken, count) {
        (_, 2..) => {
            format!("`src` has {count} blocks named `{name}`; the model's name must be its own")
        }
        (Some(broken), _) => format!(
            "`src` has no `#[block] struct {name}`, perhaps since it is not Rust ({broken})"
        ),
        (None, _) => format!("`src` has no `#[block] struct {name}`"),
    };
    Err(Error::at(file, card.model.line, message))
}

fn check_generics(file: &str, card: &Card, model: &BlockDecl) -> Result<(), Error> {
    for generic in &model.generics {
        let name = generic.name.to_string();
        let Some(source) = card.generics.get(&name) else {
            let message = format!(
                "`[generics]` does not say what `{name}` of `{}` is",
                model.name
            );
            return Err(Error::at(file, card.model.line, message));
        };
        let is_dim = generic.kind == GenericKind::Dim;
        if is_dim == matches!(source.value, Generic::DType) {
            let what = if is_dim { "a dimension" } else { "a dtype" };
            return Err(Error::at(
                file,
                source.line,
                format!("`{name}` of `{}` is {what}", model.name),
            ));
        }
    }
    for (name, source) in &card.generics {
        if !model.generics.iter().any(|generic| generic.name == name) {
            return Err(Error::at(
                file,
                source.line,
                format!("`{}` has no generic `{name}`", model.name),
            ));
        }
    }
    Ok(())
}

/// Expressions may name dimensions that the config or an earlier default binds.
fn check_expressions(file: &str, card: &Card) -> Result<(), Error> {
    let from_config: BTreeSet<&str> = card
        .generics
        .iter()
        .filter(|(_, generic)| matches!(generic.value, Generic::Config { default: None, .. }))
        .map(|(name, _)| name.as_str())
        .collect();
    let check = |dim: &Dim| {
        let mut unknown = None;
        dim::visit_names(dim, &mut |name| {
            if !from_config.contains(name.as_str()) {
                unknown = Some(name);
            }
        });
        unknown.map(|name| format!("`{name}` is no generic that a key of the config always sets"))
    };
    for generic in card.generics.values() {
        let default = match &generic.value {
            Generic::Config { default, .. } => default.as_ref(),
            Generic::Chosen { default, .. } => Some(default),
            Generic::DType => None,
        };
        if let Some(message) = default.and_then(check) {
            return Err(Error::at(file, generic.line, message));
        }
    }
    for rule in &card.rules {
        for allowed in &rule.allowed {
            let (Allowed::Dim(dim) | Allowed::Cycle(_, dim)) = allowed else {
                continue;
            };
            let mut unknown = None;
            dim::visit_names(dim, &mut |name| {
                if !card.generics.contains_key(&name) {
                    unknown = Some(name);
                }
            });
            if let Some(name) = unknown {
                return Err(Error::new(
                    file,
                    format!(
                        "the rule for `{}`: there is no generic `{name}`",
                        rule.keys[0]
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Follows the member path of a pattern as far as this crate's source goes.
fn check_member(pattern: &Pattern, model: &BlockDecl, source: &Source) -> Result<(), String> {
    // Numbers stand for themselves here; what follows a `*` is open.
    let mut text = String::new();
    for piece in &pattern.pieces {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Number { .. } => text.push('0'),
            Piece::Rest => text.push('*'),
        }
    }
    let mut block = model;
    let mut segments = text.split('.');
    while let Some(name) = segments.next() {
        if name == "*" {
            return Ok(());
        }
        let wrong = |what: &str| Err(format!("the pattern `{}`: {what}", pattern.text));
        let Some(member) = block.members.iter().find(|member| member.name == name) else {
            return wrong(&format!(
                "`{}` has no member `{name}`{}",
                block.name,
                members_of(block)
            ));
        };
        let MemberKind::Sub { ty, length, .. } = &member.kind else {
            return match (&member.kind, segments.next()) {
                (MemberKind::State(_), _) => {
                    wrong(&format!("`{name}` is a state, which no checkpoint has"))
                }
                (_, Some(_)) => wrong(&format!("`{name}` is a tensor and has no members")),
                _ => Ok(()),
            };
        };
        if length.is_some() {
            match segments.next() {
                Some("*") => return Ok(()),
                Some(index) if index.bytes().all(|b| b.is_ascii_digit()) => {}
                _ => return wrong(&format!("`{name}` is an array: write `{name}.{{i}}`")),
            }
        }
        let inner = ty
            .path
            .segments
            .last()
            .and_then(|segment| source.block(&segment.ident.to_string()));
        match inner {
            Some(inner) => block = inner,
            // A block of another crate: its members are checked when a checkpoint is loaded.
            None => return Ok(()),
        }
    }
    Err(format!(
        "the pattern `{}` names a block; end it with `.*` or with a tensor",
        pattern.text
    ))
}

fn members_of(block: &BlockDecl) -> String {
    let name = |member: &Member| format!("`{}`", member.name);
    let names: Vec<String> = block.members.iter().map(name).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("; it has {}", names.join(", "))
    }
}

fn check_checkpoint(
    file: &str,
    card: &Card,
    model: &BlockDecl,
    checkpoint: &Checkpoint,
) -> Result<(), Error> {
    let error = |line, message: String| {
        Err(Error::at(
            file,
            line,
            format!("{}: {message}", checkpoint.name),
        ))
    };
    let mut values = Values::new();
    for (name, generic) in &card.generics {
        let Generic::Config { max, .. } = &generic.value else {
            continue;
        };
        let Some(size) = checkpoint.dims.get(name) else {
            return error(
                checkpoint.line,
                format!("`dims` does not say what `{name}` is"),
            );
        };
        let allowed = 1..=i64::try_from(*max).unwrap_or(i64::MAX);
        if !allowed.contains(&size.value) {
            return error(
                size.line,
                format!("`{name}` = {} is not from 1 to {max}", size.value),
            );
        }
        values.insert(name.clone(), size.value);
    }
    if let Some((name, size)) = checkpoint
        .dims
        .iter()
        .find(|(name, _)| !values.contains_key(*name))
    {
        return error(
            size.line,
            format!("`{name}` is no generic that the config sets"),
        );
    }
    for (name, generic) in &card.generics {
        if let Generic::Chosen { default, .. } = &generic.value {
            match dim::value(default, &values) {
                Ok(value) => values.insert(name.clone(), value),
                Err(message) => return error(generic.line, message),
            };
        }
    }
    for requirement in &model.requires {
        if let Some(message) = broken(requirement, &values) {
            return error(checkpoint.line, format!("`{}` {message}", model.name));
        }
    }
    Ok(())
}

/// Says how a requirement does not hold, if it does not.
fn broken(requirement: &Requirement, values: &Values) -> Option<String> {
    let RequirementKind::Compare(left, comparison, right) = &requirement.kind else {
        return None;
    };
    let clause = requirement.tokens.to_string();
    let (a, b) = match (dim::value(left, values), dim::value(right, values)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(message), _) | (_, Err(message)) => {
            return Some(format!("requires `{clause}`, but {message}"));
        }
    };
    let holds = match comparison {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        Comparison::Ge => a >= b,
    };
    if holds {
        return None;
    }
    let mut names = BTreeSet::new();
    for side in [left, right] {
        dim::visit_names(side, &mut |name| {
            names.insert(name);
        });
    }
    let numbers: Vec<String> = names
        .iter()
        .filter_map(|name| Some(format!("{name} is {}", values.get(name)?)))
        .collect();
    Some(format!(
        "requires `{clause}`, but {}",
        numbers.join(" and ")
    ))
}
