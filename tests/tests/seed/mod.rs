//! Blocks as the models' specifications write them.

use std::fmt::Write as _;

use linnet_runtime::descriptor::{BlockDescriptor, Generic, MemberKind, Type};

/// Items with commas between.
fn list<T: ToString>(items: &[T]) -> String {
    items
        .iter()
        .map(T::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn generics(generics: &[Generic]) -> String {
    if generics.is_empty() {
        String::new()
    } else {
        format!("<{}>", list(generics))
    }
}

/// A block as the specification writes it.
pub fn listing(block: &BlockDescriptor) -> String {
    let mut text = format!("{}{}\n", block.name, generics(block.generics));
    for member in block.members {
        let name = member.name;
        match member.kind {
            MemberKind::Param(ty) => writeln!(text, "  param {name}: {ty}"),
            MemberKind::State(ty) => writeln!(text, "  state {name}: {ty}"),
            MemberKind::Sub {
                block,
                args,
                length,
                optional,
            } => {
                let mut ty = format!("{}<{}>", block.name, list(args));
                if let Some(length) = length {
                    ty = format!("[{ty}; {length}]");
                }
                let optional = if optional { "?" } else { "" };
                writeln!(text, "  sub {name}: {ty}{optional}")
            }
        }
        .unwrap();
    }
    for function in block.functions {
        let public = if function.public { "pub " } else { "" };
        let kind = if function.entry { "entry" } else { "fn" };
        let params: Vec<String> = function
            .params
            .iter()
            .map(|param| format!("{}: {}", param.name, param.ty))
            .collect();
        let ret = if function.ret == Type::Unit {
            String::new()
        } else {
            format!(" -> {}", function.ret)
        };
        writeln!(
            text,
            "  {public}{kind} {}{}({}){ret}",
            function.name,
            generics(function.generics),
            params.join(", "),
        )
        .unwrap();
    }
    text
}
