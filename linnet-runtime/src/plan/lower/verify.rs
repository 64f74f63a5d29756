//! The last look at a graph before it runs: that every element an operation
//! reaches lies in its buffer. The macros prove it and tracing checks the steps
//! that lead here, so a failure means a wrong descriptor or kernel; reading
//! outside a buffer is ruled out here whatever they do.

use crate::error::{Error, Result};
use crate::plan::RootId;
use crate::plan::expr::Nest;
use crate::plan::graph::{Check, Graph, GraphOp, KernelOperand};
use crate::plan::view::View;

pub(super) fn verify(graph: &Graph) -> Result<()> {
    let inside = |place: &str, root: RootId, end: usize| {
        let n = graph.roots[root].n_elements;
        if end <= n {
            return Ok(());
        }
        Err(Error::InvalidDescriptor {
            place: place.to_owned(),
            reason: format!("element {} of a buffer of {n}", end.saturating_sub(1)),
        })
    };
    let view_inside = |place: &str, view: &View| inside(place, view.root, view.end());
    for op in &graph.ops {
        match op {
            GraphOp::Nest(nest) => verify_nest(graph, nest)?,
            GraphOp::Product(product) => {
                for (root, end) in product.ends() {
                    inside(&product.place, root, end)?;
                }
            }
            GraphOp::Kernel(kernel) => {
                for operand in &kernel.operands {
                    if let KernelOperand::Input(view) = operand {
                        view_inside(kernel.name, view)?;
                    }
                }
            }
            GraphOp::ReadElement { view, .. } => view_inside("a scalar", view)?,
            GraphOp::Check {
                check: Check::Elements { view, .. } | Check::Distinct { view, .. },
                place,
                ..
            } => {
                view_inside(place, view)?;
            }
            GraphOp::Check {
                check: Check::Packed { views, .. },
                place,
                ..
            } => {
                for view in views.iter() {
                    view_inside(place, view)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn verify_nest(graph: &Graph, nest: &Nest) -> Result<()> {
    if nest.extents.contains(&0) {
        // No iteration reads; a fold over nothing still writes.
        return verify_target(graph, nest);
    }
    for access in &nest.accesses {
        let (mut least, mut greatest) = (access.offset as i128, access.offset as i128);
        for (&coef, &extent) in access.coef.iter().zip(&nest.extents) {
            let reach = coef as i128 * (extent as i128 - 1);
            if coef < 0 {
                least += reach
            } else {
                greatest += reach
            }
        }
        for dynamic in &access.dynamic {
            greatest += dynamic.max as i128 * dynamic.stride as i128;
        }
        for computed in &access.computed {
            greatest += (computed.length as i128 - 1).max(0) * computed.stride as i128;
        }
        let n = graph.roots[access.root].n_elements;
        // An axis of length 0 has no index that its check lets through.
        let unreachable = access.computed.iter().any(|computed| computed.length == 0);
        if !unreachable && (least < 0 || greatest >= n as i128) {
            return Err(Error::InvalidDescriptor {
                place: nest.place.to_string(),
                reason: format!("elements {least} to {greatest} of a buffer of {n}"),
            });
        }
    }
    verify_target(graph, nest)
}

fn verify_target(graph: &Graph, nest: &Nest) -> Result<()> {
    if nest.extents[..nest.n_out].contains(&0) {
        return Ok(());
    }
    let reach = nest
        .target
        .coef
        .iter()
        .zip(&nest.extents)
        .map(|(&coef, &extent)| coef as u128 * (extent as u128 - 1));
    let last = nest.target.offset as u128 + reach.sum::<u128>();
    let n = graph.roots[nest.target.root].n_elements;
    if last < n as u128 {
        return Ok(());
    }
    Err(Error::InvalidDescriptor {
        place: nest.place.to_string(),
        reason: format!("writes element {last} of a buffer of {n}"),
    })
}
