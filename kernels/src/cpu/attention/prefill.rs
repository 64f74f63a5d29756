//! Many rows at once, as lanes of vectors: the form for prompts.
//!
//! Everything is kept transposed, rows along the lanes: q (D, R) once per task; for each block
//! of keys the scores (keys, R) = K q, and the weighted sums (D, R) += V^T p. So keys and values
//! are the broadcast operand of the matrix tile and need no transposing copy, and the softmax
//! over keys is a walk down the columns without a sum across lanes.
//!
//! A block's keys and values are copied as f32, in whole tiles. Rows are taken
//! NR vectors at a time: two, or one where a task has no more rows than that (one query of a
//! group of 8 heads, on AVX2), with tiles twice as high. Bound by the FMA units: 4 D operations
//! for each key and row.

use super::task::Rows;
use crate::cpu::matmul::tile::tile;
use crate::cpu::scratch::aligned_len;
use crate::element::{Element, load_partial, store_partial};
use crate::simd::{Simd, math};

/// Keys in a block, before rounding up to whole tiles: keys, values, scores and sums are 16 KiB
/// each with D = 64 and 64 rows, all inside the L2 cache and half of them in L1.
const KEYS: usize = 64;

/// The lengths of the scratch parts.
struct Sizes {
    /// Rows in whole tile widths.
    rows: usize,
    /// D in whole tile heights.
    dim: usize,
    /// Keys in whole tile heights.
    keys: usize,
}

impl Sizes {
    #[inline(always)]
    fn new<S: Simd, const NR: usize>(rows: usize, dim: usize) -> Self {
        let height = height::<S, NR>();
        Self {
            rows: rows.next_multiple_of(NR * S::LANES),
            // A whole vector past D may be written when a row is copied.
            dim: (dim.next_multiple_of(S::LANES)).next_multiple_of(height),
            keys: KEYS.next_multiple_of(height),
        }
    }

    /// q, scores, sums; keys, values; maxima, totals, first and last visible key.
    fn parts(&self) -> [usize; 9] {
        let Self { rows, dim, keys } = *self;
        [
            dim * rows,
            keys * rows,
            dim * rows,
            keys * dim,
            keys * dim,
            rows,
            rows,
            rows,
            rows,
        ]
        .map(aligned_len)
    }
}

/// Keys, or elements of D, in a tile.
#[inline(always)]
const fn height<S: Simd, const NR: usize>() -> usize {
    S::MR * 2 / NR
}

/// The f32 elements of scratch space for a task.
#[inline(always)]
pub(super) fn room<S: Simd, const NR: usize>(rows: usize, dim: usize) -> usize {
    Sizes::new::<S, NR>(rows, dim).parts().iter().sum()
}

/// # Safety
/// The rows must be checked, and `scratch` at least [`room`].
#[inline(always)]
pub(super) unsafe fn run<S: Simd, E: Element, const NR: usize>(
    s: S,
    task: &Rows<'_, E>,
    scratch: &mut [f32],
) {
    let (n_rows, dim) = (task.len(), task.dim());
    // The last block of queries may be shorter; its parts are then too.
    let size = Sizes::new::<S, NR>(n_rows, dim);
    let height = height::<S, NR>();
    let mut rest = scratch;
    let [q, scores, sums, keys, values, maxima, totals, firsts, lasts] = size.parts().map(|n| {
        let (part, tail) = std::mem::take(&mut rest).split_at_mut(n);
        rest = tail;
        part
    });
    // What pads keys and values may be anything: it meets padding only.
    sums.fill(0.0);
    maxima.fill(f32::NEG_INFINITY);
    totals.fill(0.0);
    let (mut first, mut last) = (usize::MAX, 0);
    let (mut all_first, mut all_last) = (0, usize::MAX);
    for r in 0..n_rows {
        let (from, to) = task.visible(r);
        (first, last) = (first.min(from), last.max(to));
        (all_first, all_last) = (all_first.max(from), all_last.min(to));
    }
    ask_for(s, task, first..(first + size.keys).min(last));
    // SAFETY: both parts are as large as `size` says.
    unsafe { transpose_queries(s, task, &size, keys.as_mut_ptr(), q.as_mut_ptr()) };

    let mut block = first;
    while block < last {
        let n = (last - block).min(size.keys);
        // Rows of the last tile past the keys hold anything; their scores are not looked at.
        let padded = n.next_multiple_of(height);
        let masked = block < all_first || block + n > all_last;
        if masked {
            for r in 0..size.rows {
                // Relative to the block, so that they are small and exact as f32.
                let (from, to) = if r < n_rows {
                    task.visible(r)
                } else {
                    (0, usize::MAX)
                };
                firsts[r] = from.saturating_sub(block).min(n) as f32;
                lasts[r] = to.saturating_sub(block).min(n) as f32;
            }
        }
        // SAFETY: keys block..block + n are inside the cache; all tiles are inside the scratch
        // parts, whose sizes are whole tiles.
        unsafe {
            for j in 0..n {
                widen(
                    s,
                    task.key(block + j),
                    dim,
                    keys.as_mut_ptr().add(j * size.dim),
                );
                widen(
                    s,
                    task.value(block + j),
                    dim,
                    values.as_mut_ptr().add(j * size.dim),
                );
            }
            for c in (0..size.rows).step_by(NR * S::LANES) {
                for j in (0..padded).step_by(height) {
                    if c == 0 {
                        let next = block + n + j;
                        ask_for(s, task, next..(next + height).min(last));
                    }
                    let (a, b) = (keys.as_ptr().add(j * size.dim), q.as_ptr().add(c));
                    let to = scores.as_mut_ptr().add(j * size.rows + c);
                    tile::<S, NR>(s, dim, a, [size.dim, 1], b, size.rows, to, size.rows, false);
                }
            }
            for c in (0..size.rows).step_by(S::LANES) {
                let column = Column {
                    scores: scores.as_mut_ptr().add(c),
                    sums: sums.as_mut_ptr().add(c),
                    max: maxima.as_mut_ptr().add(c),
                    total: totals.as_mut_ptr().add(c),
                    visible: masked.then(|| (firsts.as_ptr().add(c), lasts.as_ptr().add(c))),
                };
                column.weigh(s, n, &size);
            }
            for c in (0..size.rows).step_by(NR * S::LANES) {
                for d in (0..dim).step_by(height) {
                    let (a, b) = (values.as_ptr().add(d), scores.as_ptr().add(c));
                    let to = sums.as_mut_ptr().add(d * size.rows + c);
                    tile::<S, NR>(s, n, a, [1, size.dim], b, size.rows, to, size.rows, true);
                }
            }
        }
        block += n;
    }

    for r in 0..n_rows {
        let factor = s.splat(task.factor(r, maxima[r], totals[r]));
        // The keys are done with: their place holds LANES rows of the output.
        let rows = keys.as_mut_ptr();
        let (base, lane) = (r / S::LANES * S::LANES, r % S::LANES);
        for d in (0..dim).step_by(S::LANES) {
            // SAFETY: d is inside the row of out; sums and keys are whole squares of vectors.
            unsafe {
                if lane == 0 {
                    let from = sums.as_ptr().add(d * size.rows + base);
                    s.transpose(from, size.rows, rows.add(d), size.dim);
                }
                let v = s.mul(s.load(rows.add(lane * size.dim + d)), factor);
                if d + S::LANES <= dim {
                    E::store(s, task.out(r).add(d), v);
                } else {
                    store_partial(s, task.out(r).add(d), v, dim - d);
                }
            }
        }
    }
}

/// The rows of q times the scale as columns of `q`, zeros as the columns beyond them.
///
/// # Safety
/// `q` must be valid for `size.dim` rows of `size.rows`, `room` for LANES rows of `size.dim`.
#[inline(always)]
unsafe fn transpose_queries<S: Simd, E: Element>(
    s: S,
    task: &Rows<'_, E>,
    size: &Sizes,
    room: *mut f32,
    q: *mut f32,
) {
    let dim = task.dim();
    let scale = s.splat(task.operands.scale);
    for base in (0..size.rows).step_by(S::LANES) {
        // SAFETY: rows of the task have `dim` elements; the caller vouches for the rest, and
        // `size.dim` is at least `dim` in whole vectors.
        unsafe {
            for lane in 0..S::LANES {
                let row = room.add(lane * size.dim);
                if base + lane < task.len() {
                    widen(s, task.q(base + lane), dim, row);
                } else {
                    for d in (0..dim).step_by(S::LANES) {
                        s.store(row.add(d), s.splat(0.0));
                    }
                }
            }
            for d in (0..dim).step_by(S::LANES) {
                for lane in 0..S::LANES {
                    let at = room.add(lane * size.dim + d);
                    s.store(at, s.mul(s.load(at), scale));
                }
                let to = q.add(d * size.rows + base);
                s.transpose(room.add(d), size.dim, to, size.rows);
            }
        }
    }
}

/// Asks for keys and values that are copied next, so that they come from memory while something
/// else is computed.
#[inline(always)]
fn ask_for<S: Simd, E: Element>(s: S, task: &Rows<'_, E>, keys: std::ops::Range<usize>) {
    const LINE: usize = 64;
    let n_bytes = task.dim() * size_of::<E>();
    for m in keys {
        for row in [task.key(m), task.value(m)] {
            for at in (0..n_bytes).step_by(LINE) {
                s.prefetch(row.cast::<u8>().wrapping_add(at));
            }
        }
    }
}

/// `dim` elements as f32, and zeros up to a whole vector.
///
/// # Safety
/// x must be valid for `dim` elements, out for `dim` rounded up to whole vectors.
#[inline(always)]
unsafe fn widen<S: Simd, E: Element>(s: S, x: *const E, dim: usize, out: *mut f32) {
    let mut d = 0;
    // SAFETY: d + LANES <= dim but for the last vector.
    unsafe {
        while d + S::LANES <= dim {
            s.store(out.add(d), E::load(s, x.add(d)));
            d += S::LANES;
        }
        if d < dim {
            s.store(out.add(d), load_partial(s, x.add(d), dim - d));
        }
    }
}

/// One vector of rows.
struct Column {
    scores: *mut f32,
    sums: *mut f32,
    max: *mut f32,
    total: *mut f32,
    /// The first and past the last key that each row sees, relative to the block.
    visible: Option<(*const f32, *const f32)>,
}

impl Column {
    /// Turns `n` keys' scores into e^(score - maximum), and brings maximum, total and sums up to date.
    ///
    /// # Safety
    /// The pointers must be valid for the sizes, one vector each step of `size.rows`.
    #[inline(always)]
    unsafe fn weigh<S: Simd>(self, s: S, n: usize, size: &Sizes) {
        let lowest = s.splat(f32::NEG_INFINITY);
        let zero = s.splat(0.0);
        // SAFETY: j < n <= keys and d < dim; the caller vouches for the rest.
        unsafe {
            let score = |j: usize| self.scores.add(j * size.rows);
            if let Some((first, last)) = self.visible {
                let (first, last) = (s.load(first), s.load(last));
                for j in 0..n {
                    let at = s.splat(j as f32);
                    let x = s.select_lt(at, last, s.load(score(j)), lowest);
                    s.store(score(j), s.select_lt(at, first, lowest, x));
                }
            }
            let old = s.load(self.max);
            // A NaN score does not count here; it makes its own weight, and so the total, NaN.
            let mut max = old;
            for j in 0..n {
                max = s.max(s.load(score(j)), max);
            }
            // With every score -inf nothing is subtracted: the weights are 0.
            let base = s.select_lt(lowest, max, max, zero);
            let mut total = zero;
            for j in 0..n {
                let p = math::exp(s, s.sub(s.load(score(j)), base));
                total = s.add(total, p);
                s.store(score(j), p);
            }
            let shrink = math::exp(s, s.sub(old, base));
            s.store(self.max, max);
            s.store(self.total, s.fma(s.load(self.total), shrink, total));
            for d in 0..size.dim {
                let sum = self.sums.add(d * size.rows);
                s.store(sum, s.mul(s.load(sum), shrink));
            }
        }
    }
}
