//! The kernel of `nn::rope`. It writes the heads of a position side by side.

use linnet_kernels::MatRef;
use linnet_kernels::rope::{Yarn, rope, rope_scratch};

use super::float::{KernelFloat, with_float};
use super::layout::{Heads, heads_innermost};
use super::{Kernel, KernelCall, KernelPlan};

/// Computes `nn::rope::yarn_rope`.
#[derive(Debug, Clone, Copy)]
pub struct YarnRopeKernel;

impl Kernel for YarnRopeKernel {
    fn name(&self) -> &'static str {
        "yarn_rope"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, T => plan_for::<T>(call))?
    }
}

fn plan_for<T: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    let x = Heads::of(call.tensor(0)?)?;
    let positions = call.tensor(1)?;
    let positions_shape: [usize; 2] = (*positions.shape).try_into().ok()?;
    let positions_strides: [usize; 2] = (*positions.strides).try_into().ok()?;
    let output = call.outputs.first()?;
    let strides = heads_innermost(output.shape)?;
    let out = Heads::new(&output.shape, &strides)?;
    let n_scratch = rope_scratch(call.cpu, x.shape[3]);
    Some(KernelPlan {
        outputs: vec![strides],
        scratch_bytes: n_scratch * size_of::<f32>(),
        run: Box::new(move |launch| {
            let elements = launch.output::<T>(0)?;
            let scratch = launch.scratch::<f32>()?;
            let positions = launch.input::<i32>(1)?;
            let yarn = Yarn {
                theta: launch.scalar(2)?,
                factor: launch.scalar(3)?,
                beta_fast: launch.scalar(4)?,
                beta_slow: launch.scalar(5)?,
                original: launch.scalar(6)?,
            };
            let x = x.view(launch.input::<T>(0)?)?;
            Ok(rope(
                launch.cpu(),
                x,
                MatRef::new(positions, positions_shape, positions_strides)?,
                &yarn,
                out.view_mut(elements)?,
                scratch,
            )?)
        }),
    })
}
