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
/// of 16 registers to decoding.
const GROUP: usize = 4;
/// Elements of x that are used for several outputs before the next: 24 KiB of an L1 cache of 32 KiB.
const X_CHUNK: usize = 6 * 1024;
/// Outputs whose sums wait meanwhile.
const OUTPUTS: usize = 16;

impl<F: Format> Kernel for Stream<F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let groups = self.rows.div_ceil(GROUP).max(1);
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
    let mut waiting = [[[s.splat(0.0); R]; P]; OUTPUTS];
    for u0 in (0..units).step_by(chunk) {
        let range = (u0, (u0 + chunk).min(units));
        for o in first..last {
            let row = task.first + o;
            // SAFETY: the row, the range of units and R rows of x from r are inside.
            unsafe {
                let codes = task.codes.add(row * row_bytes);
                let x = task.x.add(r * task.x_stride);
                let sums = &mut waiting[o - first];
                if F::SCALED {
                    scaled(s, task, codes, row * segments, x, range, sums);
                } else {
                    unscaled(s, task, codes, x, range, sums);
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

/// Adds the segments of a range for one output, in turns to two sums of each row if rows are few.
///
/// # Safety
/// `codes` must be an output's row, `number` that of its first segment, x R rows.
#[inline(always)]
unsafe fn scaled<S: Simd, F: Format, const R: usize, const P: usize>(
    s: S,
    task: &Stream<F>,
    codes: *const u8,
    number: usize,
    x: *const f32,
    (mut segment, end): (usize, usize),
    sums: &mut [[S::F; R]; P],
) {
    let turns = if R <= 2 { 2 } else { 1 };
    let mut totals = *sums;
    // SAFETY: the segments are inside the row.
    unsafe {
        while segment + turns <= end {
            for total in totals.iter_mut().take(turns) {
                add_segment::<S, F, R, P>(s, task, codes, number, x, segment, total);
                segment += 1;
            }
        }
        if segment < end {
            add_segment::<S, F, R, P>(s, task, codes, number, x, segment, &mut totals[0]);
        }
    }
    *sums = totals;
}

/// Adds one segment.
///
/// # Safety
/// As for `scaled`; the segment is inside the row.
#[inline(always)]
unsafe fn add_segment<S: Simd, F: Format, const R: usize, const P: usize>(
    s: S,
    task: &Stream<F>,
    codes: *const u8,
    number: usize,
    x: *const f32,
    segment: usize,
    total: &mut [S::F; R],
) {
    // SAFETY: the caller's duty is the same.
    unsafe {
        let part = segment_sum::<S, F, R, P>(s, task, codes, number, x, segment);
        let scale = s.splat(task.format.scale(number + segment));
        for (total, &part) in total.iter_mut().zip(&part) {
            *total = s.fma(part, scale, *total);
        }
    }
}

/// The sums of one segment, before its scale.
///
/// # Safety
/// As for `scaled`; the segment is inside the row.
#[inline(always)]
unsafe fn segment_sum<S: Simd, F: Format, const R: usize, const P: usize>(
    s: S,
    task: &Stream<F>,
    codes: *const u8,
    number: usize,
    x: *const f32,
    segment: usize,
) -> [S::F; R] {
    let length = if F::ONE_BLOCK {
        BLOCK
    } else {
        task.layout.segment
    };
    let row_bytes = task.layout.segments * F::bytes(length);
    let padded = length.next_multiple_of(BLOCK);
    let mut parts = [[s.splat(0.0); R]; P];
    // SAFETY: the caller's duty; the last block is read only as far as the segment goes.
    unsafe {
        let codes = codes.add(segment * F::bytes(length));
        let x = x.add(segment * padded);
        if F::ONE_BLOCK {
            s.prefetch(codes.wrapping_add(ahead(row_bytes)));
            let block = task.format.decode(s, number + segment, codes);
            return accumulate::<S, R, 1>(s, block, x, task.x_stride, [parts[0]])[0];
        }
        let whole = length / BLOCK * BLOCK;
        for i in (0..whole).step_by(BLOCK) {
            let codes = codes.add(F::bytes(i));
            s.prefetch(codes.wrapping_add(ahead(row_bytes)));
            let block = task.format.decode(s, number + segment, codes);
            parts = accumulate(s, block, x.add(i), task.x_stride, parts);
        }
        if whole < length {
            let codes = codes.add(F::bytes(whole));
            let block = decode_partial(s, task.format, number + segment, codes, length - whole);
            parts = accumulate(s, block, x.add(whole), task.x_stride, parts);
        }
    }
    let mut sums = parts[0];
    for part in &parts[1..] {
        for (sum, &part) in sums.iter_mut().zip(part) {
            *sum = s.add(*sum, part);
        }
    }
    sums
}

/// Adds the blocks of a range for one output.
///
/// # Safety
/// As for `scaled`; the layout has one segment.
#[inline(always)]
unsafe fn unscaled<S: Simd, F: Format, const R: usize, const P: usize>(
    s: S,
    task: &Stream<F>,
    codes: *const u8,
    x: *const f32,
    (first, last): (usize, usize),
    sums: &mut [[S::F; R]; P],
) {
    let length = task.layout.segment;
    let ahead = ahead(F::bytes(length));
    let whole = (length / BLOCK).min(last);
    let mut parts = *sums;
    // SAFETY: the caller's duty; the last block is read only as far as the segment goes.
    unsafe {
        for b in first..whole {
            let codes = codes.add(b * F::bytes(BLOCK));
            s.prefetch(codes.wrapping_add(ahead));
            let block = task.format.decode(s, 0, codes);
            parts = accumulate(s, block, x.add(b * BLOCK), task.x_stride, parts);
        }
        if whole < last {
            let codes = codes.add(whole * F::bytes(BLOCK));
            let block = decode_partial(s, task.format, 0, codes, length - whole * BLOCK);
            parts = accumulate(s, block, x.add(whole * BLOCK), task.x_stride, parts);
        }
    }
    *sums = parts;
}

/// The parts and the products of a block with R rows of x, its vectors in turns to P parts.
///
/// # Safety
/// x must have R rows of a block.
#[inline(always)]
unsafe fn accumulate<S: Simd, const R: usize, const P: usize>(
    s: S,
    block: S::Block,
    x: *const f32,
    x_stride: usize,
    mut parts: [[S::F; R]; P],
) -> [[S::F; R]; P] {
    for (v, &weights) in block.as_ref().iter().enumerate() {
        for (j, part) in parts[v % P].iter_mut().enumerate() {
            // SAFETY: the caller's duty.
            let x = unsafe { s.load(x.add(j * x_stride + v * S::LANES)) };
            *part = s.fma(x, weights, *part);
        }
    }
    parts
}

/// How far ahead codes are asked for: a row, since a chunk of x takes a part of each, and at
/// least what hides the memory's latency.
#[inline(always)]
fn ahead(row_bytes: usize) -> usize {
    row_bytes.max(1024)
}
