//! One row of an element-wise function.

use super::UnaryOp;
use crate::element::{Element, load_partial, store_partial};
use crate::simd::{Kernel, Simd, math};

/// `n` elements from `x` to `out`, which may be the same memory.
pub struct Row<E> {
    pub op: UnaryOp,
    pub n: usize,
    pub x: *const E,
    pub x_step: usize,
    pub out: *mut E,
    pub out_step: usize,
}

impl<E: Element> Kernel for Row<E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // One copy of the loop per function, so that the choice is made outside of it.
        match self.op {
            UnaryOp::Gelu => self.each(s, |x| math::gelu(s, x)),
            UnaryOp::Silu => self.each(s, |x| math::silu(s, x)),
            UnaryOp::Relu => self.each(s, |x| s.max(s.splat(0.0), x)),
            UnaryOp::Sigmoid => self.each(s, |x| math::sigmoid(s, x)),
            UnaryOp::Tanh => self.each(s, |x| math::tanh(s, x)),
            UnaryOp::Exp => self.each(s, |x| math::exp(s, x)),
        }
    }
}

impl<E: Element> Row<E> {
    #[inline(always)]
    fn each<S: Simd>(&self, s: S, f: impl Fn(S::F) -> S::F) {
        let Self {
            n,
            x,
            x_step,
            out,
            out_step,
            ..
        } = *self;
        // SAFETY: the caller of this kernel checked that `n` elements at these steps are inside both views;
        // each is read before it is written.
        unsafe {
            if n > 1 && (x_step != 1 || out_step != 1) {
                for i in 0..n {
                    let v = load_partial(s, x.add(i * x_step), 1);
                    store_partial(s, out.add(i * out_step), f(v), 1);
                }
                return;
            }
            let whole = n / S::LANES * S::LANES;
            for i in (0..whole).step_by(S::LANES) {
                E::store(s, out.add(i), f(E::load(s, x.add(i))));
            }
            if whole < n {
                store_partial(
                    s,
                    out.add(whole),
                    f(load_partial(s, x.add(whole), n - whole)),
                    n - whole,
                );
            }
        }
    }
}
