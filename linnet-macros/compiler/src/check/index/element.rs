//! Elements of tensors: `t[i, *s, m - pos]`.

use quote::ToTokens;
use syn::{Expr, UnOp};

use crate::check::body::{Body, Hint};
use crate::check::literal::{Class, I64};
use crate::check::nearest::nearest;
use crate::check::obligation::dimension;
use crate::check::source;
use crate::check::types::{Item, Type, show_dtype};
use crate::diagnostic::Rule;
use crate::dim::{DimTree, Poly};
use crate::ir::{self, Comparison, ElementIndex, Scalar, ScalarOp};

use super::Notation;

impl Body<'_, '_> {
    /// `t[i, *s, m - pos]`.
    pub(super) fn element_of(
        &mut self,
        index: &syn::ExprIndex,
        expr: &Expr,
        notation: &mut Notation,
    ) -> Option<Scalar> {
        let text = source::text(&index.expr);
        let value = match notation.tensors.get(&text) {
            Some(value) => value.clone(),
            None => {
                let base = match &*index.expr {
                    Expr::Index(_) => {
                        self.form(
                            "indexing twice",
                            "write all indices in one pair of brackets: `x[i, j]`",
                            &index.expr,
                        );
                        return None;
                    }
                    base => base,
                };
                let value = self.expr(base, Hint::None);
                notation.tensors.insert(text.clone(), value.clone());
                value
            }
        };
        let entries: Vec<&Expr> = match &*index.index {
            Expr::Tuple(tuple) => tuple.elems.iter().collect(),
            other => vec![other],
        };
        let tensor = match &value.ty {
            Type::Unknown => {
                self.mark_used(&entries, notation);
                return None;
            }
            Type::Tensor(tensor) => tensor.clone(),
            ty @ Type::Option(_) => {
                if !ty.is_unknown() {
                    let rule = Rule::OptionalBare {
                        what: text,
                        ty: ty.to_string(),
                    };
                    self.report(rule, &index.expr);
                }
                return None;
            }
            ty => {
                let rule = Rule::NotIndexable {
                    what: text,
                    ty: ty.to_string(),
                };
                self.report(rule, &index.expr);
                return None;
            }
        };
        if entries.len() != tensor.dims.len() {
            let has_pack = tensor.dims.iter().any(|item| matches!(item, Item::Pack(_)));
            let help = if has_pack {
                Some("a pack has one index, with a star: `x[*s, i]`".to_owned())
            } else {
                Some(format!(
                    "write one index for each of its {} axes",
                    tensor.dims.len()
                ))
            };
            self.report(
                Rule::IndexCount {
                    tensor: text,
                    ty: value.ty.to_string(),
                    found: entries.len(),
                    help,
                },
                expr,
            );
            self.mark_used(&entries, notation);
            return None;
        }
        let source = source::text(expr)
            .replace("[(", "[")
            .replace(",)]", "]")
            .replace(")]", "]");
        let mut at = Vec::new();
        let mut failed = false;
        for (entry, item) in entries.iter().zip(&tensor.dims) {
            match self.element_index(entry, item, &source, notation) {
                Some(index) => at.push(index),
                None => failed = true,
            }
        }
        if failed {
            return None;
        }
        Some(Scalar {
            op: ScalarOp::Element {
                tensor: value.id,
                at,
            },
            dtype: tensor.dtype,
        })
    }

    /// After an error in a tensor, its indices count as used.
    pub(super) fn mark_used(&mut self, entries: &[&Expr], notation: &mut Notation) {
        for entry in entries {
            let inner = match entry {
                Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => &*unary.expr,
                entry => entry,
            };
            if let Expr::Path(path) = inner
                && let Some(name) = path.path.get_ident()
                && let Some(var) = notation.var(&name.to_string())
            {
                notation.vars[var].used = true;
            }
        }
    }

    pub(super) fn element_index(
        &mut self,
        entry: &Expr,
        item: &Item,
        source: &str,
        notation: &mut Notation,
    ) -> Option<ElementIndex> {
        let entry = match entry {
            Expr::Paren(paren) => &*paren.expr,
            entry => entry,
        };
        if let Expr::Unary(unary) = entry
            && matches!(unary.op, UnOp::Deref(_))
        {
            return self.pack_index(&unary.expr, item, entry, source, notation);
        }
        if let Item::Pack(name) = item {
            let lower = name.to_lowercase();
            self.report_once(
                Rule::IndexPack {
                    what: format!(
                        "`{}` indexes `*{name}`, which is a pack",
                        source::text(entry)
                    ),
                    help: Some(format!("a pack has one index, with a star: `*{lower}`")),
                },
                entry,
                notation,
            );
            return None;
        }
        let Item::One(axis) = item else { return None };
        let lone = match entry {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        if let Some(name) = &lone
            && notation.var(name).is_none()
            && self.lookup(name).is_none()
            && self.scope.kind(name).is_none()
        {
            return self.unbound_index(name, "", entry, notation);
        }
        if let Some(name) = &lone
            && let Some(var) = notation.var(name)
        {
            if notation.vars[var].pack {
                self.report_once(
                    Rule::IndexPack {
                        what: format!("`{name}` is the index of a pack"),
                        help: Some(format!("write `*{name}` on the axes of a pack")),
                    },
                    entry,
                    notation,
                );
                return None;
            }
            notation.vars[var].used = true;
            return self
                .extent(var, &Item::One(axis.clone()), source, entry, notation)
                .then(|| ElementIndex::Var(var_number(var)));
        }
        self.computed_index(entry, axis, source, notation)
    }

    pub(super) fn pack_index(
        &mut self,
        name: &Expr,
        item: &Item,
        entry: &Expr,
        source: &str,
        notation: &mut Notation,
    ) -> Option<ElementIndex> {
        let ident = match name {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        let Some(name) = ident else {
            self.form(
                "`*` before this",
                "write the name of a pack's index: `*s`",
                entry,
            );
            return None;
        };
        let Some(var) = notation.var(&name) else {
            return self.unbound_index(&name, "*", entry, notation);
        };
        notation.vars[var].used = true;
        let help = format!("write `{name}` without the star for one axis");
        if !notation.vars[var].pack {
            self.report_once(
                Rule::IndexPack {
                    what: format!("`{name}` is the index of one axis, not of a pack"),
                    help: Some(help),
                },
                entry,
                notation,
            );
            return None;
        }
        let Item::Pack(_) = item else {
            self.report_once(
                Rule::IndexPack {
                    what: format!("`*{name}` indexes the axis `{item}`, which is not a pack"),
                    help: Some(help),
                },
                entry,
                notation,
            );
            return None;
        };
        self.extent(var, item, source, entry, notation)
            .then(|| ElementIndex::Pack(var_number(var)))
    }

    /// Reports what is wrong with an index the first time that it stands in
    /// this notation.
    fn report_once(&mut self, rule: Rule, entry: &Expr, notation: &Notation) {
        let before = &self.diagnostics[notation.n_errors.min(self.diagnostics.len())..];
        if before.iter().all(|known| known.rule != rule) {
            self.report(rule, entry);
        }
    }

    /// Reports a name between brackets that is no index.
    pub(super) fn unbound_index<R>(
        &mut self,
        name: &str,
        star: &str,
        entry: &Expr,
        notation: &Notation,
    ) -> Option<R> {
        let plain: Vec<String> = notation
            .vars
            .iter()
            .map(|var| var.name.to_string())
            .collect();
        let nearest = nearest(name, plain.iter().map(String::as_str));
        let index = format!("{star}{name}");
        self.report_once(
            Rule::IndexUnbound {
                index,
                nearest,
                known: notation.names(),
            },
            entry,
            notation,
        );
        None
    }

    /// Whether an axis has the extent of an index variable, which the first
    /// axis that it indexes tells.
    pub(super) fn extent(
        &mut self,
        var: usize,
        item: &Item,
        source: &str,
        entry: &Expr,
        notation: &mut Notation,
    ) -> bool {
        let Some((known, from)) = &notation.vars[var].extent else {
            notation.vars[var].extent = Some((item.clone(), source.to_owned()));
            return true;
        };
        if from.is_empty() {
            return false;
        }
        let help = match (known, item) {
            (Item::Pack(a), Item::Pack(b)) if a == b => return true,
            (Item::One(a), Item::One(b)) => {
                if self.facts.equal(a, b) {
                    return true;
                }
                let clause = self.facts.missing(a, Comparison::Eq, b);
                clause.map(|clause| format!("if they are the same, {}", self.owner.add(&clause)))
            }
            _ => None,
        };
        let rule = Rule::IndexExtent {
            index: notation.vars[var].text(),
            first: (from.clone(), known.to_string()),
            second: (source.to_owned(), item.to_string()),
            help,
        };
        self.report(rule, entry);
        false
    }

    /// An index that is computed: proved where dimensions alone make it up,
    /// else checked when it runs.
    pub(super) fn computed_index(
        &mut self,
        entry: &Expr,
        axis: &Poly,
        source: &str,
        notation: &mut Notation,
    ) -> Option<ElementIndex> {
        if !self.names_var(entry, notation)
            && let Some(tree) = self.as_dim_or_integer(entry)
        {
            if let DimTree::Const(back) = tree
                && back < 0
            {
                self.counted_from_end(back, axis, &entry.to_token_stream());
                return None;
            }
            return self.fixed_index(&tree, entry, axis);
        }
        let scalar = self.scalar(entry, Some(&I64), notation)?;
        if self.class(&scalar.dtype) != Class::Int {
            self.report(
                Rule::TypeMismatch {
                    place: format!("an index of `{source}`"),
                    expected: "an integer".to_owned(),
                    expected_note: None,
                    found: show_dtype(&scalar.dtype),
                    help: Some(format!("write `cast::<i32>({})`", source::text(entry))),
                },
                entry,
            );
            return None;
        }
        Some(ElementIndex::Computed(scalar))
    }

    pub(super) fn fixed_index(
        &mut self,
        tree: &DimTree,
        entry: &Expr,
        axis: &Poly,
    ) -> Option<ElementIndex> {
        let mut diagnostics = Vec::new();
        let tokens = entry.to_token_stream();
        let dim = dimension(tree, &self.facts, &self.owner, &tokens, &mut diagnostics);
        self.report_all(diagnostics);
        let dim = dim?;
        self.within(&dim, Comparison::Lt, axis, axis, &tokens);
        let dim = crate::check::types::dim_to_ir(&dim);
        let op = match dim {
            ir::DimExpr::Const(value) => ScalarOp::Literal(ir::Literal::Int(value)),
            dim => ScalarOp::Dim(dim),
        };
        Some(ElementIndex::Computed(Scalar { op, dtype: I64 }))
    }
}

/// The number of a variable as the descriptor has it.
pub(super) fn var_number(var: usize) -> u32 {
    u32::try_from(var).unwrap_or(u32::MAX)
}
