//! Requirements over data, checked when a call runs.

use super::Machine;
use crate::descriptor::Comparison;
use crate::dtype::{DType, ScalarValue};
use crate::error::{Error, Result};
use crate::plan::graph::Check;
use crate::plan::view::View;

/// Checks a requirement.
///
/// # Safety
/// The buffers that `machine` has must hold every element of the check's view,
/// and its scratch buffer, aligned to 8 bytes, one `i64` for each.
pub(super) unsafe fn run(
    check: &Check,
    machine: &Machine<'_>,
    place: &str,
    clause: &'static str,
) -> Result<()> {
    match check {
        Check::Compare {
            left,
            comparison,
            right,
            names,
        } => {
            let values = left.eval(machine.scalars).zip(right.eval(machine.scalars));
            if values.is_some_and(|(left, right)| comparison.holds(left, right)) {
                return Ok(());
            }
            let words: Vec<String> = names
                .iter()
                .filter_map(|(name, dim)| Some(format!("{name} is {}", dim.eval(machine.scalars)?)))
                .collect();
            Err(Error::Requirement {
                place: place.to_owned(),
                clause: clause.to_owned(),
                found: words.join(" and "),
            })
        }
        Check::Elements {
            view,
            param,
            comparison,
            bound,
            bound_text,
        } => {
            let Some(bound) = bound.eval(machine.scalars) else {
                return Err(Error::Requirement {
                    place: place.to_owned(),
                    clause: clause.to_owned(),
                    found: format!("{bound_text} has no value"),
                });
            };
            // SAFETY: the caller's duty.
            let broken = unsafe { first(view, machine, |value| !comparison.holds(value, bound)) };
            match broken {
                None => Ok(()),
                Some((value, flat)) => Err(Error::Element {
                    place: place.to_owned(),
                    param,
                    value,
                    at: place_of(view, flat),
                    bound: bound_words(*comparison, bound_text),
                    clause,
                }),
            }
        }
        Check::Distinct {
            view,
            param,
            scratch,
        } => {
            let n: usize = view.shape.iter().product();
            let sorted = machine.bases[*scratch].cast::<i64>();
            let mut at = 0;
            // SAFETY: the caller's duty: the scratch buffer has room for `n`
            // elements; they are written before the slice is made.
            let sorted = unsafe {
                first(view, machine, |value| {
                    sorted.add(at).write(value);
                    at += 1;
                    false
                });
                std::slice::from_raw_parts_mut(sorted, n)
            };
            sorted.sort_unstable();
            let Some(value) = sorted
                .windows(2)
                .find(|pair| pair[0] == pair[1])
                .map(|pair| pair[0])
            else {
                return Ok(());
            };
            let (mut seen, mut flat) = (Vec::new(), 0);
            // SAFETY: the caller's duty.
            unsafe {
                first(view, machine, |element| {
                    if element == value {
                        seen.push(place_of(view, flat));
                    }
                    flat += 1;
                    seen.len() == 2
                });
            }
            let second = seen.pop().unwrap_or_default();
            Err(Error::Duplicate {
                place: place.to_owned(),
                param,
                value,
                first: seen.pop().unwrap_or_default(),
                second,
                clause,
            })
        }
        Check::Packed { views, params } => {
            // SAFETY: the caller's duty.
            match unsafe { packed_fault(views, machine, params) } {
                None => Ok(()),
                Some(found) => Err(Error::Requirement {
                    place: place.to_owned(),
                    clause: clause.to_owned(),
                    found,
                }),
            }
        }
    }
}

/// What is wrong with tokens side by side, if anything: see
/// [`Requirement::Packed`](crate::descriptor::Requirement::Packed).
///
/// # Safety
/// The buffers must hold every element of the views.
unsafe fn packed_fault(
    views: &[View; 3],
    machine: &Machine<'_>,
    params: &[&'static str; 3],
) -> Option<String> {
    let n: usize = views[0].shape.iter().product();
    // SAFETY: the caller's duty; the views have the same number of elements.
    let value = |of: usize, at: usize| unsafe { element(&views[of], machine, at) }.to_i64();
    let token = |at: usize| [value(0, at), value(1, at), value(2, at)];
    let [rows, positions, segments] = params;
    for at in 0..n {
        let [row, position, segment] = token(at);
        if segment < 0 {
            continue;
        }
        // Tokens of a segment usually lie side by side, so that this is the one before.
        match (0..at).rev().find(|&before| value(2, before) == segment) {
            Some(before) => {
                let [row_before, position_before, _] = token(before);
                if row != row_before {
                    return Some(format!(
                        "{segments} is {segment} at [{before}] and [{at}], but {rows} is {row_before} and {row} there: \
                         a segment lies in one row"
                    ));
                }
                if position != position_before.wrapping_add(1) {
                    return Some(format!(
                        "{segments} is {segment} at [{before}] and next at [{at}], but {positions} is {position_before} \
                         and {position} there: the tokens of a segment have consecutive positions in ascending order"
                    ));
                }
            }
            None => {
                let other = (0..at).find(|&other| value(2, other) >= 0 && value(0, other) == row);
                if let Some(other) = other {
                    return Some(format!(
                        "{rows} is {row} at [{other}] of segment {} and at [{at}] of segment {segment}: \
                         a row takes one segment at a time",
                        value(2, other)
                    ));
                }
            }
        }
    }
    None
}

/// The first element in row-major order for which `wanted`, and its number.
///
/// # Safety
/// The buffer must hold every element of the view.
unsafe fn first(
    view: &View,
    machine: &Machine<'_>,
    mut wanted: impl FnMut(i64) -> bool,
) -> Option<(i64, usize)> {
    let n: usize = view.shape.iter().product();
    (0..n).find_map(|flat| {
        // SAFETY: `flat` is the number of an element of the view.
        let value = unsafe { element(view, machine, flat) }.to_i64();
        wanted(value).then_some((value, flat))
    })
}

/// Element number `flat` in row-major order.
///
/// # Safety
/// The buffer must hold it.
pub(super) unsafe fn element(view: &View, machine: &Machine<'_>, flat: usize) -> ScalarValue {
    let mut offset = view.offset;
    for dynamic in &view.dynamic {
        offset += machine.scalars[dynamic.scalar].to_i64() as usize * dynamic.stride;
    }
    let mut rest = flat;
    for (&size, &stride) in view.shape.iter().zip(&*view.strides).rev() {
        offset += rest % size * stride;
        rest /= size;
    }
    // SAFETY: the caller's duty; the buffer is aligned for its dtype, and a
    // bool in it is 0 or 1.
    unsafe {
        let at = machine.bases[view.root].add(offset * view.dtype.size());
        match view.dtype {
            DType::F32 => at.cast::<f32>().read().into(),
            DType::F16 => at.cast::<half::f16>().read().into(),
            DType::BF16 => at.cast::<half::bf16>().read().into(),
            DType::I8 => at.cast::<i8>().read().into(),
            DType::I32 => at.cast::<i32>().read().into(),
            DType::I64 => at.cast::<i64>().read().into(),
            DType::U8 => at.read().into(),
            DType::Bool => (at.read() != 0).into(),
        }
    }
}

/// An element's index: `[0, 3]`.
fn place_of(view: &View, flat: usize) -> String {
    let mut index = view.shape;
    let mut rest = flat;
    for (i, &size) in index.iter_mut().zip(&*view.shape).rev() {
        *i = rest % size;
        rest /= size;
    }
    format!("{index:?}")
}

/// What an element must be: `< Vocab = 50257`.
fn bound_words(comparison: Comparison, bound: &str) -> String {
    match comparison {
        Comparison::Eq => bound.to_owned(),
        other => format!("{} {bound}", other.sign()),
    }
}
