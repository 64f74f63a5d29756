//! Methods of tensors: reshape, permute, broadcast_to, reductions.

use quote::ToTokens;
use syn::{Expr, Lit, UnOp};

use super::agree::short_text;
use super::body::{Body, Hint, Value};
use super::literal::{BOOL, Class};
use super::nearest::nearest;
use super::obligation::dimension;
use super::source;
use super::types::{Item, Tensor, Ty, Type, show_dims};
use crate::diagnostic::Rule;
use crate::dim::{DimTree, Poly, Undecidable};
use crate::ir::{Axis, Comparison, NodeOp, ReduceOp};
use crate::syntax;

/// The methods of tensors.
pub(crate) const METHODS: &[&str] = &[
    "reshape",
    "permute",
    "broadcast_to",
    "slice",
    "sum",
    "prod",
    "min",
    "max",
    "any",
    "all",
];

impl Body<'_, '_> {
    /// A method call: of a block's function, or of a tensor's method.
    pub(crate) fn method_call(
        &mut self,
        call: &syn::ExprMethodCall,
        hint: Hint<'_>,
        expr: &Expr,
    ) -> Value {
        if let Some(receiver) = self.receiver(&call.receiver) {
            return self.block_call(receiver, call, hint, expr);
        }
        let name = call.method.to_string();
        let inner = match name.as_str() {
            "any" | "all" => Hint::None,
            _ => self.element_hint(hint),
        };
        let value = self.expr(&call.receiver, inner);
        let args: Vec<&Expr> = call.args.iter().collect();
        if !METHODS.contains(&name.as_str()) {
            if value.ty.is_unknown() {
                return Value::unknown();
            }
            let functions = crate::builtins::FUNCTIONS;
            let nearest = if functions.contains(&name.as_str()) {
                let text = short_text(&call.receiver.to_token_stream());
                Some(format!("{name}({text})"))
            } else {
                nearest(&name, METHODS.iter().copied())
            };
            return self.fail(
                Rule::UnknownMethod {
                    ty: value.ty.to_string(),
                    name,
                    nearest,
                },
                &call.method,
            );
        }
        let tensor = match &value.ty {
            Type::Unknown => return Value::unknown(),
            Type::Tensor(tensor) => tensor.clone(),
            ty @ Type::Option(_) => {
                if ty.is_unknown() {
                    return Value::unknown();
                }
                let what = short_text(&call.receiver.to_token_stream());
                let rule = Rule::OptionalBare {
                    what,
                    ty: ty.to_string(),
                };
                return self.fail(rule, &call.receiver);
            }
            ty => {
                let rule = Rule::UnknownMethod {
                    ty: ty.to_string(),
                    name,
                    nearest: None,
                };
                return self.fail(rule, &call.method);
            }
        };
        let arg = match args[..] {
            [arg] => arg,
            _ => {
                let parameter = match name.as_str() {
                    "reshape" | "broadcast_to" => "[dims]",
                    "permute" => "[axes]",
                    "slice" => "s![..]",
                    _ => "axis",
                };
                let rule = Rule::ArgumentCount {
                    function: name,
                    parameters: vec![parameter.to_owned()],
                    found: args.len(),
                };
                return self.fail(rule, &call.method);
            }
        };
        match name.as_str() {
            "reshape" => self.reshape(&value, &tensor, arg, expr),
            "permute" => self.permute(&value, &tensor, arg, expr),
            "broadcast_to" => self.broadcast_to(&value, &tensor, arg, expr),
            "slice" => self.slice(&value, &tensor, arg, expr),
            "sum" => self.reduce(ReduceOp::Sum, &value, &tensor, arg, call, expr),
            "prod" => self.reduce(ReduceOp::Prod, &value, &tensor, arg, call, expr),
            "min" => self.reduce(ReduceOp::Min, &value, &tensor, arg, call, expr),
            "max" => self.reduce(ReduceOp::Max, &value, &tensor, arg, call, expr),
            "any" => self.reduce(ReduceOp::Any, &value, &tensor, arg, call, expr),
            _ => self.reduce(ReduceOp::All, &value, &tensor, arg, call, expr),
        }
    }

    /// A dimension written in a body. None after an error.
    pub(crate) fn written_dim(&mut self, expr: &Expr) -> Option<Poly> {
        match self.written_item(expr)? {
            Item::One(dim) => Some(dim),
            Item::Pack(name) => {
                self.report(
                    Rule::GenericKind {
                        name,
                        is: "a shape pack".to_owned(),
                        due: "a dimension".to_owned(),
                        help: None,
                    },
                    expr,
                );
                None
            }
        }
    }

    /// One place of a shape written in a body. None after an error.
    pub(crate) fn written_item(&mut self, expr: &Expr) -> Option<Item> {
        if let Some(name) = self.scalar_in_dim(expr) {
            self.report(
                Rule::NotADim {
                    found: format!("`{name}`, a value known only when it runs,"),
                    help: Some("dimensions are made of generics and integers".to_owned()),
                },
                expr,
            );
            return None;
        }
        if let Some(DimTree::Const(value)) = self.as_dim_or_integer(expr)
            && value < 0
        {
            self.unsupported(
                "a negative dimension, or one that is left to be found,",
                "write the dimension that is meant, e.g. `B * S`",
                expr,
            );
            return None;
        }
        let item = match syntax::parse_dim_item(expr) {
            Ok(item) => item,
            Err(errors) => {
                self.report_all(errors);
                return None;
            }
        };
        let mut diagnostics = Vec::new();
        let item = match self.scope.item(&item, &mut diagnostics) {
            Some(Item::One(tree)) => {
                let tokens = expr.to_token_stream();
                dimension(&tree, &self.facts, &self.owner, &tokens, &mut diagnostics).map(Item::One)
            }
            Some(Item::Pack(name)) => Some(Item::Pack(name)),
            None => None,
        };
        self.report_all(diagnostics);
        item
    }

    /// The first local variable that an expression for a dimension names.
    fn scalar_in_dim(&self, expr: &Expr) -> Option<String> {
        struct Finder<'f, 'c, 'a>(&'f Body<'c, 'a>, Option<String>);
        impl<'ast> syn::visit::Visit<'ast> for Finder<'_, '_, '_> {
            fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
                if let Some(name) = path.path.get_ident().map(ToString::to_string)
                    && self.1.is_none()
                    && self.0.lookup(&name).is_some()
                {
                    self.1 = Some(name);
                }
            }
        }
        let mut finder = Finder(self, None);
        syn::visit::Visit::visit_expr(&mut finder, expr);
        finder.1
    }

    /// A shape written in a body, `[B, *S, H / Heads]`. None after an error.
    pub(crate) fn written_shape(&mut self, expr: &Expr) -> Option<Vec<Item>> {
        let Expr::Array(array) = expr else {
            self.unsupported(
                "anything but a list of dimensions here",
                "write the dimensions in brackets: `[B, S, H]`",
                expr,
            );
            return None;
        };
        let items: Vec<_> = array
            .elems
            .iter()
            .map(|elem| self.written_item(elem))
            .collect();
        items.into_iter().collect()
    }

    fn reshape(&mut self, value: &Value, tensor: &Tensor, arg: &Expr, expr: &Expr) -> Value {
        let Some(dims) = self.written_shape(arg) else {
            return Value::unknown();
        };
        let ty = Ty::tensor(dims.clone(), tensor.dtype.clone());
        let counts = (count(&tensor.dims), count(&dims));
        let (Ok(from), Ok(to)) = counts else {
            let found = "the number of elements, which does not fit in 64 bits,".to_owned();
            return self.fail(Rule::NotADim { found, help: None }, arg);
        };
        if self.facts.equal(&from, &to) {
            return self.emit(NodeOp::Reshape(value.id), ty, expr);
        }
        let never = self.facts.refute(&from, Comparison::Eq, &to);
        // A requirement that only repeats the counts helps nobody.
        let missing = self
            .facts
            .missing(&from, Comparison::Eq, &to)
            .filter(|clause| !never && !clause.contains(&to.to_string()))
            .map(|clause| self.owner.add(&clause));
        let rule = Rule::ReshapeCount {
            from: value.ty.to_string(),
            to: format!("[{}]", show_dims(&dims)),
            from_count: format!("`{from}`"),
            to_count: format!("`{to}`"),
            never,
            missing,
        };
        self.report(rule, arg);
        // What follows is about the new shape.
        self.emit(NodeOp::Reshape(value.id), ty, expr)
    }

    fn permute(&mut self, value: &Value, tensor: &Tensor, arg: &Expr, expr: &Expr) -> Value {
        let Expr::Array(array) = arg else {
            return self.unsupported(
                "anything but a list of axes here",
                "write the axes in brackets: `[1, 0]`",
                arg,
            );
        };
        if tensor.dims.iter().any(|item| matches!(item, Item::Pack(_))) {
            return self.fail(
                Rule::AxisOfPack {
                    axis: array
                        .elems
                        .first()
                        .map_or_else(|| "0".to_owned(), source::text),
                    ty: value.ty.to_string(),
                    help: "name the axes instead: `index!([*s, b, a] = x[*s, a, b])`".to_owned(),
                },
                arg,
            );
        }
        let mut places = Vec::new();
        for axis in &array.elems {
            let Some(number) = self.axis_number(axis) else {
                return Value::unknown();
            };
            let Some((place, _)) = self.resolve_axis(number, axis, &value.ty) else {
                return Value::unknown();
            };
            places.push(place);
        }
        let mut sorted = places.clone();
        sorted.sort_unstable();
        if sorted != (0..tensor.dims.len()).collect::<Vec<_>>() {
            let rule = Rule::NotPermutation {
                axes: source::text(arg),
                ty: value.ty.to_string(),
            };
            return self.fail(rule, arg);
        }
        let dims = places
            .iter()
            .map(|place| tensor.dims[*place].clone())
            .collect();
        let axes = places
            .iter()
            .map(|place| Axis::Front(index(*place)))
            .collect();
        self.emit(
            NodeOp::Permute(value.id, axes),
            Type::tensor(dims, tensor.dtype.clone()),
            expr,
        )
    }

    fn broadcast_to(&mut self, value: &Value, tensor: &Tensor, arg: &Expr, expr: &Expr) -> Value {
        let Some(dims) = self.written_shape(arg) else {
            return Value::unknown();
        };
        let fits = self.broadcast(&tensor.dims, &dims);
        let ty = Ty::tensor(dims.clone(), tensor.dtype.clone());
        let pair = match fits {
            Ok(result) => {
                let same = super::agree::compare(
                    &ty,
                    &Ty::tensor(result, tensor.dtype.clone()),
                    &self.facts,
                );
                if same == super::agree::Agreement::Yes {
                    return self.emit(NodeOp::BroadcastTo(value.id), ty, expr);
                }
                None
            }
            Err(pair) => pair,
        };
        self.fail(
            Rule::Broadcast {
                operator: "broadcast_to".to_owned(),
                left: value.ty.to_string(),
                right: format!("[{}]", show_dims(&dims)),
                pair,
                help: Some("only axes of 1 are repeated, and new axes come in front".to_owned()),
            },
            arg,
        )
    }

    fn reduce(
        &mut self,
        op: ReduceOp,
        value: &Value,
        tensor: &Tensor,
        arg: &Expr,
        call: &syn::ExprMethodCall,
        expr: &Expr,
    ) -> Value {
        let class = self.class(&tensor.dtype);
        let needs = match op {
            ReduceOp::Any | ReduceOp::All => (class != Class::Bool).then_some("truth values"),
            _ => (!matches!(class, Class::Float | Class::Int)).then_some("numbers"),
        };
        if let Some(needs) = needs {
            let help = (class == Class::Bool)
                .then(|| "count truth values with `cast::<i32>(..)`".to_owned());
            let rule = Rule::OperandKind {
                operator: call.method.to_string(),
                needs: needs.to_owned(),
                found: self.with_bound(&value.ty),
                help,
            };
            return self.fail(rule, &call.receiver);
        }
        let written: Vec<&Expr> = match arg {
            Expr::Array(array) => array.elems.iter().collect(),
            arg => vec![arg],
        };
        let mut gone = Vec::new();
        let mut axes = Vec::new();
        for axis in written {
            let Some(number) = self.axis_number(axis) else {
                return Value::unknown();
            };
            let Some((place, resolved)) = self.resolve_axis(number, axis, &value.ty) else {
                return Value::unknown();
            };
            if gone.contains(&place) {
                let rule = Rule::NotPermutation {
                    axes: source::text(arg),
                    ty: value.ty.to_string(),
                };
                return self.fail(rule, arg);
            }
            gone.push(place);
            axes.push(resolved);
        }
        let dims = tensor
            .dims
            .iter()
            .enumerate()
            .filter(|(i, _)| !gone.contains(i));
        let dims = dims.map(|(_, item)| item.clone()).collect();
        let dtype = match op {
            ReduceOp::Any | ReduceOp::All => BOOL,
            _ => tensor.dtype.clone(),
        };
        let node = NodeOp::Reduce {
            op,
            input: value.id,
            axes,
            keep: false,
        };
        self.emit(node, Type::tensor(dims, dtype), expr)
    }

    /// The number of an axis: an integer literal, negative from the back.
    pub(crate) fn axis_number(&mut self, expr: &Expr) -> Option<i64> {
        let (inner, negative) = match expr {
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => (&*unary.expr, true),
            expr => (expr, false),
        };
        if let Expr::Lit(lit) = inner
            && let Lit::Int(value) = &lit.lit
            && let Ok(value) = value.base10_parse::<i64>()
        {
            return Some(if negative { -value } else { value });
        }
        self.unsupported(
            "an axis that is no integer literal",
            "number the axes from the front, 0, or from the back, -1",
            expr,
        );
        None
    }

    /// The place of an axis in a shape, and how the descriptor counts it.
    /// Reports an axis that does not exist or that a pack blurs.
    pub(crate) fn resolve_axis(
        &mut self,
        number: i64,
        expr: &Expr,
        ty: &Ty,
    ) -> Option<(usize, Axis)> {
        let Type::Tensor(tensor) = ty else {
            return None;
        };
        let n = tensor.dims.len();
        let has_pack = tensor.dims.iter().any(|item| matches!(item, Item::Pack(_)));
        let from_back = number < 0;
        let steps = usize::try_from(if from_back { -(number + 1) } else { number }).ok();
        let place = steps.filter(|steps| *steps < n);
        let Some(steps) = place else {
            let rule = if has_pack {
                Rule::AxisOfPack {
                    axis: number.to_string(),
                    ty: ty.to_string(),
                    help: "name the axes instead, with `index!`".to_owned(),
                }
            } else {
                Rule::AxisRange {
                    axis: number.to_string(),
                    ty: ty.to_string(),
                    help: (n > 0).then(|| format!("its axes are 0 to {}, or -{n} to -1", n - 1)),
                }
            };
            self.report(rule, expr);
            return None;
        };
        let place = if from_back { n - 1 - steps } else { steps };
        let passed = if from_back {
            &tensor.dims[place..]
        } else {
            &tensor.dims[..=place]
        };
        if passed.iter().any(|item| matches!(item, Item::Pack(_))) {
            let help = if from_back {
                "count from the front, or name the axes with `index!`"
            } else {
                "count from the back, as in -1, or name the axes with `index!`"
            };
            self.report(
                Rule::AxisOfPack {
                    axis: number.to_string(),
                    ty: ty.to_string(),
                    help: help.to_owned(),
                },
                expr,
            );
            return None;
        }
        let axis = if from_back {
            Axis::Back(index(steps))
        } else {
            Axis::Front(index(steps))
        };
        Some((place, axis))
    }
}

/// An axis number as the descriptor has it.
fn index(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// The number of elements of a shape.
fn count(dims: &[Item]) -> Result<Poly, Undecidable> {
    let mut product = Poly::constant(1);
    for item in dims {
        let factor = match item {
            Item::One(dim) => dim.clone(),
            Item::Pack(name) => Poly::count(name.clone()),
        };
        product = product.mul(&factor)?;
    }
    Ok(product)
}
