//! Claims that models make, one by one.

use super::{clause, facts, missing, poly, proves, refutes, tree};
use crate::dim::{Facts, Poly, Undecidable};
use crate::ir::{Comparison, DimExpr};

/// What attention requires.
const ATTENTION: &[&str] = &["H % Heads == 0", "Heads > 0", "MaxSeq > 0"];

#[track_caller]
fn holds(clauses: &[&str], claims: &[&str]) {
    let facts = facts(clauses);
    assert!(!facts.contradiction(), "{clauses:?} contradict each other");
    for claim in claims {
        assert!(proves(&facts, claim), "{clauses:?} do not prove {claim}");
        assert!(!refutes(&facts, claim), "{clauses:?} refute {claim}");
        assert_eq!(missing(&facts, claim), None);
    }
}

#[track_caller]
fn open(clauses: &[&str], claims: &[&str]) {
    let facts = facts(clauses);
    for claim in claims {
        assert!(!proves(&facts, claim), "{clauses:?} prove {claim}");
        assert!(!refutes(&facts, claim), "{clauses:?} refute {claim}");
    }
}

#[track_caller]
fn never(clauses: &[&str], claims: &[&str]) {
    let facts = facts(clauses);
    for claim in claims {
        assert!(refutes(&facts, claim), "{clauses:?} do not refute {claim}");
        assert!(!proves(&facts, claim), "{clauses:?} prove {claim}");
        assert_eq!(missing(&facts, claim), None, "{claim} cannot be had");
    }
}

#[test]
fn identities_need_no_facts() {
    holds(
        &[],
        &[
            "M + N == N + M",
            "2 * (H + H) == 4 * H",
            "(A + B) * (A - B) == A * A - B * B",
            "A * (B + C) == C * A + B * A",
            "H / 1 == H",
            "(2 * H) / 2 == H",
            "(2 * H + 1) / 2 == H",
            "(6 * H + 4) / 4 == (3 * H + 2) / 2",
            "H / 2 / 3 == H / 6",
            "(H / 2 + 1) / 3 == (H + 2) / 6",
            "2 * (H / 2) + H % 2 == H",
            "(H + 2 * B) % 2 == H % 2",
            "(H + 32 * K) / 32 == H / 32 + K",
            "7 / 2 == 3",
            "7 % 2 == 1",
            "(1 - 4) / 2 == 0 - 2",
            "(1 - 4) % 2 == 1",
            "min(M, N) == min(N, M)",
            "min(M, min(N, K)) == min(K, min(N, M))",
            "max(M, M + 2) == M + 2",
            "min(3, 5) == 3",
            "min(M, N) + max(M, N) == M + N",
            "max(M, 0) == M",
            "H % 32 < 32",
            "H % 32 >= 0",
            "32 * (H / 32) <= H",
            "min(M, N) <= M",
            "max(M, N) >= N",
            "H >= 0",
            "2 * Inner >= Inner",
            "H + 1 > 0",
            "2 * H != 2 * K + 1",
            "pos + S - pos == S",
        ],
    );
}

#[test]
fn what_is_not_an_identity_is_not_proved() {
    open(
        &[],
        &[
            "H == 3 * H",
            "H == K",
            "H > 0",
            "S - 1 >= 0",
            "H % 2 == 0",
            "2 * (H / 2) == H",
            "pos >= 0",
            "min(M, N) == M",
            "H / 2 == H / 3",
            "M * N == M",
            "M * M >= M * N",
        ],
    );
    never(
        &[],
        &[
            "H == H + 1",
            "H < 0",
            "2 * H == 2 * K + 1",
            "H + 1 <= 0",
            "H % 8 == 9",
        ],
    );
    never(&["H > 0"], &["H == 3 * H", "H / 3 == H"]);
}

#[test]
fn divisibility_gives_whole_quotients() {
    holds(
        ATTENTION,
        &[
            "Heads * (H / Heads) == H",
            "(2 * H) / Heads == 2 * (H / Heads)",
            "(H / Heads) * Heads * B == B * H",
            "(3 * H) % Heads == 0",
            "H * B / Heads == B * (H / Heads)",
            "B * S * H == B * S * Heads * (H / Heads)",
            "B * Heads * S * (H / Heads) == S * B * H",
            "H / Heads <= H",
            "H / Heads >= 0",
        ],
    );
    holds(
        &[
            "H % Heads == 0",
            "Heads > 0",
            "Heads % KvHeads == 0",
            "KvHeads > 0",
        ],
        &[
            "H / KvHeads == (Heads / KvHeads) * (H / Heads)",
            "(Heads * D) / KvHeads == Heads / KvHeads * D",
            "KvHeads * (Heads / KvHeads) * D == Heads * D",
            "H % KvHeads == 0",
            "KvHeads <= Heads",
            "Heads / KvHeads > 0",
        ],
    );
    holds(
        &["H % A == 0", "H % B == 0", "A > 0", "B > 0"],
        &[
            "A * (H / A) == H",
            "B * (H / B) == H",
            "A * (H / A) == B * (H / B)",
            "C * A * (H / A) == B * (H / B) * C",
            "2 * H / B == 2 * (H / B)",
            "2 * H / A == 2 * (H / A)",
        ],
    );
    holds(
        &["H % 32 == 0"],
        &["H % 16 == 0", "H / 16 == 2 * (H / 32)", "H / 32 * 32 == H"],
    );
    holds(
        &["(H + 1) % K == 0", "K > 0"],
        &["K * ((H + 1) / K) == H + 1"],
    );
    holds(
        &["H % Heads == 0", "Heads > 0", "H > 0"],
        &["H / Heads > 0", "Heads <= H"],
    );
    open(
        &["Heads > 0"],
        &[
            "Heads * (H / Heads) == H",
            "(2 * H) / Heads == 2 * (H / Heads)",
        ],
    );
    open(ATTENTION, &["H / Heads > 0", "H % 2 == 0"]);
}

#[test]
fn equations_rewrite() {
    holds(
        &["H == Blocks * 32", "Inner == InnerBlocks * 32"],
        &[
            "H / 32 == Blocks",
            "H % 32 == 0",
            "Blocks * 16 * 2 == H",
            "2 * Inner * H == 2048 * Blocks * InnerBlocks",
            "H >= Blocks",
        ],
    );
    holds(
        &["A == B", "B == C", "C == D + 1"],
        &["A == D + 1", "A > D", "2 * A == B + C"],
    );
    holds(
        &["H == Heads * HeadDim", "Heads > 0"],
        &["H / Heads == HeadDim", "H % Heads == 0"],
    );
    holds(
        &["2 * A == 3 * B"],
        &["4 * A == 6 * B", "2 * A * C == B * C * 3"],
    );
    holds(&["A * B == C * D"], &["A * B * E == E * D * C"]);
    holds(&["M + N == 4"], &["M <= 4", "4 - N == M"]);
    holds(&["S == 1"], &["S * H == H", "S > 0"]);
}

#[test]
fn bounds_follow() {
    holds(
        &["S <= MaxPositions", "MaxPositions <= 1024"],
        &["S <= 1024", "S < 1025", "S != 2000"],
    );
    holds(
        &["S > 0"],
        &["S - 1 >= 0", "S - 1 < S", "S >= 1", "S != 0", "B * S >= B"],
    );
    holds(
        &["A > 0", "B > 0"],
        &["A * B > 0", "A * B >= A", "A + B >= 2", "A * B != 0"],
    );
    holds(&["A != 0", "B >= 0"], &["A > 0", "A * B >= B"]);
    holds(
        &["A < B", "B < C"],
        &["A + 2 <= C", "C - A >= 2", "C - A > 0"],
    );
    holds(&["2 * A >= 1"], &["A >= 1"]);
    holds(&["2 * A < 2 * B + 1"], &["A <= B"]);
    holds(
        &["A <= B"],
        &[
            "A * C <= B * C",
            "A / 2 <= B / 2",
            "A / 32 <= B / 32",
            "min(A, B) == A",
        ],
    );
    holds(
        &["0 <= pos", "pos + S <= MaxSeq"],
        &["S <= MaxSeq", "pos <= MaxSeq"],
    );
    holds(
        &["0 <= pos", "pos < MaxSeq"],
        &["MaxSeq > 0", "pos + 1 <= MaxSeq"],
    );
    holds(
        &["W > 0"],
        &["min(W, S) <= S", "max(S - W, 0) <= S", "min(W, S) >= 0"],
    );
    holds(&["W > 0", "S > 0"], &["min(W, S) > 0", "S / W <= S"]);
    holds(&["a != b"], &["b != a", "2 * a != 2 * b"]);
    holds(
        &["Group > 0", "In % Group == 0"],
        &["Group * (In / Group) <= In"],
    );
    open(&["S <= M"], &["S < M", "M <= S", "S * S <= M"]);
    open(&["pos + S <= MaxSeq"], &["S <= MaxSeq"]);
}

#[test]
fn quotients_and_remainders_are_bounded() {
    holds(
        &["Q > 0"],
        &[
            "P % Q < Q",
            "P % Q >= 0",
            "Q * (P / Q) <= P",
            "P / Q <= P",
            "(Q - 1) / Q == 0",
            "(P * Q + Q - 1) / Q == P",
            "(P + Q) / Q == P / Q + 1",
            "(P * C) / (Q * (C + 1)) >= 0",
        ],
    );
    holds(&["P < Q"], &["P / Q == 0", "P % Q == P"]);
    holds(&["C > 0", "B > 0"], &["(A * C) / (B * C) == A / B"]);
    holds(
        &[],
        &[
            "(S + 1) / 2 <= S + 1",
            "(S + 31) / 32 * 32 >= S",
            "S / 2 + (S + 1) / 2 >= S / 2",
        ],
    );
}

#[test]
fn contradictions_are_seen() {
    for clauses in [
        &["H == H + 1"][..],
        &["H < 0"],
        &["H > 3", "H < 4"],
        &["H == 3", "H != 3"],
        &["2 * H == 3"],
        &["A < B", "B < A"],
        &["H == 2 * K", "H == 2 * J + 1"],
        &["H % 2 == 1", "H % 4 == 0"],
        &["A > 0", "B > 0", "A * B == 0"],
        &["min(A, B) > A"],
    ] {
        assert!(facts(clauses).contradiction(), "{clauses:?}");
    }
    assert!(!Facts::new().contradiction());
    assert!(!facts(ATTENTION).contradiction());
}

#[test]
fn divisors_must_be_positive() {
    let divisor = |facts: &Facts, source| match facts.normalize(&tree(source)) {
        Err(Undecidable::Divisor(divisor)) => divisor.to_string(),
        other => panic!("{source}: {other:?}"),
    };
    let none = Facts::new();
    assert_eq!(divisor(&none, "H / Heads"), "Heads");
    assert_eq!(divisor(&none, "H % Heads"), "Heads");
    assert_eq!(divisor(&none, "H / 0"), "0");
    assert_eq!(divisor(&none, "H / (A - B)"), "A - B");
    assert_eq!(divisor(&none, "2 / (H / (K + 1))"), "H / (K + 1)");
    assert!(none.normalize(&tree("H / (A + 1)")).is_ok());
    assert_eq!(
        missing(&none, "Heads > 0").as_deref(),
        Some("Heads > 0"),
        "this is what a message suggests"
    );
    // The order of clauses does not matter; one that no other helps is left over.
    let mut facts = Facts::new();
    let clauses = ["H % Heads == 0", "H % (H / Heads) == 0", "Heads > 0"].map(clause);
    let left_over = facts.assume_all(&clauses);
    assert_eq!(left_over.len(), 1);
    assert_eq!(left_over[0].0, 1);
    assert!(proves(&facts, "Heads * (H / Heads) == H"));
}

#[test]
fn expressions_print_as_their_author_writes() {
    let facts = facts(ATTENTION);
    for (source, printed) in [
        ("3 * H", "3 * H"),
        ("H / Heads", "H / Heads"),
        ("M + N", "M + N"),
        ("N + M", "N + M"),
        ("S - 1", "S - 1"),
        ("2 * Batch", "2 * Batch"),
        ("Heads * HeadDim", "Heads * HeadDim"),
        ("H + H", "2 * H"),
        ("2 * (H + H)", "4 * H"),
        ("H + 2 * H + 0", "3 * H"),
        ("S + 1 - 2", "S - 1"),
        ("Heads * (H / Heads)", "H"),
        ("B * (Heads * (H / Heads))", "B * H"),
        ("2 * H / 2", "H"),
        ("H % Heads", "0"),
        ("H % 32", "H % 32"),
        ("B + H % 32", "B + H % 32"),
        ("min(S, Window)", "min(S, Window)"),
        ("min(S, S + 1)", "S"),
        ("(M + N) / 2", "(M + N) / 2"),
        ("B * (H / 32)", "B * (H / 32)"),
        ("H / 4 / 8", "H / 32"),
        ("A - (B - C)", "A - (B - C)"),
        ("A - (B + C)", "A - (B + C)"),
        ("7", "7"),
        ("H - H", "0"),
        ("2 * H / Heads", "2 * H / Heads"),
        ("2 * pos + S", "2 * pos + S"),
    ] {
        assert_eq!(poly(&facts, source).to_string(), printed, "{source}");
    }
    let made = Poly::name("S")
        .add(&Poly::constant(2))
        .expect("fits")
        .sub(&Poly::constant(3));
    assert_eq!(made.expect("fits").to_string(), "S - 1");
}

#[test]
fn expressions_convert_to_the_descriptor_and_back() {
    let facts = facts(ATTENTION);
    for source in ["3 * H", "H / Heads", "min(S, pos + 1) % 7", "max(A - B, 0)"] {
        let normal = poly(&facts, source);
        let expr = normal.to_expr().expect("no element counts");
        let back = facts.normalize(&(&expr).into()).expect("decidable");
        assert_eq!(back, normal);
        assert_eq!(back.to_string(), source);
    }
    let name = |name: &str| Box::new(DimExpr::Generic(name.into()));
    assert_eq!(
        poly(&facts, "H / Heads").to_expr(),
        Some(DimExpr::Div(name("H"), name("Heads")))
    );
    assert_eq!(
        Poly::scalar("pos").to_expr(),
        Some(DimExpr::Scalar("pos".into()))
    );
    assert_eq!(Poly::count("S").to_expr(), None);
}

#[test]
fn element_counts_are_unknown_numbers() {
    let facts = facts(ATTENTION);
    let count = Poly::count("S");
    let left = count.mul(&poly(&facts, "H")).expect("fits");
    let right = poly(&facts, "Heads * (H / Heads)")
        .mul(&count)
        .expect("fits");
    assert!(facts.equal(&left, &right));
    assert!(!facts.equal(&left, &poly(&facts, "H")));
    assert_eq!(
        facts.missing(&left, Comparison::Eq, &poly(&facts, "H")),
        None
    );
    assert_eq!(left.to_string(), "*S * H");
}

#[test]
fn substitution_keeps_the_meaning() {
    let callee = facts(&["In % Group == 0", "Group > 0"]);
    let map = |pairs: &[(&str, Poly)]| {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    };
    let caller = facts(&["Hidden % 4 == 0"]);
    let hidden = poly(&caller, "2 * Hidden");
    let map = map(&[("In", hidden), ("Group", Poly::constant(4))]);
    let columns = poly(&callee, "In / Group").substitute(&map).expect("fits");
    assert!(caller.equal(&columns, &poly(&caller, "Hidden / 2")));
    assert_eq!(
        poly(&callee, "3 * In")
            .substitute(&map)
            .expect("fits")
            .to_string(),
        "6 * Hidden"
    );
    assert_eq!(
        poly(&callee, "min(In, Group)")
            .substitute(&map)
            .expect("fits")
            .to_string(),
        "min(2 * Hidden, 4)"
    );
    let pack = [("S".to_owned(), poly(&caller, "B * T"))].into();
    let counted = Poly::count("S").mul(&Poly::name("H")).expect("fits");
    assert!(caller.equal(
        &counted.substitute(&pack).expect("fits"),
        &poly(&caller, "T * H * B")
    ));
}

#[test]
fn generics_are_inferred() {
    let facts = facts(ATTENTION);
    let solve = |left: &str, right: &str| {
        let found = facts.solve_for("X", &poly(&facts, left), &poly(&facts, right));
        found.map(|value| value.to_string())
    };
    assert_eq!(solve("X", "3 * H").as_deref(), Some("3 * H"));
    assert_eq!(solve("2 * X", "2 * Inner").as_deref(), Some("Inner"));
    assert_eq!(solve("Batch + X", "Batch + P").as_deref(), Some("P"));
    assert_eq!(solve("X + 1", "S").as_deref(), Some("S - 1"));
    assert_eq!(solve("S - X", "S - 1").as_deref(), Some("1"));
    assert_eq!(
        solve("Heads * X", "Heads * HeadDim").as_deref(),
        Some("HeadDim")
    );
    assert_eq!(solve("Heads * X", "H").as_deref(), Some("H / Heads"));
    assert_eq!(
        solve("Heads * X", "2 * H").as_deref(),
        Some("2 * (H / Heads)")
    );
    assert_eq!(solve("(A + 1) * X", "A * B + B").as_deref(), Some("B"));
    assert_eq!(solve("2 * X", "H"), None);
    assert_eq!(solve("B * X", "H"), None);
    assert_eq!(solve("X * X", "H * H"), None);
    assert_eq!(solve("X / 2", "H"), None);
    assert_eq!(solve("min(X, 2)", "H"), None);
    assert_eq!(solve("X + 1", "X"), None);
    assert_eq!(solve("H", "H"), None);
}

#[test]
fn the_missing_requirement_is_named() {
    #[track_caller]
    fn suggests(clauses: &[&str], claim: &str, expected: &str) {
        let facts = facts(clauses);
        assert_eq!(
            missing(&facts, claim).as_deref(),
            Some(expected),
            "{clauses:?}: {claim}"
        );
    }
    suggests(&["Heads > 0"], "Heads * (H / Heads) == H", "H % Heads == 0");
    suggests(
        &["Heads > 0"],
        "B * Heads * (H / Heads) == B * H",
        "H % Heads == 0",
    );
    suggests(
        &["Heads > 0"],
        "(2 * H) / Heads == 2 * (H / Heads)",
        "H % Heads == 0",
    );
    suggests(&[], "2 * (H / 2) == H", "H % 2 == 0");
    suggests(&[], "Heads > 0", "Heads > 0");
    suggests(&[], "0 < Heads", "Heads > 0");
    suggests(&[], "S <= MaxPositions", "S <= MaxPositions");
    suggests(&[], "MaxPositions >= S", "S <= MaxPositions");
    suggests(&[], "0 <= S - 1", "S > 0");
    suggests(&[], "S - 1 >= 0", "S > 0");
    suggests(&[], "A - B >= 0", "B <= A");
    suggests(&[], "M == N", "M == N");
    suggests(&[], "H == 2 * Inner", "H == 2 * Inner");
    suggests(&[], "M == 4", "M == 4");
    suggests(&[], "pos >= 0", "pos >= 0");
    suggests(&[], "pos + S <= MaxSeq", "pos + S <= MaxSeq");
    suggests(
        &["A > 0", "B > 0"],
        "A * (H / A) == B * (H / B)",
        "H % A == 0, H % B == 0",
    );
    // What only the value 0 would satisfy is no requirement to suggest.
    assert_eq!(missing(&Facts::new(), "H == 3 * H"), None);
    assert_eq!(missing(&Facts::new(), "H == H + 1"), None);
    assert_eq!(missing(&Facts::new(), "S - 1 < S - K"), None);
}

#[test]
fn numbers_that_do_not_fit_are_undecided() {
    let facts = Facts::new();
    let big = "9223372036854775807";
    for source in [
        format!("{big} + H + {big}"),
        format!("{big} * 2"),
        format!("{big} * H * {big}"),
        format!("(H + {big}) * (K + {big})"),
    ] {
        assert_eq!(
            facts.normalize(&tree(&source)),
            Err(Undecidable::Overflow),
            "{source}"
        );
    }
    assert!(
        facts
            .normalize(&tree(&format!("(0 - {big} - 1) / 1")))
            .is_ok()
    );
    // At the edge, answers are right or absent.
    let claim = format!("H + {big} >= {big}");
    assert!(proves(&facts, &claim));
    let low = poly(&facts, &format!("0 - {big}"));
    let high = poly(&facts, big);
    assert!(!facts.prove(&low, Comparison::Ge, &high));
    assert!(!facts.prove(&high, Comparison::Eq, &low));
    let mut odd = Facts::new();
    odd.assume(
        &high.mul(&Poly::name("H")).expect("fits"),
        Comparison::Eq,
        &low,
    );
    odd.assume(
        &low.mul(&Poly::name("H")).expect("fits"),
        Comparison::Lt,
        &high,
    );
    assert!(
        !odd.prove(&Poly::name("K"), Comparison::Lt, &Poly::constant(0)) || odd.contradiction()
    );
}

#[test]
fn questions_end_soon() {
    // Many facts about many names, and a claim that does not follow.
    let names: Vec<String> = (0..24).map(|at| format!("N{at}")).collect();
    let mut clauses = Vec::new();
    for pair in names.windows(2) {
        clauses.push(format!("{} * {} <= {} + 7", pair[0], pair[1], pair[1]));
        clauses.push(format!(
            "{} % 3 < min({}, {} + 1)",
            pair[0], pair[1], pair[0]
        ));
    }
    let clauses: Vec<&str> = clauses.iter().map(String::as_str).collect();
    let facts = facts(&clauses);
    assert!(!proves(&facts, "N0 * N5 + min(N3, N7) <= max(N2, N9) * N4"));
    // A long expression.
    let long = vec!["H"; 300].join(" + ");
    assert_eq!(poly(&Facts::new(), &long).to_string(), "300 * H");
    // A power that would have millions of terms.
    let sum = names[..12].join(" + ");
    let power = vec![format!("({sum})"); 9].join(" * ");
    assert_eq!(facts.normalize(&tree(&power)), Err(Undecidable::Overflow));
}
