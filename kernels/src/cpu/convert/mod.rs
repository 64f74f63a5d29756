//! Conversion between float types: `out[i] = x[i]`, rounded to nearest even.
//!
//! f32, f16, bf16 and f64 in any combination; f64 to a 16-bit type is rounded once.
//! Bound by memory, but for f64 to a 16-bit type or f64, which goes element by element.

use half::{bf16, f16};

use crate::cpu::{Cpu, rows::split};
use crate::element::{Element, MAX_LANES, load_partial, sealed::Lanes, store_partial};
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
    use super::Simd;

    /// How the type is read and written as lanes of f32.
    pub trait Sealed: Sized {
        /// Significant bits.
        const BITS: u32;
        /// Reads `n <= LANES` elements, rounded to f32 (exact but for f64).
        ///
        /// # Safety
        /// They must be valid for reading.
        unsafe fn read<S: Simd>(s: S, p: *const Self, n: usize) -> S::F;
        /// Writes the first `n <= LANES` lanes.
        ///
        /// # Safety
        /// They must be valid for writing.
        unsafe fn write<S: Simd>(s: S, p: *mut Self, v: S::F, n: usize);
    }
}

macro_rules! element {
    ($type:ty, $bits:literal, $from:expr) => {
        impl Convertible for $type {
            fn to_f64(self) -> f64 {
                f64::from(self.to_f32())
            }
            fn from_f64(x: f64) -> Self {
                $from(x)
            }
        }
        impl sealed::Sealed for $type {
            const BITS: u32 = $bits;
            #[inline(always)]
            unsafe fn read<S: Simd>(s: S, p: *const Self, n: usize) -> S::F {
                // SAFETY: the caller's duty is the same.
                unsafe {
                    if n == S::LANES {
                        <$type>::load(s, p)
                    } else {
                        load_partial(s, p, n)
                    }
                }
            }
            #[inline(always)]
            unsafe fn write<S: Simd>(s: S, p: *mut Self, v: S::F, n: usize) {
                // SAFETY: the caller's duty is the same.
                unsafe {
                    if n == S::LANES {
                        <$type>::store(s, p, v)
                    } else {
                        store_partial(s, p, v, n)
                    }
                }
            }
        }
    };
}
element!(f32, 24, |x| x as f32);
element!(f16, 11, |x| f16::from_f32(to_odd(x)));
element!(bf16, 8, |x| bf16::from_f32(to_odd(x)));

/// x as f32, rounded to odd: toward zero, and with the last bit set if that was inexact. Rounding
/// the result to fewer bits gives what rounding x itself gives.
fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    if back == x || x.is_nan() {
        return near;
    }
    // Bits of a magnitude count upwards, infinity after the largest finite value.
    let toward_zero = near.to_bits() - u32::from(back.abs() > x.abs());
    f32::from_bits(toward_zero | 1)
}

impl Convertible for f64 {
    fn to_f64(self) -> f64 {
        self
    }
    fn from_f64(x: f64) -> Self {
        x
    }
}

impl sealed::Sealed for f64 {
    const BITS: u32 = 53;
    #[inline(always)]
    unsafe fn read<S: Simd>(s: S, p: *const Self, n: usize) -> S::F {
        let mut lanes = [0.0f32; MAX_LANES];
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
        let mut lanes = [0.0f32; MAX_LANES];
        // SAFETY: the caller vouches for n elements; the array holds a full vector.
        unsafe {
            s.store(lanes.as_mut_ptr(), v);
            for (i, lane) in lanes.iter().enumerate().take(n) {
                *p.add(i) = f64::from(*lane);
            }
        }
    }
}

/// `out[i] = x[i]`, rounded to nearest even; overflow becomes infinity, NaN stays NaN.
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
        // By way of f32, unless that would round twice, or where neither is f32.
        if A::BITS <= 24 || B::BITS == 24 {
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
