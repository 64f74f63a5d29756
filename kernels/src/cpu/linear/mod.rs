//! The linear layer: out[r, o] = act(sum_i x[r, i] w[o, i] + bias[o]).
//!
//! Few rows stream the weights ([`stream`], bound by memory); more are multiplied in blocks
//! ([`crate::cpu::matmul`], bound by the FMA units). x, w, out and bias may be of different
//! float types; sums are f32.

pub(crate) mod finish;
pub(crate) mod stream;
pub(crate) mod widen;

use crate::cpu::matmul::blocked::{self, Plan};
use crate::cpu::scratch::{ALIGN, aligned, aligned_len};
use crate::cpu::{Cpu, unary::UnaryOp};
use crate::element::{Element, MAX_LANES};
use crate::error::{Result, expect_len, expect_scratch};
use crate::view::{MatMut, MatRef, Shared};
use finish::Finish;
use stream::{Columns, Dots, Strip};
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

/// out[r, o] = act(sum_i x[r, i] * w[o, i] + bias[o]).
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
    ALIGN
        + blocked.max(
            aligned_len(rows * inner)
                + cpu.threads() * rows * Strips::new(cpu, rows, outputs).width,
        )
}

/// How outputs are divided among tasks.
struct Strips {
    width: usize,
    n: usize,
}

impl Strips {
    /// A strip as narrow as this still reads a row of w (I, O) in a run of several cache lines..
    const NARROWEST: usize = 256;
    /// ..and 8 rows of sums of the widest, 16 KiB, fit the L1 cache with the next rows of w.
    const WIDEST: usize = 512;

    fn new(cpu: &Cpu, rows: usize, outputs: usize) -> Self {
        let threads = cpu.threads();
        let widest = if rows > 8 {
            Self::WIDEST / 2
        } else {
            Self::WIDEST
        };
        // Equal shares; several per thread where they are wide enough, so that threads end
        // together even if one is held up.
        let fewest = outputs.div_ceil(threads * widest);
        let shares = (outputs / (threads * Self::NARROWEST))
            .clamp(1, 4)
            .max(fewest);
        let width = outputs
            .div_ceil(threads * shares)
            .next_multiple_of(MAX_LANES);
        Self {
            width,
            n: outputs.div_ceil(width),
        }
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
    let (wide, sums) = scratch.split_at_mut(aligned_len(rows * inner));
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
        },
    );
    let finish = Finish::new(cpu.level, epilogue, out);
    let strips = Strips::new(cpu, rows, outputs);
    let by_rows = w.col_stride() == 1 || inner <= 1;
    cpu.pool().run_indexed(strips.n, &|task, thread| {
        let first = task * strips.width;
        // SAFETY: the scratch space has this much for each thread; the first weight is inside w.
        let (sums, w_first) = unsafe {
            let sums = sums.get().add(thread * rows * strips.width);
            (sums, w.as_ptr().add(first * w.row_stride()))
        };
        let strip = Strip {
            x: wide.get(),
            x_stride: inner,
            rows,
            inner,
            w: w_first,
            w_stride: if by_rows {
                w.row_stride()
            } else {
                w.col_stride()
            },
            n_out: (outputs - first).min(strips.width),
            sums,
            sums_stride: strips.width,
        };
        if by_rows {
            W::run_dots(cpu.level, Dots(strip));
        } else {
            W::run_columns(cpu.level, Columns(strip));
        }
        // SAFETY: these outputs are this task's own, and inside the output and the bias.
        unsafe { finish.store(sums, strips.width, [rows, strip.n_out], [0, first]) };
    });
}
