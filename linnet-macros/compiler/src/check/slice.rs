//! `.slice(s![..])`.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{BinOp, Expr};

use super::body::{Body, Value};
use super::obligation::{normal_form, undecidable};
use super::source;
use super::types::{Item, Tensor, Type, dim_to_ir};
use crate::diagnostic::Rule;
use crate::dim::{DimTree, Poly, Undecidable};
use crate::ir::{Comparison, NodeOp, SliceItem, Start};

/// One entry as written.
struct Entry {
    kind: EntryKind,
    tokens: TokenStream,
}

enum EntryKind {
    /// `..`
    Full,
    /// `...`
    Rest,
    /// `a..b;step`
    Range(Box<Range>),
    /// `i`
    Index(Box<Expr>),
}

/// `a..b;step`
struct Range {
    start: Option<Expr>,
    end: Option<Expr>,
    step: Option<Expr>,
}

/// An integer: a part known when it runs, written as the terms that are
/// added, and a dimension.
struct Offset {
    /// The source of the terms that are known only when it runs.
    terms: Vec<String>,
    /// The rest.
    dim: DimTree,
}

impl Body<'_, '_> {
    /// A part of a tensor.
    pub(crate) fn slice(
        &mut self,
        value: &Value,
        tensor: &Tensor,
        arg: &Expr,
        expr: &Expr,
    ) -> Value {
        let mac = match arg {
            Expr::Macro(mac) if mac.mac.path.segments.last().is_some_and(|s| s.ident == "s") => mac,
            _ => {
                return self.unsupported(
                    "a slice without `s![..]`",
                    "write the entries in `s![..]`: `x.slice(s![.., 0..H])`",
                    arg,
                );
            }
        };
        let Some(entries) = self.entries(&mac.mac.tokens) else {
            return Value::unknown();
        };
        let ty = &value.ty;
        let Some(rest) = self.align(&entries, tensor, ty.to_string(), arg) else {
            return Value::unknown();
        };
        let mut dims = Vec::new();
        let mut items = Vec::new();
        let mut at = 0;
        let mut failed = false;
        for entry in &entries {
            match &entry.kind {
                EntryKind::Rest => {
                    dims.extend(tensor.dims[at..at + rest].iter().cloned());
                    at += rest;
                    items.push(SliceItem::Rest);
                }
                EntryKind::Full => {
                    dims.push(tensor.dims[at].clone());
                    at += 1;
                    items.push(SliceItem::Full);
                }
                EntryKind::Range(range) => {
                    let Item::One(axis) = &tensor.dims[at] else {
                        return Value::unknown();
                    };
                    at += 1;
                    match self.range(range, axis, entry) {
                        Some((item, length)) => {
                            items.push(item);
                            dims.push(Item::One(length));
                        }
                        None => failed = true,
                    }
                }
                EntryKind::Index(index) => {
                    let Item::One(axis) = &tensor.dims[at] else {
                        return Value::unknown();
                    };
                    at += 1;
                    match self.index_entry(index, axis, entry) {
                        Some(start) => items.push(SliceItem::Index(start)),
                        None => failed = true,
                    }
                }
            }
        }
        if failed {
            return Value::unknown();
        }
        let ty = Type::tensor(dims, tensor.dtype.clone());
        self.emit(NodeOp::Slice(value.id, items), ty, expr)
    }

    /// Whether the entries fit the axes; results in the number of axes that
    /// `...` stands for.
    fn align(
        &mut self,
        entries: &[Entry],
        tensor: &Tensor,
        ty: String,
        tokens: &Expr,
    ) -> Option<usize> {
        let n = tensor.dims.len();
        let rest: Vec<usize> = (0..entries.len())
            .filter(|i| matches!(entries[*i].kind, EntryKind::Rest))
            .collect();
        let found = entries.len() - rest.len();
        let wrong = |help: String| Rule::SliceCount {
            ty: ty.clone(),
            found,
            help,
        };
        let (front, length) = match rest[..] {
            [] if found == n => (n, 0),
            [] if found < n => {
                let rule =
                    wrong("write `...` for the axes that are not named: `s![..., 0..N]`".into());
                self.report(rule, tokens);
                return None;
            }
            [at] if found <= n => (at, n - found),
            [_] | [] => {
                self.report(wrong("write one entry for each axis".into()), tokens);
                return None;
            }
            _ => {
                self.report(wrong("write `...` once".into()), tokens);
                return None;
            }
        };
        // No entry but `...` may stand for a pack.
        for (i, item) in tensor.dims.iter().enumerate() {
            let named = i < front || i >= front + length;
            if named && let Item::Pack(name) = item {
                self.report(
                    wrong(format!(
                        "write `...` for the axes of `*{name}`, and name the others after it"
                    )),
                    tokens,
                );
                return None;
            }
        }
        Some(length)
    }

    /// Splits `s![..]` at its commas. None after an error.
    fn entries(&mut self, tokens: &TokenStream) -> Option<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut failed = false;
        for part in split(tokens, ',') {
            if part.is_empty() {
                continue;
            }
            match self.entry(&part) {
                Some(kind) => {
                    entries.push(Entry {
                        kind,
                        tokens: part.into_iter().collect(),
                    });
                }
                None => failed = true,
            }
        }
        (!failed).then_some(entries)
    }

    fn entry(&mut self, tokens: &[TokenTree]) -> Option<EntryKind> {
        let dots = |tokens: &[TokenTree]| {
            tokens
                .iter()
                .take_while(|token| is_punct(token, '.'))
                .count()
        };
        if dots(tokens) == tokens.len() {
            match tokens.len() {
                2 => return Some(EntryKind::Full),
                3 => return Some(EntryKind::Rest),
                _ => {}
            }
        }
        let all: TokenStream = tokens.iter().cloned().collect();
        let parts = split(&all, ';');
        let (range, step) = match &parts[..] {
            [range] => (range, None),
            [range, step] => (range, Some(step)),
            _ => return self.entry_syntax(&all),
        };
        let at = range
            .windows(2)
            .position(|pair| is_punct(&pair[0], '.') && is_punct(&pair[1], '.'));
        let step = match step {
            Some(step) => Some(self.parse(step)?),
            None => None,
        };
        match at {
            Some(at) => {
                let (before, after) = (&range[..at], &range[at + 2..]);
                if after
                    .first()
                    .is_some_and(|token| is_punct(token, '.') || is_punct(token, '='))
                {
                    return self.entry_syntax(&all);
                }
                let start = if before.is_empty() {
                    None
                } else {
                    Some(self.parse(before)?)
                };
                let end = if after.is_empty() {
                    None
                } else {
                    Some(self.parse(after)?)
                };
                Some(EntryKind::Range(Box::new(Range { start, end, step })))
            }
            None if step.is_none() => Some(EntryKind::Index(Box::new(self.parse(range)?))),
            None => self.entry_syntax(&all),
        }
    }

    fn entry_syntax<R>(&mut self, tokens: &TokenStream) -> Option<R> {
        let rule = Rule::Syntax {
            message: format!("`{}` is no entry of a slice", source::text(tokens)),
            help: Some("an entry is `..`, `...`, `a..b`, `a..b;step` or an index".to_owned()),
        };
        self.report(rule, tokens);
        None
    }

    fn parse(&mut self, tokens: &[TokenTree]) -> Option<Expr> {
        match syn::parse2(tokens.iter().cloned().collect()) {
            Ok(expr) => Some(expr),
            Err(error) => {
                self.report_all([error.into()]);
                None
            }
        }
    }

    /// `a..b;step`: the entry and its length.
    fn range(&mut self, range: &Range, axis: &Poly, entry: &Entry) -> Option<(SliceItem, Poly)> {
        let (start, end, step) = (
            range.start.as_ref(),
            range.end.as_ref(),
            range.step.as_ref(),
        );
        let step = match step {
            None => 1,
            Some(expr) => match self.as_dim_or_integer(expr) {
                Some(DimTree::Const(step)) if step >= 1 => step,
                _ => {
                    self.report(
                        Rule::SliceStep {
                            step: source::text(expr),
                        },
                        expr,
                    );
                    return None;
                }
            },
        };
        for end in [start, end].into_iter().flatten() {
            if let Some(DimTree::Const(back)) = self.as_dim_or_integer(end)
                && back < 0
            {
                self.counted_from_end(back, axis, &end.to_token_stream());
                return None;
            }
        }
        let first = match start {
            Some(start) => self.offset(start)?,
            None => Offset {
                terms: Vec::new(),
                dim: DimTree::Const(0),
            },
        };
        let last = match end {
            Some(end) => self.offset(end)?,
            None => Offset {
                terms: Vec::new(),
                dim: axis.to_tree().clone(),
            },
        };
        let text = source::text(&entry.tokens);
        if first.terms != last.terms {
            self.report(Rule::SliceLength { entry: text }, &entry.tokens);
            return None;
        }
        let start_dim = self.bound_dim(&first.dim, &entry.tokens)?;
        let end_dim = self.bound_dim(&last.dim, &entry.tokens)?;
        let tokens = &entry.tokens;
        let length = self.fitting(end_dim.sub(&start_dim), tokens)?;
        let zero = Poly::constant(0);
        let begin = if first.terms.is_empty() {
            // What follows is about the part, whether or not it is there.
            let _ = self.within(&zero, Comparison::Le, &start_dim, axis, tokens)
                && self.within(&start_dim, Comparison::Le, &end_dim, axis, tokens)
                && self.within(&end_dim, Comparison::Le, axis, axis, tokens);
            Start::Dim(dim_to_ir(&start_dim))
        } else {
            // Where it begins is checked when it runs; its length is not.
            self.within(&zero, Comparison::Le, &length, axis, tokens);
            if self.facts.refute(&length, Comparison::Le, axis) {
                self.within(&length, Comparison::Le, axis, axis, tokens);
            }
            let start = self.runtime_integer(start?, "the start of a slice")?;
            Start::Value(start.id)
        };
        let length = self.stepped(&length, step, tokens)?;
        Some((SliceItem::Range { start: begin, step }, length))
    }

    /// The number of indices `0, step, ..` below a length: `ceil(length / step)`.
    fn stepped(&mut self, length: &Poly, step: i64, tokens: &TokenStream) -> Option<Poly> {
        if step == 1 {
            return Some(length.clone());
        }
        let divisor = Poly::constant(step);
        let whole = self.facts.divide(length, &divisor);
        let whole = self.fitting(whole, tokens)?;
        let exact = whole
            .mul(&divisor)
            .is_ok_and(|product| self.facts.equal(&product, length));
        if exact {
            return Some(whole);
        }
        let more = length.add(&Poly::constant(step - 1));
        let more = self.fitting(more, tokens)?;
        let rounded = self.facts.divide(&more, &divisor);
        self.fitting(rounded, tokens)
    }

    fn bound_dim(&mut self, tree: &DimTree, tokens: &TokenStream) -> Option<Poly> {
        let mut diagnostics = Vec::new();
        let dim = normal_form(tree, &self.facts, &self.owner, tokens, &mut diagnostics);
        self.report_all(diagnostics);
        dim
    }

    /// Proves that an index or range keeps within its axis, or reports it.
    pub(crate) fn within(
        &mut self,
        left: &Poly,
        comparison: Comparison,
        right: &Poly,
        axis: &Poly,
        tokens: &TokenStream,
    ) -> bool {
        if self.facts.prove(left, comparison, right) {
            return true;
        }
        let due = format!("{left} {} {right}", super::obligation::sign(comparison));
        let missing = (!self.facts.refute(left, comparison, right)).then(|| {
            let clause = self.facts.missing(left, comparison, right);
            self.owner.add(&clause.unwrap_or_else(|| due.clone()))
        });
        let entry = source::text(tokens);
        let axis = axis.to_string();
        self.report(
            Rule::SliceBound {
                entry,
                axis,
                due,
                missing,
            },
            tokens,
        );
        false
    }

    /// Reports a negative index.
    pub(crate) fn counted_from_end(&mut self, back: i64, axis: &Poly, tokens: &TokenStream) {
        let back = back.unsigned_abs();
        let help = match axis.as_constant().and_then(|n| u64::try_from(n).ok()) {
            Some(n) if n >= back => format!("write `{}`", n - back),
            _ => format!("write `{axis} - {back}`"),
        };
        self.unsupported("counting an index from the end", help, tokens);
    }

    /// A number that does not fit is reported, and ends the matter.
    fn fitting(&mut self, dim: Result<Poly, Undecidable>, tokens: &TokenStream) -> Option<Poly> {
        match dim {
            Ok(dim) => Some(dim),
            Err(error) => {
                let text = source::text(tokens);
                let rule = undecidable(&error, &text, &self.facts, &self.owner);
                self.report(rule, tokens);
                None
            }
        }
    }

    /// One index.
    fn index_entry(&mut self, index: &Expr, axis: &Poly, entry: &Entry) -> Option<Start> {
        match self.as_dim_or_integer(index) {
            Some(DimTree::Const(back)) if back < 0 => {
                self.counted_from_end(back, axis, &entry.tokens);
                None
            }
            Some(tree) => {
                let dim = self.bound_dim(&tree, &entry.tokens)?;
                let zero = Poly::constant(0);
                let _ = self.within(&zero, Comparison::Le, &dim, axis, &entry.tokens)
                    && self.within(&dim, Comparison::Lt, axis, axis, &entry.tokens);
                Some(Start::Dim(dim_to_ir(&dim)))
            }
            None => {
                let value = self.runtime_integer(index, "the index of a slice")?;
                Some(Start::Value(value.id))
            }
        }
    }

    /// Takes the sum of an end of a range apart. None after an error.
    fn offset(&mut self, expr: &Expr) -> Option<Offset> {
        if let Some(dim) = self.as_dim_or_integer(expr) {
            return Some(Offset {
                terms: Vec::new(),
                dim,
            });
        }
        match expr {
            Expr::Paren(paren) => self.offset(&paren.expr),
            Expr::Group(group) => self.offset(&group.expr),
            Expr::Binary(binary) if matches!(binary.op, BinOp::Add(_)) => {
                let mut left = self.offset(&binary.left)?;
                let right = self.offset(&binary.right)?;
                left.terms.extend(right.terms);
                left.terms.sort();
                left.dim = sum(left.dim, right.dim);
                Some(left)
            }
            Expr::Binary(binary) if matches!(binary.op, BinOp::Sub(_)) => {
                let mut left = self.offset(&binary.left)?;
                match self.as_dim_or_integer(&binary.right) {
                    Some(dim) => {
                        left.dim = DimTree::Sub(Box::new(left.dim), Box::new(dim));
                        Some(left)
                    }
                    None => Some(Offset {
                        terms: vec![expr.to_token_stream().to_string()],
                        dim: DimTree::Const(0),
                    }),
                }
            }
            expr => Some(Offset {
                terms: vec![expr.to_token_stream().to_string()],
                dim: DimTree::Const(0),
            }),
        }
    }
}

/// A sum without the zero that an offset starts from.
fn sum(a: DimTree, b: DimTree) -> DimTree {
    match (a, b) {
        (DimTree::Const(0), b) => b,
        (a, DimTree::Const(0)) => a,
        (a, b) => DimTree::Add(Box::new(a), Box::new(b)),
    }
}

/// Splits tokens at a punctuation mark outside of groups.
pub(crate) fn split(tokens: &TokenStream, mark: char) -> Vec<Vec<TokenTree>> {
    let mut parts = vec![Vec::new()];
    for token in tokens.clone() {
        if is_punct(&token, mark) {
            parts.push(Vec::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(token);
        }
    }
    parts
}

/// Whether a token is this punctuation mark.
pub(crate) fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}
