//! Kernels: how an operation is computed faster than by its body.
//!
//! When a call is planned, its shapes, strides and dtypes are known, and
//! [`Kernel::plan`] decides once whether it takes the call, how its results lie
//! in memory, and what runs. What runs sees only the operands' elements
//! ([`Launch`]) and allocates nothing.

pub mod activations;
pub mod attention;
pub mod cache;
pub mod embedding;
mod float;
mod layout;
pub mod linear;
pub mod mxfp4;
pub mod norm;
pub mod quant_linear;
pub mod rope;
pub mod sink_attention;
pub mod softmax;
pub mod swiglu;
pub mod top_k;

use std::fmt::Debug;
use std::marker::PhantomData;

use linnet_kernels::{Cpu, ThreadPool};

use crate::dtype::{DType, Element, ScalarValue};
use crate::error::{Error, Result};
use crate::shape::Dims;

/// A faster way to compute an operation. It must agree with the operation's body.
pub trait Kernel: Sync + Debug {
    /// Its name, for messages and listings.
    fn name(&self) -> &'static str;

    /// Takes a call, or declines it: then the operation's body runs instead.
    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan>;
}

/// A call that a kernel may take.
#[derive(Debug, Clone, Copy)]
pub struct KernelCall<'a> {
    /// The operation's arguments in order.
    pub operands: &'a [Operand],
    /// The tensors it results in, in order; empty if it only updates operands.
    pub outputs: &'a [OutputSpec],
    /// The threads and the instruction set that will run it.
    pub cpu: &'a Cpu,
}

impl KernelCall<'_> {
    /// Operand `i` if it is a tensor; None if it is a scalar or an absent optional.
    pub fn tensor(&self, i: usize) -> Option<&TensorOperand> {
        match self.operands.get(i) {
            Some(Operand::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// Whether operand `i` is an absent optional.
    pub fn is_absent(&self, i: usize) -> bool {
        matches!(self.operands.get(i), Some(Operand::Absent))
    }

    /// The value of scalar operand `i` where it is known now, such as a literal.
    pub fn known_scalar(&self, i: usize) -> Option<ScalarValue> {
        match self.operands.get(i) {
            Some(Operand::Scalar { value, .. }) => *value,
            _ => None,
        }
    }
}

/// What is known of an argument when its call is planned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operand {
    /// A tensor, or a part of one.
    Tensor(TensorOperand),
    /// A scalar.
    Scalar {
        /// Its dtype.
        dtype: DType,
        /// Its value, unless that is known only when the call runs.
        value: Option<ScalarValue>,
    },
    /// An optional argument that is absent.
    Absent,
}

/// A tensor argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TensorOperand {
    /// The size of each axis.
    pub shape: Dims,
    /// The distance between neighbours along each axis, in elements; 0 where
    /// an axis repeats one. Axes of size 1 may have any stride.
    pub strides: Dims,
    /// The element type.
    pub dtype: DType,
    /// Whether it is a `&mut` parameter: row-major then, and no other operand
    /// shares its elements.
    pub mutable: bool,
    /// Whether it is a parameter of the model, which never changes.
    pub constant: bool,
}

impl TensorOperand {
    /// Whether the elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        is_row_major(&self.shape, &self.strides)
    }
}

/// Whether `strides` are those of a row-major tensor of `shape`, strides of
/// axes of size 1 aside.
pub fn is_row_major(shape: &[usize], strides: &[usize]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = 1;
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        if size != 1 && stride != expected {
            return false;
        }
        expected *= size;
    }
    true
}

/// A tensor that a call results in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutputSpec {
    /// The size of each axis.
    pub shape: Dims,
    /// The element type.
    pub dtype: DType,
}

/// The largest number of operands, and of outputs, of a kernel.
pub(crate) const MAX_OPERANDS: usize = 24;

/// What runs: reads and writes the elements that a launch gives it, and
/// allocates nothing.
pub type Run = Box<dyn Fn(&mut Launch<'_>) -> Result<()> + Send + Sync>;

/// How a kernel will run a call.
pub struct KernelPlan {
    /// For each output the strides in which the kernel writes it: row-major, or
    /// its axes in another order, without gaps.
    pub outputs: Vec<Dims>,
    /// Bytes that each launch needs besides, aligned to 64; what they hold at first is open.
    pub scratch_bytes: usize,
    /// What runs.
    pub run: Run,
}

impl KernelPlan {
    /// A plan that writes every output in row-major order and needs no scratch space.
    pub fn row_major(
        call: &KernelCall<'_>,
        run: impl Fn(&mut Launch<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> KernelPlan {
        KernelPlan {
            outputs: call
                .outputs
                .iter()
                .map(|output| output.shape.row_major_strides())
                .collect(),
            scratch_bytes: 0,
            run: Box::new(run),
        }
    }

    /// The same with scratch space.
    pub fn with_scratch(mut self, scratch_bytes: usize) -> KernelPlan {
        self.scratch_bytes = scratch_bytes;
        self
    }
}

impl Debug for KernelPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelPlan")
            .field("outputs", &self.outputs)
            .field("scratch_bytes", &self.scratch_bytes)
            .finish_non_exhaustive()
    }
}

/// Elements in memory: from the first that a view reaches to the last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start: *mut u8,
    pub(crate) n_elements: usize,
    pub(crate) dtype: DType,
}

impl Span {
    /// As many elements of `T` as it holds bytes for.
    ///
    /// # Safety
    /// For `'a` the bytes must be initialised elements of `T`, aligned for it,
    /// that nothing writes. A span of no elements may have any address.
    unsafe fn elements<'a, T: Element>(self) -> &'a [T] {
        match self.n_elements * self.dtype.size() / size_of::<T>() {
            0 => &[],
            // SAFETY: the caller's duty.
            n => unsafe { std::slice::from_raw_parts(self.start.cast::<T>(), n) },
        }
    }

    /// The same to write.
    ///
    /// # Safety
    /// As [`Span::elements`], and nothing else accesses the bytes for `'a`.
    unsafe fn elements_mut<'a, T: Element>(self) -> &'a mut [T] {
        match self.n_elements * self.dtype.size() / size_of::<T>() {
            0 => &mut [],
            // SAFETY: the caller's duty.
            n => unsafe { std::slice::from_raw_parts_mut(self.start.cast::<T>(), n) },
        }
    }
}

/// An operand of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LaunchOperand {
    Input(Span),
    Mutable(Span),
    Scalar(ScalarValue),
    Absent,
}

/// One run of a planned call: the elements of its operands.
///
/// A tensor is given as the slice from the first element that its view reaches
/// to the last; element `[i, j, ..]` is at `i * strides[0] + j * strides[1] + ..`
/// with the strides the kernel was planned with.
pub struct Launch<'a> {
    kernel: &'static str,
    operands: &'a [LaunchOperand],
    outputs: &'a [Span],
    scratch: Option<Span>,
    taken_operands: u64,
    taken_outputs: u64,
    cpu: &'a Cpu,
    /// The elements are borrowed for `'a`, and written through it.
    elements: PhantomData<&'a mut [u8]>,
}

impl<'a> Launch<'a> {
    /// # Safety
    /// For `'a`, every span must be valid for its elements, aligned and
    /// initialised; mutable operands, outputs and scratch must be exclusive to
    /// this launch and overlap nothing else in it. There are at most
    /// [`MAX_OPERANDS`] of each.
    pub(crate) unsafe fn new(
        kernel: &'static str,
        operands: &'a [LaunchOperand],
        outputs: &'a [Span],
        scratch: Option<Span>,
        cpu: &'a Cpu,
    ) -> Launch<'a> {
        debug_assert!(operands.len() <= MAX_OPERANDS && outputs.len() <= MAX_OPERANDS);
        Launch {
            kernel,
            operands,
            outputs,
            scratch,
            taken_operands: 0,
            taken_outputs: 0,
            cpu,
            elements: PhantomData,
        }
    }

    /// The elements of tensor operand `i`.
    ///
    /// # Errors
    /// If it is no tensor of `T`, or a `&mut` one.
    pub fn input<T: Element>(&self, i: usize) -> Result<&'a [T]> {
        match self.operands.get(i) {
            Some(LaunchOperand::Input(span)) if span.dtype == T::DTYPE => {
                // SAFETY: `new` requires valid elements for `'a` that nothing in this launch writes.
                Ok(unsafe { span.elements() })
            }
            other => Err(self.misuse(format!(
                "operand {i} is {other:?}, not a tensor of {} to read",
                T::DTYPE
            ))),
        }
    }

    /// The elements of the optional tensor operand `i`; None if it is absent.
    ///
    /// # Errors
    /// If it is present but no tensor of `T`.
    pub fn optional_input<T: Element>(&self, i: usize) -> Result<Option<&'a [T]>> {
        match self.operands.get(i) {
            Some(LaunchOperand::Absent) => Ok(None),
            _ => self.input(i).map(Some),
        }
    }

    /// The elements of the `&mut` tensor operand `i`; each can be taken once.
    ///
    /// # Errors
    /// If it is no `&mut` tensor of `T`, or taken before.
    pub fn mutable<T: Element>(&mut self, i: usize) -> Result<&'a mut [T]> {
        match self.operands.get(i) {
            Some(LaunchOperand::Mutable(span))
                if span.dtype == T::DTYPE && self.taken_operands >> i & 1 == 0 =>
            {
                self.taken_operands |= 1 << i;
                // SAFETY: `new` requires valid elements for `'a`, exclusive to
                // this operand, and the bit above gives them out once.
                Ok(unsafe { span.elements_mut() })
            }
            other => Err(self.misuse(format!(
                "operand {i} is {other:?}, not an untaken `&mut` tensor of {}",
                T::DTYPE
            ))),
        }
    }

    /// The elements of output `i`, whatever they held before; each can be taken once.
    ///
    /// # Errors
    /// If it is of another dtype than `T`, or taken before.
    pub fn output<T: Element>(&mut self, i: usize) -> Result<&'a mut [T]> {
        match self.outputs.get(i) {
            Some(span) if span.dtype == T::DTYPE && self.taken_outputs >> i & 1 == 0 => {
                self.taken_outputs |= 1 << i;
                // SAFETY: as in `mutable`.
                Ok(unsafe { span.elements_mut() })
            }
            other => Err(self.misuse(format!(
                "output {i} is {other:?}, not an untaken tensor of {}",
                T::DTYPE
            ))),
        }
    }

    /// The scratch space as elements of `T`, whatever they hold; it can be taken once.
    ///
    /// # Errors
    /// If it was taken before, or `T` is `bool`.
    pub fn scratch<T: Element>(&mut self) -> Result<&'a mut [T]> {
        if T::DTYPE == DType::Bool {
            return Err(self.misuse("scratch space cannot hold bools".to_owned()));
        }
        match self.scratch.take() {
            // SAFETY: as in `mutable`; the span is aligned to 64 bytes, and
            // every bit pattern is a value of the types other than bool.
            Some(span) => Ok(unsafe { span.elements_mut() }),
            None => Err(self.misuse("the scratch space was taken before".to_owned())),
        }
    }

    /// The scalar operand `i`.
    ///
    /// # Errors
    /// If it is no scalar of type `T`.
    pub fn scalar<T: Element>(&self, i: usize) -> Result<T> {
        match self.operands.get(i) {
            Some(LaunchOperand::Scalar(value)) if value.dtype() == T::DTYPE => {
                Ok(T::from_scalar(*value))
            }
            other => Err(self.misuse(format!(
                "operand {i} is {other:?}, not a scalar of {}",
                T::DTYPE
            ))),
        }
    }

    /// The threads and the instruction set to run on.
    pub fn cpu(&self) -> &'a Cpu {
        self.cpu
    }

    /// The threads to run on.
    pub fn pool(&self) -> &'a ThreadPool {
        self.cpu.pool()
    }

    fn misuse(&self, reason: String) -> Error {
        Error::Kernel {
            kernel: self.kernel,
            reason,
        }
    }
}
