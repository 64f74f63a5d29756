//! The register tile of the matrix product: NR vectors of columns by MR rows, or 2 MR if NR is 1.
//!
//! c[i, j] = sum_k a[i, k] b[k, j]. Each step of k reads NR vectors of b and broadcasts one
//! element of a for each row, for 2 MR FMAs. MR is chosen so that the 2 MR sums, NR vectors of
//! b and one broadcast fill the registers: 6 on AVX2 (12 + 2 + 1 of 16), 12 on AVX-512 (24 + 2 +
//! 1 of 32), 4 with four lanes (8 + 2 + 1 of 16). Two FMAs a cycle then need (MR + 2) / MR loads
//! with two vectors, which is below what the load units do: the tile is bound by the FMA units.
//! With one vector there are 2 + 1 / MR loads, just above it.

use crate::simd::Simd;

/// Vectors of columns in a tile of a large product.
pub(crate) const NR_VECTORS: usize = 2;

/// The sums of one tile over `k` steps, plus what `out` holds if `accumulate`, into `out`
/// (`out_stride` apart).
///
/// Element (i, k) of a is at `a + i * a_row + k * a_step`; row k of b at `b + k * b_step`.
///
/// # Safety
/// All these elements must be valid for reading, those of `out` for writing.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn tile<S: Simd, const NR: usize>(
    s: S,
    k: usize,
    a: *const f32,
    a_steps: [usize; 2],
    b: *const f32,
    b_step: usize,
    out: *mut f32,
    out_stride: usize,
    accumulate: bool,
) {
    // SAFETY: the caller's duty is the same. MR and NR are constants, so one arm remains.
    unsafe {
        match S::MR * 2 / NR {
            24 => rows::<S, 24, NR>(s, k, a, a_steps, b, b_step, out, out_stride, accumulate),
            12 => rows::<S, 12, NR>(s, k, a, a_steps, b, b_step, out, out_stride, accumulate),
            8 => rows::<S, 8, NR>(s, k, a, a_steps, b, b_step, out, out_stride, accumulate),
            6 => rows::<S, 6, NR>(s, k, a, a_steps, b, b_step, out, out_stride, accumulate),
            4 => rows::<S, 4, NR>(s, k, a, a_steps, b, b_step, out, out_stride, accumulate),
            _ => unreachable!("every instance's MR has an arm"),
        }
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn rows<S: Simd, const MR: usize, const NR: usize>(
    s: S,
    k: usize,
    mut a: *const f32,
    [a_row, a_step]: [usize; 2],
    mut b: *const f32,
    b_step: usize,
    out: *mut f32,
    out_stride: usize,
    accumulate: bool,
) {
    let mut sums = [[s.splat(0.0); NR]; MR];
    // SAFETY: the caller of `tile` vouches for every element these loops touch.
    unsafe {
        for _ in 0..k {
            let mut columns = [s.splat(0.0); NR];
            for (j, column) in columns.iter_mut().enumerate() {
                *column = s.load(b.add(j * S::LANES));
            }
            for (i, sum) in sums.iter_mut().enumerate() {
                let a = s.splat(*a.add(i * a_row));
                for (sum, &column) in sum.iter_mut().zip(&columns) {
                    *sum = s.fma(a, column, *sum);
                }
            }
            a = a.wrapping_add(a_step);
            b = b.wrapping_add(b_step);
        }
        for (i, sum) in sums.iter().enumerate() {
            for (j, &v) in sum.iter().enumerate() {
                let p = out.add(i * out_stride + j * S::LANES);
                s.store(p, if accumulate { s.add(v, s.load(p)) } else { v });
            }
        }
    }
}
