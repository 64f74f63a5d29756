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
                sum::<S, E, false>(s, n, x, zero) / n as f32
            } else {
                0.0
            };
            let mean_v = s.splat(mean);
            let squares = sum::<S, E, true>(s, n, x, mean_v);
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

/// The sum over `n` elements of x - mean, or of its square.
///
/// # Safety
/// The elements must be valid for reading.
#[inline(always)]
unsafe fn sum<S: Simd, E: Element, const SQUARE: bool>(
    s: S,
    n: usize,
    x: *const E,
    mean: S::F,
) -> f32 {
    // Four sums, so that the additions of one do not wait for each other.
    let mut sums = [s.splat(0.0); 4];
    let mut i = 0;
    // SAFETY: i + the vector's length <= n.
    unsafe {
        while i + 4 * S::LANES <= n {
            for (j, sum) in sums.iter_mut().enumerate() {
                let d = s.sub(E::load(s, x.add(i + j * S::LANES)), mean);
                *sum = if SQUARE {
                    s.fma(d, d, *sum)
                } else {
                    s.add(*sum, d)
                };
            }
            i += 4 * S::LANES;
        }
        while i < n {
            let k = (n - i).min(S::LANES);
            let d = s.sub(lanes(s, x, i, k), mean);
            // Lanes past the end must not count as 0 - mean.
            let d = if k == S::LANES { d } else { keep(s, d, k) };
            sums[0] = if SQUARE {
                s.fma(d, d, sums[0])
            } else {
                s.add(sums[0], d)
            };
            i += k;
        }
    }
    s.reduce_add(s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3])))
}
