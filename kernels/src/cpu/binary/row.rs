//! One row of an element-wise function of two arguments.

use super::BinaryOp;
use crate::element::{Element, load_partial, store_partial};
use crate::simd::{Kernel, Simd};

/// out[i] = f(a[i], b[i]) for `n` elements, with a step for each; `a` may be `out`.
pub struct Row<E> {
    pub op: BinaryOp,
    pub n: usize,
    pub a: *const E,
    pub b: *const E,
    pub out: *mut E,
    pub steps: [usize; 3],
}

impl<E: Element> Kernel for Row<E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.op {
            BinaryOp::Add => self.each(s, |a, b| s.add(a, b)),
            BinaryOp::Sub => self.each(s, |a, b| s.sub(a, b)),
            BinaryOp::Mul => self.each(s, |a, b| s.mul(a, b)),
            BinaryOp::Div => self.each(s, |a, b| s.div(a, b)),
        }
    }
}

impl<E: Element> Row<E> {
    #[inline(always)]
    fn each<S: Simd>(&self, s: S, f: impl Fn(S::F, S::F) -> S::F) {
        let Self {
            n,
            a,
            b,
            out,
            steps,
            ..
        } = *self;
        // SAFETY: the caller of this kernel checked that `n` elements at these steps are inside the views;
        // each element of `a` is read before the one of `out` is written.
        unsafe {
            let fast = steps[2] == 1 && steps[0] <= 1 && steps[1] <= 1;
            if !fast {
                for i in 0..n {
                    let (x, y) = (
                        load_partial(s, a.add(i * steps[0]), 1),
                        load_partial(s, b.add(i * steps[1]), 1),
                    );
                    store_partial(s, out.add(i * steps[2]), f(x, y), 1);
                }
                return;
            }
            let fetch = |p: *const E, step: usize, i: usize| {
                if step == 1 {
                    E::load(s, p.add(i))
                } else {
                    s.splat((*p).to_f32())
                }
            };
            let fetch_last = |p: *const E, step: usize, i: usize| {
                if step == 1 {
                    load_partial(s, p.add(i), n - i)
                } else {
                    s.splat((*p).to_f32())
                }
            };
            let whole = n / S::LANES * S::LANES;
            for i in (0..whole).step_by(S::LANES) {
                E::store(
                    s,
                    out.add(i),
                    f(fetch(a, steps[0], i), fetch(b, steps[1], i)),
                );
            }
            if whole < n {
                let v = f(
                    fetch_last(a, steps[0], whole),
                    fetch_last(b, steps[1], whole),
                );
                store_partial(s, out.add(whole), v, n - whole);
            }
        }
    }
}
