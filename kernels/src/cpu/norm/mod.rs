//! Normalisation of rows.
//!
//! layer_norm: y = (x - mean) / sqrt(var + eps) * w + b, with var the mean of (x - mean)^2
//! rms_norm:   y = x / sqrt(mean(x^2) + eps) * w
//!
//! Layout: x, out (R, H) with contiguous columns; w, b (H). The mean is taken first and
//! the squares of the differences in a second pass over the row, which is then in the
//! L1 cache: no cancellation however large the mean. Bound by memory (one read, one write).

use crate::cpu::{Cpu, rows::split};
use crate::element::{Element, load_partial, store_partial};
use crate::error::{KernelError, Result, expect_len};
use crate::simd::{Kernel, Simd};
use crate::view::{MatMut, MatRef, Shared};

#[cfg(test)]
mod tests;

/// out = (x - mean) / sqrt(var + eps) * weight + bias, row by row.
///
/// # Errors
/// If shapes differ, or the columns of `x` or `out` are not contiguous.
pub fn layer_norm<X: Element, W: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    weight: &[W],
    bias: Option<&[W]>,
    eps: f32,
    out: MatMut<'_, X>,
) -> Result<()> {
    norm(cpu, "layer_norm", x, weight, bias, eps, true, out)
}

/// out = x / sqrt(mean(x^2) + eps) * weight, row by row.
///
/// # Errors
/// If shapes differ, or the columns of `x` or `out` are not contiguous.
pub fn rms_norm<X: Element, W: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    weight: &[W],
    eps: f32,
    out: MatMut<'_, X>,
) -> Result<()> {
    norm(cpu, "rms_norm", x, weight, None, eps, false, out)
}

#[allow(clippy::too_many_arguments)]
fn norm<X: Element, W: Element>(
    cpu: &Cpu,
    kernel: &'static str,
    x: MatRef<'_, X>,
    weight: &[W],
    bias: Option<&[W]>,
    eps: f32,
    centre: bool,
    mut out: MatMut<'_, X>,
) -> Result<()> {
    let (rows, n) = (x.rows(), x.cols());
    expect_len(kernel, "the rows of out", rows, out.rows())?;
    expect_len(kernel, "the columns of out", n, out.cols())?;
    expect_len(kernel, "the length of weight", n, weight.len())?;
    if let Some(bias) = bias {
        expect_len(kernel, "the length of bias", n, bias.len())?;
    }
    require_contiguous_columns(kernel, x.cols(), x.col_stride(), out.col_stride())?;
    if n == 0 {
        return Ok(());
    }
    let to = Shared::new(out.as_mut_ptr());
    split(cpu, rows, 2 * n, 1, &|first, last| {
        for r in first..last {
            // SAFETY: the views were checked for row r, and this task's rows are its own.
            let (x, out) = unsafe {
                (
                    x.as_ptr().add(r * x.row_stride()),
                    to.get().add(r * out.row_stride()),
                )
            };
            cpu.dispatch(Row {
                n,
                x,
                weight,
                bias,
                eps,
                centre,
                out,
            });
        }
    });
    Ok(())
}

/// Checks that rows are contiguous, as the row-wise kernels need.
pub(crate) fn require_contiguous_columns(
    kernel: &'static str,
    cols: usize,
    x: usize,
    out: usize,
) -> Result<()> {
    if cols > 1 && (x != 1 || out != 1) {
        return Err(KernelError::Invalid {
            kernel,
            what: "the columns of x and out must be contiguous (stride 1)",
        });
    }
    Ok(())
}

struct Row<'a, X, W> {
    n: usize,
    x: *const X,
    weight: &'a [W],
    bias: Option<&'a [W]>,
    eps: f32,
    centre: bool,
    out: *mut X,
}

impl<X: Element, W: Element> Kernel for Row<'_, X, W> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            n,
            x,
            weight,
            bias,
            eps,
            centre,
            out,
        } = self;
        let zero = s.splat(0.0);
        // SAFETY: the caller checked that `n` elements of x, weight, bias and out are there.
        unsafe {
            let mean = if centre {
                sum(s, n, |i, k| lanes(s, x, i, k)) / n as f32
            } else {
                0.0
            };
            let mean_v = s.splat(mean);
            let squares = sum(s, n, |i, k| {
                let d = s.sub(lanes(s, x, i, k), mean_v);
                // Lanes past the end must not count as 0 - mean.
                let d = if k == S::LANES { d } else { keep(s, d, k) };
                s.mul(d, d)
            });
            let scale = s.splat(1.0 / (squares / n as f32 + eps).sqrt());
            let (w, b) = (weight.as_ptr(), bias.map(<[W]>::as_ptr));
            let mut i = 0;
            while i < n {
                let k = (n - i).min(S::LANES);
                let y = s.mul(s.sub(lanes(s, x, i, k), mean_v), scale);
                let shift = match b {
                    Some(b) => lanes(s, b, i, k),
                    None => zero,
                };
                let y = s.fma(y, lanes(s, w, i, k), shift);
                if k == S::LANES {
                    X::store(s, out.add(i), y);
                } else {
                    store_partial(s, out.add(i), y, k);
                }
                i += k;
            }
        }
    }
}

/// `k` elements from the `i`-th on.
///
/// # Safety
/// They must be valid for reading, and k <= LANES.
#[inline(always)]
unsafe fn lanes<S: Simd, E: Element>(s: S, p: *const E, i: usize, k: usize) -> S::F {
    // SAFETY: the caller vouches for k elements.
    unsafe {
        if k == S::LANES {
            E::load(s, p.add(i))
        } else {
            load_partial(s, p.add(i), k)
        }
    }
}

/// The first `k` lanes; the others are 0.
#[inline(always)]
fn keep<S: Simd>(s: S, v: S::F, k: usize) -> S::F {
    let mut lanes = [0.0f32; crate::element::MAX_LANES];
    // SAFETY: the array holds a full vector.
    unsafe {
        s.store(lanes.as_mut_ptr(), v);
        lanes[k..].fill(0.0);
        s.load(lanes.as_ptr())
    }
}

/// The sum over `n` elements of what `term(i, k)` gives for the `k` elements from `i` on.
#[inline(always)]
fn sum<S: Simd>(s: S, n: usize, term: impl Fn(usize, usize) -> S::F) -> f32 {
    // Four sums, so that the additions of one do not wait for each other.
    let mut sums = [s.splat(0.0); 4];
    let mut i = 0;
    while i + 4 * S::LANES <= n {
        for (j, sum) in sums.iter_mut().enumerate() {
            *sum = s.add(*sum, term(i + j * S::LANES, S::LANES));
        }
        i += 4 * S::LANES;
    }
    while i < n {
        let k = (n - i).min(S::LANES);
        sums[0] = s.add(sums[0], term(i, k));
        i += k;
    }
    s.reduce_add(s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3])))
}
