//! Kernels of the affine maps over weights in few bits, `quant::{int8, int4, int4_group}`.

use linnet_kernels::quant::{
    GroupLayout, Int4Groups, int4_group_linear, int4_group_linear_scratch, int4_linear,
    int4_linear_scratch, int8_linear, int8_linear_scratch,
};

use super::float::{KernelFloat, with_float};
use super::layout::Matrix;
use super::{Kernel, KernelCall, KernelPlan};
use crate::dtype::DType;

/// Computes `quant::int8::int8_linear`.
#[derive(Debug, Clone, Copy)]
pub struct Int8LinearKernel;

/// Computes `quant::int4::int4_linear`.
#[derive(Debug, Clone, Copy)]
pub struct Int4LinearKernel;

/// Computes `quant::int4_group::int4_group_linear`.
#[derive(Debug, Clone, Copy)]
pub struct Int4GroupLinearKernel;

impl Kernel for Int8LinearKernel {
    fn name(&self) -> &'static str {
        "int8_linear"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, T => rows_for::<T>(call, Codes::Int8))?
    }
}

impl Kernel for Int4LinearKernel {
    fn name(&self) -> &'static str {
        "int4_linear"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, T => rows_for::<T>(call, Codes::Int4))?
    }
}

impl Kernel for Int4GroupLinearKernel {
    fn name(&self) -> &'static str {
        "int4_group_linear"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, X => {
            with_float!(call.tensor(2)?.dtype, W => groups_for::<X, W>(call))?
        })?
    }
}

/// Whether the operands from `first` to `last`, tensors or absent, lie without gaps.
fn contiguous(call: &KernelCall<'_>, first: usize, last: usize) -> bool {
    (first..=last)
        .all(|i| call.is_absent(i) || call.tensor(i).is_some_and(|tensor| tensor.is_contiguous()))
}

/// Whether operand `i` is absent or a tensor of a dtype.
fn is_absent_or(call: &KernelCall<'_>, i: usize, dtype: DType) -> bool {
    call.is_absent(i) || call.tensor(i).is_some_and(|tensor| tensor.dtype == dtype)
}

/// Codes with a scale for each row.
#[derive(Debug, Clone, Copy)]
enum Codes {
    Int8,
    Int4,
}

fn rows_for<T: KernelFloat>(call: &KernelCall<'_>, codes: Codes) -> Option<KernelPlan> {
    let x = Matrix::of(call.tensor(0)?)?;
    if !contiguous(call, 1, 3) || !is_absent_or(call, 3, T::DTYPE) {
        return None;
    }
    let out = Matrix::of_output(call.outputs.first()?);
    let lengths = match codes {
        Codes::Int8 => int8_linear_scratch,
        Codes::Int4 => int4_linear_scratch,
    };
    let n_scratch = lengths(call.cpu, x.rows(), x.cols(), out.cols());
    let plan = KernelPlan::row_major(call, move |launch| {
        let linear = match codes {
            Codes::Int8 => int8_linear::<T>,
            Codes::Int4 => int4_linear::<T>,
        };
        let elements = launch.output::<T>(0)?;
        let scratch = launch.scratch::<f32>()?;
        Ok(linear(
            launch.cpu(),
            x.view(launch.input::<T>(0)?)?,
            launch.input::<i8>(1)?,
            launch.input::<f32>(2)?,
            launch.optional_input::<T>(3)?,
            out.view_mut(elements)?,
            scratch,
        )?)
    });
    Some(plan.with_scratch(n_scratch * size_of::<f32>()))
}

/// For x and the result in `X`, scales and bias in `W`.
fn groups_for<X: KernelFloat, W: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    let x = Matrix::of(call.tensor(0)?)?;
    if !contiguous(call, 1, 5) || !is_absent_or(call, 5, W::DTYPE) {
        return None;
    }
    let &[outputs, groups, half] = &*call.tensor(1)?.shape else {
        return None;
    };
    let layout = GroupLayout {
        outputs,
        groups,
        group: 2 * half,
    };
    let out = Matrix::of_output(call.outputs.first()?);
    let ordered = !call.is_absent(4);
    let n_scratch = int4_group_linear_scratch(call.cpu, x.rows(), layout, ordered);
    let plan = KernelPlan::row_major(call, move |launch| {
        let elements = launch.output::<X>(0)?;
        let scratch = launch.scratch::<f32>()?;
        let weights = Int4Groups {
            codes: launch.input::<u8>(1)?,
            scale: launch.input::<W>(2)?,
            zero: launch.input::<u8>(3)?,
            order: launch.optional_input::<i32>(4)?,
            layout,
        };
        Ok(int4_group_linear(
            launch.cpu(),
            x.view(launch.input::<X>(0)?)?,
            weights,
            launch.optional_input::<W>(5)?,
            out.view_mut(elements)?,
            scratch,
        )?)
    });
    Some(plan.with_scratch(n_scratch * size_of::<f32>()))
}
