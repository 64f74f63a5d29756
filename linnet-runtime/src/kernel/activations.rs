//! Kernels of `nn::activations`.

use linnet_kernels::unary::{UnaryOp, unary};

use super::float::{KernelFloat, with_float};
use super::layout::Matrix;
use super::{Kernel, KernelCall, KernelPlan};

/// Computes `nn::activations::gelu`.
#[derive(Debug, Clone, Copy)]
pub struct GeluKernel;

/// Computes `nn::activations::silu`.
#[derive(Debug, Clone, Copy)]
pub struct SiluKernel;

/// Computes `nn::activations::relu`.
#[derive(Debug, Clone, Copy)]
pub struct ReluKernel;

impl Kernel for GeluKernel {
    fn name(&self) -> &'static str {
        "gelu"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        plan(call, UnaryOp::Gelu)
    }
}

impl Kernel for SiluKernel {
    fn name(&self) -> &'static str {
        "silu"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        plan(call, UnaryOp::Silu)
    }
}

impl Kernel for ReluKernel {
    fn name(&self) -> &'static str {
        "relu"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        plan(call, UnaryOp::Relu)
    }
}

fn plan(call: &KernelCall<'_>, op: UnaryOp) -> Option<KernelPlan> {
    with_float!(call.tensor(0)?.dtype, T => plan_for::<T>(call, op))?
}

fn plan_for<T: KernelFloat>(call: &KernelCall<'_>, op: UnaryOp) -> Option<KernelPlan> {
    let x = Matrix::of(call.tensor(0)?)?;
    let out = Matrix::of_output(call.outputs.first()?);
    Some(KernelPlan::row_major(call, move |launch| {
        let elements = launch.output::<T>(0)?;
        Ok(unary(
            launch.cpu(),
            op,
            x.view(launch.input::<T>(0)?)?,
            out.view_mut(elements)?,
        )?)
    }))
}
