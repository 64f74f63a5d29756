//! Kernels of `nn::sink_attention`. They read only the keys that the queries
//! see, and write the heads of a position side by side.

use linnet_kernels::attention::{
    AttentionArgs, Mask, PackedArgs, attention, attention_scratch, packed_attention,
    packed_attention_scratch,
};
use linnet_kernels::cache::Positions;

use super::float::{KernelFloat, with_float};
use super::layout::{Heads, heads_innermost};
use super::{Kernel, KernelCall, KernelPlan, Launch};
use crate::error::Result;
use crate::shape::Dims;

/// Computes `nn::sink_attention::sink_attention`.
#[derive(Debug, Clone, Copy)]
pub struct SinkAttentionKernel;

/// Computes `nn::sink_attention::cached_sink_attention`.
#[derive(Debug, Clone, Copy)]
pub struct CachedSinkAttentionKernel;

/// Computes `nn::sink_attention::packed_sink_attention`.
#[derive(Debug, Clone, Copy)]
pub struct PackedSinkAttentionKernel;

impl Kernel for SinkAttentionKernel {
    fn name(&self) -> &'static str {
        "sink_attention"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, T => plan_sequences::<T>(call, None, 4))?
    }
}

impl Kernel for CachedSinkAttentionKernel {
    fn name(&self) -> &'static str {
        "cached_sink_attention"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, T => plan_sequences::<T>(call, Some(4), 5))?
    }
}

impl Kernel for PackedSinkAttentionKernel {
    fn name(&self) -> &'static str {
        "packed_sink_attention"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        with_float!(call.tensor(0)?.dtype, T => plan_packed::<T>(call))?
    }
}

/// The views of a call: operands q, k, v and sinks, and the output.
struct Views {
    q: Heads,
    k: Heads,
    v: Heads,
    out: Heads,
    strides: Dims,
    scale: f32,
}

impl Views {
    fn of(call: &KernelCall<'_>) -> Option<Views> {
        let q = Heads::of(call.tensor(0)?)?;
        let output = call.outputs.first()?;
        let strides = heads_innermost(output.shape)?;
        if !call.tensor(3)?.is_contiguous() {
            return None;
        }
        Some(Views {
            k: Heads::of(call.tensor(1)?)?,
            v: Heads::of(call.tensor(2)?)?,
            out: Heads::new(&output.shape, &strides)?,
            strides,
            scale: 1.0 / (q.shape[3] as f32).sqrt(),
            q,
        })
    }
}

/// The number of positions that a query sees, by scalar operand `i`. What is
/// not positive is refused by the operation's requirement before, and by the kernel.
fn window(launch: &Launch<'_>, i: usize) -> Result<usize> {
    Ok(usize::try_from(launch.scalar::<i32>(i)?).unwrap_or(0))
}

/// Whole sequences from position 0, or from the position in scalar operand `pos` on.
fn plan_sequences<T: KernelFloat>(
    call: &KernelCall<'_>,
    pos: Option<usize>,
    window_at: usize,
) -> Option<KernelPlan> {
    let views = Views::of(call)?;
    let n_scratch = attention_scratch(call.cpu, views.q.shape, views.k.shape[1]);
    Some(KernelPlan {
        outputs: vec![views.strides],
        scratch_bytes: n_scratch * size_of::<f32>(),
        run: Box::new(move |launch| {
            let elements = launch.output::<T>(0)?;
            let scratch = launch.scratch::<f32>()?;
            let first = pos.map_or(Ok(0), |i| launch.scalar::<i32>(i))?;
            let args = AttentionArgs {
                scale: views.scale,
                mask: Mask::Causal {
                    positions: Positions::All(first),
                    window: Some(window(launch, window_at)?),
                },
                rows: None,
                sinks: Some(launch.input::<T>(3)?),
            };
            Ok(attention(
                launch.cpu(),
                views.q.view(launch.input::<T>(0)?)?,
                views.k.view(launch.input::<T>(1)?)?,
                views.v.view(launch.input::<T>(2)?)?,
                args,
                views.out.view_mut(elements)?,
                scratch,
            )?)
        }),
    })
}

fn plan_packed<T: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    let views = Views::of(call)?;
    if !call.tensor(4)?.is_contiguous() || !call.tensor(5)?.is_contiguous() {
        return None;
    }
    let n_scratch = packed_attention_scratch(call.cpu, views.q.shape, views.k.shape[1]);
    Some(KernelPlan {
        outputs: vec![views.strides],
        scratch_bytes: n_scratch * size_of::<f32>(),
        run: Box::new(move |launch| {
            let elements = launch.output::<T>(0)?;
            let scratch = launch.scratch::<f32>()?;
            let args = PackedArgs {
                scale: views.scale,
                rows: launch.input::<i32>(4)?,
                positions: launch.input::<i32>(5)?,
                window: Some(window(launch, 6)?),
                sinks: Some(launch.input::<T>(3)?),
            };
            Ok(packed_attention(
                launch.cpu(),
                views.q.view(launch.input::<T>(0)?)?,
                views.k.view(launch.input::<T>(1)?)?,
                views.v.view(launch.input::<T>(2)?)?,
                args,
                views.out.view_mut(elements)?,
                scratch,
            )?)
        }),
    })
}

#[cfg(test)]
mod tests;
