//! Documentation of what the Rust items do not show: members and functions.

use crate::ast::{BlockDecl, FnDecl, GenericParam, MemberKind, Requirement};
use crate::ir::Receiver;
use crate::protocol::bound_name;
use crate::syntax::text;

/// What a block's struct holds, in the language.
pub(super) fn members(block: &BlockDecl) -> String {
    let mut lines = Vec::new();
    for member in &block.members {
        let (attribute, ty) = match &member.kind {
            MemberKind::Param(ty) => ("#[param] ", text(&ty.tokens)),
            MemberKind::State(ty) => ("#[state] ", text(&ty.tokens)),
            MemberKind::Sub {
                ty,
                length,
                optional,
            } => {
                let ty = text(&ty.tokens);
                let ty = match length {
                    Some(length) => format!("[{ty}; {}]", text(&length.tokens)),
                    None if *optional => format!("Option<{ty}>"),
                    None => ty,
                };
                ("", ty)
            }
        };
        lines.extend(comments(&member.attrs));
        lines.push(format!("{attribute}{}: {ty}", member.name));
    }
    if lines.is_empty() {
        return String::new();
    }
    let requires = require(&block.requires);
    format!("\n# Members\n\n{}", fenced(requires, lines))
}

/// What a block's functions are, in the language.
pub(super) fn functions(functions: &[FnDecl]) -> String {
    let mut text = "The functions that other blocks call on it.".to_owned();
    for function in functions {
        if !matches!(function.vis, syn::Visibility::Public(_)) {
            continue;
        }
        let mut lines = comments(&function.attrs);
        lines.extend(require(&function.requires));
        lines.push(signature(function));
        text.push_str("\n\n");
        text.push_str(&fenced(None, lines));
    }
    text
}

fn fenced(first: Option<String>, lines: Vec<String>) -> String {
    let lines: Vec<String> = first.into_iter().chain(lines).collect();
    format!("```text\n{}\n```", lines.join("\n"))
}

/// Doc comments as they were written.
fn comments(attrs: &[syn::Attribute]) -> Vec<String> {
    let mut lines = Vec::new();
    for attr in attrs {
        if let syn::Meta::NameValue(pair) = &attr.meta
            && pair.path.is_ident("doc")
            && let syn::Expr::Lit(literal) = &pair.value
            && let syn::Lit::Str(comment) = &literal.lit
        {
            // A fence of the author's would end ours.
            let comment = comment.value().replace("```", "'''");
            lines.extend(comment.lines().map(|line| format!("///{line}")));
        }
    }
    lines
}

fn require(requires: &[Requirement]) -> Option<String> {
    let clauses: Vec<String> = requires.iter().map(|clause| text(&clause.tokens)).collect();
    (!clauses.is_empty()).then(|| format!("#[require({})]", clauses.join(", ")))
}

fn signature(function: &FnDecl) -> String {
    let receiver = match function.receiver {
        Receiver::None => None,
        Receiver::Ref => Some("&self".to_owned()),
        Receiver::Mut => Some("&mut self".to_owned()),
    };
    let params = function.params.iter().map(|param| {
        let reference = if param.by_mut { "&mut " } else { "" };
        format!("{}: {reference}{}", param.name, text(&param.ty.tokens))
    });
    let params: Vec<String> = receiver.into_iter().chain(params).collect();
    let ret = match text(&function.ret.tokens) {
        unit if unit == "()" => String::new(),
        ret => format!(" -> {ret}"),
    };
    format!(
        "fn {}{}({}){ret}",
        function.name,
        generics(&function.generics),
        params.join(", ")
    )
}

fn generics(generics: &[GenericParam]) -> String {
    if generics.is_empty() {
        return String::new();
    }
    let params: Vec<String> = generics
        .iter()
        .map(|generic| format!("{}: {}", generic.name, bound_name(generic.kind)))
        .collect();
    format!("<{}>", params.join(", "))
}
