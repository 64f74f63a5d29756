//! The kernel of `nn::embedding`.

use linnet_kernels::embedding::{embedding, embedding_widened};

use super::float::{KernelFloat, with_float};
use super::layout::Matrix;
use super::{Kernel, KernelCall, KernelPlan};
use crate::dtype::DType;

/// Computes `nn::embedding::embedding`.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddingKernel;

impl Kernel for EmbeddingKernel {
    fn name(&self) -> &'static str {
        "embedding"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        let table = call.tensor(1)?.dtype;
        match call.outputs.first()?.dtype {
            out if out == table => with_float!(table, T => plan_for::<T>(call))?,
            DType::F32 => with_float!(table, T => plan_widened::<T>(call))?,
            _ => None,
        }
    }
}

/// For a table and results of `T`.
fn plan_for<T: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    if !call.tensor(0)?.is_contiguous() {
        return None;
    }
    let table = Matrix::with_contiguous_columns(call.tensor(1)?)?;
    let out = Matrix::of_output(call.outputs.first()?);
    Some(KernelPlan::row_major(call, move |launch| {
        let elements = launch.output::<T>(0)?;
        let table = table.view(launch.input::<T>(1)?)?;
        let ids = launch.input::<i32>(0)?;
        let out = out.view_mut(elements)?;
        Ok(embedding(launch.cpu(), ids, table, out)?)
    }))
}

/// For a table of `T` and results in f32.
fn plan_widened<T: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    if !call.tensor(0)?.is_contiguous() {
        return None;
    }
    let table = Matrix::with_contiguous_columns(call.tensor(1)?)?;
    let out = Matrix::of_output(call.outputs.first()?);
    Some(KernelPlan::row_major(call, move |launch| {
        let elements = launch.output::<f32>(0)?;
        let table = table.view(launch.input::<T>(1)?)?;
        let ids = launch.input::<i32>(0)?;
        let out = out.view_mut(elements)?;
        Ok(embedding_widened(launch.cpu(), ids, table, out)?)
    }))
}
