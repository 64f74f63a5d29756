//! The kernel of `nn::linear`.

use linnet_kernels::linear::{Epilogue, linear, linear_scratch};

use super::float::{KernelFloat, with_float};
use super::layout::Matrix;
use super::{Kernel, KernelCall, KernelPlan};

/// Computes `nn::linear::linear`, with the bias added before the one rounding
/// of each result.
#[derive(Debug, Clone, Copy)]
pub struct LinearKernel;

impl Kernel for LinearKernel {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, X => {
            with_float!(call.tensor(1)?.dtype, W => plan_for::<X, W>(call))?
        })?
    }
}

/// For x and the result in `X`, the weight and its bias in `W`.
fn plan_for<X: KernelFloat, W: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    let x = Matrix::of(call.tensor(0)?)?;
    let weight = Matrix::of(call.tensor(1)?)?;
    if !call.is_absent(2) {
        let bias = call.tensor(2)?;
        if !bias.is_contiguous() || bias.dtype != call.tensor(1)?.dtype {
            return None;
        }
    }
    let out = Matrix::of_output(call.outputs.first()?);
    let n_scratch = linear_scratch(call.cpu, x.rows(), x.cols(), weight.rows());
    let plan = KernelPlan::row_major(call, move |launch| {
        let elements = launch.output::<X>(0)?;
        let scratch = if n_scratch == 0 {
            &mut [][..]
        } else {
            launch.scratch::<f32>()?
        };
        let x = x.view(launch.input::<X>(0)?)?;
        let weight = weight.view(launch.input::<W>(1)?)?;
        let epilogue = Epilogue {
            bias: launch.optional_input::<W>(2)?,
            activation: None,
        };
        Ok(linear(
            launch.cpu(),
            x,
            weight,
            epilogue,
            out.view_mut(elements)?,
            scratch,
        )?)
    });
    Some(plan.with_scratch(n_scratch * size_of::<f32>()))
}
