//! Whether a value has the type that is due, and what to say where it has not.

use quote::ToTokens;

use super::body::{Body, Value};
use super::source;
use super::types::{Item, Tensor, Ty, Type, show_dtype};
use crate::diagnostic::Rule;
use crate::dim::{Facts, Poly};
use crate::ir::{self, Comparison};

/// How two types compare.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Agreement {
    /// They agree, provably.
    Yes,
    /// Another sort of value.
    Sort,
    /// Another dtype.
    DType,
    /// Another number of axes, or packs at other places.
    Rank,
    /// Dimensions that are not provably equal, at these places.
    Dims(Vec<usize>),
}

/// Compares a type to the one due.
pub(crate) fn compare(expected: &Ty, found: &Ty, facts: &Facts) -> Agreement {
    match (expected, found) {
        (Type::Unknown, _) | (_, Type::Unknown) => Agreement::Yes,
        (Type::Tensor(expected), Type::Tensor(found)) => {
            match compare_dims(&expected.dims, &found.dims, facts) {
                Agreement::Yes if expected.dtype != found.dtype => Agreement::DType,
                dims => dims,
            }
        }
        (Type::Scalar(expected), Type::Scalar(found)) => {
            if expected == found {
                Agreement::Yes
            } else {
                Agreement::DType
            }
        }
        (Type::Option(expected), Type::Option(found)) => compare(expected, found, facts),
        (Type::Tuple(expected), Type::Tuple(found)) if expected.len() == found.len() => expected
            .iter()
            .zip(found)
            .map(|(expected, found)| compare(expected, found, facts))
            .find(|agreement| *agreement != Agreement::Yes)
            .unwrap_or(Agreement::Yes),
        (Type::Unit, Type::Unit) => Agreement::Yes,
        _ => Agreement::Sort,
    }
}

fn compare_dims(expected: &[Item], found: &[Item], facts: &Facts) -> Agreement {
    if expected.len() != found.len() {
        return Agreement::Rank;
    }
    let mut differ = Vec::new();
    for (i, pair) in expected.iter().zip(found).enumerate() {
        match pair {
            (Item::One(a), Item::One(b)) if facts.equal(a, b) => {}
            (Item::Pack(a), Item::Pack(b)) if a == b => {}
            (Item::One(_), Item::One(_)) => differ.push(i),
            _ => return Agreement::Rank,
        }
    }
    if differ.is_empty() {
        Agreement::Yes
    } else {
        Agreement::Dims(differ)
    }
}

impl Body<'_, '_> {
    /// Whether a value has the type due; reports where it has not. `note` says
    /// how the type due comes about, given the places that differ.
    pub(crate) fn expect(
        &mut self,
        found: &Value,
        expected: &Ty,
        place: &str,
        note: Option<String>,
        tokens: impl ToTokens,
    ) -> bool {
        let agreement = compare(expected, &found.ty, &self.facts);
        if agreement == Agreement::Yes {
            return true;
        }
        let tokens = tokens.into_token_stream();
        let rule = self.mismatch(agreement, expected, &found.ty, place, note, &tokens);
        self.report(rule, tokens);
        false
    }

    /// The rule that a value of the wrong type breaks.
    pub(crate) fn mismatch(
        &self,
        agreement: Agreement,
        expected: &Ty,
        found: &Ty,
        place: &str,
        expected_note: Option<String>,
        tokens: &proc_macro2::TokenStream,
    ) -> Rule {
        let place = place.to_owned();
        let text = short_text(tokens);
        let (expected_text, found_text) = (expected.to_string(), found.to_string());
        match agreement {
            Agreement::DType => Rule::DTypeMismatch {
                place,
                help: cast_help(expected, found, &text),
                expected: expected_text,
                expected_note,
                found: found_text,
            },
            Agreement::Rank | Agreement::Dims(_) => Rule::ShapeMismatch {
                place,
                help: self.shape_help(&agreement, expected, found, &text),
                expected: expected_text,
                expected_note,
                found: found_text,
            },
            Agreement::Sort | Agreement::Yes => {
                if let Type::Option(inner) = found
                    && compare(expected, inner, &self.facts) == Agreement::Yes
                {
                    return Rule::OptionalBare {
                        what: text,
                        ty: found_text,
                    };
                }
                Rule::TypeMismatch {
                    place,
                    help: sort_help(expected, found, &text, &self.facts),
                    expected: expected_text,
                    expected_note,
                    found: found_text,
                }
            }
        }
    }

    /// What to do about a tensor of the wrong shape.
    pub(crate) fn shape_help(
        &self,
        agreement: &Agreement,
        expected: &Ty,
        found: &Ty,
        text: &str,
    ) -> Option<String> {
        let (Type::Tensor(expected), Type::Tensor(found)) = (expected, found) else {
            return None;
        };
        if let Agreement::Dims(places) = agreement {
            if let Some(axes) = permutation(expected, found, &self.facts)
                && places.len() > 1
            {
                let axes: Vec<String> = axes.iter().map(ToString::to_string).collect();
                return Some(format!(
                    "reorder its axes: `{text}.permute([{}])`",
                    axes.join(", ")
                ));
            }
            if let [place] = places[..]
                && let (Item::One(due), Item::One(is)) = (&expected.dims[place], &found.dims[place])
            {
                let is_multiple = [2, 3, 4].iter().any(|factor| {
                    Poly::constant(*factor)
                        .mul(due)
                        .is_ok_and(|multiple| self.facts.equal(&multiple, is))
                });
                if is_multiple && due.as_constant() != Some(1) {
                    let entries: Vec<String> = (0..expected.dims.len())
                        .map(|i| {
                            if i == place {
                                format!("0..{due}")
                            } else {
                                "..".to_owned()
                            }
                        })
                        .collect();
                    let has_pack = expected
                        .dims
                        .iter()
                        .any(|item| matches!(item, Item::Pack(_)));
                    let entries = if has_pack && place + 1 == expected.dims.len() {
                        format!("..., 0..{due}")
                    } else {
                        entries.join(", ")
                    };
                    return Some(format!("take a part of it: `{text}.slice(s![{entries}])`"));
                }
                if let Some(clause) = self.facts.missing(due, Comparison::Eq, is) {
                    return Some(format!("if they are the same, {}", self.owner.add(&clause)));
                }
            }
            return None;
        }
        let count = |dims: &[Item]| {
            dims.iter()
                .filter(|item| matches!(item, Item::One(_)))
                .count()
        };
        let rest = |dims: &[Item]| -> Vec<Item> {
            dims.iter()
                .filter(|item| !matches!(item, Item::One(dim) if dim.as_constant() == Some(1)))
                .cloned()
                .collect()
        };
        let same = compare_dims(&rest(&expected.dims), &rest(&found.dims), &self.facts);
        if same == Agreement::Yes && count(&expected.dims) != count(&found.dims) {
            let dims = super::types::show_dims(&expected.dims);
            return Some(format!("add or drop axes of 1: `{text}.reshape([{dims}])`"));
        }
        None
    }
}

/// The axes by which `found` would have to be permuted to have the shape of `expected`.
fn permutation(expected: &Tensor, found: &Tensor, facts: &Facts) -> Option<Vec<usize>> {
    let mut axes = Vec::new();
    for due in &expected.dims {
        let Item::One(due) = due else { return None };
        let axis = found.dims.iter().enumerate().position(|(i, is)| {
            !axes.contains(&i) && matches!(is, Item::One(is) if facts.equal(due, is))
        })?;
        axes.push(axis);
    }
    (axes.len() == found.dims.len()).then_some(axes)
}

fn cast_help(expected: &Ty, found: &Ty, text: &str) -> Option<String> {
    match (expected, found) {
        (Type::Option(expected), Type::Option(found)) => cast_help(expected, found, text),
        _ => {
            let (due, is) = (expected.dtype()?, found.dtype()?);
            let bool = ir::DTypeExpr::Concrete(ir::DType::Bool);
            (due != is && *due != bool).then(|| {
                format!(
                    "nothing converts by itself: `cast::<{}>({text})`",
                    show_dtype(due)
                )
            })
        }
    }
}

fn sort_help(expected: &Ty, found: &Ty, text: &str, facts: &Facts) -> Option<String> {
    match (expected, found) {
        (Type::Option(inner), found) if compare(inner, found, facts) == Agreement::Yes => {
            Some(format!("write `Some({text})`"))
        }
        (Type::Tensor(tensor), Type::Scalar(dtype)) if tensor.dtype == *dtype => {
            let dims = super::types::show_dims(&tensor.dims);
            Some(format!("fill a tensor with it: `fill({text}, [{dims}])`"))
        }
        (Type::Scalar(dtype), Type::Tensor(tensor)) if tensor.dtype == *dtype => {
            Some(if tensor.dims.is_empty() {
                format!(
                    "a tensor of one element is no scalar: take `Tensor![; {}]`",
                    show_dtype(dtype)
                )
            } else {
                "reduce it to one number, or let the parameter be a tensor".to_owned()
            })
        }
        _ => None,
    }
}

/// The source of a value where it is short, else a word for it.
pub(crate) fn short_text(tokens: &proc_macro2::TokenStream) -> String {
    let text = source::text(tokens);
    if text.chars().count() <= 24 && !text.contains('{') {
        text
    } else {
        "value".to_owned()
    }
}
