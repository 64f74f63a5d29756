//! What must hold of random expressions under random facts.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::dim::{DimTree, Facts, Poly, Symbol};
use crate::ir::Comparison;

/// The generics of random expressions.
const GENERICS: [&str; 3] = ["A", "B", "C"];

/// Their values in an exhaustive check.
const VALUES: std::ops::RangeInclusive<i128> = 0..=5;

/// The values of the scalar `pos`.
const POSITIONS: std::ops::RangeInclusive<i128> = -2..=3;

type Assignment = BTreeMap<String, i128>;

/// The value of an expression. None where it divides by what is not positive.
fn eval(tree: &DimTree, values: &Assignment) -> Option<i128> {
    let pair = |a: &DimTree, b: &DimTree| Some((eval(a, values)?, eval(b, values)?));
    Some(match tree {
        DimTree::Const(value) => (*value).into(),
        DimTree::Atom(symbol) => values[&symbol.name],
        DimTree::Add(a, b) => pair(a, b).map(|(a, b)| a + b)?,
        DimTree::Sub(a, b) => pair(a, b).map(|(a, b)| a - b)?,
        DimTree::Mul(a, b) => pair(a, b).map(|(a, b)| a * b)?,
        DimTree::Div(a, b) => pair(a, b)
            .filter(|(_, b)| *b > 0)
            .map(|(a, b)| a.div_euclid(b))?,
        DimTree::Rem(a, b) => pair(a, b)
            .filter(|(_, b)| *b > 0)
            .map(|(a, b)| a.rem_euclid(b))?,
        DimTree::Min(a, b) => pair(a, b).map(|(a, b)| a.min(b))?,
        DimTree::Max(a, b) => pair(a, b).map(|(a, b)| a.max(b))?,
    })
}

fn compare(left: i128, comparison: Comparison, right: i128) -> bool {
    match comparison {
        Comparison::Eq => left == right,
        Comparison::Ne => left != right,
        Comparison::Lt => left < right,
        Comparison::Le => left <= right,
        Comparison::Gt => left > right,
        Comparison::Ge => left >= right,
    }
}

/// Every assignment of small values.
fn assignments() -> Vec<Assignment> {
    let mut all = vec![Assignment::new()];
    let names = GENERICS
        .iter()
        .map(|name| (*name, VALUES))
        .chain([("pos", POSITIONS)]);
    for (name, values) in names {
        all = all
            .iter()
            .flat_map(|assignment| {
                values.clone().map(|value| {
                    let mut next = assignment.clone();
                    next.insert(name.to_owned(), value);
                    next
                })
            })
            .collect();
    }
    all
}

fn boxed(pair: (DimTree, DimTree)) -> (Box<DimTree>, Box<DimTree>) {
    (Box::new(pair.0), Box::new(pair.1))
}

fn leaf() -> impl Strategy<Value = DimTree> {
    prop_oneof![
        4 => prop::sample::select(&GENERICS[..]).prop_map(DimTree::name),
        1 => Just(DimTree::Atom(Symbol::scalar("pos"))),
        2 => (0i64..5).prop_map(DimTree::Const),
    ]
}

/// Expressions with all operators.
fn expression() -> impl Strategy<Value = DimTree> {
    leaf().prop_recursive(3, 10, 2, |inner| {
        let pair = || (inner.clone(), inner.clone()).prop_map(boxed);
        prop_oneof![
            3 => pair().prop_map(|(a, b)| DimTree::Add(a, b)),
            2 => pair().prop_map(|(a, b)| DimTree::Sub(a, b)),
            3 => pair().prop_map(|(a, b)| DimTree::Mul(a, b)),
            3 => pair().prop_map(|(a, b)| DimTree::Div(a, b)),
            2 => pair().prop_map(|(a, b)| DimTree::Rem(a, b)),
            1 => pair().prop_map(|(a, b)| DimTree::Min(a, b)),
            1 => pair().prop_map(|(a, b)| DimTree::Max(a, b)),
        ]
    })
}

/// Expressions that are polynomials in generics.
fn polynomial() -> impl Strategy<Value = DimTree> {
    leaf().prop_recursive(4, 14, 2, |inner| {
        let pair = || (inner.clone(), inner.clone()).prop_map(boxed);
        prop_oneof![
            pair().prop_map(|(a, b)| DimTree::Add(a, b)),
            pair().prop_map(|(a, b)| DimTree::Sub(a, b)),
            pair().prop_map(|(a, b)| DimTree::Mul(a, b)),
        ]
    })
}

fn comparison() -> impl Strategy<Value = Comparison> {
    prop::sample::select(vec![
        Comparison::Eq,
        Comparison::Ne,
        Comparison::Lt,
        Comparison::Le,
        Comparison::Gt,
        Comparison::Ge,
    ])
}

/// Clauses like those that models have, and any others.
fn clause() -> impl Strategy<Value = (DimTree, Comparison, DimTree)> {
    let name = || prop::sample::select(&GENERICS[..]).prop_map(DimTree::name);
    let zero = || DimTree::Const(0);
    prop_oneof![
        3 => name().prop_map(move |a| (a, Comparison::Gt, zero())),
        2 => (name(), name()).prop_map(move |pair| {
            let (a, b) = boxed(pair);
            (DimTree::Rem(a, b), Comparison::Eq, zero())
        }),
        1 => (name(), 1i64..4).prop_map(move |(a, k)| {
            (DimTree::Rem(Box::new(a), Box::new(DimTree::Const(k))), Comparison::Eq, zero())
        }),
        1 => (name(), name(), 1i64..4).prop_map(|(a, b, k)| {
            (a, Comparison::Eq, DimTree::Mul(Box::new(b), Box::new(DimTree::Const(k))))
        }),
        2 => (name(), comparison(), name()),
        1 => (expression(), comparison(), expression()),
    ]
}

/// Another way to write the same polynomial, chosen by the bits of `seed`.
fn rewritten(tree: &DimTree, seed: &mut u64) -> DimTree {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    let choice = *seed >> 61;
    let again = |tree: &DimTree, seed: &mut u64| Box::new(rewritten(tree, seed));
    match tree {
        DimTree::Const(value) if choice < 3 => DimTree::Add(
            Box::new(DimTree::Const(value - 2)),
            Box::new(DimTree::Const(2)),
        ),
        DimTree::Const(_) | DimTree::Atom(_) if choice < 2 => {
            DimTree::Mul(Box::new(DimTree::Const(1)), Box::new(tree.clone()))
        }
        DimTree::Const(_) | DimTree::Atom(_) => tree.clone(),
        DimTree::Add(a, b) if choice < 4 => DimTree::Add(again(b, seed), again(a, seed)),
        DimTree::Add(a, b) => DimTree::Add(again(a, seed), again(b, seed)),
        DimTree::Sub(a, b) if choice < 4 => {
            let minus = DimTree::Sub(Box::new(DimTree::Const(0)), again(b, seed));
            DimTree::Add(Box::new(minus), again(a, seed))
        }
        DimTree::Sub(a, b) => DimTree::Sub(again(a, seed), again(b, seed)),
        DimTree::Mul(a, b) => match (&**a, choice) {
            (DimTree::Add(x, y), 0..6) => DimTree::Add(
                Box::new(DimTree::Mul(again(x, seed), again(b, seed))),
                Box::new(DimTree::Mul(again(y, seed), again(b, seed))),
            ),
            (_, 0..4) => DimTree::Mul(again(b, seed), again(a, seed)),
            _ => DimTree::Mul(again(a, seed), again(b, seed)),
        },
        DimTree::Min(a, b) => DimTree::Min(again(b, seed), again(a, seed)),
        DimTree::Max(a, b) => DimTree::Max(again(b, seed), again(a, seed)),
        DimTree::Div(a, b) => DimTree::Div(again(a, seed), again(b, seed)),
        DimTree::Rem(a, b) => DimTree::Rem(again(a, seed), again(b, seed)),
    }
}

/// The facts of the clauses that can be understood, and the assignments that satisfy them.
fn world(clauses: &[(DimTree, Comparison, DimTree)]) -> (Facts, Vec<Assignment>) {
    let mut facts = Facts::new();
    let rejected = facts.assume_all(clauses);
    let accepted = clauses
        .iter()
        .enumerate()
        .filter(|(at, _)| !rejected.iter().any(|(rejected, _)| rejected == at));
    let accepted: Vec<_> = accepted.map(|(_, clause)| clause).collect();
    let satisfying = assignments().into_iter().filter(|values| {
        accepted.iter().all(|(left, comparison, right)| {
            match (eval(left, values), eval(right, values)) {
                (Some(left), Some(right)) => compare(left, *comparison, right),
                // A divisor is positive by another clause, which fails here.
                _ => false,
            }
        })
    });
    (facts, satisfying.collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    /// Equality of polynomials in generics is decided exactly.
    #[test]
    fn polynomial_identities_are_complete(a in polynomial(), b in polynomial(), seed: u64) {
        let facts = Facts::new();
        let mut seed = seed;
        let other = rewritten(&a, &mut seed);
        let (Ok(a_poly), Ok(b_poly)) = (facts.normalize(&a), facts.normalize(&b)) else {
            return Ok(());
        };
        let other_poly = facts.normalize(&other).expect("fits as the first form does");
        prop_assert_eq!(&a_poly, &other_poly, "{} and {}", a, other);
        prop_assert!(facts.prove(&a_poly, Comparison::Eq, &other_poly));
        prop_assert!(facts.prove(&other_poly, Comparison::Eq, &a_poly));
        // Two polynomials of low degree that agree at these points agree.
        let points = [[10_007, 20_011, 30_029, 40_009], [999_983, 7, 100_003, 55_001], [3, 70_001, 11, 9_001]];
        let same = points.iter().all(|point| {
            let names = GENERICS.iter().copied().chain(["pos"]);
            let values = names.map(str::to_owned).zip(*point).collect();
            eval(&a, &values) == eval(&b, &values)
        });
        prop_assert_eq!(facts.prove(&a_poly, Comparison::Eq, &b_poly), same, "{} and {}", a, b);
    }

    /// Normal forms and what they print have the value of what was written.
    #[test]
    fn normal_forms_keep_the_value(
        a in expression(),
        clauses in prop::collection::vec(clause(), 0..4),
        seed: u64,
    ) {
        let (facts, satisfying) = world(&clauses);
        let Ok(normal) = facts.normalize(&a) else { return Ok(()) };
        let mut seed = seed;
        let other = rewritten(&a, &mut seed);
        let (shown, expr) = (normal.to_tree(), normal.to_expr().expect("no element counts"));
        let printed = super::tree(&shown.to_string());
        for values in &satisfying {
            let value = eval(&a, values);
            prop_assert!(value.is_some(), "{} is not defined for {:?}", a, values);
            prop_assert_eq!(eval(&shown, values), value, "{} is not {}", shown, a);
            prop_assert_eq!(eval(&printed, values), value, "{} reads as {}", shown, printed);
            prop_assert_eq!(eval(&DimTree::from(&expr), values), value);
            prop_assert_eq!(eval(&other, values), value);
        }
    }

    /// What is proved holds, what is refuted fails, and no satisfiable facts
    /// contradict each other.
    #[test]
    fn answers_are_sound(
        clauses in prop::collection::vec(clause(), 0..5),
        a in expression(),
        comparison in comparison(),
        b in expression(),
    ) {
        let (mut facts, satisfying) = world(&clauses);
        prop_assert!(satisfying.is_empty() || !facts.contradiction());
        let (Ok(left), Ok(right)) = (facts.normalize(&a), facts.normalize(&b)) else {
            return Ok(());
        };
        let holds = |values: &Assignment| {
            Some(compare(eval(&a, values)?, comparison, eval(&b, values)?))
        };
        let (proved, refuted) =
            (facts.prove(&left, comparison, &right), facts.refute(&left, comparison, &right));
        for values in &satisfying {
            let holds = holds(values);
            prop_assert!(holds.is_some(), "not defined for {:?}", values);
            prop_assert!(!proved || holds == Some(true), "proved {a} {comparison:?} {b}: {values:?}");
            prop_assert!(!refuted || holds == Some(false), "refuted {a} {comparison:?} {b}: {values:?}");
        }
        if let Some(text) = facts.missing(&left, comparison, &right) {
            prop_assert!(!proved && !refuted);
            for text in text.split(", ") {
                // Commas within `min(..)` would split; such clauses are left to the examples.
                if text.contains("min") || text.contains("max") || text.contains(['(', ')']) {
                    return Ok(());
                }
                let clause = super::clause(text);
                prop_assert_eq!(facts.assume_all(&[clause]), []);
            }
            prop_assert!(facts.prove(&left, comparison, &right), "{text} does not help");
        }
    }

    /// A claim that is among the facts is proved.
    #[test]
    fn facts_are_proved(clauses in prop::collection::vec(clause(), 1..5)) {
        let (facts, _) = world(&clauses);
        for (left, comparison, right) in &clauses {
            let (Ok(a), Ok(b)) = (facts.normalize(left), facts.normalize(right)) else { continue };
            let mut with = facts.clone();
            with.assume(&a, *comparison, &b);
            prop_assert!(with.prove(&a, *comparison, &b), "{left} {comparison:?} {right}");
        }
    }

    /// An inferred generic satisfies the equation.
    #[test]
    fn inferred_values_are_solutions(
        clauses in prop::collection::vec(clause(), 0..4),
        factor in polynomial(),
        rest in polynomial(),
        right in expression(),
    ) {
        let (facts, satisfying) = world(&clauses);
        let scaled = DimTree::Mul(Box::new(DimTree::name("X")), Box::new(factor));
        let left = DimTree::Add(Box::new(scaled), Box::new(rest));
        let (Ok(left_poly), Ok(right_poly)) = (facts.normalize(&left), facts.normalize(&right)) else {
            return Ok(());
        };
        let Some(value) = facts.solve_for("X", &left_poly, &right_poly) else { return Ok(()) };
        for values in &satisfying {
            let mut values = values.clone();
            let x = eval(&value.to_tree(), &values).expect("defined under the facts");
            values.insert("X".to_owned(), x);
            prop_assert_eq!(eval(&left, &values), eval(&right, &values), "X = {}", value);
        }
    }

    /// Substitution commutes with evaluation.
    #[test]
    fn substitution_keeps_the_value(
        clauses in prop::collection::vec(clause(), 0..4),
        a in expression(),
        value in polynomial(),
    ) {
        let (facts, satisfying) = world(&clauses);
        let (Ok(poly), Ok(value)) = (facts.normalize(&a), facts.normalize(&value)) else {
            return Ok(());
        };
        let map: BTreeMap<String, Poly> = [("A".to_owned(), value.clone())].into();
        let Ok(substituted) = poly.substitute(&map) else { return Ok(()) };
        for values in &satisfying {
            let inner = eval(&value.to_tree(), values).expect("a polynomial");
            let mut after = values.clone();
            after.insert("A".to_owned(), inner);
            // Only where the facts hold after it too are the divisors positive.
            if satisfying.contains(&after) {
                prop_assert_eq!(eval(&substituted.to_tree(), values), eval(&a, &after));
            }
        }
    }
}
