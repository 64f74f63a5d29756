//! A whole source text: for build scripts, tools and tests.

use quote::ToTokens;

use super::item::{parse_impl, parse_op, parse_struct};
use crate::ast::{BlockDecl, FnDecl, ImplDecl, OpDecl, Signature, SignatureKind};
use crate::diagnostic::{Diagnostic, Rule};

/// The `#[block]` and `#[op]` items of a source text.
#[derive(Debug, Default)]
pub struct SourceFile {
    /// The blocks with their functions, in the order of their structs.
    pub blocks: Vec<(BlockDecl, ImplDecl)>,
    /// The operations, in the order of the source.
    pub ops: Vec<OpDecl>,
    /// Every form that the language does not have.
    pub errors: Vec<Diagnostic>,
}

impl SourceFile {
    /// The signatures that these paths name, found by their last names. A path
    /// that names nothing here has no signature in the result.
    pub fn signatures(&self, paths: &[syn::Path]) -> Vec<Signature> {
        paths
            .iter()
            .filter_map(|path| {
                let name = &path.segments.last()?.ident;
                let kind = self
                    .block_signature(name)
                    .or_else(|| self.op_signature(name))?;
                Some(Signature {
                    path: path.clone(),
                    kind,
                })
            })
            .collect()
    }

    fn block_signature(&self, name: &proc_macro2::Ident) -> Option<SignatureKind> {
        let (block, implementation) = self.blocks.iter().find(|(block, _)| block.name == *name)?;
        let functions = implementation.functions.iter().map(without_body).collect();
        Some(SignatureKind::Block(block.clone(), functions))
    }

    fn op_signature(&self, name: &proc_macro2::Ident) -> Option<SignatureKind> {
        let op = self.ops.iter().find(|op| op.function.name == *name)?;
        Some(SignatureKind::Op(OpDecl {
            kernel: op.kernel.clone(),
            function: without_body(&op.function),
        }))
    }
}

fn without_body(function: &FnDecl) -> FnDecl {
    FnDecl {
        body: None,
        ..function.clone()
    }
}

/// The `#[block]` and `#[op]` items of a source text, those of inline modules
/// included.
///
/// # Errors
/// Where the text is not Rust. Items that are Rust but not of the language
/// are in [`SourceFile::errors`].
pub fn parse_file(source: &str) -> syn::Result<SourceFile> {
    let file = syn::parse_file(source)?;
    let mut found = SourceFile::default();
    let mut impls = Vec::new();
    collect(file.items, &mut found, &mut impls);
    for implementation in impls {
        match found
            .blocks
            .iter_mut()
            .find(|(block, _)| block.name == implementation.block)
        {
            Some((_, empty)) => *empty = implementation,
            None => {
                let rule = Rule::Syntax {
                    message: format!("there is no `#[block] struct {}`", implementation.block),
                    help: Some("declare it above".to_owned()),
                };
                found
                    .errors
                    .push(Diagnostic::new(rule, &implementation.block));
            }
        }
    }
    Ok(found)
}

fn collect(items: Vec<syn::Item>, found: &mut SourceFile, impls: &mut Vec<ImplDecl>) {
    for item in items {
        match item {
            syn::Item::Struct(mut item) => {
                if take_attr(&mut item.attrs, "block").is_none() {
                    continue;
                }
                match parse_struct(item.into_token_stream()) {
                    Ok(parsed) => {
                        found.errors.extend(parsed.errors);
                        let empty = ImplDecl {
                            block: parsed.item.name.clone(),
                            functions: Vec::new(),
                        };
                        found.blocks.push((parsed.item, empty));
                    }
                    Err(errors) => found.errors.extend(errors),
                }
            }
            syn::Item::Impl(mut item) => {
                if take_attr(&mut item.attrs, "block").is_none() {
                    continue;
                }
                match parse_impl(item.into_token_stream()) {
                    Ok(parsed) => {
                        found.errors.extend(parsed.errors);
                        impls.push(parsed.item);
                    }
                    Err(errors) => found.errors.extend(errors),
                }
            }
            syn::Item::Fn(mut item) => {
                let Some(attr) = take_attr(&mut item.attrs, "op") else {
                    continue;
                };
                let args = match &attr.meta {
                    syn::Meta::List(list) => list.tokens.clone(),
                    _ => Default::default(),
                };
                match parse_op(args, item.into_token_stream()) {
                    Ok(parsed) => {
                        found.errors.extend(parsed.errors);
                        found.ops.push(parsed.item);
                    }
                    Err(errors) => found.errors.extend(errors),
                }
            }
            syn::Item::Mod(item) => {
                if let Some((_, items)) = item.content {
                    collect(items, found, impls);
                }
            }
            _ => {}
        }
    }
}

/// Removes the attribute whose last name is `name`.
fn take_attr(attrs: &mut Vec<syn::Attribute>, name: &str) -> Option<syn::Attribute> {
    let at = attrs.iter().position(|attr| {
        attr.path()
            .segments
            .last()
            .is_some_and(|last| last.ident == name)
    })?;
    Some(attrs.remove(at))
}
