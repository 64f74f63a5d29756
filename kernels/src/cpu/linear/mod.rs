//! The linear layer: out[r, o] = act(sum_i x[r, i] w[o, i] + bias[o]).
//!
//! Few rows stream the weights ([`stream`], bound by memory); more are multiplied in blocks
//! ([`crate::cpu::matmul`], bound by the FMA units). x, w, out and bias may be of different
//! float types; sums are f32.

pub(crate) mod finish;
mod stream;

use crate::cpu::matmul::blocked::{self, Plan};
use crate::cpu::scratch::{ALIGN, aligned, aligned_len};
use crate::cpu::{Cpu, unary::UnaryOp};
use crate::element::{Element, MAX_LANES};
use crate::error::{Result, expect_len, expect_scratch};
use crate::simd::{Kernel, Simd};
use crate::view::{MatMut, MatRef, Shared};
use finish::Finish;
use stream::Strip;

#[cfg(test)]
mod tests;

/// The most rows that stream the weights: from here on packing them pays.
pub(crate) const STREAM_ROWS: usize = 8;

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
    let blocked = Plan::new(cpu, rows, inner, outputs).scratch();
    if rows > STREAM_ROWS {
        return ALIGN + blocked;
    }
    ALIGN
        + blocked
            .max(aligned_len(rows * inner) + cpu.threads() * rows * Strips::new(cpu, outputs).width)
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

    fn new(cpu: &Cpu, outputs: usize) -> Self {
        let threads = cpu.threads();
        // Equal shares; several per thread where they are wide enough, so that threads end
        // together even if one is held up.
        let fewest = outputs.div_ceil(threads * Self::WIDEST);
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
    cpu.dispatch(Widen { x, out: wide });
    let wide = Shared::new(wide.as_mut_ptr());
    let sums = Shared::new(sums.as_mut_ptr());
    let finish = Finish::new(epilogue, out);
    let strips = Strips::new(cpu, outputs);
    let by_rows = w.col_stride() == 1 || inner <= 1;
    cpu.pool().run_indexed(strips.n, &|task, thread| {
        let first = task * strips.width;
        let length = rows * strips.width;
        // SAFETY: the scratch space has this much for each thread; the first weight is inside w.
        let (sums, w_first) = unsafe {
            let sums = std::slice::from_raw_parts_mut(sums.get().add(thread * length), length);
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
        cpu.dispatch(StripTask {
            strip,
            by_rows,
            finish: &finish,
            first,
        });
    });
}

/// x (R, I) as contiguous f32.
struct Widen<'a, X> {
    x: MatRef<'a, X>,
    out: &'a mut [f32],
}

impl<X: Element> Kernel for Widen<'_, X> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { x, out } = self;
        let inner = x.cols();
        let whole = if x.col_stride() == 1 {
            inner / S::LANES * S::LANES
        } else {
            0
        };
        for (r, out) in out
            .chunks_exact_mut(inner.max(1))
            .enumerate()
            .take(x.rows())
        {
            // SAFETY: row r is inside x, and `out` has `inner` elements.
            unsafe {
                let x_row = x.as_ptr().add(r * x.row_stride());
                for i in (0..whole).step_by(S::LANES) {
                    s.store(out.as_mut_ptr().add(i), X::load(s, x_row.add(i)));
                }
                for (i, out) in out.iter_mut().enumerate().skip(whole) {
                    *out = (*x_row.add(i * x.col_stride())).to_f32();
                }
            }
        }
    }
}

struct StripTask<'a, 'f, X, W> {
    strip: Strip<'a, W>,
    by_rows: bool,
    finish: &'a Finish<'f, X, W>,
    first: usize,
}

impl<X: Element, W: Element> Kernel for StripTask<'_, '_, X, W> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let strip = &mut self.strip;
        // SAFETY: `stream_product` set the strip up from checked views and scratch space; this
        // task's outputs are its own.
        unsafe {
            if self.by_rows {
                stream::dots(s, strip);
            } else {
                stream::columns(s, strip);
            }
            let size = [strip.rows, strip.n_out];
            self.finish.store(
                s,
                strip.sums.as_mut_ptr(),
                strip.sums_stride,
                size,
                [0, self.first],
            );
        }
    }
}
