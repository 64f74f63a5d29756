//! The float types that kernels compute with. Memory holds any of them; arithmetic is f32.

use half::{bf16, f16};

use crate::cpu::{
    attention, binary, linear, matmul, norm, ranks, reduce, rope, softmax, swiglu, unary,
};
use crate::isa::Level;
use crate::simd::Simd;

/// A float type of weights, activations and caches: `f32`, `f16` or `bf16`.
///
/// Kernels load elements as f32, accumulate in f32 and round once when they store
/// (to nearest, ties to even).
pub trait Element:
    sealed::Lanes + Copy + Default + PartialEq + Send + Sync + std::fmt::Debug + 'static
{
    /// The type's name.
    const NAME: &'static str;
    /// Half the distance from 1 to the next larger value: the worst relative error of one rounding.
    const UNIT_ROUNDOFF: f64;
    /// The value as f32 (exact).
    fn to_f32(self) -> f32;
    /// The nearest value of this type.
    fn from_f32(x: f32) -> Self;
}

pub(crate) mod sealed {
    use super::{
        Level, Simd, attention, binary, linear, matmul, norm, ranks, reduce, rope, softmax, swiglu,
        unary,
    };

    /// How a vector of f32 lanes is read from and written to memory of this type, and the
    /// kernels of one type.
    ///
    /// The kernels are functions of the trait so that they are compiled here, in this crate,
    /// with its optimisation, whoever calls them with which types.
    pub trait Lanes: Sized {
        /// Reads `S::LANES` elements.
        ///
        /// # Safety
        /// `p` must be valid for reading that many elements.
        unsafe fn load<S: Simd>(s: S, p: *const Self) -> S::F;
        /// Writes `S::LANES` elements.
        ///
        /// # Safety
        /// `p` must be valid for writing that many elements.
        unsafe fn store<S: Simd>(s: S, p: *mut Self, v: S::F);

        fn run_pack(level: Level, kernel: matmul::pack::Pack<Self>);
        fn run_widen(level: Level, kernel: linear::widen::Widen<Self>);
        fn run_arrange(level: Level, kernel: crate::cpu::quant::arrange::Arrange<Self>);
        fn run_dots(level: Level, kernel: linear::stream::Dots<Self>);
        fn run_columns(level: Level, kernel: linear::stream::Columns<Self>);
        fn run_add_row(level: Level, kernel: linear::finish::AddRow<Self>);
        fn run_narrow(level: Level, kernel: linear::finish::Narrow<Self>);
        fn run_attention(level: Level, kernel: attention::task::Task<'_, Self>);
        fn run_unary(level: Level, kernel: unary::row::Row<Self>);
        fn run_binary(level: Level, kernel: binary::row::Row<Self>);
        fn run_softmax(level: Level, kernel: softmax::row::Row<Self>);
        fn run_argmax(level: Level, kernel: reduce::row::Row<Self>) -> usize;
        fn run_norm(level: Level, kernel: norm::row::Row<Self>);
        fn run_rope(level: Level, kernel: rope::token::Token<Self>);
        fn run_swiglu(level: Level, kernel: swiglu::row::Row<Self>);
        fn run_ranks(level: Level, kernel: ranks::row::Row<Self>);
    }
}

/// The most lanes any instruction set has.
pub(crate) const MAX_LANES: usize = 16;

/// Reads `n <= S::LANES` elements; the other lanes are 0.
///
/// # Safety
/// `p` must be valid for reading `n` elements.
#[inline(always)]
pub(crate) unsafe fn load_partial<S: Simd, E: Element>(s: S, p: *const E, n: usize) -> S::F {
    debug_assert!(n <= S::LANES);
    let mut lanes = [E::default(); MAX_LANES];
    // SAFETY: the caller vouches for `n` elements at `p`, and n <= LANES <= MAX_LANES; the array holds a full vector.
    unsafe {
        std::ptr::copy_nonoverlapping(p, lanes.as_mut_ptr(), n);
        E::load(s, lanes.as_ptr())
    }
}

/// Writes the first `n <= S::LANES` lanes.
///
/// # Safety
/// `p` must be valid for writing `n` elements.
#[inline(always)]
pub(crate) unsafe fn store_partial<S: Simd, E: Element>(s: S, p: *mut E, v: S::F, n: usize) {
    debug_assert!(n <= S::LANES);
    let mut lanes = [E::default(); MAX_LANES];
    // SAFETY: the array holds a full vector; the caller vouches for `n` elements at `p`.
    unsafe {
        E::store(s, lanes.as_mut_ptr(), v);
        std::ptr::copy_nonoverlapping(lanes.as_ptr(), p, n);
    }
}

macro_rules! element {
    ($type:ty, $name:literal, $roundoff:expr, $load:ident, $store:ident, $to:expr, $from:expr) => {
        impl Element for $type {
            const NAME: &'static str = $name;
            const UNIT_ROUNDOFF: f64 = $roundoff;
            #[inline(always)]
            fn to_f32(self) -> f32 {
                $to(self)
            }
            #[inline(always)]
            fn from_f32(x: f32) -> Self {
                $from(x)
            }
        }
        impl sealed::Lanes for $type {
            #[inline(always)]
            unsafe fn load<S: Simd>(s: S, p: *const Self) -> S::F {
                // SAFETY: the caller's duty is the same.
                unsafe { s.$load(p) }
            }
            #[inline(always)]
            unsafe fn store<S: Simd>(s: S, p: *mut Self, v: S::F) {
                // SAFETY: the caller's duty is the same.
                unsafe { s.$store(p, v) }
            }
            fn run_pack(level: Level, kernel: matmul::pack::Pack<Self>) {
                level.dispatch(kernel);
            }
            fn run_widen(level: Level, kernel: linear::widen::Widen<Self>) {
                level.dispatch(kernel);
            }
            fn run_arrange(level: Level, kernel: crate::cpu::quant::arrange::Arrange<Self>) {
                level.dispatch(kernel);
            }
            fn run_dots(level: Level, kernel: linear::stream::Dots<Self>) {
                level.dispatch(kernel);
            }
            fn run_columns(level: Level, kernel: linear::stream::Columns<Self>) {
                level.dispatch(kernel);
            }
            fn run_add_row(level: Level, kernel: linear::finish::AddRow<Self>) {
                level.dispatch(kernel);
            }
            fn run_narrow(level: Level, kernel: linear::finish::Narrow<Self>) {
                level.dispatch(kernel);
            }
            fn run_attention(level: Level, kernel: attention::task::Task<'_, Self>) {
                level.dispatch(kernel);
            }
            fn run_unary(level: Level, kernel: unary::row::Row<Self>) {
                level.dispatch(kernel);
            }
            fn run_binary(level: Level, kernel: binary::row::Row<Self>) {
                level.dispatch(kernel);
            }
            fn run_softmax(level: Level, kernel: softmax::row::Row<Self>) {
                level.dispatch(kernel);
            }
            fn run_argmax(level: Level, kernel: reduce::row::Row<Self>) -> usize {
                level.dispatch(kernel)
            }
            fn run_norm(level: Level, kernel: norm::row::Row<Self>) {
                level.dispatch(kernel);
            }
            fn run_rope(level: Level, kernel: rope::token::Token<Self>) {
                level.dispatch(kernel);
            }
            fn run_swiglu(level: Level, kernel: swiglu::row::Row<Self>) {
                level.dispatch(kernel);
            }
            fn run_ranks(level: Level, kernel: ranks::row::Row<Self>) {
                level.dispatch(kernel);
            }
        }
    };
}

// 2^-24, 2^-11 and 2^-8: half a unit in the last of 24, 11 and 8 significant bits.
element!(
    f32,
    "f32",
    5.960_464_477_539_063e-8,
    load,
    store,
    |x| x,
    |x| x
);
element!(
    f16,
    "f16",
    4.882_812_5e-4,
    load_f16,
    store_f16,
    f16::to_f32,
    f16::from_f32
);
element!(
    bf16,
    "bf16",
    3.906_25e-3,
    load_bf16,
    store_bf16,
    bf16::to_f32,
    bf16::from_f32
);
