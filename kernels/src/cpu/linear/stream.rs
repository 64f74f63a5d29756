//! Few rows: sums(r, o) = sum_i x[r, i] w[o, i], each weight read once for all rows.
//!
//! Layout: x (R, I) f32 in scratch or in place; w (O, I) with contiguous rows ([`dots`]), or
//! (I, O) with contiguous rows, GPT-2's way ([`columns`]). Threads take ranges of outputs.
//! Every sum runs over i in one order that depends on the layout and I only.
//!
//! Bound by memory for one row: a core does 8 FMAs on f32 in the time in which 32 bytes
//! arrive. With more rows each vector of weights, converted once, is used R times; at 8 rows
//! of bf16 the FMA units and memory are about even.

use crate::element::{Element, load_partial};
use crate::simd::Simd;

/// One task: `n_out` outputs for all rows.
pub(crate) struct Strip<'a, W> {
    /// x (rows, inner), f32, contiguous columns.
    pub x: *const f32,
    pub x_stride: usize,
    pub rows: usize,
    pub inner: usize,
    /// The first output's weight for i = 0.
    pub w: *const W,
    /// From one output to the next ([`dots`]), or from one i to the next ([`columns`]).
    pub w_stride: usize,
    pub n_out: usize,
    /// Sums (rows, stride), overwritten.
    pub sums: &'a mut [f32],
    pub sums_stride: usize,
}

/// Weights (O, I): each output is a dot product along a row of w.
///
/// # Safety
/// The pointers must be valid for the lengths given; `sums` holds `rows * sums_stride`
/// elements and `sums_stride >= n_out`.
#[inline(always)]
pub(crate) unsafe fn dots<S: Simd, W: Element>(s: S, strip: &mut Strip<'_, W>) {
    let rows = strip.rows;
    // A few outputs at a time, so that a second group of rows finds their weights in the cache.
    for first in (0..strip.n_out).step_by(DOT_OUTPUTS) {
        let last = (first + DOT_OUTPUTS).min(strip.n_out);
        let mut r = 0;
        while r < rows {
            // SAFETY: the caller's duty; r + the tile's rows <= rows.
            unsafe {
                match rows - r {
                    1 => dot_rows::<S, W, 1, 4>(s, strip, r, first, last),
                    2 => dot_rows::<S, W, 2, 4>(s, strip, r, first, last),
                    3 => dot_rows::<S, W, 3, 2>(s, strip, r, first, last),
                    _ => dot_rows::<S, W, 4, 2>(s, strip, r, first, last),
                }
            }
            r += 4;
        }
    }
}

/// Outputs whose weights all groups of rows use before the next are fetched: 16 rows of 3,072
/// f32 are 192 KiB, inside the L2 cache.
const DOT_OUTPUTS: usize = 16;

#[inline(always)]
unsafe fn dot_rows<S: Simd, W: Element, const R: usize, const O: usize>(
    s: S,
    strip: &mut Strip<'_, W>,
    r: usize,
    first: usize,
    last: usize,
) {
    let mut o = first;
    // SAFETY: o + O <= last <= n_out, and the caller vouches for the rest.
    unsafe {
        while o + O <= last {
            dot_tile::<S, W, R, O>(s, strip, r, o);
            o += O;
        }
        while o < last {
            dot_tile::<S, W, R, 1>(s, strip, r, o);
            o += 1;
        }
    }
}

/// R rows times O outputs, R O vectors of partial sums: each output's takes the vectors of i
/// in order, whatever R and O.
#[inline(always)]
unsafe fn dot_tile<S: Simd, W: Element, const R: usize, const O: usize>(
    s: S,
    strip: &mut Strip<'_, W>,
    r: usize,
    o: usize,
) {
    let inner = strip.inner;
    let mut sums = [[s.splat(0.0); O]; R];
    // SAFETY: R rows from r and O outputs from o are inside, and i + the vector's length <= inner.
    unsafe {
        let x: [*const f32; R] = std::array::from_fn(|j| strip.x.add((r + j) * strip.x_stride));
        let w: [*const W; O] = std::array::from_fn(|j| strip.w.add((o + j) * strip.w_stride));
        let whole = inner / S::LANES * S::LANES;
        let mut i = 0;
        while i < whole {
            let xs: [S::F; R] = std::array::from_fn(|j| s.load(x[j].add(i)));
            for (k, w) in w.iter().enumerate() {
                let v = W::load(s, w.add(i));
                for (j, sums) in sums.iter_mut().enumerate() {
                    sums[k] = s.fma(xs[j], v, sums[k]);
                }
            }
            i += S::LANES;
        }
        if i < inner {
            let xs: [S::F; R] = std::array::from_fn(|j| load_partial(s, x[j].add(i), inner - i));
            for (k, w) in w.iter().enumerate() {
                let v = load_partial(s, w.add(i), inner - i);
                for (j, sums) in sums.iter_mut().enumerate() {
                    sums[k] = s.fma(xs[j], v, sums[k]);
                }
            }
        }
        for (j, sums) in sums.iter().enumerate() {
            for (k, &sum) in sums.iter().enumerate() {
                *strip
                    .sums
                    .as_mut_ptr()
                    .add((r + j) * strip.sums_stride + o + k) = s.reduce_add(sum);
            }
        }
    }
}

/// Weights (I, O): the sums of a strip of columns stay in the L1 cache while rows of w pass.
///
/// # Safety
/// As for [`dots`], and `sums_stride` is a multiple of LANES.
#[inline(always)]
pub(crate) unsafe fn columns<S: Simd, W: Element>(s: S, strip: &mut Strip<'_, W>) {
    strip.sums.fill(0.0);
    let inner = strip.inner;
    let mut i = 0;
    // SAFETY: i + the number of steps <= inner, and the caller vouches for the rest.
    unsafe {
        if strip.rows == 1 {
            while i + 8 <= inner {
                column_block::<S, W, 8, 1>(s, strip, i);
                i += 8;
            }
        }
        while i + 4 <= inner {
            column_block::<S, W, 4, 2>(s, strip, i);
            i += 4;
        }
        while i < inner {
            column_block::<S, W, 1, 1>(s, strip, i);
            i += 1;
        }
    }
}

/// Adds the products of I steps from `i` on, V vectors of columns at a time. Each sum takes
/// the steps in order, whatever I and V.
#[inline(always)]
unsafe fn column_block<S: Simd, W: Element, const I: usize, const V: usize>(
    s: S,
    strip: &mut Strip<'_, W>,
    i: usize,
) {
    let n = strip.n_out;
    let sums = strip.sums.as_mut_ptr();
    // SAFETY: the steps are inside inner and the columns inside n_out; sums are whole vectors.
    unsafe {
        let w: [*const W; I] = std::array::from_fn(|k| strip.w.add((i + k) * strip.w_stride));
        let x = |r: usize, k: usize| *strip.x.add(r * strip.x_stride + i + k);
        let mut o = 0;
        while o + V * S::LANES <= n {
            let vs: [[S::F; V]; I] = std::array::from_fn(|k| {
                // The same columns of the next block of steps, which is too far for the hardware to guess.
                if (o * size_of::<W>()).is_multiple_of(64) {
                    s.prefetch(w[k].wrapping_add(I * strip.w_stride + o));
                }
                std::array::from_fn(|v| W::load(s, w[k].add(o + v * S::LANES)))
            });
            for r in 0..strip.rows {
                let p = sums.add(r * strip.sums_stride + o);
                let mut sum: [S::F; V] = std::array::from_fn(|v| s.load(p.add(v * S::LANES)));
                for (k, vs) in vs.iter().enumerate() {
                    let x = s.splat(x(r, k));
                    for (sum, &v) in sum.iter_mut().zip(vs) {
                        *sum = s.fma(x, v, *sum);
                    }
                }
                for (v, &sum) in sum.iter().enumerate() {
                    s.store(p.add(v * S::LANES), sum);
                }
            }
            o += V * S::LANES;
        }
        while o < n {
            let length = (n - o).min(S::LANES);
            for (k, w) in w.iter().enumerate() {
                let v = load_partial(s, w.add(o), length);
                for r in 0..strip.rows {
                    let p = sums.add(r * strip.sums_stride + o);
                    s.store(p, s.fma(s.splat(x(r, k)), v, s.load(p)));
                }
            }
            o += length;
        }
    }
}
