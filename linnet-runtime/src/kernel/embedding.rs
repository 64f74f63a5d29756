//! The kernel of `nn::embedding`.

use super::float::{KernelFloat, with_float};
use super::layout::Matrix;
use super::{Kernel, KernelCall, KernelPlan};

/// Computes `nn::embedding::embedding`.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddingKernel;

impl Kernel for EmbeddingKernel {
    fn name(&self) -> &'static str {
        "embedding"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(1)?.dtype, T => plan_for::<T>(call))?
    }
}

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
        Ok(linnet_kernels::embedding::embedding(
            launch.cpu(),
            ids,
            table,
            out.view_mut(elements)?,
        )?)
    }))
}
