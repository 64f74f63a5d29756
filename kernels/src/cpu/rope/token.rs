//! One token's heads.

use crate::element::{Element, load_partial, store_partial};
use crate::simd::{Kernel, Simd};

/// `heads` heads of `2 * half` elements, `x_step` and `out_step` apart.
pub struct Token<E> {
    pub heads: usize,
    pub half: usize,
    /// The angle at frequency 1.
    pub angle: f32,
    /// `half` frequencies.
    pub frequencies: *const f32,
    /// What cosines and sines are multiplied by.
    pub scale: f32,
    /// Room for `half` cosines and as many sines.
    pub turns: *mut f32,
    pub x: *const E,
    pub x_step: usize,
    pub out: *mut E,
    pub out_step: usize,
}

impl<E: Element> Kernel for Token<E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (half, cosines) = (self.half, self.turns);
        // SAFETY: the caller checked the heads of x and out, and gives the frequencies and the room.
        unsafe {
            let sines = cosines.add(half);
            for i in 0..half {
                let angle = self.angle * *self.frequencies.add(i);
                *cosines.add(i) = angle.cos() * self.scale;
                *sines.add(i) = angle.sin() * self.scale;
            }
            for h in 0..self.heads {
                let (x, out) = (self.x.add(h * self.x_step), self.out.add(h * self.out_step));
                let mut i = 0;
                while i + S::LANES <= half {
                    let (a, b) = (E::load(s, x.add(i)), E::load(s, x.add(half + i)));
                    let (a, b) = turn(s, a, b, s.load(cosines.add(i)), s.load(sines.add(i)));
                    E::store(s, out.add(i), a);
                    E::store(s, out.add(half + i), b);
                    i += S::LANES;
                }
                let n = half - i;
                if n > 0 {
                    let (a, b) = (
                        load_partial(s, x.add(i), n),
                        load_partial(s, x.add(half + i), n),
                    );
                    let (cosine, sine) = (
                        load_partial(s, cosines.add(i).cast_const(), n),
                        load_partial(s, sines.add(i).cast_const(), n),
                    );
                    let (a, b) = turn(s, a, b, cosine, sine);
                    store_partial(s, out.add(i), a, n);
                    store_partial(s, out.add(half + i), b, n);
                }
            }
        }
    }
}

/// The pair (a, b) turned. Products are rounded before they are added, as the definition has it.
#[inline(always)]
fn turn<S: Simd>(s: S, a: S::F, b: S::F, cosine: S::F, sine: S::F) -> (S::F, S::F) {
    (
        s.sub(s.mul(a, cosine), s.mul(b, sine)),
        s.add(s.mul(b, cosine), s.mul(a, sine)),
    )
}
