//! Running plans.
//!
//! An [`Executor`] owns what runs need besides parameters and states: the arena
//! of temporaries, the registers of loops, recycled results, and the plans of
//! the calls made so far. Running a plan allocates nothing, unless all earlier
//! results of its size are still in use.

mod cache;
mod check;
pub(crate) mod loops;
pub(crate) mod primitive;
mod product;
pub(crate) mod program;
mod results;

use std::sync::{Arc, Mutex};

use linnet_kernels::Cpu;

use crate::call::{Argument, Output, OutputValue};
use crate::dtype::{DType, ScalarValue};
use crate::error::{Error, Result};
use crate::instance::{Slot, SlotContent};
use crate::kernel::{Launch, LaunchOperand, MAX_OPERANDS, Span};
use crate::plan::bind::ArgumentKind;
use crate::plan::graph::{ScalarCompute, ScalarRef};
use crate::plan::lower::{
    Instruction, KernelCall, Plan, PlanResult, PlannedOperand, PlannedSpan, Source,
};
use crate::plan::trace::out_of_range;
use crate::plan::view::View;
use crate::storage::{AlignedBytes, Storage};
use crate::tensor::ErasedTensor;

use cache::{Key, PlanCache};
use primitive::{scalar_binary, scalar_unary};
use program::Registers;
use results::Results;

pub(crate) use cache::Callable;

/// What an instruction works with.
pub(crate) struct Machine<'a> {
    pub(crate) cpu: &'a Cpu,
    /// The address of each buffer, by root.
    pub(crate) bases: &'a [*mut u8],
    pub(crate) scalars: &'a [ScalarValue],
    pub(crate) registers: &'a [Mutex<Registers>],
}

/// Addresses that hold only during a run.
#[derive(Default)]
struct Addresses(Vec<*mut u8>);

// SAFETY: every run sets the addresses before it reads them, so another thread
// never uses what this one left behind.
unsafe impl Send for Addresses {}

/// What runs need besides parameters and states.
pub(crate) struct Executor {
    plans: PlanCache,
    arena: AlignedBytes,
    addresses: Addresses,
    scalars: Vec<ScalarValue>,
    registers: Vec<Mutex<Registers>>,
    results: Results,
    /// The results of the run in progress.
    taken: Vec<Arc<Storage>>,
}

impl Executor {
    pub(crate) fn new(threads: usize) -> Result<Executor> {
        Ok(Executor {
            plans: PlanCache::default(),
            arena: AlignedBytes::zeroed(0)?,
            addresses: Addresses::default(),
            scalars: Vec::new(),
            registers: (0..threads).map(|_| Mutex::default()).collect(),
            results: Results::default(),
            taken: Vec::new(),
        })
    }

    /// The size of the arena in bytes.
    pub(crate) fn arena_bytes(&self) -> usize {
        self.arena.as_slice().len()
    }

    /// The number of plans kept.
    pub(crate) fn n_plans(&self) -> usize {
        self.plans.len()
    }

    /// Runs a call; `build` plans it if there is no plan for such arguments.
    pub(crate) fn call(
        &mut self,
        callable: Callable,
        cpu: &Cpu,
        slots: &mut [Slot],
        args: &mut [Argument<'_>],
        build: impl FnOnce(&[ArgumentKind], &[Slot]) -> Result<Plan>,
    ) -> Result<Output> {
        let found = self.plans.find(callable, args);
        let at = match found {
            Some(at) => at,
            None => {
                let key = Key::new(callable, args);
                let plan = build(key.arguments(), slots)?;
                self.prepare(&plan)?;
                self.plans.insert(key, plan)
            }
        };
        let Executor {
            plans,
            arena,
            addresses,
            scalars,
            registers,
            results,
            taken,
        } = self;
        let plan = plans.get(at);
        taken.clear();
        results.take(&plan.outputs, taken)?;
        // Addresses first: whatever fails until here has changed nothing.
        addresses.0.clear();
        for source in &plan.sources {
            addresses.0.push(match *source {
                Source::Arena(offset) => arena.as_mut_ptr().wrapping_add(offset),
                Source::Slot(slot) => match &mut slots[slot].content {
                    SlotContent::Parameter(tensor) => tensor.bytes().as_ptr().cast_mut(),
                    SlotContent::State(bytes) => bytes.as_mut_ptr(),
                },
                Source::Argument(i) => match &mut args[i] {
                    Argument::Tensor(tensor) => tensor.bytes().as_ptr().cast_mut(),
                    Argument::Mut(tensor) => tensor.bytes_mut()?.as_mut_ptr(),
                    Argument::Scalar(_) | Argument::None => std::ptr::null_mut(),
                },
                Source::Output(i) => match Arc::get_mut(&mut taken[i]).and_then(Storage::bytes_mut)
                {
                    Some(bytes) => bytes.as_mut_ptr(),
                    None => {
                        return Err(Error::Descriptor("a result's buffer is in use".to_owned()));
                    }
                },
                Source::Nowhere => std::ptr::null_mut(),
            });
        }
        for &(argument, scalar) in &plan.scalar_arguments {
            if let Argument::Scalar(value) = args[argument] {
                scalars[scalar] = value;
            }
        }
        // SAFETY: the addresses are those of buffers of at least the planned
        // sizes, aligned to the element sizes: the arena and the results were
        // made for the plan, slots have their planned shapes for the instance's
        // life, and the key of the plan holds the arguments' dtypes and shapes.
        // `slots`, `args` and `self` are borrowed mutably, so nothing else
        // writes what is read or reads what is written: buffers that are
        // written are the arena, states, unshared `&mut` arguments and unshared
        // results. The plan was verified to stay within its buffers.
        unsafe { run(plan, cpu, &addresses.0, scalars, registers)? };
        let mut output = Output::default();
        for result in &plan.results {
            output.push(match *result {
                PlanResult::Absent => OutputValue::None,
                PlanResult::Scalar(scalar) => OutputValue::Scalar(value(scalar, scalars)),
                PlanResult::Tensor {
                    output,
                    dtype,
                    shape,
                } => {
                    let storage = taken[output].clone();
                    OutputValue::Tensor(ErasedTensor::from_filled(
                        storage,
                        dtype,
                        shape,
                        plan.outputs[output],
                    ))
                }
            })?;
        }
        results.put_back(taken);
        Ok(output)
    }

    /// Makes room for what a plan needs.
    fn prepare(&mut self, plan: &Plan) -> Result<()> {
        if plan.arena_bytes > self.arena.as_slice().len() {
            self.arena = AlignedBytes::zeroed(plan.arena_bytes)?;
        }
        for registers in &mut self.registers {
            let registers = registers
                .get_mut()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            registers.reserve(plan.registers.0, plan.registers.1);
        }
        if self.scalars.len() < plan.n_scalars {
            self.scalars
                .resize(plan.n_scalars, ScalarValue::Bool(false));
        }
        let more = plan.sources.len().saturating_sub(self.addresses.0.len());
        self.addresses.0.reserve(more);
        Ok(())
    }
}

/// Runs the instructions of a plan.
///
/// # Safety
/// `bases` must hold for each root of the plan the address of a buffer of the
/// planned size, aligned for its dtype and initialised, that nothing else
/// accesses meanwhile if the plan writes it and nothing writes otherwise.
/// `scalars` and `registers` must have the planned sizes, with a register file
/// for each thread of `cpu`.
unsafe fn run(
    plan: &Plan,
    cpu: &Cpu,
    bases: &[*mut u8],
    scalars: &mut [ScalarValue],
    registers: &[Mutex<Registers>],
) -> Result<()> {
    let mut next = 0;
    while let Some(instruction) = plan.instructions.get(next) {
        next += 1;
        let machine = Machine {
            cpu,
            bases,
            scalars,
            registers,
        };
        // SAFETY: the caller's duty, and the plan was verified when it was made.
        unsafe {
            match instruction {
                Instruction::Loop(nest) => nest.run(&machine)?,
                Instruction::Product(product) => {
                    let scratch = match product.scratch {
                        // Scratch space is exclusive to this instruction, and any bytes are floats.
                        Some(root) => std::slice::from_raw_parts_mut(
                            bases[root].cast::<f32>(),
                            product.scratch_bytes(cpu) / size_of::<f32>(),
                        ),
                        None => &mut [],
                    };
                    product.run(&machine, scratch)?;
                }
                Instruction::Kernel(kernel) => launch(kernel, &machine)?,
                Instruction::ReadElement { out, view } => {
                    let value = check::element(view, &machine, 0);
                    scalars[*out] = value;
                }
                Instruction::Check {
                    check,
                    place,
                    clause,
                } => check::run(check, &machine, place, clause)?,
                Instruction::Scalar {
                    out,
                    compute,
                    place,
                } => {
                    scalars[*out] =
                        evaluate(compute, scalars).map_err(|undefined| Error::Arithmetic {
                            place: place.to_string(),
                            what: undefined.message().to_owned(),
                        })?;
                }
                Instruction::CheckStart {
                    scalar,
                    length,
                    step,
                    axis,
                    axis_length,
                    index,
                    place,
                } => {
                    check_start(
                        scalars[*scalar].to_i64(),
                        *length,
                        *step,
                        *axis,
                        *axis_length,
                        *index,
                        place,
                    )?;
                }
                Instruction::JumpUnless(scalar, target) => {
                    if scalars[*scalar] != ScalarValue::Bool(true) {
                        next = *target;
                    }
                }
                Instruction::Jump(target) => next = *target,
            }
        }
    }
    Ok(())
}

fn check_start(
    start: i64,
    length: usize,
    step: usize,
    axis: usize,
    axis_length: usize,
    index: bool,
    place: &str,
) -> Result<()> {
    let span = match length {
        0 => 0,
        _ => (length - 1).saturating_mul(step).saturating_add(1),
    };
    let inside = usize::try_from(start).is_ok_and(|start| {
        start
            .checked_add(span)
            .is_some_and(|end| end <= axis_length)
    });
    if inside {
        Ok(())
    } else {
        Err(out_of_range(place, start, span, axis, axis_length, index))
    }
}

fn value(scalar: ScalarRef, scalars: &[ScalarValue]) -> ScalarValue {
    match scalar {
        ScalarRef::Known(value) => value,
        ScalarRef::Slot(scalar, _) => scalars[scalar],
    }
}

fn evaluate(
    compute: &ScalarCompute,
    scalars: &[ScalarValue],
) -> Result<ScalarValue, primitive::Undefined> {
    let of = |scalar: ScalarRef| value(scalar, scalars);
    Ok(match *compute {
        ScalarCompute::Move(a) => of(a),
        ScalarCompute::Unary(op, a) => scalar_unary(op, of(a)),
        ScalarCompute::Binary(op, a, b) => scalar_binary(op, of(a), of(b))?,
        ScalarCompute::Select(c, a, b) => {
            if of(c) == ScalarValue::Bool(true) {
                of(a)
            } else {
                of(b)
            }
        }
        ScalarCompute::Cast(a, dtype) => of(a).cast(dtype),
    })
}

/// Runs a kernel.
///
/// # Safety
/// As [`run`].
unsafe fn launch(kernel: &KernelCall, machine: &Machine<'_>) -> Result<()> {
    let mut operands = [LaunchOperand::Absent; MAX_OPERANDS];
    for (slot, operand) in operands.iter_mut().zip(&kernel.operands) {
        *slot = match operand {
            PlannedOperand::Input(view) => LaunchOperand::Input(view_span(view, machine)),
            PlannedOperand::Mutable(span) => LaunchOperand::Mutable(whole_span(span, machine)),
            PlannedOperand::Scalar(scalar) => {
                LaunchOperand::Scalar(value(*scalar, machine.scalars))
            }
            PlannedOperand::Absent => LaunchOperand::Absent,
        };
    }
    let nothing = Span {
        start: std::ptr::null_mut(),
        n_elements: 0,
        dtype: DType::U8,
    };
    let mut outputs = [nothing; MAX_OPERANDS];
    for (slot, output) in outputs.iter_mut().zip(&kernel.outputs) {
        *slot = whole_span(output, machine);
        if output.dtype == DType::Bool {
            // SAFETY: the buffer holds this many bytes. What was in it before
            // may be no bool, and the kernel gets a slice of bools.
            unsafe { slot.start.write_bytes(0, output.n_elements) };
        }
    }
    let scratch = match &kernel.scratch {
        Some(scratch) => whole_span(scratch, machine),
        None => nothing,
    };
    // SAFETY: the caller's duty. Temporaries that are alive at one instruction
    // do not overlap, and a location that a kernel updates was copied where
    // another operand still needs its old content.
    let mut launch = unsafe {
        Launch::new(
            kernel.name,
            &operands[..kernel.operands.len()],
            &outputs[..kernel.outputs.len()],
            Some(scratch),
            machine.cpu,
        )
    };
    (kernel.run)(&mut launch)
}

fn view_span(view: &View, machine: &Machine<'_>) -> Span {
    let mut offset = view.offset;
    for dynamic in &view.dynamic {
        offset += machine.scalars[dynamic.scalar].to_i64() as usize * dynamic.stride;
    }
    let n_elements = view.extent();
    // An empty view may start past the end of its buffer.
    let offset = if n_elements == 0 { 0 } else { offset };
    let start = machine.bases[view.root].wrapping_add(offset * view.dtype.size());
    Span {
        start,
        n_elements,
        dtype: view.dtype,
    }
}

fn whole_span(span: &PlannedSpan, machine: &Machine<'_>) -> Span {
    Span {
        start: machine.bases[span.root],
        n_elements: span.n_elements,
        dtype: span.dtype,
    }
}
