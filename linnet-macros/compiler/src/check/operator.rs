//! Operators and element-wise functions: which dtypes they take, and how
//! shapes broadcast.

use quote::ToTokens;
use syn::{BinOp, Expr};

use super::agree::short_text;
use super::body::{Body, Hint, Value};
use super::literal::{BOOL, Class, I64};
use super::source;
use super::types::{Item, Ty, Type, show_dtype};
use crate::diagnostic::Rule;
use crate::ir::{self, BinaryOp, DTypeExpr, NodeOp, UnaryOp};

/// A binary operator of the source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operator {
    /// As the descriptor has it.
    pub(crate) op: BinaryOp,
    /// Whether the result is a truth value.
    pub(crate) compares: bool,
}

/// An operator on two values; None for assignments.
pub(crate) fn arithmetic(op: &BinOp) -> Option<Operator> {
    let (op, compares) = match op {
        BinOp::Add(_) => (BinaryOp::Add, false),
        BinOp::Sub(_) => (BinaryOp::Sub, false),
        BinOp::Mul(_) => (BinaryOp::Mul, false),
        BinOp::Div(_) => (BinaryOp::Div, false),
        BinOp::Rem(_) => (BinaryOp::Rem, false),
        BinOp::BitAnd(_) => (BinaryOp::BitAnd, false),
        BinOp::BitOr(_) => (BinaryOp::BitOr, false),
        BinOp::BitXor(_) => (BinaryOp::BitXor, false),
        BinOp::Shl(_) => (BinaryOp::Shl, false),
        BinOp::Shr(_) => (BinaryOp::Shr, false),
        BinOp::And(_) => (BinaryOp::And, true),
        BinOp::Or(_) => (BinaryOp::Or, true),
        BinOp::Eq(_) => (BinaryOp::Eq, true),
        BinOp::Ne(_) => (BinaryOp::Ne, true),
        BinOp::Lt(_) => (BinaryOp::Lt, true),
        BinOp::Le(_) => (BinaryOp::Le, true),
        BinOp::Gt(_) => (BinaryOp::Gt, true),
        BinOp::Ge(_) => (BinaryOp::Ge, true),
        _ => return None,
    };
    Some(Operator { op, compares })
}

/// The operator of a compound assignment such as `+=`.
pub(crate) fn compound(op: &BinOp) -> Option<BinaryOp> {
    Some(match op {
        BinOp::AddAssign(_) => BinaryOp::Add,
        BinOp::SubAssign(_) => BinaryOp::Sub,
        BinOp::MulAssign(_) => BinaryOp::Mul,
        BinOp::DivAssign(_) => BinaryOp::Div,
        BinOp::RemAssign(_) => BinaryOp::Rem,
        BinOp::BitAndAssign(_) => BinaryOp::BitAnd,
        BinOp::BitOrAssign(_) => BinaryOp::BitOr,
        BinOp::BitXorAssign(_) => BinaryOp::BitXor,
        BinOp::ShlAssign(_) => BinaryOp::Shl,
        BinOp::ShrAssign(_) => BinaryOp::Shr,
        _ => return None,
    })
}

/// A function of one element.
pub(crate) fn unary_function(name: &str) -> Option<UnaryOp> {
    Some(match name {
        "abs" => UnaryOp::Abs,
        "exp" => UnaryOp::Exp,
        "log" => UnaryOp::Log,
        "sqrt" => UnaryOp::Sqrt,
        "rsqrt" => UnaryOp::Rsqrt,
        "sin" => UnaryOp::Sin,
        "cos" => UnaryOp::Cos,
        "tanh" => UnaryOp::Tanh,
        "erf" => UnaryOp::Erf,
        "floor" => UnaryOp::Floor,
        _ => return None,
    })
}

/// A function of two elements.
pub(crate) fn binary_function(name: &str) -> Option<BinaryOp> {
    Some(match name {
        "min" => BinaryOp::Min,
        "max" => BinaryOp::Max,
        "pow" => BinaryOp::Pow,
        _ => return None,
    })
}

/// The dtype that a function of one element results in, or what it needs.
pub(crate) fn unary_result(op: UnaryOp, class: Class) -> Result<(), &'static str> {
    match (op, class) {
        (UnaryOp::Not, Class::Bool | Class::Int) => Ok(()),
        (UnaryOp::Not, _) => Err("truth values or integers"),
        (UnaryOp::Neg | UnaryOp::Abs, Class::Float | Class::Int) => Ok(()),
        (UnaryOp::Neg | UnaryOp::Abs, _) => Err("numbers"),
        (_, Class::Float) => Ok(()),
        (_, _) => Err("floats"),
    }
}

/// Whether an operator takes a dtype, or what it needs.
pub(crate) fn binary_operands(op: BinaryOp, class: Class) -> Result<(), &'static str> {
    use BinaryOp::{
        Add, And, BitAnd, BitOr, BitXor, Div, Eq, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Or, Pow, Rem,
        Shl, Shr, Sub,
    };
    let (ok, needs) = match op {
        Add | Sub | Mul | Div | Rem | Min | Max | Lt | Le | Gt | Ge => {
            (matches!(class, Class::Float | Class::Int), "numbers")
        }
        Pow => (class == Class::Float, "floats"),
        Eq | Ne => (class != Class::Any, "numbers or truth values"),
        And | Or => (class == Class::Bool, "truth values"),
        BitAnd | BitOr | BitXor => (
            matches!(class, Class::Int | Class::Bool),
            "integers or truth values",
        ),
        Shl | Shr => (class == Class::Int, "integers"),
    };
    if ok { Ok(()) } else { Err(needs) }
}

/// How an operator is written.
pub(crate) fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::Min => "min",
        BinaryOp::Max => "max",
        BinaryOp::Pow => "pow",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
    }
}

/// How a function of one element is written.
pub(crate) fn unary_name(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "-",
        UnaryOp::Not => "!",
        UnaryOp::Abs => "abs",
        UnaryOp::Exp => "exp",
        UnaryOp::Log => "log",
        UnaryOp::Sqrt => "sqrt",
        UnaryOp::Rsqrt => "rsqrt",
        UnaryOp::Sin => "sin",
        UnaryOp::Cos => "cos",
        UnaryOp::Tanh => "tanh",
        UnaryOp::Erf => "erf",
        UnaryOp::Floor => "floor",
    }
}

/// Whether the operator's result is a truth value.
pub(crate) fn compares(op: BinaryOp) -> bool {
    use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge | And | Or)
}

/// What to do about two dtypes that differ.
pub(crate) fn mixed_help(
    left: &DTypeExpr,
    right: &DTypeExpr,
    left_text: &str,
    right_text: &str,
    class: impl Fn(&DTypeExpr) -> Class,
) -> String {
    let cast = |dtype: &DTypeExpr, text: &str| format!("`cast::<{}>({text})`", show_dtype(dtype));
    match (class(left), class(right)) {
        (Class::Float, Class::Int | Class::Bool) => {
            format!("nothing converts by itself: {}", cast(left, right_text))
        }
        (Class::Int | Class::Bool, Class::Float) => {
            format!("nothing converts by itself: {}", cast(right, left_text))
        }
        _ => format!(
            "nothing converts by itself: {} or {}",
            cast(left, right_text),
            cast(right, left_text)
        ),
    }
}

/// Why two shapes do not broadcast: the pair that differs, if it is one.
type Unmatched = Option<(String, String)>;

impl Body<'_, '_> {
    /// The shape that two shapes broadcast to: aligned at the right, each pair
    /// provably equal or one of them 1.
    pub(crate) fn broadcast(&self, a: &[Item], b: &[Item]) -> Result<Vec<Item>, Unmatched> {
        let one = |item: &Item| matches!(item, Item::One(dim) if dim.as_constant() == Some(1));
        let mut result = Vec::new();
        let (mut left, mut right) = (a.iter().rev(), b.iter().rev());
        loop {
            match (left.next(), right.next()) {
                (None, None) => break,
                (Some(item), None) | (None, Some(item)) => result.push(item.clone()),
                (Some(a), Some(b)) => match (a, b) {
                    (Item::One(x), Item::One(y)) if self.facts.equal(x, y) => {
                        result.push(a.clone());
                    }
                    (Item::Pack(x), Item::Pack(y)) if x == y => result.push(a.clone()),
                    // A pack may be empty or have several axes: a 1 beside it
                    // has no place of its own.
                    (Item::One(_), Item::One(_)) if one(a) => result.push(b.clone()),
                    (Item::One(_), Item::One(_)) if one(b) => result.push(a.clone()),
                    _ => return Err(Some((a.to_string(), b.to_string()))),
                },
            }
        }
        result.reverse();
        Ok(result)
    }

    /// An operator on two expressions, each of which may take its dtype from
    /// the other or from the context.
    pub(crate) fn binary(
        &mut self,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
        hint: Hint<'_>,
        whole: &Expr,
    ) -> Value {
        let none: &dyn Fn(&str) -> bool = &|_| false;
        let inner = if compares(op) {
            Hint::None
        } else {
            self.element_hint(hint)
        };
        let (left_flexible, right_flexible) =
            (self.flexible(left, none), self.flexible(right, none));
        let logic = matches!(op, BinaryOp::And | BinaryOp::Or);
        let (a, b) = if logic {
            (
                self.expr(left, Hint::DType(&BOOL)),
                self.expr(right, Hint::DType(&BOOL)),
            )
        } else if left_flexible && right_flexible {
            let mut inner = inner;
            if inner.dtype().is_none() && (compares(op) || self.loop_index_in(whole)) {
                let dims = self.as_dim_or_integer(left).is_some()
                    && self.as_dim_or_integer(right).is_some();
                if dims || self.loop_index_in(whole) {
                    inner = Hint::DType(&I64);
                }
            }
            if inner.is_poisoned() {
                return Value::unknown();
            }
            if inner.dtype().is_none() {
                let literal = source::text(whole);
                return self.fail(Rule::LiteralWithoutContext { literal }, whole);
            }
            (self.expr(left, inner), self.expr(right, inner))
        } else if left_flexible {
            let b = self.expr(right, inner);
            let a = self.beside(left, &b, inner);
            (a, b)
        } else {
            let a = self.expr(left, inner);
            let b = self.beside(right, &a, inner);
            (a, b)
        };
        self.apply_binary(op, a, b, left, right, whole)
    }

    /// Whether the index of a loop over dimensions is in a flexible expression.
    pub(crate) fn loop_index_in(&self, expr: &Expr) -> bool {
        struct Finder<'f, 'c, 'a>(&'f Body<'c, 'a>, bool);
        impl<'ast> syn::visit::Visit<'ast> for Finder<'_, '_, '_> {
            fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
                if let Some(name) = path.path.get_ident() {
                    let binding = self.0.lookup(&name.to_string());
                    self.1 |= matches!(binding, Some(super::body::Binding::LoopIndex(_)));
                }
            }
        }
        let mut finder = Finder(self, false);
        syn::visit::Visit::visit_expr(&mut finder, expr);
        finder.1
    }

    /// An expression beside a value whose dtype it takes if it can.
    fn beside(&mut self, expr: &Expr, other: &Value, hint: Hint<'_>) -> Value {
        match other.ty.dtype().cloned() {
            Some(dtype) => self.expr(expr, Hint::DType(&dtype)),
            None if self.flexible(expr, &|_| false) => Value::unknown(),
            None => self.expr(expr, hint),
        }
    }

    /// What the operands of an arithmetic operator are expected to be: of the
    /// result's dtype, but of any shape that broadcasts.
    pub(crate) fn element_hint<'h>(&self, hint: Hint<'h>) -> Hint<'h> {
        match hint.dtype() {
            Some(dtype) => Hint::DType(dtype),
            None if hint.is_poisoned() => hint,
            None => Hint::None,
        }
    }

    /// An operator on two values.
    pub(crate) fn apply_binary(
        &mut self,
        op: BinaryOp,
        a: Value,
        b: Value,
        left: &impl ToTokens,
        right: &impl ToTokens,
        whole: &Expr,
    ) -> Value {
        let operator = sign(op);
        let a_ok = self.element(&a, operator, left);
        let b_ok = self.element(&b, operator, right);
        let (Some(a_dtype), Some(b_dtype)) = (a_ok, b_ok) else {
            return Value::unknown();
        };
        for (value, dtype, tokens) in [
            (&a, &a_dtype, left.to_token_stream()),
            (&b, &b_dtype, right.to_token_stream()),
        ] {
            if let Err(needs) = binary_operands(op, self.class(dtype)) {
                let help = self.operand_help(op, dtype);
                return self.fail(
                    Rule::OperandKind {
                        operator: operator.to_owned(),
                        needs: needs.to_owned(),
                        found: self.with_bound(&value.ty),
                        help,
                    },
                    tokens,
                );
            }
        }
        if a_dtype != b_dtype {
            let left = short_text(&left.to_token_stream());
            let right = short_text(&right.to_token_stream());
            let help = mixed_help(&a_dtype, &b_dtype, &left, &right, |dtype| self.class(dtype));
            return self.fail(
                Rule::OperandDTypes {
                    operator: operator.to_owned(),
                    left: a.ty.to_string(),
                    right: b.ty.to_string(),
                    help,
                },
                whole,
            );
        }
        if matches!(op, BinaryOp::And | BinaryOp::Or)
            && let Some(tensor) = [&a, &b]
                .into_iter()
                .find(|value| matches!(value.ty, Type::Tensor(_)))
        {
            return self.fail(
                Rule::OperandKind {
                    operator: operator.to_owned(),
                    needs: "single truth values".to_owned(),
                    found: tensor.ty.to_string(),
                    help: Some(match op {
                        BinaryOp::And => "write `&` for every element".to_owned(),
                        _ => "write `|` for every element".to_owned(),
                    }),
                },
                whole,
            );
        }
        let dtype = if compares(op) { BOOL } else { a_dtype };
        match self.broadcast_types(&a.ty, &b.ty, dtype, operator) {
            Ok(ty) => self.emit(NodeOp::Binary(op, a.id, b.id), ty, whole),
            Err(rule) => self.fail(*rule, whole),
        }
    }

    /// The type that two types broadcast to.
    pub(crate) fn broadcast_types(
        &self,
        a: &Ty,
        b: &Ty,
        dtype: DTypeExpr,
        operator: &str,
    ) -> Result<Ty, Box<Rule>> {
        match (a, b) {
            (Type::Tensor(x), Type::Tensor(y)) => match self.broadcast(&x.dims, &y.dims) {
                Ok(dims) => Ok(Type::tensor(dims, dtype)),
                Err(pair) => Err(Box::new(Rule::Broadcast {
                    operator: operator.to_owned(),
                    left: a.to_string(),
                    right: b.to_string(),
                    help: self.broadcast_help(&x.dims, &y.dims),
                    pair,
                })),
            },
            (Type::Tensor(x), _) => Ok(Type::tensor(x.dims.clone(), dtype)),
            (_, Type::Tensor(y)) => Ok(Type::tensor(y.dims.clone(), dtype)),
            _ => Ok(Type::Scalar(dtype)),
        }
    }

    /// What to do about two shapes that do not broadcast.
    fn broadcast_help(&self, a: &[Item], b: &[Item]) -> Option<String> {
        for (x, y) in a.iter().rev().zip(b.iter().rev()) {
            match (x, y) {
                (Item::One(x), Item::One(y)) if self.facts.equal(x, y) => {}
                (Item::One(x), Item::One(y)) => {
                    if x.as_constant() == Some(1) || y.as_constant() == Some(1) {
                        continue;
                    }
                    let clause = self.facts.missing(x, ir::Comparison::Eq, y)?;
                    return Some(format!("if they are the same, {}", self.owner.add(&clause)));
                }
                (Item::Pack(x), Item::Pack(y)) if x == y => {}
                _ => {
                    return Some(
                        "align the axes by name: `index!([*s, i] = a[*s, i] + b[i])`".to_owned(),
                    );
                }
            }
        }
        None
    }

    /// The dtype of an operand: it must be a tensor or scalar.
    pub(crate) fn element(
        &mut self,
        value: &Value,
        operator: &str,
        tokens: &impl ToTokens,
    ) -> Option<DTypeExpr> {
        match &value.ty {
            Type::Unknown => None,
            Type::Tensor(_) | Type::Scalar(_) => value.ty.dtype().cloned(),
            Type::Option(inner) if inner.is_unknown() => None,
            ty @ Type::Option(_) => {
                let what = short_text(&tokens.to_token_stream());
                self.report(
                    Rule::OptionalBare {
                        what,
                        ty: ty.to_string(),
                    },
                    tokens,
                );
                None
            }
            ty @ (Type::Tuple(_) | Type::Unit) => {
                self.report(
                    Rule::OperandKind {
                        operator: operator.to_owned(),
                        needs: "tensors or scalars".to_owned(),
                        found: ty.to_string(),
                        help: None,
                    },
                    tokens,
                );
                None
            }
        }
    }

    /// A type with the bound of its dtype, where that explains an error.
    pub(crate) fn with_bound(&self, ty: &Ty) -> String {
        match ty.dtype() {
            Some(dtype @ DTypeExpr::Generic(_)) => {
                format!(
                    "{ty} with `{}`",
                    super::library::dtype_with_bound(dtype, &self.scope)
                )
            }
            _ => ty.to_string(),
        }
    }

    fn operand_help(&self, op: BinaryOp, dtype: &DTypeExpr) -> Option<String> {
        match (self.class(dtype), dtype) {
            (Class::Any, DTypeExpr::Generic(name)) => {
                Some(format!("declare `{name}: Float` or `{name}: Int`"))
            }
            (Class::Bool, _) => Some(
                "turn truth values into numbers with `cast::<f32>(..)` or `select(..)`".to_owned(),
            ),
            (Class::Float, _) if matches!(op, BinaryOp::BitAnd | BinaryOp::BitOr) => {
                Some("compare first, as in `x > 0.0`".to_owned())
            }
            _ => None,
        }
    }

    /// A function of one element on a value.
    pub(crate) fn apply_unary(
        &mut self,
        op: UnaryOp,
        value: Value,
        operand: &impl ToTokens,
        whole: &Expr,
    ) -> Value {
        let operator = unary_name(op);
        let Some(dtype) = self.element(&value, operator, operand) else {
            return Value::unknown();
        };
        if let Err(needs) = unary_result(op, self.class(&dtype)) {
            let text = short_text(&operand.to_token_stream());
            let help = match (self.class(&dtype), &dtype) {
                (Class::Int, _) if needs == "floats" => {
                    Some(format!("write `cast::<f32>({text})`"))
                }
                (Class::Any, DTypeExpr::Generic(name)) => Some(format!("declare `{name}: Float`")),
                _ => None,
            };
            return self.fail(
                Rule::OperandKind {
                    operator: operator.to_owned(),
                    needs: needs.to_owned(),
                    found: self.with_bound(&value.ty),
                    help,
                },
                operand,
            );
        }
        self.emit(NodeOp::Unary(op, value.id), value.ty, whole)
    }
}
