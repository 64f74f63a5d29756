//! Kernels of `nn::attention`. They read only the part of a cache that the
//! queries see, and write the heads of a position side by side.

use linnet_kernels::attention::{AttentionArgs, Mask, attention, attention_scratch};
use linnet_kernels::cache::Positions;

use super::float::{KernelFloat, with_float};
use super::layout::{Heads, heads_innermost};
use super::{Kernel, KernelCall, KernelPlan, Launch};
use crate::error::Result;

/// Computes `nn::attention::attention`.
#[derive(Debug, Clone, Copy)]
pub struct AttentionKernel;

/// Computes `nn::attention::cached_attention`.
#[derive(Debug, Clone, Copy)]
pub struct CachedAttentionKernel;

/// Computes `nn::attention::cached_attention_rows`.
#[derive(Debug, Clone, Copy)]
pub struct CachedAttentionRowsKernel;

impl Kernel for AttentionKernel {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        plan(call, At::Start)
    }
}

impl Kernel for CachedAttentionKernel {
    fn name(&self) -> &'static str {
        "cached_attention"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        plan(call, At::Position)
    }
}

impl Kernel for CachedAttentionRowsKernel {
    fn name(&self) -> &'static str {
        "cached_attention_rows"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        if !call.tensor(3)?.is_contiguous() {
            return None;
        }
        plan(call, At::Positions)
    }
}

/// Where the first query of each row stands.
#[derive(Debug, Clone, Copy)]
enum At {
    /// At 0.
    Start,
    /// At operand 3, a scalar.
    Position,
    /// At operand 3, a tensor.
    Positions,
}

impl At {
    fn positions<'a>(self, launch: &Launch<'a>) -> Result<Positions<'a>> {
        Ok(match self {
            At::Start => Positions::All(0),
            At::Position => Positions::All(launch.scalar::<i32>(3)?),
            At::Positions => Positions::Each(launch.input::<i32>(3)?),
        })
    }
}

fn plan(call: &KernelCall<'_>, at: At) -> Option<KernelPlan> {
    with_float!(call.tensor(0)?.dtype, T => plan_for::<T>(call, at))?
}

fn plan_for<T: KernelFloat>(call: &KernelCall<'_>, at: At) -> Option<KernelPlan> {
    let q = Heads::of(call.tensor(0)?)?;
    let k = Heads::of(call.tensor(1)?)?;
    let v = Heads::of(call.tensor(2)?)?;
    let output = call.outputs.first()?;
    let strides = heads_innermost(output.shape)?;
    let out = Heads::new(&output.shape, &strides)?;
    let scale = 1.0 / (q.shape[3] as f32).sqrt();
    let n_scratch = attention_scratch(call.cpu, q.shape, k.shape[1]);
    Some(KernelPlan {
        outputs: vec![strides],
        scratch_bytes: n_scratch * size_of::<f32>(),
        run: Box::new(move |launch| {
            let elements = launch.output::<T>(0)?;
            let scratch = if n_scratch == 0 {
                &mut [][..]
            } else {
                launch.scratch::<f32>()?
            };
            let mask = Mask::Causal {
                positions: at.positions(launch)?,
                window: None,
            };
            let args = AttentionArgs {
                scale,
                mask,
                rows: None,
                sinks: None,
            };
            let q = q.view(launch.input::<T>(0)?)?;
            let k = k.view(launch.input::<T>(1)?)?;
            let v = v.view(launch.input::<T>(2)?)?;
            Ok(attention(
                launch.cpu(),
                q,
                k,
                v,
                args,
                out.view_mut(elements)?,
                scratch,
            )?)
        }),
    })
}
