//! The card as Rust.

use std::fmt::Write;

use linnet_compiler::ast::{BlockDecl, GenericArg};

use crate::card::{Allowed, Card, Checkpoint, Generic};
use crate::dim::{self, Values};

const RUNTIME: &str = "::linnet_runtime";

/// The text of `card.rs`.
pub(crate) fn emit(card: &Card, model: &BlockDecl) -> String {
    let mut code = String::new();
    emit_card(card, model, &mut code);
    for checkpoint in &card.checkpoints {
        emit_alias(card, model, checkpoint, &mut code);
    }
    if let Some(name) = &card.dyn_type {
        emit_dyn_alias(card, model, name, &mut code);
    }
    code
}

/// Writing to a string cannot fail.
macro_rules! line {
    ($code:expr, $($args:tt)*) => {
        let _ = writeln!($code, $($args)*);
    };
}

fn emit_card(card: &Card, model: &BlockDecl, code: &mut String) {
    line!(
        code,
        "/// What is known of {} outside its source.",
        card.name
    );
    line!(
        code,
        "pub static CARD: {RUNTIME}::card::Card = {RUNTIME}::card::Card {{"
    );
    line!(code, "    name: {:?},", card.name);
    line!(code, "    summary: {:?},", card.summary);
    line!(code, "    licence: {:?},", card.licence);
    line!(
        code,
        "    links: &{:?},",
        card.links.iter().collect::<Vec<_>>()
    );
    line!(code, "    model: {:?},", model.name.to_string());
    line!(code, "    generics: &[");
    for generic in &model.generics {
        let name = generic.name.to_string();
        if let Some(source) = card.generics.get(&name) {
            let source = generic_source(&source.value);
            line!(
                code,
                "        {RUNTIME}::card::GenericRule {{ name: {name:?}, source: {source} }},"
            );
        }
    }
    line!(code, "    ],\n    rules: &[");
    for rule in &card.rules {
        let allowed: Vec<String> = rule.allowed.iter().map(allowed).collect();
        line!(
            code,
            "        {RUNTIME}::card::Rule {{ keys: &{:?}, allowed: &[{}], optional: {}, about: {:?} }},",
            rule.keys,
            allowed.join(", "),
            rule.optional,
            rule.about
        );
    }
    line!(code, "    ],");
    line!(code, "    harmless: &{:?},", card.harmless);
    line!(code, "    checkpoints: &[");
    for checkpoint in &card.checkpoints {
        let dims: Vec<(&String, i64)> = checkpoint
            .dims
            .iter()
            .map(|(name, size)| (name, size.value))
            .collect();
        line!(
            code,
            "        {RUNTIME}::card::Known {{ name: {:?}, alias: {:?}, repository: {:?}, parameters: {}, dims: &{dims:?} }},",
            checkpoint.name,
            checkpoint.alias,
            checkpoint.repository,
            checkpoint.parameters
        );
    }
    line!(code, "    ],\n    names: {RUNTIME}::weights::NameRules {{");
    line!(code, "        prefixes: &{:?},", card.prefixes);
    line!(code, "        tensors: &[");
    for (member, stored) in &card.tensors {
        line!(
            code,
            "            // {} = {}",
            member.value.text,
            stored.text
        );
        line!(
            code,
            "            ({}, {}),",
            member.value.constant(),
            stored.constant()
        );
    }
    line!(code, "        ],\n        ignore: &[");
    for pattern in &card.ignore {
        line!(code, "            {},", pattern.constant());
    }
    line!(
        code,
        "        ],\n        tied: &{:?},\n    }},\n}};",
        card.tied
    );
}

fn generic_source(source: &Generic) -> String {
    let path = format!("{RUNTIME}::card::GenericSource");
    match source {
        Generic::Config { keys, default, max } => {
            let default = default.as_ref().map_or("None".to_owned(), |dim| {
                format!("Some({})", dim::constant(dim))
            });
            format!("{path}::Config {{ keys: &{keys:?}, default: {default}, max: {max} }}")
        }
        Generic::Chosen { default, max } => {
            format!(
                "{path}::Chosen {{ default: {}, max: {max} }}",
                dim::constant(default)
            )
        }
        Generic::DType => format!("{path}::DType"),
    }
}

fn allowed(allowed: &Allowed) -> String {
    let path = format!("{RUNTIME}::card::Allowed");
    match allowed {
        Allowed::Null => format!("{path}::Null"),
        Allowed::Bool(value) => format!("{path}::Bool({value})"),
        Allowed::Number(value) => format!("{path}::Number({value:?})"),
        Allowed::Text(value) => format!("{path}::Text({value:?})"),
        Allowed::Dim(value) => format!("{path}::Dim({})", dim::constant(value)),
        Allowed::Cycle(texts, length) => {
            format!("{path}::Cycle(&{texts:?}, {})", dim::constant(length))
        }
    }
}

/// `pub type Gpt2<Batch = Const<1>, .., T = f32> = Model<Const<50257>, .., Batch, .., T>;`
fn emit_alias(card: &Card, model: &BlockDecl, checkpoint: &Checkpoint, code: &mut String) {
    let sizes: Values = checkpoint
        .dims
        .iter()
        .map(|(name, size)| (name.clone(), size.value))
        .collect();
    let (mut params, mut args) = (Vec::new(), Vec::new());
    for generic in &model.generics {
        let name = generic.name.to_string();
        match card.generics.get(&name).map(|source| &source.value) {
            Some(Generic::Config { .. }) => {
                args.push(constant_dim(sizes.get(&name).copied().unwrap_or(0)))
            }
            Some(Generic::Chosen { default, .. }) => {
                // Checked with the requirements: the default has a value.
                let size = dim::value(default, &sizes).unwrap_or(0);
                params.push(format!("{name} = {}", constant_dim(size)));
                args.push(name);
            }
            _ => {
                params.push(format!(
                    "{name} = {}",
                    default_dtype(generic.default.as_ref())
                ));
                args.push(name);
            }
        }
    }
    line!(
        code,
        "\n/// [`{}`] with the dimensions of `{}`.",
        path(card),
        checkpoint.name
    );
    let Checkpoint { alias, .. } = checkpoint;
    line!(
        code,
        "pub type {alias}{} = {}<{}>;",
        angles(&params),
        path(card),
        args.join(", ")
    );
}

/// The same with every dimension known only when a model is loaded.
fn emit_dyn_alias(card: &Card, model: &BlockDecl, alias: &str, code: &mut String) {
    let (mut params, mut args) = (Vec::new(), Vec::new());
    for generic in &model.generics {
        let name = generic.name.to_string();
        match card.generics.get(&name).map(|source| &source.value) {
            Some(Generic::DType) => {
                params.push(format!(
                    "{name} = {}",
                    default_dtype(generic.default.as_ref())
                ));
                args.push(name);
            }
            _ => args.push(format!("{RUNTIME}::Dyn")),
        }
    }
    line!(
        code,
        "\n/// [`{}`] of any size: its dimensions are known when it is loaded.",
        path(card)
    );
    line!(
        code,
        "pub type {alias}{} = {}<{}>;",
        angles(&params),
        path(card),
        args.join(", ")
    );
}

fn path(card: &Card) -> String {
    let path = card.model.value.trim();
    if path.starts_with("crate::") || path.starts_with("::") {
        path.to_owned()
    } else {
        format!("crate::{path}")
    }
}

fn angles(params: &[String]) -> String {
    if params.is_empty() {
        String::new()
    } else {
        format!("<{}>", params.join(", "))
    }
}

fn constant_dim(size: i64) -> String {
    format!("{RUNTIME}::Const<{size}>")
}

fn default_dtype(default: Option<&GenericArg>) -> String {
    match default {
        Some(GenericArg::DType(dtype, _)) => rust_dtype(*dtype).to_owned(),
        _ => "f32".to_owned(),
    }
}

fn rust_dtype(dtype: linnet_compiler::ir::DType) -> &'static str {
    use linnet_compiler::ir::DType;
    match dtype {
        DType::F32 => "f32",
        DType::F16 => "::linnet_runtime::f16",
        DType::BF16 => "::linnet_runtime::bf16",
        DType::I8 => "i8",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::U8 => "u8",
        DType::Bool => "bool",
    }
}
