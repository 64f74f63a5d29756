//! The kernel of the gated activation in `nn::activations`.

use super::float::{KernelFloat, with_float};
use super::layout::Matrix;
use super::{Kernel, KernelCall, KernelPlan};

/// Computes `nn::activations::clamped_swiglu`.
#[derive(Debug, Clone, Copy)]
pub struct ClampedSwigluKernel;

impl Kernel for ClampedSwigluKernel {
    fn name(&self) -> &'static str {
        "clamped_swiglu"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, T => plan_for::<T>(call))?
    }
}

fn plan_for<T: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    let x = Matrix::with_contiguous_columns(call.tensor(0)?)?;
    let out = Matrix::of_output(call.outputs.first()?);
    Some(KernelPlan::row_major(call, move |launch| {
        let elements = launch.output::<T>(0)?;
        let x = x.view(launch.input::<T>(0)?)?;
        let (alpha, limit) = (launch.scalar::<f32>(1)?, launch.scalar::<f32>(2)?);
        Ok(linnet_kernels::swiglu::clamped_swiglu(
            launch.cpu(),
            x,
            alpha,
            limit,
            out.view_mut(elements)?,
        )?)
    }))
}
