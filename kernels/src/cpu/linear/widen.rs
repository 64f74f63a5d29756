//! A few rows as contiguous f32.

use crate::element::Element;
use crate::simd::{Kernel, Simd};

/// out[r * out_stride + c] = x[r, c].
pub struct Widen<X> {
    pub x: *const X,
    pub strides: [usize; 2],
    pub rows: usize,
    pub cols: usize,
    pub out: *mut f32,
    pub out_stride: usize,
}

impl<X: Element> Kernel for Widen<X> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            x,
            strides: [row_stride, col_stride],
            rows,
            cols,
            out,
            out_stride,
        } = self;
        let whole = if col_stride == 1 {
            cols / S::LANES * S::LANES
        } else {
            0
        };
        for r in 0..rows {
            // SAFETY: `linear` checked x, and that `out` has rows * out_stride elements.
            unsafe {
                let (x, out) = (x.add(r * row_stride), out.add(r * out_stride));
                for c in (0..whole).step_by(S::LANES) {
                    s.store(out.add(c), X::load(s, x.add(c)));
                }
                for c in whole..cols {
                    *out.add(c) = (*x.add(c * col_stride)).to_f32();
                }
            }
        }
    }
}
