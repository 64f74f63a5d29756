//! The clamped SwiGLU of one row.

use crate::element::{Element, MAX_LANES};
use crate::simd::{Kernel, Simd, math};

/// `2 n` elements of `x` to `n` of `out`.
pub struct Row<E> {
    pub n: usize,
    pub x: *const E,
    pub out: *mut E,
    pub alpha: f32,
    pub limit: f32,
}

impl<E: Element> Kernel for Row<E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { n, x, out, .. } = self;
        let (alpha, limit) = (s.splat(self.alpha), s.splat(self.limit));
        let whole = n / S::LANES * S::LANES;
        // SAFETY: the caller checked that `2 n` elements of x and `n` of out are there.
        unsafe {
            for i in (0..whole).step_by(S::LANES) {
                let pairs = x.add(2 * i);
                let (gate, up) = s.unzip(E::load(s, pairs), E::load(s, pairs.add(S::LANES)));
                E::store(
                    s,
                    out.add(i),
                    math::clamped_swiglu(s, gate, up, alpha, limit),
                );
            }
            if whole < n {
                let mut pairs = [E::default(); 2 * MAX_LANES];
                let mut results = [E::default(); MAX_LANES];
                let rest = n - whole;
                std::ptr::copy_nonoverlapping(x.add(2 * whole), pairs.as_mut_ptr(), 2 * rest);
                let (gate, up) = s.unzip(
                    E::load(s, pairs.as_ptr()),
                    E::load(s, pairs.as_ptr().add(S::LANES)),
                );
                let y = math::clamped_swiglu(s, gate, up, alpha, limit);
                E::store(s, results.as_mut_ptr(), y);
                std::ptr::copy_nonoverlapping(results.as_ptr(), out.add(whole), rest);
            }
        }
    }
}
