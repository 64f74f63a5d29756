//! A few rows over many keys, one row at a time: the form for decoding.
//!
//! For each block of keys and each row: scores by dot products along D, their maximum,
//! e^(score - maximum), and the weighted sum of the values in registers. The second row of a
//! block finds its keys and values in the cache. Bound by memory: 4 D operations a key for
//! 2 D elements read.

use super::task::Rows;
use crate::cpu::scratch::aligned_len;
use crate::element::{Element, MAX_LANES, load_partial, store_partial};
use crate::simd::{Simd, math};

/// Keys in a block: with D = 64, keys and values are 64 KiB of f32, inside the L2 cache.
const KEYS: usize = 128;

/// f32 elements for: scores of a block, and per row q, the weighted sum, the maximum and the sum.
pub(super) fn room(rows: usize, dim: usize) -> usize {
    KEYS + rows * (2 * padded(dim) + 2)
}

/// D in whole vectors of any size.
fn padded(dim: usize) -> usize {
    aligned_len(dim).max(MAX_LANES)
}

/// # Safety
/// The rows must be checked, and `scratch` at least [`room`].
#[inline(always)]
pub(super) unsafe fn run<S: Simd, E: Element>(s: S, rows: &Rows<'_, E>, scratch: &mut [f32]) {
    let (n_rows, dim) = (rows.len(), rows.dim());
    let width = padded(dim);
    let (scores, rest) = scratch.split_at_mut(KEYS);
    let (qs, rest) = rest.split_at_mut(n_rows * width);
    let (sums, rest) = rest.split_at_mut(n_rows * width);
    let (maxima, totals) = rest.split_at_mut(n_rows);
    sums.fill(0.0);
    maxima.fill(f32::NEG_INFINITY);
    totals[..n_rows].fill(0.0);
    let (mut first, mut last) = (usize::MAX, 0);
    for r in 0..n_rows {
        let q = &mut qs[r * width..][..width];
        q.fill(0.0);
        for (d, q) in q.iter_mut().enumerate().take(dim) {
            // SAFETY: d is inside the row of q.
            *q = unsafe { *rows.q(r).add(d) }.to_f32() * rows.operands.scale;
        }
        let (from, to) = rows.visible(r);
        (first, last) = (first.min(from), last.max(to));
    }
    let mut block = first;
    while block < last {
        for r in 0..n_rows {
            let (from, to) = rows.visible(r);
            let (from, to) = (from.max(block), to.min(block + KEYS));
            if from >= to {
                continue;
            }
            let n = to - from;
            // SAFETY: keys from..to are visible, so inside the cache; the scratch parts hold
            // n <= KEYS scores and `width` elements per row.
            unsafe {
                let q = qs.as_ptr().add(r * width);
                for (j, score) in scores[..n].iter_mut().enumerate() {
                    *score = dot(s, q, rows.key(from + j), dim);
                }
                let sums = sums.as_mut_ptr().add(r * width);
                weigh(
                    s,
                    &mut scores[..n],
                    &mut maxima[r],
                    &mut totals[r],
                    sums,
                    width,
                );
                add_values(s, rows, from, &scores[..n], sums, dim);
            }
        }
        block += KEYS;
    }
    for r in 0..n_rows {
        let factor = s.splat(rows.factor(r, maxima[r], totals[r]));
        for d in (0..dim).step_by(S::LANES) {
            // SAFETY: d is inside the row of out, whose sums are whole vectors.
            unsafe {
                let v = s.mul(s.load(sums.as_ptr().add(r * width + d)), factor);
                if d + S::LANES <= dim {
                    E::store(s, rows.out(r).add(d), v);
                } else {
                    store_partial(s, rows.out(r).add(d), v, dim - d);
                }
            }
        }
    }
}

/// q . k over `dim` elements.
///
/// # Safety
/// Both must be valid for `dim` elements, q in whole vectors.
#[inline(always)]
unsafe fn dot<S: Simd, E: Element>(s: S, q: *const f32, k: *const E, dim: usize) -> f32 {
    let mut sums = [s.splat(0.0); 4];
    let mut d = 0;
    // SAFETY: d + the vector's length <= dim.
    unsafe {
        while d + 4 * S::LANES <= dim {
            for (j, sum) in sums.iter_mut().enumerate() {
                let at = d + j * S::LANES;
                *sum = s.fma(s.load(q.add(at)), E::load(s, k.add(at)), *sum);
            }
            d += 4 * S::LANES;
        }
        while d < dim {
            let n = (dim - d).min(S::LANES);
            let k = if n == S::LANES {
                E::load(s, k.add(d))
            } else {
                load_partial(s, k.add(d), n)
            };
            sums[0] = s.fma(s.load(q.add(d)), k, sums[0]);
            d += n;
        }
    }
    s.reduce_add(s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3])))
}

/// Turns scores into e^(score - maximum) and brings the maximum, the total and the sums up to date.
///
/// # Safety
/// `sums` must be valid for `width` elements, whole vectors.
#[inline(always)]
unsafe fn weigh<S: Simd>(
    s: S,
    scores: &mut [f32],
    max: &mut f32,
    total: &mut f32,
    sums: *mut f32,
    width: usize,
) {
    let n = scores.len();
    let p = scores.as_mut_ptr();
    // A NaN score makes its own weight, and so the total, NaN.
    let largest = scores.iter().fold(*max, |m, &x| if x > m { x } else { m });
    // With every score -inf nothing is subtracted: the weights are 0, as long as a later key is not.
    let base = if largest == f32::NEG_INFINITY {
        0.0
    } else {
        largest
    };
    let base_v = s.splat(base);
    // SAFETY: indices stay below n and width.
    unsafe {
        let mut i = 0;
        while i < n {
            let k = (n - i).min(S::LANES);
            let v = if k == S::LANES {
                s.load(p.add(i))
            } else {
                load_partial(s, p.add(i), k)
            };
            let e = math::exp(s, s.sub(v, base_v));
            if k == S::LANES {
                s.store(p.add(i), e)
            } else {
                store_partial(s, p.add(i), e, k)
            }
            i += k;
        }
        let sum: f32 = scores.iter().sum();
        if largest == *max {
            *total += sum;
            return;
        }
        let shrink = if *max == f32::NEG_INFINITY {
            0.0
        } else {
            (*max - base).exp()
        };
        *total = *total * shrink + sum;
        *max = largest;
        let shrink = s.splat(shrink);
        for d in (0..width).step_by(S::LANES) {
            s.store(sums.add(d), s.mul(s.load(sums.add(d)), shrink));
        }
    }
}

/// sums += weights . values of the keys from `first` on.
///
/// # Safety
/// The keys must be inside the cache, `sums` valid for D in whole vectors.
#[inline(always)]
unsafe fn add_values<S: Simd, E: Element>(
    s: S,
    rows: &Rows<'_, E>,
    first: usize,
    weights: &[f32],
    sums: *mut f32,
    dim: usize,
) {
    let mut d = 0;
    // SAFETY: d + the vectors' lengths <= dim.
    unsafe {
        while d + 8 * S::LANES <= dim {
            add_chunk::<S, E, 8>(s, rows, first, weights, sums.add(d), d);
            d += 8 * S::LANES;
        }
        while d + S::LANES <= dim {
            add_chunk::<S, E, 1>(s, rows, first, weights, sums.add(d), d);
            d += S::LANES;
        }
        if d < dim {
            let mut sum = s.load(sums.add(d));
            for (j, &w) in weights.iter().enumerate() {
                sum = s.fma(
                    s.splat(w),
                    load_partial(s, rows.value(first + j).add(d), dim - d),
                    sum,
                );
            }
            s.store(sums.add(d), sum);
        }
    }
}

#[inline(always)]
unsafe fn add_chunk<S: Simd, E: Element, const N: usize>(
    s: S,
    rows: &Rows<'_, E>,
    first: usize,
    weights: &[f32],
    sums: *mut f32,
    d: usize,
) {
    // SAFETY: N vectors from d on are inside D, as the caller checked.
    unsafe {
        let mut sum = [s.splat(0.0); N];
        for (i, sum) in sum.iter_mut().enumerate() {
            *sum = s.load(sums.add(i * S::LANES));
        }
        for (j, &w) in weights.iter().enumerate() {
            let (w, v) = (s.splat(w), rows.value(first + j).add(d));
            for (i, sum) in sum.iter_mut().enumerate() {
                *sum = s.fma(w, E::load(s, v.add(i * S::LANES)), *sum);
            }
        }
        for (i, &sum) in sum.iter().enumerate() {
            s.store(sums.add(i * S::LANES), sum);
        }
    }
}
