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

/// A function of a vector. (Not a closure: one would not be compiled for the instruction set.)
trait Function {
    fn apply<S: Simd>(s: S, x: S::F) -> S::F;
}

macro_rules! functions {
    ($($name:ident: $function:expr),* $(,)?) => {$(
        struct $name;
        impl Function for $name {
            #[inline(always)]
            fn apply<S: Simd>(s: S, x: S::F) -> S::F {
                $function(s, x)
            }
        }
    )*};
}
functions! {
    Gelu: math::gelu,
    Silu: math::silu,
    Relu: math::relu,
    Sigmoid: math::sigmoid,
    Tanh: math::tanh,
    Exp: math::exp,
}

impl<E: Element> Kernel for Row<E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // One copy of the loop per function, so that the choice is made outside of it.
        match self.op {
            UnaryOp::Gelu => self.each::<S, Gelu>(s),
            UnaryOp::Silu => self.each::<S, Silu>(s),
            UnaryOp::Relu => self.each::<S, Relu>(s),
            UnaryOp::Sigmoid => self.each::<S, Sigmoid>(s),
            UnaryOp::Tanh => self.each::<S, Tanh>(s),
            UnaryOp::Exp => self.each::<S, Exp>(s),
        }
    }
}

impl<E: Element> Row<E> {
    #[inline(always)]
    fn each<S: Simd, F: Function>(&self, s: S) {
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
                    store_partial(s, out.add(i * out_step), F::apply(s, v), 1);
                }
                return;
            }
            let whole = n / S::LANES * S::LANES;
            for i in (0..whole).step_by(S::LANES) {
                E::store(s, out.add(i), F::apply(s, E::load(s, x.add(i))));
            }
            if whole < n {
                let v = load_partial(s, x.add(whole), n - whole);
                store_partial(s, out.add(whole), F::apply(s, v), n - whole);
            }
        }
    }
}
