//! Many rows: a part of the weights as f32 in panels, and its product with x.
//!
//! A panel is NR rows of weights in the order in which the register tile reads them: for each
//! element of the inner axis those of NR rows side by side. It is made in the thread's scratch
//! space, blocks of NR by 32 weights at a time: decoded by rows, scaled, and transposed within
//! the L1 cache, about one operation per weight; for n rows of x that is one for 2 n of the tile.

use crate::cpu::matmul::tile::{NR_VECTORS, tile};
use crate::element::MAX_LANES;
use crate::simd::{BLOCK, Kernel, Simd};

use super::format::{Format, Layout, decode_partial};

/// Panels of `n_out` rows of weights, over a range of blocks.
pub struct Unpack<F> {
    pub format: F,
    /// The codes of row 0 of the weights.
    pub codes: *const u8,
    pub layout: Layout,
    /// The first row of weights.
    pub first: usize,
    pub n_out: usize,
    pub blocks: (usize, usize),
    /// n_out rounded up to whole panels, times the blocks' elements; rows past n_out are zeros.
    pub out: *mut f32,
}

impl<F: Format> Kernel for Unpack<F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let nr = NR_VECTORS * S::LANES;
        let Layout { segment, segments } = self.layout;
        let per_segment = self.layout.blocks_per_segment();
        let row_bytes = segments * F::bytes(segment);
        let (b0, b1) = self.blocks;
        let mut rows = [[0.0f32; BLOCK]; NR_VECTORS * MAX_LANES];
        for j in (0..self.n_out).step_by(nr) {
            let there = (self.n_out - j).min(nr);
            for row in &mut rows[there..] {
                row.fill(0.0);
            }
            for b in b0..b1 {
                let (in_segment, within) = (b / per_segment, b % per_segment * BLOCK);
                let n = (segment - within).min(BLOCK);
                let offset = in_segment * F::bytes(segment) + F::bytes(within);
                // SAFETY: whoever makes an `Unpack` vouches for the rows and blocks; a block is
                // read as far as its segment goes; `out` has whole panels.
                unsafe {
                    for (i, to) in rows.iter_mut().enumerate().take(there) {
                        let row = self.first + j + i;
                        let number = row * segments + in_segment;
                        let codes = self.codes.add(row * row_bytes + offset);
                        let block = if n == BLOCK {
                            self.format.decode(s, number, codes)
                        } else {
                            decode_partial(s, self.format, number, codes, n)
                        };
                        if b % 4 == 0 {
                            // The part that the next call reads: too far for the hardware to guess.
                            s.prefetch(codes.wrapping_add(F::bytes((b1 - b0) * BLOCK)));
                        }
                        let scale = s.splat(self.format.panel_scale(number));
                        for (v, &weights) in block.as_ref().iter().enumerate() {
                            let weights = if F::SCALED {
                                s.mul(weights, scale)
                            } else {
                                weights
                            };
                            s.store(to.as_mut_ptr().add(v * S::LANES), weights);
                        }
                    }
                    let out = self.out.add(j * (b1 - b0) * BLOCK + (b - b0) * BLOCK * nr);
                    let rows = rows.as_ptr().cast::<f32>();
                    for group in (0..nr).step_by(S::LANES) {
                        for k in (0..BLOCK).step_by(S::LANES) {
                            let from = rows.add(group * BLOCK + k);
                            s.transpose(from, BLOCK, out.add(k * nr + group), nr);
                        }
                    }
                }
            }
        }
    }
}

/// sums[i, j] (+)= sum_k x[i, k] w[j, k] for rows of x as they lie and weights in panels. Whole
/// tiles are read and written: up to MR - 1 rows and NR - 1 columns more than asked for.
pub(crate) struct Multiply {
    pub x: *const f32,
    pub x_stride: usize,
    pub rows: usize,
    pub cols: usize,
    pub steps: usize,
    pub panels: *const f32,
    pub sums: *mut f32,
    pub sums_stride: usize,
    pub accumulate: bool,
}

impl Kernel for Multiply {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let nr = NR_VECTORS * S::LANES;
        for j in (0..self.cols).step_by(nr) {
            for i in (0..self.rows).step_by(S::MR) {
                // SAFETY: whoever makes a `Multiply` gives whole tiles of everything.
                unsafe {
                    tile::<S, NR_VECTORS>(
                        s,
                        self.steps,
                        self.x.add(i * self.x_stride),
                        [self.x_stride, 1],
                        self.panels.add(j * self.steps),
                        nr,
                        self.sums.add(i * self.sums_stride + j),
                        self.sums_stride,
                        self.accumulate,
                    );
                }
            }
        }
    }
}

/// sums[i, j] *= factor[j], or one factor for all.
pub(crate) struct Scale {
    pub sums: *mut f32,
    pub stride: usize,
    pub rows: usize,
    pub cols: usize,
    /// One for each column, or null.
    pub factors: *const f32,
    pub factor: f32,
}

impl Kernel for Scale {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for i in 0..self.rows {
            let mut j = 0;
            // SAFETY: whoever makes a `Scale` vouches for rows of `cols` sums, and factors.
            unsafe {
                let row = self.sums.add(i * self.stride);
                let factor = s.splat(self.factor);
                while j + S::LANES <= self.cols {
                    let sum = s.mul(s.load(row.add(j)), factor);
                    let sum = match self.factors.is_null() {
                        true => sum,
                        false => s.mul(sum, s.load(self.factors.add(j))),
                    };
                    s.store(row.add(j), sum);
                    j += S::LANES;
                }
                while j < self.cols {
                    *row.add(j) *= self.factor;
                    if !self.factors.is_null() {
                        *row.add(j) *= *self.factors.add(j);
                    }
                    j += 1;
                }
            }
        }
    }
}
