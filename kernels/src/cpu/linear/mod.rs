//! The linear layer: `out[r, o] = act(sum_i x[r, i] w[o, i] + bias[o])`.
//!
//! Few rows stream the weights (`stream`, bound by memory); more are multiplied in blocks
//! ([`crate::cpu::matmul`], bound by the FMA units). x, w, out and bias may be of different
//! float types; sums are f32.

pub(crate) mod finish;
pub(crate) mod stream;
pub(crate) mod widen;

use crate::cpu::matmul::blocked::{self, Plan};
use crate::cpu::scratch::{ALIGN, aligned, row_stride};
use crate::cpu::{Cpu, rows::split, unary::UnaryOp};
use crate::element::{Element, MAX_LANES};
use crate::error::{Result, expect_len, expect_scratch};
use crate::view::{MatMut, MatRef, Shared};
use finish::Finish;
use stream::{Columns, Dots, Parts, Strip};
use widen::Widen;

#[cfg(test)]
mod tests;

/// The most rows that stream the weights; with more, packing the weights pays.
pub(crate) const STREAM_ROWS: usize = 16;

/// What is done to a sum before it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Epilogue<'a, W> {
    /// Added to every row: one element per output.
    pub bias: Option<&'a [W]>,
    /// Applied after the bias.
    pub activation: Option<UnaryOp>,
}

impl<W> Default for Epilogue<'_, W> {
    fn default() -> Self {
        Self {
            bias: None,
            activation: None,
        }
    }
}

/// `out[r, o] = act(sum_i x[r, i] * w[o, i] + bias[o])`.
///
/// x (R, I), w (O, I), out (R, O), bias (O). `w` may be stored as (O, I) with contiguous
/// rows, or as (I, O) and be given transposed ([`MatRef::transposed`]); both are fast. Other
/// strides work, more slowly.
///
/// # Errors
/// If shapes differ or `scratch` is shorter than [`linear_scratch`] says.
pub fn linear<X: Element, W: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    w: MatRef<'_, W>,
    epilogue: Epilogue<'_, W>,
    mut out: MatMut<'_, X>,
    scratch: &mut [f32],
) -> Result<()> {
    const KERNEL: &str = "linear";
    let (rows, inner, outputs) = (x.rows(), x.cols(), w.rows());
    expect_len(KERNEL, "the columns of w", inner, w.cols())?;
    expect_len(KERNEL, "the rows of out", rows, out.rows())?;
    expect_len(KERNEL, "the columns of out", outputs, out.cols())?;
    if let Some(bias) = epilogue.bias {
        expect_len(KERNEL, "the length of bias", outputs, bias.len())?;
    }
    expect_scratch(
        KERNEL,
        linear_scratch(cpu, rows, inner, outputs),
        scratch.len(),
    )?;
    let scratch = aligned(scratch);
    if rows == 0 || outputs == 0 {
        return Ok(());
    }
    let streams = w.col_stride() == 1 || w.row_stride() == 1 || inner <= 1;
    // SAFETY: all lengths were checked above, that of the scratch space too.
    unsafe {
        if rows <= STREAM_ROWS && streams {
            stream_product(cpu, x, w, epilogue, &mut out, scratch);
        } else {
            let plan = Plan::new(cpu, rows, inner, outputs);
            blocked::product(cpu, &plan, x, w.transposed(), epilogue, &mut out, scratch);
        }
    }
    Ok(())
}

/// The f32 elements of scratch space that [`linear`] needs on `cpu` for these lengths,
/// whatever the types and strides.
pub fn linear_scratch(cpu: &Cpu, rows: usize, inner: usize, outputs: usize) -> usize {
    if rows == 0 || outputs == 0 {
        return ALIGN;
    }
    let blocked = Plan::new(cpu, rows, inner, outputs).scratch();
    if rows > STREAM_ROWS {
        return ALIGN + blocked;
    }
    let by_rows = Strips::new(cpu, [rows, inner, outputs], true).sums(rows);
    let by_columns = Strips::new(cpu, [rows, inner, outputs], false).sums(rows);
    ALIGN + blocked.max(rows * row_stride(inner, rows) + by_rows.max(by_columns))
}

/// How the streaming product is divided: strips of outputs and, for weights (I, O), chunks of i,
/// whose sums are added afterwards.
///
/// A chunk is one run of memory, or few, however many threads there are: a core that reads
/// whole rows is served by the hardware's prefetching, one that reads a part of each is not.
struct Strips {
    /// Outputs in a strip, in whole vectors, and strips.
    width: usize,
    n: usize,
    /// Steps of i in a chunk, and chunks: these depend on I only, since they decide the order in
    /// which numbers are added.
    steps: usize,
    chunks: usize,
}

impl Strips {
    /// The narrowest strip for weights (O, I).
    const NARROWEST: usize = 64;
    /// Sums of all rows of a strip: 16 KiB, half of an L1 cache.
    const SUMS: usize = 4096;
    /// The most chunks, and the fewest steps of one.
    const CHUNKS: usize = 8;
    const STEPS: usize = 64;

    fn new(cpu: &Cpu, [rows, inner, outputs]: [usize; 3], by_rows: bool) -> Self {
        let widest = (Self::SUMS / rows.max(1)).next_multiple_of(MAX_LANES);
        let chunks = if by_rows {
            1
        } else {
            (inner / Self::STEPS).clamp(1, Self::CHUNKS)
        };
        let steps = inner.div_ceil(chunks).next_multiple_of(8);
        let chunks = inner.div_ceil(steps.max(1)).max(1);
        // Equal strips; several tasks per thread, so that threads end together even if one is held up.
        let tasks = if cpu.threads() == 1 {
            1
        } else {
            cpu.threads() * 4
        };
        let strips = tasks
            .div_ceil(chunks)
            .min(outputs / Self::NARROWEST)
            .max(outputs.div_ceil(widest))
            .max(1);
        let width = outputs.div_ceil(strips).next_multiple_of(MAX_LANES);
        Self {
            width,
            n: outputs.div_ceil(width.max(1)),
            steps,
            chunks,
        }
    }

    /// From one row of sums to the next.
    fn sums_stride(&self, rows: usize) -> usize {
        row_stride(self.n * self.width, rows)
    }

    /// f32 elements for all sums: (chunks, rows, whole strips).
    fn sums(&self, rows: usize) -> usize {
        self.chunks * rows * self.sums_stride(rows)
    }
}

/// # Safety
/// All lengths must fit, that of `scratch` too; `w` is contiguous along one axis.
unsafe fn stream_product<X: Element, W: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    w: MatRef<'_, W>,
    epilogue: Epilogue<'_, W>,
    out: &mut MatMut<'_, X>,
    scratch: &mut [f32],
) {
    let (rows, inner, outputs) = (x.rows(), x.cols(), w.rows());
    let x_stride = row_stride(inner, rows);
    let (wide, sums) = scratch.split_at_mut(rows * x_stride);
    let wide = Shared::new(wide.as_mut_ptr());
    let sums = Shared::new(sums.as_mut_ptr());
    let strides = [x.row_stride(), x.col_stride()];
    X::run_widen(
        cpu.level,
        Widen {
            x: x.as_ptr(),
            strides,
            rows,
            cols: inner,
            out: wide.get(),
            out_stride: x_stride,
        },
    );
    let finish = Finish::new(cpu.level, epilogue, out);
    let by_rows = w.col_stride() == 1 || inner <= 1;
    let strips = Strips::new(cpu, [rows, inner, outputs], by_rows);
    let sums_stride = strips.sums_stride(rows);
    cpu.pool().run(strips.n * strips.chunks, &|task| {
        let (chunk, first) = (task / strips.n, task % strips.n * strips.width);
        let step = chunk * strips.steps;
        let n_out = (outputs - first).min(strips.width);
        // SAFETY: the scratch space holds sums for all chunks; the chunk's first weight is inside w.
        let (sums, w_first) = unsafe {
            let sums = sums.get().add(chunk * rows * sums_stride + first);
            (
                sums,
                w.as_ptr()
                    .add(first * w.row_stride() + step * w.col_stride()),
            )
        };
        let strip = Strip {
            x: wide.get().wrapping_add(step),
            x_stride,
            rows,
            inner: (inner - step).min(strips.steps),
            w: w_first,
            w_stride: if by_rows {
                w.row_stride()
            } else {
                w.col_stride()
            },
            n_out,
            sums,
            sums_stride,
        };
        if by_rows {
            W::run_dots(cpu.level, Dots(strip));
        } else {
            W::run_columns(cpu.level, Columns(strip));
        }
        if strips.chunks == 1 {
            // SAFETY: these outputs are this task's own, and inside the output and the bias.
            unsafe { finish.store(sums, sums_stride, [rows, n_out], [0, first]) };
        }
    });
    if strips.chunks == 1 {
        return;
    }
    split(cpu, outputs, rows * strips.chunks, 64, &|first, last| {
        let parts = Parts {
            sums: sums.get().wrapping_add(first),
            sums_stride,
            rows,
            n: last - first,
            chunks: strips.chunks,
        };
        cpu.dispatch(parts);
        // SAFETY: as above.
        unsafe { finish.store(parts.sums, sums_stride, [rows, last - first], [0, first]) };
    });
}
