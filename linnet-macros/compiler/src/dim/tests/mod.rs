//! Tests of the dimension arithmetic.

mod examples;
mod properties;

use crate::dim::{DimTree, Facts, Poly, Symbol, SymbolKind};
use crate::ir::Comparison;

/// Names in lower case are scalars, as the test's authors write them.
fn kind(name: &str) -> SymbolKind {
    if name.starts_with(char::is_lowercase) {
        SymbolKind::Scalar
    } else {
        SymbolKind::Generic
    }
}

/// A dimension expression from Rust source.
fn tree(source: &str) -> DimTree {
    from_syn(&syn::parse_str(source).expect("an expression"))
}

fn from_syn(expr: &syn::Expr) -> DimTree {
    match expr {
        syn::Expr::Paren(inner) => from_syn(&inner.expr),
        syn::Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Int(value) => DimTree::Const(value.base10_parse().expect("an i64")),
            _ => panic!("not an integer"),
        },
        syn::Expr::Unary(minus) => {
            let DimTree::Const(value) = from_syn(&minus.expr) else {
                panic!("not a constant")
            };
            DimTree::Const(-value)
        }
        syn::Expr::Path(path) => {
            let name = path.path.get_ident().expect("a name").to_string();
            let kind = kind(&name);
            DimTree::Atom(Symbol { name, kind })
        }
        syn::Expr::Binary(binary) => {
            let (a, b) = (
                Box::new(from_syn(&binary.left)),
                Box::new(from_syn(&binary.right)),
            );
            match binary.op {
                syn::BinOp::Add(_) => DimTree::Add(a, b),
                syn::BinOp::Sub(_) => DimTree::Sub(a, b),
                syn::BinOp::Mul(_) => DimTree::Mul(a, b),
                syn::BinOp::Div(_) => DimTree::Div(a, b),
                syn::BinOp::Rem(_) => DimTree::Rem(a, b),
                _ => panic!("not an operator of dimensions"),
            }
        }
        syn::Expr::Call(call) => {
            let syn::Expr::Path(path) = &*call.func else {
                panic!("not a name")
            };
            let mut args = call.args.iter().map(from_syn);
            let a = Box::new(args.next().expect("an argument"));
            let b = Box::new(args.next().expect("another"));
            if path.path.is_ident("min") {
                DimTree::Min(a, b)
            } else {
                DimTree::Max(a, b)
            }
        }
        _ => panic!("not a dimension expression"),
    }
}

/// A comparison from Rust source.
fn clause(source: &str) -> (DimTree, Comparison, DimTree) {
    let syn::Expr::Binary(binary) = syn::parse_str(source).expect("an expression") else {
        panic!("not a comparison: {source}");
    };
    let comparison = match binary.op {
        syn::BinOp::Eq(_) => Comparison::Eq,
        syn::BinOp::Ne(_) => Comparison::Ne,
        syn::BinOp::Lt(_) => Comparison::Lt,
        syn::BinOp::Le(_) => Comparison::Le,
        syn::BinOp::Gt(_) => Comparison::Gt,
        syn::BinOp::Ge(_) => Comparison::Ge,
        _ => panic!("not a comparison: {source}"),
    };
    (from_syn(&binary.left), comparison, from_syn(&binary.right))
}

/// Facts from clauses that all have to be understood.
fn facts(clauses: &[&str]) -> Facts {
    let mut facts = Facts::new();
    let clauses: Vec<_> = clauses.iter().map(|source| clause(source)).collect();
    assert_eq!(facts.assume_all(&clauses), []);
    facts
}

/// An expression in normal form.
fn poly(facts: &Facts, source: &str) -> Poly {
    match facts.normalize(&tree(source)) {
        Ok(poly) => poly,
        Err(error) => panic!("{source}: {error}"),
    }
}

/// Whether the facts prove a comparison.
fn proves(facts: &Facts, source: &str) -> bool {
    let (left, comparison, right) = clause(source);
    match (facts.normalize(&left), facts.normalize(&right)) {
        (Ok(left), Ok(right)) => facts.prove(&left, comparison, &right),
        (Err(error), _) | (_, Err(error)) => panic!("{source}: {error}"),
    }
}

/// Whether the facts refute a comparison.
fn refutes(facts: &Facts, source: &str) -> bool {
    let (left, comparison, right) = clause(source);
    facts.refute(
        &poly(facts, &left.to_string()),
        comparison,
        &poly(facts, &right.to_string()),
    )
}

/// What is missing to prove a comparison.
fn missing(facts: &Facts, source: &str) -> Option<String> {
    let (left, comparison, right) = clause(source);
    facts.missing(
        &poly(facts, &left.to_string()),
        comparison,
        &poly(facts, &right.to_string()),
    )
}
