//! Kernels of `nn::norm`.

use linnet_kernels::norm::{layer_norm, rms_norm};

use super::float::{KernelFloat, with_float};
use super::layout::Matrix;
use super::{Kernel, KernelCall, KernelPlan};

/// Computes `nn::norm::layer_norm`.
#[derive(Debug, Clone, Copy)]
pub struct LayerNormKernel;

/// Computes `nn::norm::rms_norm`.
#[derive(Debug, Clone, Copy)]
pub struct RmsNormKernel;

impl Kernel for LayerNormKernel {
    fn name(&self) -> &'static str {
        "layer_norm"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, T => plan_layer_norm::<T>(call))?
    }
}

impl Kernel for RmsNormKernel {
    fn name(&self) -> &'static str {
        "rms_norm"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, T => plan_rms_norm::<T>(call))?
    }
}

fn plan_layer_norm<T: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    let x = Matrix::with_contiguous_columns(call.tensor(0)?)?;
    if !call.tensor(1)?.is_contiguous() || !call.tensor(2)?.is_contiguous() {
        return None;
    }
    let out = Matrix::of_output(call.outputs.first()?);
    Some(KernelPlan::row_major(call, move |launch| {
        let elements = launch.output::<T>(0)?;
        let x = x.view(launch.input::<T>(0)?)?;
        let (weight, bias) = (launch.input::<T>(1)?, launch.input::<T>(2)?);
        let eps = launch.scalar::<f32>(3)?;
        Ok(layer_norm(
            launch.cpu(),
            x,
            weight,
            Some(bias),
            eps,
            out.view_mut(elements)?,
        )?)
    }))
}

fn plan_rms_norm<T: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    let x = Matrix::with_contiguous_columns(call.tensor(0)?)?;
    if !call.tensor(1)?.is_contiguous() {
        return None;
    }
    let out = Matrix::of_output(call.outputs.first()?);
    Some(KernelPlan::row_major(call, move |launch| {
        let elements = launch.output::<T>(0)?;
        let x = x.view(launch.input::<T>(0)?)?;
        let weight = launch.input::<T>(1)?;
        let eps = launch.scalar::<f32>(2)?;
        Ok(rms_norm(
            launch.cpu(),
            x,
            weight,
            eps,
            out.view_mut(elements)?,
        )?)
    }))
}
