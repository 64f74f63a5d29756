//! Few rows: sums(r, o) = sum_g scale[o, g] sum_i x[r, g, i] code[o, g, i], the codes read once
//! for up to four rows of x, and from the caches for the next four.
//!
//! Bound by memory for one row: 32 weights of MXFP4 are 17 bytes and take 10 operations to
//! decode (AVX2) and 5 to multiply, which is about the time in which they arrive.

use crate::simd::{BLOCK, Kernel, Simd};

use super::format::{Format, Layout, decode_partial};

/// One task: `n_out` outputs for all rows.
pub struct Stream<F> {
    pub format: F,
    /// The codes of row 0 of the weights.
    pub codes: *const u8,
    pub layout: Layout,
    /// The row of weights of the first output.
    pub first: usize,
    pub n_out: usize,
    /// x (rows, blocks) as `Arrange` leaves it.
    pub x: *const f32,
    pub x_stride: usize,
    pub rows: usize,
    /// Sums (rows, sums_stride), overwritten.
    pub sums: *mut f32,
    pub sums_stride: usize,
}

/// The most rows of x that share a decoded block: four partial and four whole sums leave half
/// of 16 registers to decoding. Long segments need two partial sums a row, and a table each.
const fn group_of<F: Format>() -> usize {
    if F::SCALED && !F::ONE_BLOCK { 3 } else { 4 }
}
/// Elements of x that are used for several outputs before the next: 24 KiB of an L1 cache of 32 KiB.
const X_CHUNK: usize = 6 * 1024;
/// Outputs whose sums wait meanwhile.
const OUTPUTS: usize = 16;
/// Bytes ahead at which codes in one run of memory are asked for: what one core reads while
/// the memory answers.
const AHEAD: usize = 4096;
/// Rows of x that leave room for codes in the L1 cache.
const NEAR_ROWS: usize = 2;

impl<F: Format> Kernel for Stream<F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let groups = self.rows.div_ceil(group_of::<F>()).max(1);
        let group = self.rows.div_ceil(groups).max(1);
        for first in (0..self.n_out).step_by(OUTPUTS) {
            let outputs = (first, (first + OUTPUTS).min(self.n_out));
            for r in (0..self.rows).step_by(group) {
                // SAFETY: whoever makes a `Stream` vouches for it; r + the group's rows <= rows.
                unsafe {
                    match (self.rows - r).min(group) {
                        1 => dots::<S, F, 1, 4>(s, &self, r, outputs),
                        2 => dots::<S, F, 2, 2>(s, &self, r, outputs),
                        3 => dots::<S, F, 3, 2>(s, &self, r, outputs),
                        _ => dots::<S, F, 4, 2>(s, &self, r, outputs),
                    }
                }
            }
        }
    }
}

/// The sums of R rows from r for a few outputs, each in up to P parts, so that additions do
/// not wait for each other.
///
/// # Safety
/// The task must be valid, with these rows and outputs.
#[inline(always)]
unsafe fn dots<S: Simd, F: Format, const R: usize, const P: usize>(
    s: S,
    task: &Stream<F>,
    r: usize,
    (first, last): (usize, usize),
) {
    let Layout { segment, segments } = task.layout;
    let per_segment = task.layout.blocks_per_segment();
    // A unit is a segment, or a block where segments have no scales: then there is one segment.
    let (units, unit) = if F::SCALED {
        (segments, per_segment * BLOCK)
    } else {
        (segments * per_segment, BLOCK)
    };
    let chunks = (R * units * unit).div_ceil(X_CHUNK).max(1);
    let chunk = units.div_ceil(chunks).next_multiple_of(2).max(2);
    let row_bytes = segments * F::bytes(segment);
    // Whole rows are one run of memory. A chunk of x takes a part of each row, and the hardware
    // does not know where the next one is: then rows to come are asked for.
    let ahead = match (chunk < units, R <= NEAR_ROWS) {
        (false, _) => AHEAD,
        (true, true) => row_bytes,
        (true, false) => OUTPUTS * row_bytes,
    };
    let mut x = [task.x; R];
    for (j, x) in x.iter_mut().enumerate() {
        *x = task.x.wrapping_add((r + j) * task.x_stride);
    }
    let mut waiting = [[[s.splat(0.0); R]; P]; OUTPUTS];
    for u0 in (0..units).step_by(chunk) {
        let range = (u0, (u0 + chunk).min(units));
        for o in first..last {
            let number = (task.first + o) * segments;
            // SAFETY: the output's row, the range of units and R rows of x from r are inside.
            unsafe {
                let row = Row {
                    format: task.format,
                    length: segment,
                    codes: task.codes.add((task.first + o) * row_bytes),
                    number,
                    x,
                    ahead,
                };
                let sums = &mut waiting[o - first];
                if F::SCALED {
                    row.scaled(s, range, sums);
                } else {
                    row.unscaled(s, range, sums);
                }
            }
        }
    }
    for o in first..last {
        for j in 0..R {
            let mut total = waiting[o - first][0][j];
            for part in &waiting[o - first][1..] {
                total = s.add(total, part[j]);
            }
            // SAFETY: row r + j and output o are inside the sums.
            unsafe { *task.sums.add((r + j) * task.sums_stride + o) = s.reduce_add(total) };
        }
    }
}

/// An output's row of weights, and R rows of x.
struct Row<F, const R: usize> {
    format: F,
    /// Elements of a segment.
    length: usize,
    codes: *const u8,
    /// The number of its first segment.
    number: usize,
    x: [*const f32; R],
    /// How many bytes ahead codes are asked for.
    ahead: usize,
}

impl<F: Format, const R: usize> Row<F, R> {
    /// Asks for codes to come: to a cache that x leaves room in.
    #[inline(always)]
    fn ask<S: Simd>(&self, s: S, codes: *const u8) {
        let codes = codes.wrapping_add(self.ahead);
        if R <= NEAR_ROWS {
            s.prefetch(codes);
        } else {
            s.prefetch_far(codes);
        }
    }

    /// Adds the segments of a range, in turns to two sums of each row of x if these are few.
    ///
    /// # Safety
    /// The row and x must be valid, with these segments.
    #[inline(always)]
    unsafe fn scaled<S: Simd, const P: usize>(
        &self,
        s: S,
        (mut segment, end): (usize, usize),
        sums: &mut [[S::F; R]; P],
    ) {
        if !F::ONE_BLOCK {
            // The sums stay in memory: registers hold those of a segment.
            while segment < end {
                // SAFETY: the segment is inside the row.
                unsafe { self.add_segment::<S, P>(s, segment, &mut sums[0]) };
                segment += 1;
            }
            return;
        }
        let mut totals = *sums;
        // SAFETY: the segments are inside the row.
        unsafe {
            if R <= 2 {
                for _ in 0..end.saturating_sub(segment) / 2 {
                    self.add_segment::<S, P>(s, segment, &mut totals[0]);
                    self.add_segment::<S, P>(s, segment + 1, &mut totals[1]);
                    segment += 2;
                }
            }
            while segment < end {
                self.add_segment::<S, P>(s, segment, &mut totals[0]);
                segment += 1;
            }
        }
        *sums = totals;
    }

    /// Adds one segment: the sum over it, times its scale.
    ///
    /// # Safety
    /// As for `scaled`; the segment is inside the row.
    #[inline(always)]
    unsafe fn add_segment<S: Simd, const P: usize>(
        &self,
        s: S,
        segment: usize,
        total: &mut [S::F; R],
    ) {
        let number = self.number + segment;
        let zero = [s.splat(0.0); R];
        // SAFETY: the caller's duty; the last block is read only as far as the segment goes.
        unsafe {
            let part = if F::ONE_BLOCK {
                let codes = self.codes.add(segment * F::bytes(BLOCK));
                self.ask(s, codes);
                let block = self.format.decode(s, number, codes);
                self.accumulate(s, block, segment * BLOCK, [zero])[0]
            } else {
                let codes = self.codes.add(segment * F::bytes(self.length));
                let first = segment * self.length.next_multiple_of(BLOCK);
                let mut parts = [zero; P];
                let whole = self.length / BLOCK * BLOCK;
                for i in (0..whole).step_by(BLOCK) {
                    let codes = codes.add(F::bytes(i));
                    self.ask(s, codes);
                    let block = self.format.decode(s, number, codes);
                    parts = self.accumulate(s, block, first + i, parts);
                }
                if whole < self.length {
                    let (codes, n) = (codes.add(F::bytes(whole)), self.length - whole);
                    let block = decode_partial(s, self.format, number, codes, n);
                    parts = self.accumulate(s, block, first + whole, parts);
                }
                let mut part = parts[0];
                for other in &parts[1..] {
                    for (sum, &other) in part.iter_mut().zip(other) {
                        *sum = s.add(*sum, other);
                    }
                }
                part
            };
            let scale = s.splat(self.format.scale(number));
            for (total, &part) in total.iter_mut().zip(&part) {
                *total = s.fma(part, scale, *total);
            }
        }
    }

    /// Adds the blocks of a range of a row of one segment.
    ///
    /// # Safety
    /// As for `scaled`, with these blocks.
    #[inline(always)]
    unsafe fn unscaled<S: Simd, const P: usize>(
        &self,
        s: S,
        (first, last): (usize, usize),
        sums: &mut [[S::F; R]; P],
    ) {
        let whole = (self.length / BLOCK).min(last);
        let mut parts = *sums;
        // SAFETY: the caller's duty; the last block is read only as far as the segment goes.
        unsafe {
            for b in first..whole {
                let codes = self.codes.add(b * F::bytes(BLOCK));
                self.ask(s, codes);
                let block = self.format.decode(s, 0, codes);
                parts = self.accumulate(s, block, b * BLOCK, parts);
            }
            if whole < last {
                let codes = self.codes.add(whole * F::bytes(BLOCK));
                let n = self.length - whole * BLOCK;
                let block = decode_partial(s, self.format, 0, codes, n);
                parts = self.accumulate(s, block, whole * BLOCK, parts);
            }
        }
        *sums = parts;
    }

    /// The parts and the products of a block with the elements of x from `at` on, its vectors
    /// in turns to the parts.
    ///
    /// # Safety
    /// x must have these elements.
    #[inline(always)]
    unsafe fn accumulate<S: Simd, const P: usize>(
        &self,
        s: S,
        block: S::Block,
        at: usize,
        mut parts: [[S::F; R]; P],
    ) -> [[S::F; R]; P] {
        for (v, &weights) in block.as_ref().iter().enumerate() {
            for (part, &x) in parts[v % P].iter_mut().zip(&self.x) {
                // SAFETY: the caller's duty.
                let x = unsafe { s.load(x.add(at + v * S::LANES)) };
                *part = s.fma(x, weights, *part);
            }
        }
        parts
    }
}
