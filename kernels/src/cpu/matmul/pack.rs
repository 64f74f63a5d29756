//! Copies of operands in the order in which the tile reads them, as f32, padded with zeros.

use crate::element::{Element, load_partial};
use crate::simd::{Kernel, Simd};

/// Panels of `width` rows of a matrix, one after the other, each of `n_k` steps:
/// out[(i / width) * n_k * width + k * width + i % width] = x[i, k].
///
/// Element (i, k) of x is at `x + i * strides[0] + k * strides[1]`.
pub struct Pack<E> {
    pub x: *const E,
    pub strides: [usize; 2],
    /// Rows there are; the last panel is filled up with zeros.
    pub n_rows: usize,
    pub n_k: usize,
    /// Rows in a panel.
    pub width: usize,
    pub out: *mut f32,
}

/// Steps that are copied for all panels before the next: each step is a run of memory on the
/// reading side, and four make whole cache lines of a panel on the writing side.
const STEPS: usize = 4;

impl<E: Element> Kernel for Pack<E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            x,
            strides: [row, step],
            n_rows,
            n_k,
            width,
            out,
        } = self;
        if row == 1 && width.is_multiple_of(S::LANES) {
            for k0 in (0..n_k).step_by(STEPS) {
                for i in (0..n_rows).step_by(width) {
                    for k in k0..(k0 + STEPS).min(n_k) {
                        // SAFETY: whoever makes a `Pack` vouches for x, and for n_rows rounded up to
                        // whole panels times n_k elements of `out`.
                        unsafe {
                            let (x, out) = (x.add(k * step + i), out.add(i * n_k + k * width));
                            s.prefetch(x.wrapping_add(STEPS * step));
                            run_of_rows(s, x, (n_rows - i).min(width), width, out);
                        }
                    }
                }
            }
            return;
        }
        for i in (0..n_rows).step_by(width) {
            let there = (n_rows - i).min(width);
            for j in 0..width {
                for k in 0..n_k {
                    // SAFETY: as above; rows past `there` are not read.
                    unsafe {
                        let v = if j < there {
                            (*x.add((i + j) * row + k * step)).to_f32()
                        } else {
                            0.0
                        };
                        *out.add(i * n_k + k * width + j) = v;
                    }
                }
            }
        }
    }
}

/// `n` contiguous elements, and zeros up to `width`, a multiple of LANES.
///
/// # Safety
/// x must be valid for `n` elements, `out` for `width`.
#[inline(always)]
unsafe fn run_of_rows<S: Simd, E: Element>(
    s: S,
    x: *const E,
    n: usize,
    width: usize,
    out: *mut f32,
) {
    for i in (0..width).step_by(S::LANES) {
        // SAFETY: the caller's duty; what is read is below n.
        unsafe {
            let v = if i + S::LANES <= n {
                E::load(s, x.add(i))
            } else {
                load_partial(s, x.wrapping_add(i), n.saturating_sub(i))
            };
            s.store(out.add(i), v);
        }
    }
}
