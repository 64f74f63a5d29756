//! What an operation reads and writes.

use crate::plan::RootId;
use crate::plan::graph::{Check, GraphOp, KernelOperand, Location};

/// The buffers and places that an operation touches.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub(super) reads: Vec<RootId>,
    pub(super) writes: Vec<RootId>,
    /// Places that it overwrites, all or a part.
    pub(super) locations: Vec<Location>,
}

impl Effects {
    pub(super) fn of(op: &GraphOp) -> Effects {
        let mut effects = Effects::default();
        match op {
            GraphOp::Nest(nest) => {
                effects
                    .reads
                    .extend(nest.accesses.iter().map(|access| access.root));
                effects.writes.push(nest.target.root);
            }
            GraphOp::Product(product) => {
                effects.reads.extend([product.a.root, product.b.root]);
                effects.writes.push(product.c.root);
                effects.writes.extend(product.scratch);
            }
            GraphOp::Kernel(kernel) => {
                for operand in &kernel.operands {
                    match operand {
                        KernelOperand::Input(view) => effects.reads.push(view.root),
                        KernelOperand::Mutable(location, ..) => effects.locations.push(*location),
                        KernelOperand::Scalar(_) | KernelOperand::Absent => {}
                    }
                }
                effects.writes.extend(kernel.outputs.iter().copied());
                effects.writes.extend(kernel.scratch);
            }
            GraphOp::Write {
                location, value, ..
            } => {
                effects.reads.push(value.root);
                effects.locations.push(*location);
            }
            GraphOp::ReadElement { view, .. } => effects.reads.push(view.root),
            GraphOp::Check { check, .. } => match check {
                Check::Compare { .. } => {}
                Check::Elements { view, .. } => effects.reads.push(view.root),
                Check::Distinct { view, scratch, .. } => {
                    effects.reads.push(view.root);
                    effects.writes.push(*scratch);
                }
                Check::Packed { views, .. } => {
                    effects.reads.extend(views.iter().map(|view| view.root));
                }
            },
            GraphOp::Read(_)
            | GraphOp::Scalar { .. }
            | GraphOp::CheckStart { .. }
            | GraphOp::If(_)
            | GraphOp::Else
            | GraphOp::EndIf => {}
        }
        effects
    }
}
