//! Copies of operands in the order in which the tile reads them, as f32, padded with zeros.

use crate::element::{Element, load_partial};
use crate::simd::{Kernel, Simd};

/// Panels of `width` rows of a matrix, one after the other, each of `n_k` steps.
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

impl<E: Element> Kernel for Pack<E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            x,
            strides,
            n_rows,
            n_k,
            width,
            out,
        } = self;
        for i in (0..n_rows).step_by(width) {
            // SAFETY: whoever makes a `Pack` vouches for x, and for n_rows rounded up to whole panels
            // times n_k elements of `out`.
            unsafe {
                let (x, out) = (x.add(i * strides[0]), out.add(i * n_k));
                panel(s, x, strides, (n_rows - i).min(width), n_k, width, out);
            }
        }
    }
}

/// Packs `panel` rows of a matrix side by side: out[k * panel + i] = x[i, k], for k in
/// 0..n_k, with rows `n_rows..panel` zero. Element (i, k) of x is at `x + i * row + k * step`.
///
/// # Safety
/// The elements of x must be valid for reading and `n_k * panel` of `out` for writing.
#[inline(always)]
unsafe fn panel<S: Simd, E: Element>(
    s: S,
    x: *const E,
    [row, step]: [usize; 2],
    n_rows: usize,
    n_k: usize,
    panel: usize,
    out: *mut f32,
) {
    // SAFETY: the caller vouches for the elements; all indices stay within n_rows, n_k and panel.
    unsafe {
        if row == 1 && panel.is_multiple_of(S::LANES) {
            for k in 0..n_k {
                let (x, out) = (x.add(k * step), out.add(k * panel));
                // The next but few rows of x; a strided walk is not prefetched by itself.
                s.prefetch(x.wrapping_add(AHEAD * step));
                for i in (0..panel).step_by(S::LANES) {
                    let v = if i + S::LANES <= n_rows {
                        E::load(s, x.add(i))
                    } else {
                        load_partial(s, x.wrapping_add(i), n_rows.saturating_sub(i))
                    };
                    s.store(out.add(i), v);
                }
            }
            return;
        }
        for i in 0..n_rows {
            for k in 0..n_k {
                *out.add(k * panel + i) = (*x.add(i * row + k * step)).to_f32();
            }
        }
        for i in n_rows..panel {
            for k in 0..n_k {
                *out.add(k * panel + i) = 0.0;
            }
        }
    }
}

/// Rows that a packing loop prefetches ahead.
const AHEAD: usize = 8;
