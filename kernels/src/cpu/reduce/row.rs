//! The place of the largest element of one row.

use crate::element::Element;
use crate::simd::{Kernel, Simd};

/// `n` elements of `x`, `stride` apart.
pub struct Row<E> {
    pub x: *const E,
    pub n: usize,
    pub stride: usize,
}

/// Elements in a block.
const BLOCK: usize = 512;

impl<E: Element> Kernel for Row<E> {
    type Output = usize;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> usize {
        let Self { x, n, stride } = self;
        // SAFETY: the caller checked that `n` elements at this stride are there.
        unsafe {
            if stride != 1 && n > 1 {
                return argmax(x, n, stride);
            }
            let (mut best, mut largest) = (0, f32::NEG_INFINITY);
            let mut start = 0;
            while start + BLOCK <= n {
                let mut max = [s.splat(f32::NEG_INFINITY); 4];
                let mut zeros = s.splat(0.0);
                for i in (start..start + BLOCK).step_by(4 * S::LANES) {
                    for (j, max) in max.iter_mut().enumerate() {
                        let v = E::load(s, x.add(i + j * S::LANES));
                        *max = s.max(v, *max);
                        zeros = s.fma(v, s.splat(0.0), zeros);
                    }
                }
                // `max` passes over NaN. A sum of zeros is NaN if there was one (or an infinity):
                // then the slow way decides.
                if s.reduce_add(zeros).is_nan() {
                    return argmax(x, n, 1);
                }
                let max = s.reduce_max(s.max(s.max(max[0], max[1]), s.max(max[2], max[3])));
                if max > largest {
                    (best, largest) = (start, max);
                }
                start += BLOCK;
            }
            // What is left over is searched, and so is the block of the largest element so far.
            let rest = start + argmax(x.add(start), n - start, 1);
            if start == 0 {
                return rest;
            }
            if start < n {
                let v = (*x.add(rest)).to_f32();
                if v > largest || v.is_nan() {
                    return rest;
                }
            }
            best + argmax(x.add(best), BLOCK, 1)
        }
    }
}

/// The first index of the largest of `n` elements, or of the first NaN; 0 for none.
///
/// # Safety
/// `n` elements at that stride must be valid for reading.
#[inline(always)]
unsafe fn argmax<E: Element>(x: *const E, n: usize, stride: usize) -> usize {
    let mut best = 0;
    let mut largest = f32::NEG_INFINITY;
    for i in 0..n {
        // SAFETY: the caller vouches for the elements.
        let v = unsafe { *x.add(i * stride) }.to_f32();
        if v.is_nan() {
            return i;
        }
        if v > largest {
            (best, largest) = (i, v);
        }
    }
    best
}
