//! The ranks of one row.

use crate::element::Element;
use crate::simd::{Kernel, Simd};

/// `n` elements of `x` and as many ranks.
pub struct Row<E> {
    pub n: usize,
    pub x: *const E,
    pub x_step: usize,
    pub out: *mut i32,
    pub out_step: usize,
}

/// Elements that are ranked together: their values and counts are 8 vectors on AVX2.
const BLOCK: usize = 32;

impl<E: Element> Kernel for Row<E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // Loops of a fixed length over arrays, which the compiler makes vectors of the instruction
        // set of.
        let mut block = 0;
        while block < self.n {
            let width = (self.n - block).min(BLOCK);
            let mut values = [f32::NAN; BLOCK];
            let mut counts = [0i32; BLOCK];
            for (e, value) in values[..width].iter_mut().enumerate() {
                *value = self.value(block + e);
            }
            for o in 0..block {
                let other = self.value(o);
                for (count, &value) in counts.iter_mut().zip(&values) {
                    *count += i32::from(other >= value);
                }
            }
            for o in 0..width {
                let other = values[o];
                for (e, (count, &value)) in counts.iter_mut().zip(&values).enumerate() {
                    *count += i32::from((other > value) | ((other == value) & (o < e)));
                }
            }
            for o in block + width..self.n {
                let other = self.value(o);
                for (count, &value) in counts.iter_mut().zip(&values) {
                    *count += i32::from(other > value);
                }
            }
            for (e, &count) in counts[..width].iter().enumerate() {
                // SAFETY: the caller checked that `n` ranks at this step are there.
                unsafe { *self.out.add((block + e) * self.out_step) = count };
            }
            block += BLOCK;
        }
    }
}

impl<E: Element> Row<E> {
    #[inline(always)]
    fn value(&self, i: usize) -> f32 {
        // SAFETY: the caller checked that `n` elements at this step are there, and i < n.
        unsafe { *self.x.add(i * self.x_step) }.to_f32()
    }
}
