//! The kernel of `nn::top_k`.

use super::float::{KernelFloat, with_float};
use super::layout::Matrix;
use super::{Kernel, KernelCall, KernelPlan};

/// Computes `nn::top_k::descending_ranks`.
#[derive(Debug, Clone, Copy)]
pub struct DescendingRanksKernel;

impl Kernel for DescendingRanksKernel {
    fn name(&self) -> &'static str {
        "descending_ranks"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, T => plan_for::<T>(call))?
    }
}

fn plan_for<T: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    let x = Matrix::of(call.tensor(0)?)?;
    let out = Matrix::of_output(call.outputs.first()?);
    Some(KernelPlan::row_major(call, move |launch| {
        let ranks = launch.output::<i32>(0)?;
        let x = x.view(launch.input::<T>(0)?)?;
        Ok(linnet_kernels::ranks::descending_ranks(
            launch.cpu(),
            x,
            out.view_mut(ranks)?,
        )?)
    }))
}
