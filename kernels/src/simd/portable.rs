//! Plain Rust on four lanes: one register of the baseline x86-64 and aarch64 targets,
//! which the compiler turns into SSE2 and NEON.

use half::{bf16, f16};

use super::{BLOCK, Kernel, Nibbles, Simd};

/// The instance that every machine can run.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

const LANES: usize = 4;
type F = [f32; LANES];

#[inline(always)]
fn each(f: impl Fn(usize) -> f32) -> F {
    std::array::from_fn(f)
}

impl Simd for Portable {
    const LANES: usize = LANES;
    const MR: usize = 4;
    type F = F;
    type Block = [F; BLOCK / LANES];

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }
    #[inline(always)]
    fn prefetch<T>(self, _: *const T) {}
    #[inline(always)]
    fn prefetch_far<T>(self, _: *const T) {}
    #[inline(always)]
    fn splat(self, x: f32) -> F {
        [x; LANES]
    }
    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> F {
        // SAFETY: the caller vouches for LANES elements.
        unsafe { p.cast::<F>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn load_f16(self, p: *const f16) -> F {
        // SAFETY: the caller vouches for LANES elements.
        let v = unsafe { p.cast::<[f16; LANES]>().read_unaligned() };
        each(|i| v[i].to_f32())
    }
    #[inline(always)]
    unsafe fn load_bf16(self, p: *const bf16) -> F {
        // SAFETY: the caller vouches for LANES elements.
        let v = unsafe { p.cast::<[u16; LANES]>().read_unaligned() };
        each(|i| f32::from_bits(u32::from(v[i]) << 16))
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32, v: F) {
        // SAFETY: the caller vouches for LANES elements.
        unsafe { p.cast::<F>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn store_f16(self, p: *mut f16, v: F) {
        // SAFETY: the caller vouches for LANES elements.
        unsafe {
            p.cast::<[f16; LANES]>()
                .write_unaligned(v.map(f16::from_f32))
        }
    }
    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut bf16, v: F) {
        // SAFETY: the caller vouches for LANES elements.
        unsafe {
            p.cast::<[bf16; LANES]>()
                .write_unaligned(v.map(bf16::from_f32))
        }
    }
    #[inline(always)]
    fn add(self, a: F, b: F) -> F {
        each(|i| a[i] + b[i])
    }
    #[inline(always)]
    fn sub(self, a: F, b: F) -> F {
        each(|i| a[i] - b[i])
    }
    #[inline(always)]
    fn mul(self, a: F, b: F) -> F {
        each(|i| a[i] * b[i])
    }
    #[inline(always)]
    fn div(self, a: F, b: F) -> F {
        each(|i| a[i] / b[i])
    }
    #[inline(always)]
    fn fma(self, a: F, b: F, c: F) -> F {
        // `mul_add` calls a slow library function on targets without the instruction.
        if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
            each(|i| a[i].mul_add(b[i], c[i]))
        } else {
            each(|i| a[i] * b[i] + c[i])
        }
    }
    #[inline(always)]
    fn max(self, a: F, b: F) -> F {
        each(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn min(self, a: F, b: F) -> F {
        each(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    fn round(self, a: F) -> F {
        // Adding 1.5 * 2^23 leaves no bits for a fraction.
        const SHIFT: f32 = 12_582_912.0;
        each(|i| (a[i] + SHIFT) - SHIFT)
    }
    #[inline(always)]
    fn pow2(self, n: F) -> F {
        each(|i| f32::from_bits(((n[i] as i32).wrapping_add(127) as u32) << 23))
    }
    #[inline(always)]
    fn abs(self, a: F) -> F {
        each(|i| a[i].abs())
    }
    #[inline(always)]
    fn copysign(self, a: F, sign: F) -> F {
        each(|i| a[i].copysign(sign[i]))
    }
    #[inline(always)]
    fn select_lt(self, a: F, b: F, yes: F, no: F) -> F {
        each(|i| if a[i] < b[i] { yes[i] } else { no[i] })
    }
    #[inline(always)]
    fn unzip(self, a: F, b: F) -> (F, F) {
        ([a[0], a[2], b[0], b[2]], [a[1], a[3], b[1], b[3]])
    }
    #[inline(always)]
    fn reduce_add(self, a: F) -> f32 {
        (a[0] + a[2]) + (a[1] + a[3])
    }
    #[inline(always)]
    fn reduce_max(self, a: F) -> f32 {
        a.into_iter().fold(
            f32::NEG_INFINITY,
            |m, x| if m > x || m.is_nan() { m } else { x },
        )
    }
    #[inline(always)]
    fn zero_block(self) -> Self::Block {
        [[0.0; LANES]; BLOCK / LANES]
    }
    #[inline(always)]
    unsafe fn nibbles(self, table: &Nibbles, p: *const u8) -> Self::Block {
        // SAFETY: the caller vouches for 16 bytes.
        let bytes = unsafe { p.cast::<[u8; BLOCK / 2]>().read_unaligned() };
        std::array::from_fn(|v| {
            each(|i| {
                let byte = bytes[(v * LANES + i) / 2];
                let code = if i % 2 == 0 { byte & 15 } else { byte >> 4 };
                table.values[usize::from(code)]
            })
        })
    }
    #[inline(always)]
    fn nibble_order(self, block: Self::Block) -> Self::Block {
        block
    }
    #[inline(always)]
    unsafe fn int8s(self, p: *const i8) -> Self::Block {
        // SAFETY: the caller vouches for BLOCK integers.
        let codes = unsafe { p.cast::<[i8; BLOCK]>().read_unaligned() };
        std::array::from_fn(|v| each(|i| f32::from(codes[v * LANES + i])))
    }
    #[inline(always)]
    unsafe fn transpose(
        self,
        from: *const f32,
        from_stride: usize,
        to: *mut f32,
        to_stride: usize,
    ) {
        for r in 0..LANES {
            for c in 0..LANES {
                // SAFETY: the caller vouches for LANES rows and columns of both.
                unsafe { *to.add(c * to_stride + r) = *from.add(r * from_stride + c) };
            }
        }
    }
}
