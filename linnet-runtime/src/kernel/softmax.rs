//! The kernel of `nn::softmax`.

use super::float::{KernelFloat, with_float};
use super::layout::Matrix;
use super::{Kernel, KernelCall, KernelPlan};

/// Computes `nn::softmax::softmax`.
#[derive(Debug, Clone, Copy)]
pub struct SoftmaxKernel;

impl Kernel for SoftmaxKernel {
    fn name(&self) -> &'static str {
        "softmax"
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
        Ok(linnet_kernels::softmax::softmax(
            launch.cpu(),
            x,
            out.view_mut(elements)?,
        )?)
    }))
}
