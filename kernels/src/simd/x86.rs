//! AVX2 with FMA and F16C (8 lanes), and AVX-512 (16 lanes).

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::{Kernel, Nibbles, Simd};

mod packed;

/// Proof that AVX2, FMA and F16C may be used.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

/// Proof that AVX-512 F, BW, VL and DQ may be used, and all that [`Avx2`] proves.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

impl Avx2 {
    /// The token, if this machine has the instructions.
    pub fn new() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        has.then_some(Self(()))
    }
}

impl Avx512 {
    /// The token, if this machine has the instructions.
    pub fn new() -> Option<Self> {
        let has = Avx2::new().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq");
        has.then_some(Self(()))
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn run_avx2<K: Kernel>(kernel: K, s: Avx2) -> K::Output {
    kernel.run(s)
}

#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq")]
fn run_avx512<K: Kernel>(kernel: K, s: Avx512) -> K::Output {
    kernel.run(s)
}

/// Calls intrinsics. The token `self` is the proof that they may run.
macro_rules! intrinsics {
    ($($body:tt)*) => {
        // SAFETY: `self` exists only where its `new` detected the instruction set, and
        // where a pointer is involved, the caller vouches for LANES elements.
        unsafe { $($body)* }
    };
}

impl Simd for Avx2 {
    const LANES: usize = 8;
    const MR: usize = 6;
    type F = __m256;
    type Block = [__m256; 4];

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        intrinsics! { run_avx2(kernel, self) }
    }
    #[inline(always)]
    fn prefetch<T>(self, p: *const T) {
        intrinsics! { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
    }
    #[inline(always)]
    fn prefetch_far<T>(self, p: *const T) {
        intrinsics! { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        intrinsics! { _mm256_set1_ps(x) }
    }
    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> __m256 {
        intrinsics! { _mm256_loadu_ps(p) }
    }
    #[inline(always)]
    unsafe fn load_f16(self, p: *const f16) -> __m256 {
        intrinsics! { _mm256_cvtph_ps(_mm_loadu_si128(p.cast())) }
    }
    #[inline(always)]
    unsafe fn load_bf16(self, p: *const bf16) -> __m256 {
        intrinsics! {
            let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
        }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32, v: __m256) {
        intrinsics! { _mm256_storeu_ps(p, v) }
    }
    #[inline(always)]
    unsafe fn store_f16(self, p: *mut f16, v: __m256) {
        intrinsics! { _mm_storeu_si128(p.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v)) }
    }
    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut bf16, v: __m256) {
        intrinsics! {
            // Adding 0x7fff, and 1 more where the kept part is odd, rounds to nearest even.
            let bits = _mm256_castps_si256(v);
            let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
            let rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
            // A NaN keeps its upper bits and is made quiet, so that it stays one.
            let quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x0040_0000));
            let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(v, v));
            let kept = _mm256_srli_epi32::<16>(_mm256_blendv_epi8(rounded, quiet, nan));
            let packed = _mm_packus_epi32(_mm256_castsi256_si128(kept), _mm256_extracti128_si256::<1>(kept));
            _mm_storeu_si128(p.cast(), packed);
        }
    }
    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        intrinsics! { _mm256_add_ps(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        intrinsics! { _mm256_sub_ps(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        intrinsics! { _mm256_mul_ps(a, b) }
    }
    #[inline(always)]
    fn div(self, a: __m256, b: __m256) -> __m256 {
        intrinsics! { _mm256_div_ps(a, b) }
    }
    #[inline(always)]
    fn fma(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        intrinsics! { _mm256_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        intrinsics! { _mm256_max_ps(a, b) }
    }
    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        intrinsics! { _mm256_min_ps(a, b) }
    }
    #[inline(always)]
    fn round(self, a: __m256) -> __m256 {
        intrinsics! { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }
    #[inline(always)]
    fn pow2(self, n: __m256) -> __m256 {
        intrinsics! {
            let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
        }
    }
    #[inline(always)]
    fn abs(self, a: __m256) -> __m256 {
        intrinsics! { _mm256_andnot_ps(_mm256_set1_ps(-0.0), a) }
    }
    #[inline(always)]
    fn copysign(self, a: __m256, sign: __m256) -> __m256 {
        intrinsics! {
            let mask = _mm256_set1_ps(-0.0);
            _mm256_or_ps(_mm256_andnot_ps(mask, a), _mm256_and_ps(mask, sign))
        }
    }
    #[inline(always)]
    fn select_lt(self, a: __m256, b: __m256, yes: __m256, no: __m256) -> __m256 {
        intrinsics! { _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_LT_OQ>(a, b)) }
    }
    #[inline(always)]
    fn unzip(self, a: __m256, b: __m256) -> (__m256, __m256) {
        intrinsics! {
            // Within each half two elements of a, then two of b: the middle pairs change places.
            let even = _mm256_castps_pd(_mm256_shuffle_ps::<0b10_00_10_00>(a, b));
            let odd = _mm256_castps_pd(_mm256_shuffle_ps::<0b11_01_11_01>(a, b));
            (
                _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(even)),
                _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(odd)),
            )
        }
    }
    #[inline(always)]
    fn reduce_add(self, a: __m256) -> f32 {
        intrinsics! {
            let four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    fn reduce_max(self, a: __m256) -> f32 {
        intrinsics! {
            if _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(a, a)) != 0 {
                return f32::NAN;
            }
            let four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        }
    }
    #[inline(always)]
    fn zero_block(self) -> Self::Block {
        [self.splat(0.0); 4]
    }
    #[inline(always)]
    unsafe fn nibbles(self, table: &Nibbles, p: *const u8) -> Self::Block {
        intrinsics! { packed::nibbles_avx2(table, p) }
    }
    #[inline(always)]
    fn nibble_order(self, block: Self::Block) -> Self::Block {
        intrinsics! { packed::nibble_order_avx2(block) }
    }
    #[inline(always)]
    unsafe fn int8s(self, p: *const i8) -> Self::Block {
        intrinsics! { packed::int8s_avx2(p) }
    }
    #[inline(always)]
    unsafe fn transpose(
        self,
        from: *const f32,
        from_stride: usize,
        to: *mut f32,
        to_stride: usize,
    ) {
        intrinsics! { packed::transpose_avx2(from, from_stride, to, to_stride) }
    }
}

impl Simd for Avx512 {
    const LANES: usize = 16;
    const MR: usize = 12;
    type F = __m512;
    type Block = [__m512; 2];

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        intrinsics! { run_avx512(kernel, self) }
    }
    #[inline(always)]
    fn prefetch<T>(self, p: *const T) {
        intrinsics! { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
    }
    #[inline(always)]
    fn prefetch_far<T>(self, p: *const T) {
        intrinsics! { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        intrinsics! { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> __m512 {
        intrinsics! { _mm512_loadu_ps(p) }
    }
    #[inline(always)]
    unsafe fn load_f16(self, p: *const f16) -> __m512 {
        intrinsics! { _mm512_cvtph_ps(_mm256_loadu_si256(p.cast())) }
    }
    #[inline(always)]
    unsafe fn load_bf16(self, p: *const bf16) -> __m512 {
        intrinsics! {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(p.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
        }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut f32, v: __m512) {
        intrinsics! { _mm512_storeu_ps(p, v) }
    }
    #[inline(always)]
    unsafe fn store_f16(self, p: *mut f16, v: __m512) {
        intrinsics! { _mm256_storeu_si256(p.cast(), _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v)) }
    }
    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut bf16, v: __m512) {
        intrinsics! {
            // As for AVX2.
            let bits = _mm512_castps_si512(v);
            let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
            let rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
            let quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x0040_0000));
            let nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v);
            let kept = _mm512_srli_epi32::<16>(_mm512_mask_blend_epi32(nan, rounded, quiet));
            _mm256_storeu_si256(p.cast(), _mm512_cvtepi32_epi16(kept));
        }
    }
    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        intrinsics! { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        intrinsics! { _mm512_sub_ps(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        intrinsics! { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        intrinsics! { _mm512_div_ps(a, b) }
    }
    #[inline(always)]
    fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        intrinsics! { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        intrinsics! { _mm512_max_ps(a, b) }
    }
    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        intrinsics! { _mm512_min_ps(a, b) }
    }
    #[inline(always)]
    fn round(self, a: __m512) -> __m512 {
        intrinsics! { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }
    #[inline(always)]
    fn pow2(self, n: __m512) -> __m512 {
        intrinsics! {
            let exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent))
        }
    }
    #[inline(always)]
    fn abs(self, a: __m512) -> __m512 {
        intrinsics! { _mm512_abs_ps(a) }
    }
    #[inline(always)]
    fn copysign(self, a: __m512, sign: __m512) -> __m512 {
        intrinsics! {
            let mask = _mm512_set1_ps(-0.0);
            _mm512_or_ps(_mm512_andnot_ps(mask, a), _mm512_and_ps(mask, sign))
        }
    }
    #[inline(always)]
    fn select_lt(self, a: __m512, b: __m512, yes: __m512, no: __m512) -> __m512 {
        intrinsics! { _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b), no, yes) }
    }
    #[inline(always)]
    fn unzip(self, a: __m512, b: __m512) -> (__m512, __m512) {
        intrinsics! {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
            (_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b))
        }
    }
    #[inline(always)]
    fn reduce_add(self, a: __m512) -> f32 {
        intrinsics! { _mm512_reduce_add_ps(a) }
    }
    #[inline(always)]
    fn reduce_max(self, a: __m512) -> f32 {
        intrinsics! {
            if _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a) != 0 {
                return f32::NAN;
            }
            _mm512_reduce_max_ps(a)
        }
    }
    #[inline(always)]
    fn zero_block(self) -> Self::Block {
        [self.splat(0.0); 2]
    }
    #[inline(always)]
    unsafe fn nibbles(self, table: &Nibbles, p: *const u8) -> Self::Block {
        intrinsics! { packed::nibbles_avx512(table, p) }
    }
    #[inline(always)]
    fn nibble_order(self, block: Self::Block) -> Self::Block {
        intrinsics! { packed::nibble_order_avx512(block) }
    }
    #[inline(always)]
    unsafe fn int8s(self, p: *const i8) -> Self::Block {
        intrinsics! { packed::int8s_avx512(p) }
    }
    #[inline(always)]
    unsafe fn transpose(
        self,
        from: *const f32,
        from_stride: usize,
        to: *mut f32,
        to_stride: usize,
    ) {
        intrinsics! { packed::transpose_avx512(from, from_stride, to, to_stride) }
    }
}
