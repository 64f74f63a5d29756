//! Conversion between float types: out[i] = x[i], rounded to nearest even.
//!
//! f32, f16, bf16 and f64 in any combination; f64 to a 16-bit type is rounded once.
//! Bound by memory (vectorised unless f64 is involved).

use half::{bf16, f16};

use crate::cpu::{Cpu, rows::split};
use crate::error::{Result, expect_len};
use crate::simd::{Kernel, Simd};
use crate::view::Shared;

#[cfg(test)]
mod tests;

/// A type that [`convert`] reads and writes: `f32`, `f16`, `bf16` or `f64`.
pub trait Convertible: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The value as f64 (exact).
    fn to_f64(self) -> f64;
    /// The nearest value.
    fn from_f64(x: f64) -> Self;
}

mod sealed {
    use super::{Simd, bf16, f16};
    use crate::element::{Element, load_partial, sealed::Lanes, store_partial};

    /// Whether the type is read and written by vectors of f32 lanes.
    pub trait Sealed: Sized {
        const IS_ELEMENT: bool;
        /// # Safety
        /// As [`load_partial`]; only if `IS_ELEMENT`.
        unsafe fn read<S: Simd>(s: S, p: *const Self, n: usize) -> S::F;
        /// # Safety
        /// As [`store_partial`]; only if `IS_ELEMENT`.
        unsafe fn write<S: Simd>(s: S, p: *mut Self, v: S::F, n: usize);
    }
    fn is_element<E: Element>() -> bool {
        true
    }
    macro_rules! element {
        ($($type:ty)*) => {$(
            impl Sealed for $type {
                const IS_ELEMENT: bool = true;
                #[inline(always)]
                unsafe fn read<S: Simd>(s: S, p: *const Self, n: usize) -> S::F {
                    debug_assert!(is_element::<$type>());
                    // SAFETY: the caller's duty is the same.
                    unsafe { if n == S::LANES { <$type>::load(s, p) } else { load_partial(s, p, n) } }
                }
                #[inline(always)]
                unsafe fn write<S: Simd>(s: S, p: *mut Self, v: S::F, n: usize) {
                    // SAFETY: the caller's duty is the same.
                    unsafe { if n == S::LANES { <$type>::store(s, p, v) } else { store_partial(s, p, v, n) } }
                }
            }
        )*};
    }
    element!(f32 f16 bf16);
    impl Sealed for f64 {
        const IS_ELEMENT: bool = false;
        #[inline(always)]
        unsafe fn read<S: Simd>(s: S, p: *const Self, n: usize) -> S::F {
            let mut lanes = [0.0f32; crate::element::MAX_LANES];
            // SAFETY: the caller vouches for n elements; the array holds a full vector.
            unsafe {
                for (i, lane) in lanes.iter_mut().enumerate().take(n) {
                    *lane = *p.add(i) as f32;
                }
                s.load(lanes.as_ptr())
            }
        }
        #[inline(always)]
        unsafe fn write<S: Simd>(s: S, p: *mut Self, v: S::F, n: usize) {
            let mut lanes = [0.0f32; crate::element::MAX_LANES];
            // SAFETY: the caller vouches for n elements; the array holds a full vector.
            unsafe {
                s.store(lanes.as_mut_ptr(), v);
                for (i, lane) in lanes.iter().enumerate().take(n) {
                    *p.add(i) = f64::from(*lane);
                }
            }
        }
    }
}

impl Convertible for f64 {
    fn to_f64(self) -> f64 {
        self
    }
    fn from_f64(x: f64) -> Self {
        x
    }
}
impl Convertible for f32 {
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn from_f64(x: f64) -> Self {
        x as f32
    }
}
impl Convertible for f16 {
    fn to_f64(self) -> f64 {
        f16::to_f64(self)
    }
    fn from_f64(x: f64) -> Self {
        f16::from_f64(x)
    }
}
impl Convertible for bf16 {
    fn to_f64(self) -> f64 {
        bf16::to_f64(self)
    }
    fn from_f64(x: f64) -> Self {
        bf16::from_f64(x)
    }
}

/// out[i] = x[i], rounded to nearest even; overflow becomes infinity, NaN stays NaN.
///
/// # Errors
/// If the lengths differ.
pub fn convert<A: Convertible, B: Convertible>(cpu: &Cpu, x: &[A], out: &mut [B]) -> Result<()> {
    expect_len("convert", "the length of out", x.len(), out.len())?;
    let to = Shared::new(out.as_mut_ptr());
    split(cpu, x.len(), 2, 64, &|first, last| {
        let n = last - first;
        // SAFETY: both slices have x.len() elements, and this task's part is its own.
        let (x, out) = unsafe { (x.as_ptr().add(first), to.get().add(first)) };
        if A::IS_ELEMENT && B::IS_ELEMENT {
            cpu.dispatch(Part { n, x, out });
        } else {
            for i in 0..n {
                // SAFETY: as above.
                unsafe { *out.add(i) = B::from_f64((*x.add(i)).to_f64()) };
            }
        }
    });
    Ok(())
}

struct Part<A, B> {
    n: usize,
    x: *const A,
    out: *mut B,
}

impl<A: Convertible, B: Convertible> Kernel for Part<A, B> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { n, x, out } = self;
        let mut i = 0;
        while i < n {
            let k = (n - i).min(S::LANES);
            // SAFETY: the caller checked that `n` elements of x and out are there.
            unsafe { B::write(s, out.add(i), A::read(s, x.add(i), k), k) };
            i += k;
        }
    }
}
