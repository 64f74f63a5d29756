//! One vector trait, instantiated per instruction set.
//!
//! A kernel is written once over [`Simd`]. Holding a value of an instance is the
//! proof that its instructions may run: only `new` makes one, after detection.
//! A kernel becomes code for the instance by [`Simd::vectorize`], a function with
//! the instruction set enabled into which everything else is inlined; so every
//! function that takes an `S: Simd` is `#[inline(always)]`.

use half::{bf16, f16};

pub(crate) mod math;
mod nibbles;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use nibbles::{BLOCK, Nibbles, SHIFTED_NIBBLES};
pub(crate) use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

/// Code that can be compiled for every instruction set.
pub trait Kernel {
    /// What it returns.
    type Output;
    /// Runs it. Implementations are `#[inline(always)]`.
    fn run<S: Simd>(self, s: S) -> Self::Output;
}

/// A vector of f32 lanes and what kernels do with it.
pub trait Simd: Copy + Send + Sync + 'static {
    /// The number of lanes: a power of two, at most `element::MAX_LANES`.
    const LANES: usize;
    /// Rows of a register tile of the matrix product, see `cpu::matmul`.
    const MR: usize;
    /// `LANES` values.
    type F: Copy;
    /// [`BLOCK`] values as vectors.
    type Block: Copy + AsRef<[Self::F]> + AsMut<[Self::F]>;

    /// Runs a kernel with the instruction set enabled.
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output;

    /// Asks for the cache line at `p`, which may be any address.
    fn prefetch<T>(self, p: *const T);
    /// The same, but not as far as the first cache: for what is needed a while later.
    fn prefetch_far<T>(self, p: *const T);
    /// All lanes `x`.
    fn splat(self, x: f32) -> Self::F;
    /// Reads `LANES` elements.
    ///
    /// # Safety
    /// `p` must be valid for reading that many elements, at any alignment.
    unsafe fn load(self, p: *const f32) -> Self::F;
    /// Reads `LANES` elements.
    ///
    /// # Safety
    /// As for `load`.
    unsafe fn load_f16(self, p: *const f16) -> Self::F;
    /// Reads `LANES` elements.
    ///
    /// # Safety
    /// As for `load`.
    unsafe fn load_bf16(self, p: *const bf16) -> Self::F;
    /// Writes `LANES` elements.
    ///
    /// # Safety
    /// `p` must be valid for writing that many elements, at any alignment.
    unsafe fn store(self, p: *mut f32, v: Self::F);
    /// Writes `LANES` elements, rounded to nearest even.
    ///
    /// # Safety
    /// As for `store`.
    unsafe fn store_f16(self, p: *mut f16, v: Self::F);
    /// Writes `LANES` elements, rounded to nearest even.
    ///
    /// # Safety
    /// As for `store`.
    unsafe fn store_bf16(self, p: *mut bf16, v: Self::F);

    /// a + b
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    /// a - b
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// a * b
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// a / b
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// a * b + c, rounded once where the instruction exists, else twice.
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// The larger; b if either is NaN.
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// The smaller; b if either is NaN.
    fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// The nearest integer, ties to even; lanes are below 2^22 in magnitude, or NaN.
    fn round(self, a: Self::F) -> Self::F;
    /// 2^n for integers -126 <= n <= 127; any value for NaN.
    fn pow2(self, n: Self::F) -> Self::F;
    /// The magnitude.
    fn abs(self, a: Self::F) -> Self::F;
    /// The magnitude of `a` with the sign of `sign`.
    fn copysign(self, a: Self::F, sign: Self::F) -> Self::F;
    /// `yes` where a < b, else (also for NaN) `no`.
    fn select_lt(self, a: Self::F, b: Self::F, yes: Self::F, no: Self::F) -> Self::F;
    /// The even and the odd elements of `a` and `b` in a row.
    fn unzip(self, a: Self::F, b: Self::F) -> (Self::F, Self::F);
    /// The sum of the lanes, in an order that only depends on `LANES`.
    fn reduce_add(self, a: Self::F) -> f32;
    /// The largest lane; NaN if any lane is.
    fn reduce_max(self, a: Self::F) -> f32;

    /// A block of zeros.
    fn zero_block(self) -> Self::Block;
    /// Decodes 16 bytes of two codes each by a table. The values come in the order that
    /// `nibble_order` gives a block in which the low code of byte i is element 2 i.
    ///
    /// # Safety
    /// `p` must be valid for reading 16 bytes.
    unsafe fn nibbles(self, table: &Nibbles, p: *const u8) -> Self::Block;
    /// The same elements in the order in which `nibbles` results in them.
    fn nibble_order(self, block: Self::Block) -> Self::Block;
    /// Reads [`BLOCK`] integers.
    ///
    /// # Safety
    /// `p` must be valid for reading that many.
    unsafe fn int8s(self, p: *const i8) -> Self::Block;
    /// Writes LANES by LANES elements with rows and columns exchanged: row r of `from` (they
    /// are `from_stride` apart) becomes column r of `to`.
    ///
    /// # Safety
    /// `from` must be valid for reading these elements, `to` for writing them, and they must
    /// not overlap.
    unsafe fn transpose(self, from: *const f32, from_stride: usize, to: *mut f32, to_stride: usize);
}
