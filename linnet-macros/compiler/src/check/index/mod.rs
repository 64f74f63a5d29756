//! `index!([outputs] = fold[reduced] element)`.

mod element;
mod scalar;
mod written;

use std::collections::HashMap;

use proc_macro2::{Ident, TokenStream};
use syn::Expr;

use super::body::{Body, Hint, Value};
use super::literal::{Class, I64};
use super::types::{Item, Type, show_dtype};
use crate::diagnostic::Rule;
use crate::ir::{IndexExpr, IndexVar, NodeOp, ReduceOp};

/// An index variable.
struct Var {
    name: Ident,
    pack: bool,
    reduced: bool,
    /// Its extent and what told it.
    extent: Option<(Item, String)>,
    /// Whether the element uses it at all.
    used: bool,
}

/// One `index!` while it is checked.
struct Notation {
    vars: Vec<Var>,
    /// Tensors that have been looked at, by their source.
    tensors: HashMap<String, Value>,
    /// How many errors there were before it.
    n_errors: usize,
}

impl Notation {
    fn var(&self, name: &str) -> Option<usize> {
        self.vars.iter().position(|var| var.name == name)
    }

    fn names(&self) -> Vec<String> {
        self.vars.iter().map(Var::text).collect()
    }
}

impl Var {
    fn text(&self) -> String {
        if self.pack {
            format!("*{}", self.name)
        } else {
            self.name.to_string()
        }
    }
}

impl Body<'_, '_> {
    /// A macro in a body.
    pub(crate) fn macro_expr(
        &mut self,
        mac: &syn::ExprMacro,
        hint: Hint<'_>,
        expr: &Expr,
    ) -> Value {
        let name = mac
            .mac
            .path
            .segments
            .last()
            .map(|segment| segment.ident.to_string());
        match name.as_deref() {
            Some("index") => self.index(&mac.mac.tokens, hint, expr),
            Some("s") => self.unsupported(
                "`s![..]` by itself",
                "write it as the argument of `.slice(..)`",
                expr,
            ),
            _ => self.unsupported(
                "this macro",
                "bodies have `index!`, and `s!` in `.slice(..)`",
                &mac.mac.path,
            ),
        }
    }

    fn index(&mut self, tokens: &TokenStream, hint: Hint<'_>, expr: &Expr) -> Value {
        let Some(written) = self.parse_index(tokens, expr) else {
            return Value::unknown();
        };
        let mut notation = Notation {
            vars: Vec::new(),
            tensors: HashMap::new(),
            n_errors: self.diagnostics.len(),
        };
        let mut failed = false;
        let reduced = written.reduced.iter().map(|var| (var, true));
        for ((name, pack, extent), reduced) in written
            .outputs
            .iter()
            .map(|var| (var, false))
            .chain(reduced)
        {
            if notation.var(&name.to_string()).is_some() {
                self.report(
                    Rule::IndexTwice {
                        index: name.to_string(),
                    },
                    name,
                );
                failed = true;
                continue;
            }
            let extent = match extent {
                Some(extent) => match self.declared_extent(extent, *pack) {
                    Some(item) => {
                        let text = format!("{name}: {item}");
                        Some((item, text))
                    }
                    None => {
                        failed = true;
                        Some((Item::Pack("?".to_owned()), String::new()))
                    }
                },
                None => None,
            };
            notation.vars.push(Var {
                name: name.clone(),
                pack: *pack,
                reduced,
                extent,
                used: false,
            });
        }
        let element_hint = match hint.dtype() {
            // What the context expects has an error: any dtype will do.
            None if hint.is_poisoned() => Some(I64),
            dtype => dtype.cloned(),
        };
        let element = self.scalar(&written.element, element_hint.as_ref(), &mut notation);
        let before = self.diagnostics.len();
        // A name without an extent may be the fault of an error in the element.
        if element.is_some() {
            for var in &notation.vars {
                if var.extent.is_none() {
                    self.without_extent(var);
                    failed = true;
                }
            }
        }
        let Some(element) = element else {
            return Value::unknown();
        };
        if failed || self.diagnostics.len() > before {
            return Value::unknown();
        }
        if let Some(fold) = written.fold
            && let Some(needs) = fold_needs(fold, self.class(&element.dtype))
        {
            return self.fail(
                Rule::OperandKind {
                    operator: fold_name(fold).to_owned(),
                    needs: needs.to_owned(),
                    found: show_dtype(&element.dtype),
                    help: None,
                },
                &written.element,
            );
        }
        let mut outputs = Vec::new();
        let mut reduced = Vec::new();
        let mut dims = Vec::new();
        for var in notation.vars {
            let Some((extent, _)) = var.extent else {
                return Value::unknown();
            };
            let entry = IndexVar {
                name: var.name.to_string(),
                extent: extent.to_ir(),
            };
            if var.reduced {
                reduced.push(entry);
            } else {
                dims.push(extent);
                outputs.push(entry);
            }
        }
        let ty = Type::tensor(dims, element.dtype.clone());
        let index = IndexExpr {
            outputs,
            reduce: written.fold,
            reduced,
            element,
        };
        self.emit(NodeOp::Index(Box::new(index)), ty, expr)
    }

    fn without_extent(&mut self, var: &Var) {
        let help = match (var.used, var.reduced, var.pack) {
            (_, false, false) => {
                format!("declare it where it stands: `[.., {}: N]`", var.name)
            }
            (false, true, _) => {
                format!("leave `{}` out, or index a tensor with it", var.text())
            }
            _ => format!(
                "index a tensor with it plainly, as in `x[.., {}]`",
                var.text()
            ),
        };
        let rule = Rule::IndexWithoutExtent {
            index: var.text(),
            reduced: var.reduced,
            help,
        };
        self.report(rule, &var.name);
    }

    /// The `M` of `[m: M]`.
    fn declared_extent(&mut self, tokens: &TokenStream, pack: bool) -> Option<Item> {
        let expr: Expr = match syn::parse2(tokens.clone()) {
            Ok(expr) => expr,
            Err(error) => {
                self.report_all([error.into()]);
                return None;
            }
        };
        let item = self.written_item(&expr)?;
        if pack != matches!(item, Item::Pack(_)) {
            self.report(
                Rule::IndexPack {
                    what: format!("the extent `{item}` does not fit its index"),
                    help: Some("write `*s: *S` for a pack, `m: M` for an axis".to_owned()),
                },
                tokens,
            );
            return None;
        }
        Some(item)
    }
}

fn fold_name(fold: ReduceOp) -> &'static str {
    match fold {
        ReduceOp::Sum => "sum",
        ReduceOp::Prod => "prod",
        ReduceOp::Min => "min",
        ReduceOp::Max => "max",
        ReduceOp::Any => "any",
        ReduceOp::All => "all",
    }
}

/// What a fold needs, if it does not take a dtype.
fn fold_needs(fold: ReduceOp, class: Class) -> Option<&'static str> {
    match fold {
        ReduceOp::Any | ReduceOp::All => (class != Class::Bool).then_some("truth values"),
        _ => (!matches!(class, Class::Float | Class::Int)).then_some("numbers"),
    }
}
