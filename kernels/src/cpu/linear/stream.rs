//! Few rows: sums(r, o) = sum_i x[r, i] w[o, i], each weight read once for all rows.
//!
//! Layout: x (R, I) f32 in scratch or in place; w (O, I) with contiguous rows ([`Dots`]), or
//! (I, O) with contiguous rows, GPT-2's way ([`Columns`]). Threads take ranges of outputs, of i
//! for the latter. Every sum runs over i in one order that depends on the layout and I only.
//!
//! Bound by memory for one row: a core does 8 FMAs on f32 in the time in which 32 bytes
//! arrive. With more rows each vector of weights, converted once, is used R times; at 8 rows
//! of bf16 the FMA units and memory are about even.

use crate::element::{Element, load_partial};
use crate::simd::{Kernel, Simd};

/// One task: `n_out` outputs for all rows. The pointers are valid for the lengths given.
#[derive(Clone, Copy)]
pub struct Strip<W> {
    /// x (rows, inner), f32, contiguous columns.
    pub x: *const f32,
    pub x_stride: usize,
    pub rows: usize,
    pub inner: usize,
    /// The first output's weight for i = 0.
    pub w: *const W,
    /// From one output to the next ([`Dots`]), or from one i to the next ([`Columns`]).
    pub w_stride: usize,
    pub n_out: usize,
    /// Sums (rows, sums_stride), overwritten; the stride is at least n_out, and whole vectors.
    pub sums: *mut f32,
    pub sums_stride: usize,
}

/// Weights (O, I): each output is a dot product along a row of w, R rows of x at a time.
///
/// x is taken in blocks that stay in the L1 cache; the partial sums of a few outputs wait as
/// vectors meanwhile. Each sum takes the vectors of i in turns into `U` partial sums.
pub struct Dots<W>(pub Strip<W>);

impl<W: Element> Kernel for Dots<W> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self(strip) = &self;
        for first in (0..strip.n_out).step_by(DOT_OUTPUTS) {
            let outputs = (first, (first + DOT_OUTPUTS).min(strip.n_out));
            // The second group of rows finds the weights of these outputs in the L2 cache.
            for r in (0..strip.rows).step_by(8) {
                // SAFETY: the strip is valid; r + the group's rows <= rows.
                unsafe {
                    match strip.rows - r {
                        1 => dot_group::<S, W, 1, 4>(s, strip, r, outputs),
                        2 => dot_group::<S, W, 2, 4>(s, strip, r, outputs),
                        3 => dot_group::<S, W, 3, 2>(s, strip, r, outputs),
                        4 => dot_group::<S, W, 4, 2>(s, strip, r, outputs),
                        5 => dot_group::<S, W, 5, 2>(s, strip, r, outputs),
                        6 => dot_group::<S, W, 6, 2>(s, strip, r, outputs),
                        7 => dot_group::<S, W, 7, 1>(s, strip, r, outputs),
                        _ => dot_group::<S, W, 8, 1>(s, strip, r, outputs),
                    }
                }
            }
        }
    }
}

/// Elements of x in a block: 24 KiB of an L1 cache of 32 KiB.
const DOT_BLOCK: usize = 6 * 1024;
/// Outputs whose partial sums wait while a block of x is used: with 8 rows, 4 KiB.
const DOT_OUTPUTS: usize = 16;

#[inline(always)]
unsafe fn dot_group<S: Simd, W: Element, const R: usize, const U: usize>(
    s: S,
    strip: &Strip<W>,
    r: usize,
    (first, last): (usize, usize),
) {
    let inner = strip.inner;
    let blocks = (R * inner).div_ceil(DOT_BLOCK).max(1);
    let block = inner.div_ceil(blocks).next_multiple_of(U * S::LANES).max(1);
    let mut waiting = [[s.splat(0.0); R]; DOT_OUTPUTS];
    for i0 in (0..inner).step_by(block) {
        let range = (i0, (i0 + block).min(inner));
        for o in first..last {
            // SAFETY: the range's end is at most inner; R rows from r and output o are inside.
            unsafe { dot_block::<S, W, R, U>(s, strip, r, o, range, &mut waiting[o - first]) };
        }
    }
    for o in first..last {
        for (j, &sum) in waiting[o - first].iter().enumerate() {
            // SAFETY: row r + j and output o are inside the sums.
            unsafe { *strip.sums.add((r + j) * strip.sums_stride + o) = s.reduce_add(sum) };
        }
    }
}

/// Adds to `sums` the products of R rows with output o over a range of i.
#[inline(always)]
unsafe fn dot_block<S: Simd, W: Element, const R: usize, const U: usize>(
    s: S,
    strip: &Strip<W>,
    r: usize,
    o: usize,
    (mut i, end): (usize, usize),
    sums: &mut [S::F; R],
) {
    let mut partial = [[s.splat(0.0); R]; U];
    // SAFETY: R rows from r and output o are inside, and i + the vector's length <= end <= inner.
    unsafe {
        let x = strip.x.add(r * strip.x_stride);
        let w = strip.w.add(o * strip.w_stride);
        partial[0] = *sums;
        while i + U * S::LANES <= end {
            // One row ahead: the hardware does not know where the next block of a row begins.
            s.prefetch(w.wrapping_add(strip.w_stride + i));
            if U * S::LANES * size_of::<W>() > 64 {
                s.prefetch(w.wrapping_add(strip.w_stride + i + 64 / size_of::<W>()));
            }
            for (u, partial) in partial.iter_mut().enumerate() {
                let v = W::load(s, w.add(i + u * S::LANES));
                for (j, sum) in partial.iter_mut().enumerate() {
                    *sum = s.fma(
                        s.load(x.add(j * strip.x_stride + i + u * S::LANES)),
                        v,
                        *sum,
                    );
                }
            }
            i += U * S::LANES;
        }
        while i < end {
            let n = (end - i).min(S::LANES);
            let v = load_partial(s, w.add(i), n);
            for (j, sum) in partial[0].iter_mut().enumerate() {
                *sum = s.fma(load_partial(s, x.add(j * strip.x_stride + i), n), v, *sum);
            }
            i += n;
        }
    }
    for (j, sum) in sums.iter_mut().enumerate() {
        *sum = partial[0][j];
        for partial in &partial[1..] {
            *sum = s.add(*sum, partial[j]);
        }
    }
}

/// Weights (I, O): the sums of a strip of columns stay in the L1 cache while rows of w pass.
pub struct Columns<W>(pub Strip<W>);

impl<W: Element> Kernel for Columns<W> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self(strip) = &self;
        let inner = strip.inner;
        let mut i = 0;
        // SAFETY: the strip is valid; i + the number of steps <= inner.
        unsafe {
            for r in 0..strip.rows {
                let n = strip.n_out.next_multiple_of(S::LANES);
                strip.sums.add(r * strip.sums_stride).write_bytes(0, n);
            }
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
}

/// Adds the products of I steps from `i` on, V vectors of columns at a time. Each sum takes
/// the steps in order, whatever I and V.
#[inline(always)]
unsafe fn column_block<S: Simd, W: Element, const I: usize, const V: usize>(
    s: S,
    strip: &Strip<W>,
    i: usize,
) {
    let Strip {
        rows,
        w_stride,
        n_out: n,
        sums,
        sums_stride,
        ..
    } = *strip;
    // SAFETY: the steps are inside inner and the columns inside n_out; sums are whole vectors.
    unsafe {
        let x = strip.x.add(i);
        let w = strip.w.add(i * w_stride);
        // With one row its elements stay in registers.
        let mut x0 = [s.splat(0.0); I];
        for (k, x0) in x0.iter_mut().enumerate() {
            *x0 = s.splat(*x.add(k));
        }
        let mut o = 0;
        while o + V * S::LANES <= n {
            let mut vs = [[s.splat(0.0); I]; V];
            for (v, vs) in vs.iter_mut().enumerate() {
                let o = o + v * S::LANES;
                for (k, value) in vs.iter_mut().enumerate() {
                    let w = w.add(k * w_stride + o);
                    // The same columns of the next block of steps: too far for the hardware to guess.
                    if (o * size_of::<W>()).is_multiple_of(64) {
                        s.prefetch(w.wrapping_add(I * w_stride));
                    }
                    *value = W::load(s, w);
                }
            }
            if rows == 1 {
                accumulate(s, &x0, &vs, sums.add(o));
            } else {
                for r in 0..rows {
                    let mut xs = [s.splat(0.0); I];
                    for (k, xs) in xs.iter_mut().enumerate() {
                        *xs = s.splat(*x.add(r * strip.x_stride + k));
                    }
                    accumulate(s, &xs, &vs, sums.add(r * sums_stride + o));
                }
            }
            o += V * S::LANES;
        }
        while o < n {
            let length = (n - o).min(S::LANES);
            for k in 0..I {
                let v = load_partial(s, w.add(k * w_stride + o), length);
                for r in 0..rows {
                    let p = sums.add(r * sums_stride + o);
                    s.store(
                        p,
                        s.fma(s.splat(*x.add(r * strip.x_stride + k)), v, s.load(p)),
                    );
                }
            }
            o += length;
        }
    }
}

/// sums += x . vs for one row.
///
/// # Safety
/// `sums` must be valid for V vectors.
#[inline(always)]
unsafe fn accumulate<S: Simd, const I: usize, const V: usize>(
    s: S,
    x: &[S::F; I],
    vs: &[[S::F; I]; V],
    sums: *mut f32,
) {
    for (v, vs) in vs.iter().enumerate() {
        // SAFETY: the caller's duty.
        unsafe {
            let p = sums.add(v * S::LANES);
            let mut sum = s.load(p);
            for (&x, &v) in x.iter().zip(vs) {
                sum = s.fma(x, v, sum);
            }
            s.store(p, sum);
        }
    }
}

/// The sums of all chunks of i, added to those of the first, in order.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    /// Sums (chunks, rows, sums_stride); the first `n` columns, in whole vectors, are meant.
    pub sums: *mut f32,
    pub sums_stride: usize,
    pub rows: usize,
    pub n: usize,
    pub chunks: usize,
}

impl Kernel for Parts {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            sums,
            sums_stride,
            rows,
            n,
            chunks,
        } = self;
        for r in 0..rows {
            for o in (0..n).step_by(S::LANES) {
                // SAFETY: `linear` gives sums of this size, in whole vectors.
                unsafe {
                    let first = sums.add(r * sums_stride + o);
                    let mut total = s.load(first);
                    for chunk in 1..chunks {
                        total = s.add(total, s.load(first.add(chunk * rows * sums_stride)));
                    }
                    s.store(first, total);
                }
            }
        }
    }
}
