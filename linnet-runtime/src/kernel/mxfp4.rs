//! Kernels of `quant::mxfp4`.

use linnet_kernels::experts::{
    ExpertsShape, experts, experts_scratch, experts_sum, experts_sum_scratch,
};
use linnet_kernels::quant::{Mxfp4, dequantize};

use super::float::{KernelFloat, with_float};
use super::layout::Matrix;
use super::{Kernel, KernelCall, KernelPlan, Launch};
use crate::error::Result;

/// Computes `quant::mxfp4::mxfp4_dequantize`.
#[derive(Debug, Clone, Copy)]
pub struct Mxfp4DequantizeKernel;

/// Computes `quant::mxfp4::mxfp4_experts`.
#[derive(Debug, Clone, Copy)]
pub struct Mxfp4ExpertsKernel;

/// Computes `quant::mxfp4::mxfp4_experts_sum`.
#[derive(Debug, Clone, Copy)]
pub struct Mxfp4ExpertsSumKernel;

impl Kernel for Mxfp4DequantizeKernel {
    fn name(&self) -> &'static str {
        "mxfp4_dequantize"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        if !call.tensor(0)?.is_contiguous() || !call.tensor(1)?.is_contiguous() {
            return None;
        }
        Some(KernelPlan::row_major(call, |launch| {
            let out = launch.output::<f32>(0)?;
            let (blocks, scales) = (launch.input::<u8>(0)?, launch.input::<u8>(1)?);
            Ok(dequantize(launch.cpu(), blocks, scales, out)?)
        }))
    }
}

impl Kernel for Mxfp4ExpertsKernel {
    fn name(&self) -> &'static str {
        "mxfp4_experts"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, T => experts_for::<T>(call))?
    }
}

impl Kernel for Mxfp4ExpertsSumKernel {
    fn name(&self) -> &'static str {
        "mxfp4_experts_sum"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, T => experts_sum_for::<T>(call))?
    }
}

/// The weights of a call, operands 1 and 2.
#[derive(Debug, Clone, Copy)]
struct Weights {
    /// Experts, outputs, blocks.
    shape: [usize; 3],
}

impl Weights {
    fn of(call: &KernelCall<'_>) -> Option<Weights> {
        let (blocks, scales) = (call.tensor(1)?, call.tensor(2)?);
        if !blocks.is_contiguous() || !scales.is_contiguous() {
            return None;
        }
        let shape = <[usize; 3]>::try_from(&*scales.shape).ok()?;
        Some(Weights { shape })
    }

    fn view<'a>(self, launch: &Launch<'a>) -> Result<Mxfp4<'a>> {
        let (blocks, scales) = (launch.input::<u8>(1)?, launch.input::<u8>(2)?);
        Ok(Mxfp4::new(blocks, scales, self.shape)?)
    }

    /// With the experts that the rows choose, operand 3.
    fn lengths(self, call: &KernelCall<'_>, inner: usize) -> Option<ExpertsShape> {
        let chosen = call.tensor(3)?;
        let &[rows, top_k] = &*chosen.shape else {
            return None;
        };
        let [experts, outputs, _] = self.shape;
        chosen.is_contiguous().then_some(ExpertsShape {
            rows,
            top_k,
            experts,
            outputs,
            inner,
        })
    }
}

fn experts_for<T: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    let x = Matrix::of(call.tensor(0)?)?;
    let weights = Weights::of(call)?;
    let lengths = weights.lengths(call, x.cols())?;
    let out = Matrix::of_output(call.outputs.first()?);
    let n_scratch = experts_scratch(call.cpu, lengths);
    let plan = KernelPlan::row_major(call, move |launch| {
        let elements = launch.output::<T>(0)?;
        let scratch = launch.scratch::<f32>()?;
        Ok(experts(
            launch.cpu(),
            x.view(launch.input::<T>(0)?)?,
            weights.view(launch)?,
            launch.input::<i64>(3)?,
            lengths.top_k,
            out.view_mut(elements)?,
            scratch,
        )?)
    });
    Some(plan.with_scratch(n_scratch * size_of::<f32>()))
}

fn experts_sum_for<T: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    let x = Matrix::of(call.tensor(0)?)?;
    let weights = Weights::of(call)?;
    let lengths = weights.lengths(call, x.cols())?;
    let factors = call.tensor(4).filter(|factors| factors.dtype == T::DTYPE)?;
    let factors = Matrix::of(factors)?;
    let out = Matrix::of_output(call.outputs.first()?);
    let n_scratch = experts_sum_scratch(call.cpu, lengths);
    let plan = KernelPlan::row_major(call, move |launch| {
        let elements = launch.output::<T>(0)?;
        let scratch = launch.scratch::<f32>()?;
        Ok(experts_sum(
            launch.cpu(),
            x.view(launch.input::<T>(0)?)?,
            weights.view(launch)?,
            launch.input::<i64>(3)?,
            factors.view(launch.input::<T>(4)?)?,
            out.view_mut(elements)?,
            scratch,
        )?)
    });
    Some(plan.with_scratch(n_scratch * size_of::<f32>()))
}
