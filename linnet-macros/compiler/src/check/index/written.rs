//! The parts of `index!` as written.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Expr;

use crate::check::body::Body;
use crate::check::slice::{is_punct, split};
use crate::check::source;
use crate::diagnostic::Rule;
use crate::ir::ReduceOp;

/// The parts of `index!` as written.
pub(super) struct Written {
    pub(super) outputs: Vec<(Ident, bool, Option<TokenStream>)>,
    pub(super) fold: Option<ReduceOp>,
    pub(super) reduced: Vec<(Ident, bool, Option<TokenStream>)>,
    pub(super) element: Expr,
}

impl Body<'_, '_> {
    /// Takes `[outputs] = fold[reduced] element` apart. None after an error.
    pub(super) fn parse_index(&mut self, tokens: &TokenStream, expr: &Expr) -> Option<Written> {
        let form = |body: &mut Self, message: &str, tokens: TokenStream| {
            let tokens = if tokens.is_empty() {
                expr.to_token_stream()
            } else {
                tokens
            };
            body.report(
                Rule::Syntax {
                    message: message.to_owned(),
                    help: Some("write `index!([b, o] = sum[i] x[b, i] * w[o, i])`".to_owned()),
                },
                tokens,
            );
        };
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let Some(TokenTree::Group(outputs)) = tokens.first() else {
            form(
                self,
                "`index!` starts with its outputs in brackets",
                TokenStream::new(),
            );
            return None;
        };
        if outputs.delimiter() != Delimiter::Bracket {
            form(
                self,
                "`index!` starts with its outputs in brackets",
                outputs.to_token_stream(),
            );
            return None;
        }
        if !tokens.get(1).is_some_and(|token| is_punct(token, '=')) {
            form(self, "`=` follows the outputs", TokenStream::new());
            return None;
        }
        let outputs = self.index_vars(&outputs.stream())?;
        let mut rest = &tokens[2..];
        let mut fold = None;
        let mut reduced = Vec::new();
        if let [TokenTree::Ident(name), TokenTree::Group(group), after @ ..] = rest
            && group.delimiter() == Delimiter::Bracket
            && let Some(op) = fold_op(&name.to_string())
            && !after.is_empty()
        {
            fold = Some(op);
            reduced = self.index_vars(&group.stream())?;
            if reduced.is_empty() {
                form(self, "the fold names no index", group.to_token_stream());
                return None;
            }
            rest = after;
        }
        if rest.is_empty() {
            form(self, "the element is missing", TokenStream::new());
            return None;
        }
        let element = bracketed(rest.iter().cloned().collect());
        match syn::parse2::<Expr>(element) {
            Ok(element) => Some(Written {
                outputs,
                fold,
                reduced,
                element,
            }),
            Err(error) => {
                self.report_all([error.into()]);
                None
            }
        }
    }

    /// `b, *s, m: M`.
    pub(super) fn index_vars(
        &mut self,
        tokens: &TokenStream,
    ) -> Option<Vec<(Ident, bool, Option<TokenStream>)>> {
        let mut vars = Vec::new();
        for part in split(tokens, ',') {
            let (pack, rest) = match &part[..] {
                [] => continue,
                [star, rest @ ..] if is_punct(star, '*') => (true, rest),
                rest => (false, rest),
            };
            match rest {
                [TokenTree::Ident(name)] => vars.push((name.clone(), pack, None)),
                [TokenTree::Ident(name), colon, extent @ ..]
                    if is_punct(colon, ':') && !extent.is_empty() =>
                {
                    vars.push((name.clone(), pack, Some(extent.iter().cloned().collect())));
                }
                _ => {
                    let tokens: TokenStream = part.into_iter().collect();
                    self.report(
                        Rule::Syntax {
                            message: format!("`{}` is no index", source::text(&tokens)),
                            help: Some(
                                "write a name, `*s` for a pack, or `m: M` with an extent"
                                    .to_owned(),
                            ),
                        },
                        tokens,
                    );
                    return None;
                }
            }
        }
        Some(vars)
    }
}

/// Rust's grammar has one expression in brackets after a value; the indices
/// become a tuple: `x[i, *s]` is read as `x[(i, *s)]`.
pub(super) fn bracketed(tokens: TokenStream) -> TokenStream {
    let mut result = TokenStream::new();
    let mut after_value = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let indexes = after_value && group.delimiter() == Delimiter::Bracket;
                let mut inner = bracketed(group.stream());
                if indexes {
                    let has_comma = inner.clone().into_iter().any(|token| is_punct(&token, ','));
                    if has_comma || inner.is_empty() {
                        let mut tuple = Group::new(Delimiter::Parenthesis, inner);
                        tuple.set_span(group.span());
                        inner = TokenTree::Group(tuple).into();
                    }
                }
                let mut copy = Group::new(group.delimiter(), inner);
                copy.set_span(group.span());
                after_value = group.delimiter() != Delimiter::Brace;
                result.extend([TokenTree::Group(copy)]);
            }
            TokenTree::Ident(name) => {
                let text = name.to_string();
                after_value = !matches!(text.as_str(), "if" | "else" | "in" | "return" | "match");
                result.extend([TokenTree::Ident(name)]);
            }
            other => {
                after_value = false;
                result.extend([other]);
            }
        }
    }
    result
}

pub(super) fn fold_op(name: &str) -> Option<ReduceOp> {
    Some(match name {
        "sum" => ReduceOp::Sum,
        "prod" => ReduceOp::Prod,
        "min" => ReduceOp::Min,
        "max" => ReduceOp::Max,
        "any" => ReduceOp::Any,
        "all" => ReduceOp::All,
        _ => return None,
    })
}
