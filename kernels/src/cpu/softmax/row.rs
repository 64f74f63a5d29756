//! Softmax of one row.

use crate::element::{Element, load_partial, store_partial};
use crate::simd::{Kernel, Simd, math};

/// `n` elements from `x` to `out`, which may be the same memory.
pub struct Row<E> {
    pub n: usize,
    pub x: *const E,
    pub out: *mut E,
    pub log: bool,
}

impl<E: Element> Kernel for Row<E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { n, x, out, log } = self;
        let whole = n / S::LANES * S::LANES;
        let lowest = s.splat(f32::NEG_INFINITY);
        // SAFETY: the caller checked that `n` elements of x and out are there.
        unsafe {
            // The maximum. `max` returns its second argument for NaN: with x second a NaN shows up
            // in its lane, and with the running maximum second it would be kept; a separate sum is
            // not needed, because e^(NaN - max) makes the sum NaN in any case.
            let mut largest = lowest;
            for i in (0..whole).step_by(S::LANES) {
                largest = s.max(E::load(s, x.add(i)), largest);
            }
            let mut max = s.reduce_max(largest);
            for i in whole..n {
                max = (*x.add(i)).to_f32().max(max);
            }
            let max_v = s.splat(max);

            let mut sums = s.splat(0.0);
            for i in (0..whole).step_by(S::LANES) {
                sums = s.add(sums, math::exp(s, s.sub(E::load(s, x.add(i)), max_v)));
            }
            let mut total = s.reduce_add(sums);
            if whole < n {
                let last = math::exp(s, s.sub(load_partial(s, x.add(whole), n - whole), max_v));
                let mut lanes = [0.0f32; crate::element::MAX_LANES];
                s.store(lanes.as_mut_ptr(), last);
                total += lanes[..n - whole].iter().sum::<f32>();
            }

            let scale = s.splat(1.0 / total);
            let offset = s.splat(total.ln());
            let shift = Shift {
                max: max_v,
                scale,
                offset,
                log,
            };
            for i in (0..whole).step_by(S::LANES) {
                E::store(s, out.add(i), shift.apply(s, E::load(s, x.add(i))));
            }
            if whole < n {
                store_partial(
                    s,
                    out.add(whole),
                    shift.apply(s, load_partial(s, x.add(whole), n - whole)),
                    n - whole,
                );
            }
        }
    }
}

/// What turns an element into its result.
struct Shift<S: Simd> {
    max: S::F,
    scale: S::F,
    offset: S::F,
    log: bool,
}

impl<S: Simd> Shift<S> {
    #[inline(always)]
    fn apply(&self, s: S, x: S::F) -> S::F {
        let d = s.sub(x, self.max);
        if self.log {
            s.sub(d, self.offset)
        } else {
            s.mul(math::exp(s, d), self.scale)
        }
    }
}
