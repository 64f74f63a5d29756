//! Dimension expressions as written.

use crate::{ast, ir};

/// What a name in an expression stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    /// A `Dim` generic: an integer of at least 0.
    Generic,
    /// An integer scalar parameter: any integer.
    Scalar,
    /// The number of elements of a shape pack: an integer of at least 0.
    Count,
}

/// A name in an expression.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol {
    /// The author's name; of a pack without its star.
    pub name: String,
    /// What it stands for.
    pub kind: SymbolKind,
}

impl Symbol {
    /// A `Dim` generic.
    pub fn generic(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: SymbolKind::Generic,
        }
    }

    /// An integer scalar parameter.
    pub fn scalar(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: SymbolKind::Scalar,
        }
    }

    /// The element count of the pack `name`.
    pub fn count(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: SymbolKind::Count,
        }
    }

    /// Whether it is at least 0 whatever the facts are.
    pub fn is_nonnegative(&self) -> bool {
        self.kind != SymbolKind::Scalar
    }
}

/// A dimension expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DimTree {
    /// A constant.
    Const(i64),
    /// A name.
    Atom(Symbol),
    /// Sum.
    Add(Box<DimTree>, Box<DimTree>),
    /// Difference.
    Sub(Box<DimTree>, Box<DimTree>),
    /// Product.
    Mul(Box<DimTree>, Box<DimTree>),
    /// Quotient, rounded down.
    Div(Box<DimTree>, Box<DimTree>),
    /// Remainder of that quotient.
    Rem(Box<DimTree>, Box<DimTree>),
    /// The smaller.
    Min(Box<DimTree>, Box<DimTree>),
    /// The larger.
    Max(Box<DimTree>, Box<DimTree>),
}

impl DimTree {
    /// The generic `name`.
    pub fn name(name: impl Into<String>) -> Self {
        Self::Atom(Symbol::generic(name))
    }

    /// An expression from the source; `kind` says what each name stands for.
    pub fn from_ast(dim: &ast::Dim, kind: &dyn Fn(&str) -> SymbolKind) -> Self {
        match &dim.kind {
            ast::DimKind::Const(value) => Self::Const(*value),
            ast::DimKind::Name(ident) => {
                let name = ident.to_string();
                let kind = kind(&name);
                Self::Atom(Symbol { name, kind })
            }
            ast::DimKind::Binary(op, left, right) => {
                Self::binary(*op, Self::from_ast(left, kind), Self::from_ast(right, kind))
            }
        }
    }

    /// `left op right`.
    pub fn binary(op: ast::DimOp, left: Self, right: Self) -> Self {
        let (left, right) = (Box::new(left), Box::new(right));
        match op {
            ast::DimOp::Add => Self::Add(left, right),
            ast::DimOp::Sub => Self::Sub(left, right),
            ast::DimOp::Mul => Self::Mul(left, right),
            ast::DimOp::Div => Self::Div(left, right),
            ast::DimOp::Rem => Self::Rem(left, right),
            ast::DimOp::Min => Self::Min(left, right),
            ast::DimOp::Max => Self::Max(left, right),
        }
    }

    /// The same expression in the descriptor's form. None if it mentions the
    /// element count of a pack, which a descriptor has no form for.
    pub fn to_expr(&self) -> Option<ir::DimExpr> {
        let pair = |a: &Self, b: &Self| Some((Box::new(a.to_expr()?), Box::new(b.to_expr()?)));
        Some(match self {
            Self::Const(value) => ir::DimExpr::Const(*value),
            Self::Atom(symbol) => match symbol.kind {
                SymbolKind::Generic => ir::DimExpr::Generic(symbol.name.clone()),
                SymbolKind::Scalar => ir::DimExpr::Scalar(symbol.name.clone()),
                SymbolKind::Count => return None,
            },
            Self::Add(a, b) => pair(a, b).map(|(a, b)| ir::DimExpr::Add(a, b))?,
            Self::Sub(a, b) => pair(a, b).map(|(a, b)| ir::DimExpr::Sub(a, b))?,
            Self::Mul(a, b) => pair(a, b).map(|(a, b)| ir::DimExpr::Mul(a, b))?,
            Self::Div(a, b) => pair(a, b).map(|(a, b)| ir::DimExpr::Div(a, b))?,
            Self::Rem(a, b) => pair(a, b).map(|(a, b)| ir::DimExpr::Rem(a, b))?,
            Self::Min(a, b) => pair(a, b).map(|(a, b)| ir::DimExpr::Min(a, b))?,
            Self::Max(a, b) => pair(a, b).map(|(a, b)| ir::DimExpr::Max(a, b))?,
        })
    }

    /// How long it is to read: `H + H` is longer than `2 * H`.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Const(_) => 1,
            Self::Atom(_) => 2,
            Self::Add(a, b)
            | Self::Sub(a, b)
            | Self::Mul(a, b)
            | Self::Div(a, b)
            | Self::Rem(a, b)
            | Self::Min(a, b)
            | Self::Max(a, b) => 1 + a.size() + b.size(),
        }
    }

    /// Its symbols in the order in which they first appear.
    pub fn symbols(&self) -> Vec<Symbol> {
        let mut found = Vec::new();
        self.collect_symbols(&mut found);
        found
    }

    fn collect_symbols(&self, found: &mut Vec<Symbol>) {
        match self {
            Self::Const(_) => {}
            Self::Atom(symbol) => {
                if !found.contains(symbol) {
                    found.push(symbol.clone());
                }
            }
            Self::Add(a, b)
            | Self::Sub(a, b)
            | Self::Mul(a, b)
            | Self::Div(a, b)
            | Self::Rem(a, b)
            | Self::Min(a, b)
            | Self::Max(a, b) => {
                a.collect_symbols(found);
                b.collect_symbols(found);
            }
        }
    }

    /// With each symbol whose name `replacement` knows replaced.
    pub(super) fn substitute(&self, replacement: &dyn Fn(&str) -> Option<DimTree>) -> Self {
        let pair = |a: &Self, b: &Self| {
            (
                Box::new(a.substitute(replacement)),
                Box::new(b.substitute(replacement)),
            )
        };
        match self {
            Self::Const(_) => self.clone(),
            Self::Atom(symbol) => replacement(&symbol.name).unwrap_or_else(|| self.clone()),
            Self::Add(a, b) => pair(a, b).into_tree(Self::Add),
            Self::Sub(a, b) => pair(a, b).into_tree(Self::Sub),
            Self::Mul(a, b) => pair(a, b).into_tree(Self::Mul),
            Self::Div(a, b) => pair(a, b).into_tree(Self::Div),
            Self::Rem(a, b) => pair(a, b).into_tree(Self::Rem),
            Self::Min(a, b) => pair(a, b).into_tree(Self::Min),
            Self::Max(a, b) => pair(a, b).into_tree(Self::Max),
        }
    }
}

/// Two operands on their way into a node.
trait IntoTree {
    fn into_tree(self, node: fn(Box<DimTree>, Box<DimTree>) -> DimTree) -> DimTree;
}

impl IntoTree for (Box<DimTree>, Box<DimTree>) {
    fn into_tree(self, node: fn(Box<DimTree>, Box<DimTree>) -> DimTree) -> DimTree {
        node(self.0, self.1)
    }
}

impl From<&ast::Dim> for DimTree {
    /// Every name is taken for a generic.
    fn from(dim: &ast::Dim) -> Self {
        Self::from_ast(dim, &|_| SymbolKind::Generic)
    }
}

impl From<&ir::DimExpr> for DimTree {
    fn from(expr: &ir::DimExpr) -> Self {
        let new = |expr: &ir::DimExpr| Box::new(Self::from(expr));
        match expr {
            ir::DimExpr::Const(value) => Self::Const(*value),
            ir::DimExpr::Generic(name) => Self::Atom(Symbol::generic(name)),
            ir::DimExpr::Scalar(name) => Self::Atom(Symbol::scalar(name)),
            ir::DimExpr::Add(a, b) => Self::Add(new(a), new(b)),
            ir::DimExpr::Sub(a, b) => Self::Sub(new(a), new(b)),
            ir::DimExpr::Mul(a, b) => Self::Mul(new(a), new(b)),
            ir::DimExpr::Div(a, b) => Self::Div(new(a), new(b)),
            ir::DimExpr::Rem(a, b) => Self::Rem(new(a), new(b)),
            ir::DimExpr::Min(a, b) => Self::Min(new(a), new(b)),
            ir::DimExpr::Max(a, b) => Self::Max(new(a), new(b)),
        }
    }
}

/// How tightly an expression binds: what needs parentheses around it.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Sum,
    Product,
    Leaf,
}

impl DimTree {
    fn level(&self) -> Level {
        match self {
            Self::Add(..) | Self::Sub(..) => Level::Sum,
            Self::Const(value) if *value < 0 => Level::Sum,
            Self::Mul(..) | Self::Div(..) | Self::Rem(..) => Level::Product,
            Self::Const(_) | Self::Atom(_) | Self::Min(..) | Self::Max(..) => Level::Leaf,
        }
    }

    fn fmt_within(&self, f: &mut std::fmt::Formatter<'_>, least: Level) -> std::fmt::Result {
        if self.level() < least {
            write!(f, "({self})")
        } else {
            write!(f, "{self}")
        }
    }
}

impl std::fmt::Display for DimTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (a, operator, b, left, right) = match self {
            Self::Const(value) => return write!(f, "{value}"),
            Self::Atom(symbol) if symbol.kind == SymbolKind::Count => {
                return write!(f, "*{}", symbol.name);
            }
            Self::Atom(symbol) => return f.write_str(&symbol.name),
            Self::Min(a, b) => return write!(f, "min({a}, {b})"),
            Self::Max(a, b) => return write!(f, "max({a}, {b})"),
            Self::Add(a, b) => (a, "+", b, Level::Sum, Level::Sum),
            Self::Sub(a, b) => (a, "-", b, Level::Sum, Level::Product),
            Self::Mul(a, b) => (a, "*", b, Level::Product, Level::Product),
            Self::Div(a, b) => (a, "/", b, Level::Product, Level::Leaf),
            Self::Rem(a, b) => (a, "%", b, Level::Product, Level::Leaf),
        };
        a.fmt_within(f, left)?;
        write!(f, " {operator} ")?;
        // `a * (b / c)` differs from `a * b / c`, since quotients round down.
        let right = match (self, &**b) {
            (Self::Mul(..), Self::Div(..) | Self::Rem(..)) => Level::Leaf,
            (Self::Add(..), Self::Const(value)) if *value < 0 => Level::Product,
            _ => right,
        };
        b.fmt_within(f, right)
    }
}
