//! From a graph to instructions.

mod compile;
mod effects;
mod fuse;
pub(crate) mod memory;
mod verify;

use std::sync::Arc;

use crate::dtype::DType;
use crate::error::Result;
use crate::exec::loops::Loop;
use crate::instance::SlotId;
use crate::kernel::Run;
use crate::shape::Dims;

use super::expr::{Nest, NestBuilder};
use super::graph::{
    Check, Graph, GraphOp, KernelOperand, Location, ResultRef, RootKind, ScalarCompute, ScalarRef,
};
use super::product::Product;
use super::view::View;
use super::{RootId, ScalarId};
use effects::Effects;
use memory::{Lifetime, lay_out};

/// Where a buffer is when a plan runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Source {
    /// At an offset in bytes in the arena.
    Arena(usize),
    Slot(SlotId),
    /// A tensor that the caller passes, to read or to update.
    Argument(usize),
    Output(usize),
    /// Merged into others.
    Nowhere,
}

/// A step of a plan.
#[derive(Debug)]
pub(crate) enum Instruction {
    Loop(Loop),
    Product(Product),
    Kernel(KernelCall),
    Scalar {
        out: ScalarId,
        compute: ScalarCompute,
        place: Arc<str>,
    },
    ReadElement {
        out: ScalarId,
        view: View,
    },
    Check {
        check: Check,
        place: Arc<str>,
        clause: &'static str,
    },
    CheckStart {
        scalar: ScalarId,
        length: usize,
        step: usize,
        axis: usize,
        axis_length: usize,
        index: bool,
        place: Arc<str>,
    },
    /// Goes on at an instruction if a scalar is false.
    JumpUnless(ScalarId, usize),
    Jump(usize),
}

/// A kernel with its operands.
pub(crate) struct KernelCall {
    pub(crate) name: &'static str,
    pub(crate) run: Run,
    pub(crate) operands: Vec<PlannedOperand>,
    pub(crate) outputs: Vec<PlannedSpan>,
    pub(crate) scratch: Option<PlannedSpan>,
}

impl std::fmt::Debug for KernelCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?} -> {:?}", self.name, self.operands, self.outputs)
    }
}

/// A whole buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedSpan {
    pub(crate) root: RootId,
    pub(crate) n_elements: usize,
    pub(crate) dtype: DType,
}

#[derive(Debug)]
pub(crate) enum PlannedOperand {
    Input(View),
    Mutable(PlannedSpan),
    Scalar(ScalarRef),
    Absent,
}

/// A result of a plan.
#[derive(Debug, Clone)]
pub(crate) enum PlanResult {
    /// An output buffer by number.
    Tensor {
        output: usize,
        dtype: DType,
        shape: Dims,
    },
    Scalar(ScalarRef),
    Absent,
}

/// A call, ready to run any number of times.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) instructions: Vec<Instruction>,
    /// By root.
    pub(crate) sources: Vec<Source>,
    pub(crate) arena_bytes: usize,
    pub(crate) n_scalars: usize,
    /// Argument number and the scalar that holds it.
    pub(crate) scalar_arguments: Vec<(usize, ScalarId)>,
    pub(crate) results: Vec<PlanResult>,
    /// The size of each output in bytes.
    pub(crate) outputs: Vec<usize>,
    /// Registers of floats and of integers that a thread needs.
    pub(crate) registers: (usize, usize),
}

/// Lowers a graph.
///
/// # Errors
/// If an operation reaches outside a buffer, which only a wrong descriptor or kernel causes.
pub(crate) fn lower(mut graph: Graph) -> Result<Plan> {
    let (results, outputs) = place_results(&mut graph);
    let kept: Vec<RootId> = (0..graph.roots.len())
        .filter(|&root| matches!(graph.roots[root].kind, RootKind::Output(_)))
        .collect();
    fuse::fuse(&mut graph, &kept);
    place_writes(&mut graph);
    snapshot(&mut graph);
    verify::verify(&graph)?;
    let (sources, arena_bytes) = place_buffers(&graph);
    let mut plan = Plan {
        instructions: Vec::with_capacity(graph.ops.len()),
        sources,
        arena_bytes,
        n_scalars: graph.n_scalars,
        scalar_arguments: std::mem::take(&mut graph.scalar_arguments),
        results,
        outputs,
        registers: (0, 0),
    };
    emit(graph, &mut plan)?;
    Ok(plan)
}

/// Gives every tensor result a buffer of its own: the one it is computed into
/// where it is all of that, else a copy.
fn place_results(graph: &mut Graph) -> (Vec<PlanResult>, Vec<usize>) {
    let mut outputs = Vec::new();
    let mut results = Vec::new();
    for result in std::mem::take(&mut graph.results) {
        results.push(match result {
            ResultRef::Absent => PlanResult::Absent,
            ResultRef::Scalar(scalar) => PlanResult::Scalar(scalar),
            ResultRef::Tensor(view) => {
                let output = outputs.len();
                let n: usize = view.shape.iter().product();
                outputs.push(n * view.dtype.size());
                let root = &mut graph.roots[view.root];
                if root.kind == RootKind::Temporary && view.is_whole() && root.n_elements == n {
                    root.kind = RootKind::Output(output);
                } else {
                    let root = graph.root(RootKind::Output(output), view.dtype, n);
                    let to = View::whole(root, view.dtype, view.shape);
                    graph
                        .ops
                        .push(GraphOp::Nest(copy(&view, &to, "the result".into())));
                }
                PlanResult::Tensor {
                    output,
                    dtype: view.dtype,
                    shape: view.shape,
                }
            }
        });
    }
    (results, outputs)
}

/// The nest that copies a view to another of its shape.
fn copy(from: &View, to: &View, place: Arc<str>) -> Nest {
    let mut builder = NestBuilder::over(&from.shape);
    let result = builder.aligned(from, from.shape.len());
    builder.finish(result, None, to, place)
}

/// Turns writes to locations into computing right there where that is safe, else into copies.
fn place_writes(graph: &mut Graph) {
    for at in 0..graph.ops.len() {
        let GraphOp::Write {
            location,
            value,
            place,
        } = &graph.ops[at]
        else {
            continue;
        };
        let (location, value, place) = (*location, value.clone(), place.clone());
        if computed_in_place(graph, at, location, &value) {
            graph.roots[value.root].kind = RootKind::Content(location);
            // Reading a root that nothing reads does nothing.
            graph.ops[at] = GraphOp::Read(value.root);
        } else {
            let n = value.shape.iter().product();
            let root = graph.root(RootKind::Content(location), value.dtype, n);
            let to = View::whole(root, value.dtype, value.shape);
            graph.ops[at] = GraphOp::Nest(copy(&value, &to, place));
        }
    }
}

/// Whether what computes `value` can do so right in `location`, which operation `at` writes it to.
fn computed_in_place(graph: &Graph, at: usize, location: Location, value: &View) -> bool {
    let root = &graph.roots[value.root];
    if root.kind != RootKind::Temporary
        || !value.is_whole()
        || root.n_elements != value.shape.iter().product::<usize>()
    {
        return false;
    }
    let mut writers =
        (0..graph.ops.len()).filter(|&i| Effects::of(&graph.ops[i]).writes.contains(&value.root));
    let (Some(writer), None) = (writers.next(), writers.next()) else {
        return false;
    };
    let only_reader = (0..graph.ops.len())
        .all(|i| i == at || !Effects::of(&graph.ops[i]).reads.contains(&value.root));
    if writer >= at || !only_reader {
        return false;
    }
    let between_is_free = graph.ops[writer + 1..at].iter().all(|op| match op {
        GraphOp::If(_) | GraphOp::Else | GraphOp::EndIf => false,
        GraphOp::Read(root) => graph.roots[*root].kind != RootKind::Content(location),
        op => !written(graph, op).contains(&location),
    });
    let reads_location = Effects::of(&graph.ops[writer])
        .reads
        .iter()
        .any(|&root| graph.roots[root].kind == RootKind::Content(location));
    let in_place = match &graph.ops[writer] {
        GraphOp::Nest(nest) => reads_only_what_it_writes(graph, nest, location),
        GraphOp::Kernel(_) | GraphOp::Product(_) => !reads_location,
        _ => false,
    };
    between_is_free && in_place && !written(graph, &graph.ops[writer]).contains(&location)
}

/// The locations that an operation overwrites, all or a part.
fn written(graph: &Graph, op: &GraphOp) -> Vec<Location> {
    let effects = Effects::of(op);
    let mut locations = effects.locations;
    for root in effects.writes {
        if let RootKind::Content(location) = graph.roots[root].kind {
            locations.push(location);
        }
    }
    locations
}

/// Whether each element that a nest reads from a location is the very one it
/// computes next, so that it may write there.
fn reads_only_what_it_writes(graph: &Graph, nest: &Nest, location: Location) -> bool {
    nest.accesses
        .iter()
        .filter(|access| graph.roots[access.root].kind == RootKind::Content(location))
        .all(|access| {
            nest.reduce.is_none()
                && access.computed.is_empty()
                && access.dynamic.is_empty()
                && access.offset == nest.target.offset as isize
                && nest.extents.iter().enumerate().all(|(d, &extent)| {
                    extent <= 1 || access.coef[d] == nest.target.coef[d] as isize
                })
        })
}

/// Copies what a location holds where it is read, if it is overwritten while
/// that is still needed.
fn snapshot(graph: &mut Graph) {
    for at in 0..graph.ops.len() {
        let GraphOp::Read(root) = graph.ops[at] else {
            continue;
        };
        let RootKind::Content(location) = graph.roots[root].kind else {
            continue;
        };
        let last = (at + 1..graph.ops.len())
            .rev()
            .find(|&i| Effects::of(&graph.ops[i]).reads.contains(&root));
        let Some(last) = last else { continue };
        let overwritten = (at + 1..=last).any(|i| {
            let op = &graph.ops[i];
            if !written(graph, op).contains(&location) {
                return false;
            }
            match op {
                GraphOp::Nest(nest) if i == last => {
                    !reads_only_what_it_writes(graph, nest, location)
                }
                _ => true,
            }
        });
        if overwritten {
            let (dtype, n) = (graph.roots[root].dtype, graph.roots[root].n_elements);
            let content = graph.root(RootKind::Content(location), dtype, n);
            graph.roots[root].kind = RootKind::Temporary;
            let mut flat = Dims::EMPTY;
            // One axis always fits.
            let _ = flat.push(n);
            let (from, to) = (
                View::whole(content, dtype, flat),
                View::whole(root, dtype, flat),
            );
            graph.ops[at] = GraphOp::Nest(copy(&from, &to, "a state's old content".into()));
        }
    }
}

/// A place for every buffer, and the size of the arena.
fn place_buffers(graph: &Graph) -> (Vec<Source>, usize) {
    let mut lifetimes: Vec<Option<Lifetime>> = vec![None; graph.roots.len()];
    for (i, op) in graph.ops.iter().enumerate() {
        let effects = Effects::of(op);
        for root in effects.reads.into_iter().chain(effects.writes) {
            let n_bytes = graph.roots[root].n_elements * graph.roots[root].dtype.size();
            let lifetime = lifetimes[root].get_or_insert(Lifetime {
                n_bytes,
                first: i,
                last: i,
            });
            lifetime.last = i;
        }
    }
    let temporaries: Vec<RootId> = (0..graph.roots.len())
        .filter(|&root| graph.roots[root].kind == RootKind::Temporary && lifetimes[root].is_some())
        .collect();
    let buffers: Vec<Lifetime> = temporaries
        .iter()
        .filter_map(|&root| lifetimes[root])
        .collect();
    let (offsets, size) = lay_out(&buffers);
    let mut sources: Vec<Source> = graph
        .roots
        .iter()
        .map(|root| match root.kind {
            RootKind::Temporary => Source::Nowhere,
            RootKind::Content(Location::Slot(slot)) => Source::Slot(slot),
            RootKind::Content(Location::Argument(i)) | RootKind::Argument(i) => Source::Argument(i),
            RootKind::Output(i) => Source::Output(i),
        })
        .collect();
    for (root, offset) in temporaries.into_iter().zip(offsets) {
        sources[root] = Source::Arena(offset);
    }
    (sources, size)
}

/// Lists the instructions.
fn emit(graph: Graph, plan: &mut Plan) -> Result<()> {
    // The jumps to set: those of the `if`s that are open.
    let mut open: Vec<usize> = Vec::new();
    let spans: Vec<PlannedSpan> = graph
        .roots
        .iter()
        .enumerate()
        .map(|(root, r)| PlannedSpan {
            root,
            n_elements: r.n_elements,
            dtype: r.dtype,
        })
        .collect();
    for op in graph.ops {
        let instruction = match op {
            GraphOp::Read(_) | GraphOp::Write { .. } => continue,
            GraphOp::Nest(nest) => {
                let nest = compile::compile(&nest)?;
                // One more of the result's kind holds the results of a fold.
                plan.registers.0 = plan.registers.0.max(nest.program.n_floats + 1);
                plan.registers.1 = plan.registers.1.max(nest.program.n_ints + 1);
                Instruction::Loop(nest)
            }
            GraphOp::Product(product) => Instruction::Product(product),
            GraphOp::Kernel(kernel) => {
                let mut operands = Vec::with_capacity(kernel.operands.len());
                for operand in kernel.operands {
                    operands.push(match operand {
                        KernelOperand::Input(view) => PlannedOperand::Input(view),
                        KernelOperand::Scalar(scalar) => PlannedOperand::Scalar(scalar),
                        KernelOperand::Absent => PlannedOperand::Absent,
                        KernelOperand::Mutable(location, dtype, n_elements) => {
                            // A buffer that stands for the location, appended to the others.
                            let root = plan.sources.len();
                            plan.sources.push(match location {
                                Location::Slot(slot) => Source::Slot(slot),
                                Location::Argument(i) => Source::Argument(i),
                            });
                            PlannedOperand::Mutable(PlannedSpan {
                                root,
                                n_elements,
                                dtype,
                            })
                        }
                    });
                }
                Instruction::Kernel(KernelCall {
                    name: kernel.name,
                    run: kernel.plan.run,
                    operands,
                    outputs: kernel.outputs.iter().map(|&root| spans[root]).collect(),
                    scratch: kernel.scratch.map(|root| spans[root]),
                })
            }
            GraphOp::Scalar {
                out,
                compute,
                place,
            } => Instruction::Scalar {
                out,
                compute,
                place,
            },
            GraphOp::ReadElement { out, view } => Instruction::ReadElement { out, view },
            GraphOp::Check {
                check,
                place,
                clause,
            } => Instruction::Check {
                check,
                place,
                clause,
            },
            GraphOp::CheckStart {
                scalar,
                length,
                step,
                axis,
                axis_length,
                index,
                place,
            } => Instruction::CheckStart {
                scalar,
                length,
                step,
                axis,
                axis_length,
                index,
                place,
            },
            GraphOp::If(scalar) => {
                open.push(plan.instructions.len());
                Instruction::JumpUnless(scalar, 0)
            }
            GraphOp::Else => {
                let next = plan.instructions.len() + 1;
                if let Some(start) = open.pop()
                    && let Instruction::JumpUnless(_, target) = &mut plan.instructions[start]
                {
                    *target = next;
                }
                open.push(plan.instructions.len());
                Instruction::Jump(0)
            }
            GraphOp::EndIf => {
                let next = plan.instructions.len();
                if let Some(start) = open.pop()
                    && let Instruction::Jump(target) = &mut plan.instructions[start]
                {
                    *target = next;
                }
                continue;
            }
        };
        plan.instructions.push(instruction);
    }
    Ok(())
}
