//! Normalisation of one row.

use crate::element::{Element, load_partial, store_partial};
use crate::simd::{Kernel, Simd};

/// `n` elements from `x` to `out`.
pub struct Row<E> {
    pub n: usize,
    pub x: *const E,
    pub weight: *const E,
    pub bias: Option<*const E>,
    pub eps: f32,
    pub centre: bool,
    pub out: *mut E,
}

impl<E: Element> Kernel for Row<E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            n,
            x,
            weight,
            bias,
            eps,
            centre,
            out,
        } = self;
        let zero = s.splat(0.0);
        // SAFETY: the caller checked that `n` elements of x, weight, bias and out are there.
        unsafe {
            let mean = if centre {
                sum(s, n, |i, k| lanes(s, x, i, k)) / n as f32
            } else {
                0.0
            };
            let mean_v = s.splat(mean);
            let squares = sum(s, n, |i, k| {
                let d = s.sub(lanes(s, x, i, k), mean_v);
                // Lanes past the end must not count as 0 - mean.
                let d = if k == S::LANES { d } else { keep(s, d, k) };
                s.mul(d, d)
            });
            let scale = s.splat(1.0 / (squares / n as f32 + eps).sqrt());
            let mut i = 0;
            while i < n {
                let k = (n - i).min(S::LANES);
                let y = s.mul(s.sub(lanes(s, x, i, k), mean_v), scale);
                let shift = match bias {
                    Some(bias) => lanes(s, bias, i, k),
                    None => zero,
                };
                let y = s.fma(y, lanes(s, weight, i, k), shift);
                if k == S::LANES {
                    E::store(s, out.add(i), y);
                } else {
                    store_partial(s, out.add(i), y, k);
                }
                i += k;
            }
        }
    }
}

/// `k` elements from the `i`-th on.
///
/// # Safety
/// They must be valid for reading, and k <= LANES.
#[inline(always)]
unsafe fn lanes<S: Simd, E: Element>(s: S, p: *const E, i: usize, k: usize) -> S::F {
    // SAFETY: the caller vouches for k elements.
    unsafe {
        if k == S::LANES {
            E::load(s, p.add(i))
        } else {
            load_partial(s, p.add(i), k)
        }
    }
}

/// The first `k` lanes; the others are 0.
#[inline(always)]
fn keep<S: Simd>(s: S, v: S::F, k: usize) -> S::F {
    let mut lanes = [0.0f32; crate::element::MAX_LANES];
    // SAFETY: the array holds a full vector.
    unsafe {
        s.store(lanes.as_mut_ptr(), v);
        lanes[k..].fill(0.0);
        s.load(lanes.as_ptr())
    }
}

/// The sum over `n` elements of what `term(i, k)` gives for the `k` elements from `i` on.
#[inline(always)]
fn sum<S: Simd>(s: S, n: usize, term: impl Fn(usize, usize) -> S::F) -> f32 {
    // Four sums, so that the additions of one do not wait for each other.
    let mut sums = [s.splat(0.0); 4];
    let mut i = 0;
    while i + 4 * S::LANES <= n {
        for (j, sum) in sums.iter_mut().enumerate() {
            *sum = s.add(*sum, term(i + j * S::LANES, S::LANES));
        }
        i += 4 * S::LANES;
    }
    while i < n {
        let k = (n - i).min(S::LANES);
        sums[0] = s.add(sums[0], term(i, k));
        i += k;
    }
    s.reduce_add(s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3])))
}
