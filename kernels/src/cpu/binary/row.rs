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

/// A function of two vectors. (Not a closure: one would not be compiled for the instruction set.)
trait Function {
    fn apply<S: Simd>(s: S, a: S::F, b: S::F) -> S::F;
}

macro_rules! functions {
    ($($name:ident: $method:ident),* $(,)?) => {$(
        struct $name;
        impl Function for $name {
            #[inline(always)]
            fn apply<S: Simd>(s: S, a: S::F, b: S::F) -> S::F {
                s.$method(a, b)
            }
        }
    )*};
}
functions! { Add: add, Sub: sub, Mul: mul, Div: div }

impl<E: Element> Kernel for Row<E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.op {
            BinaryOp::Add => self.each::<S, Add>(s),
            BinaryOp::Sub => self.each::<S, Sub>(s),
            BinaryOp::Mul => self.each::<S, Mul>(s),
            BinaryOp::Div => self.each::<S, Div>(s),
        }
    }
}

impl<E: Element> Row<E> {
    #[inline(always)]
    fn each<S: Simd, F: Function>(&self, s: S) {
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
                    let x = load_partial(s, a.add(i * steps[0]), 1);
                    let y = load_partial(s, b.add(i * steps[1]), 1);
                    store_partial(s, out.add(i * steps[2]), F::apply(s, x, y), 1);
                }
                return;
            }
            let mut i = 0;
            while i < n {
                let k = (n - i).min(S::LANES);
                let v = F::apply(s, fetch(s, a, steps[0], i, k), fetch(s, b, steps[1], i, k));
                if k == S::LANES {
                    E::store(s, out.add(i), v);
                } else {
                    store_partial(s, out.add(i), v, k);
                }
                i += k;
            }
        }
    }
}

/// `k` elements from the `i`-th on, or the one element of a broadcast.
///
/// # Safety
/// They must be valid for reading, and k <= LANES.
#[inline(always)]
unsafe fn fetch<S: Simd, E: Element>(s: S, p: *const E, step: usize, i: usize, k: usize) -> S::F {
    // SAFETY: the caller's duty.
    unsafe {
        if step == 0 {
            s.splat((*p).to_f32())
        } else if k == S::LANES {
            E::load(s, p.add(i))
        } else {
            load_partial(s, p.add(i), k)
        }
    }
}
