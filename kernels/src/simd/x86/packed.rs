//! Decoding of packed weights on AVX2 and AVX-512.
//!
//! Callers of these functions hold the token of the instruction set.

use std::arch::x86_64::*;

use super::super::Nibbles;

/// 16 bytes become 32 values in ten operations: the codes as bytes (the low ones in the lower
/// half of a register, the high ones in the upper), the two bytes of bf16 of each by a table,
/// both side by side, and of each pair of bf16 the first shifted up and the second left alone.
///
/// # Safety
/// AVX2; `p` must be valid for reading 16 bytes.
#[inline(always)]
pub(super) unsafe fn nibbles_avx2(table: &Nibbles, p: *const u8) -> [__m256; 4] {
    // SAFETY: the caller's duty; the tables have 16 bytes.
    unsafe {
        let both = _mm256_broadcastsi128_si256(_mm_loadu_si128(p.cast()));
        let halves = _mm256_srlv_epi32(both, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4));
        let codes = _mm256_and_si256(halves, _mm256_set1_epi8(15));
        let high = _mm256_broadcastsi128_si256(_mm_load_si128(table.high.as_ptr().cast()));
        let low = _mm256_broadcastsi128_si256(_mm_load_si128(table.low.as_ptr().cast()));
        let high = _mm256_shuffle_epi8(high, codes);
        let low = _mm256_shuffle_epi8(low, codes);
        let first = _mm256_unpacklo_epi8(low, high);
        let second = _mm256_unpackhi_epi8(low, high);
        let upper = _mm256_set1_epi32(0xffff_0000_u32 as i32);
        [
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(first)),
            _mm256_castsi256_ps(_mm256_and_si256(first, upper)),
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(second)),
            _mm256_castsi256_ps(_mm256_and_si256(second, upper)),
        ]
    }
}

/// Elements 0 4 8 12 1 5 9 13, then 2 6 10 14 3 7 11 15, then the same of the second 16.
///
/// # Safety
/// AVX2.
#[inline(always)]
pub(super) unsafe fn nibble_order_avx2([a, b, c, d]: [__m256; 4]) -> [__m256; 4] {
    // SAFETY: the caller's duty.
    unsafe {
        let [a, b] = nibble_order_half(a, b);
        let [c, d] = nibble_order_half(c, d);
        [a, b, c, d]
    }
}

/// # Safety
/// AVX2.
#[inline(always)]
unsafe fn nibble_order_half(a: __m256, b: __m256) -> [__m256; 2] {
    // SAFETY: the caller's duty.
    unsafe {
        // 0 4 1 5 2 6 3 7, and the same of b.
        let pairs = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let a = _mm256_castps_pd(_mm256_permutevar8x32_ps(a, pairs));
        let b = _mm256_castps_pd(_mm256_permutevar8x32_ps(b, pairs));
        // 0 4 8 12 2 6 10 14 and 1 5 9 13 3 7 11 15.
        let even = _mm256_castpd_ps(_mm256_unpacklo_pd(a, b));
        let odd = _mm256_castpd_ps(_mm256_unpackhi_pd(a, b));
        [
            _mm256_permute2f128_ps::<0x20>(even, odd),
            _mm256_permute2f128_ps::<0x31>(even, odd),
        ]
    }
}

/// # Safety
/// AVX2; `p` must be valid for reading 32 integers.
#[inline(always)]
pub(super) unsafe fn int8s_avx2(p: *const i8) -> [__m256; 4] {
    let eight = |i: usize| p.wrapping_add(8 * i).cast();
    let [p0, p1, p2, p3] = [eight(0), eight(1), eight(2), eight(3)];
    // SAFETY: the caller's duty.
    unsafe {
        [
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(p0))),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(p1))),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(p2))),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(p3))),
        ]
    }
}

/// Four by four within halves of registers whose upper halves hold rows 4 to 7.
///
/// # Safety
/// AVX2; see `Simd::transpose`.
#[inline(always)]
pub(super) unsafe fn transpose_avx2(
    from: *const f32,
    from_stride: usize,
    to: *mut f32,
    to_stride: usize,
) {
    // SAFETY: the caller's duty.
    unsafe {
        for c in [0, 4] {
            let mut rows = [_mm256_setzero_ps(); 4];
            for (r, row) in rows.iter_mut().enumerate() {
                let low = _mm_loadu_ps(from.add(r * from_stride + c));
                let high = _mm_loadu_ps(from.add((r + 4) * from_stride + c));
                *row = _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high);
            }
            let [a, b, c0, d] = rows;
            let ab_low = _mm256_castps_pd(_mm256_unpacklo_ps(a, b));
            let ab_high = _mm256_castps_pd(_mm256_unpackhi_ps(a, b));
            let cd_low = _mm256_castps_pd(_mm256_unpacklo_ps(c0, d));
            let cd_high = _mm256_castps_pd(_mm256_unpackhi_ps(c0, d));
            let columns = [
                _mm256_unpacklo_pd(ab_low, cd_low),
                _mm256_unpackhi_pd(ab_low, cd_low),
                _mm256_unpacklo_pd(ab_high, cd_high),
                _mm256_unpackhi_pd(ab_high, cd_high),
            ];
            for (i, column) in columns.iter().enumerate() {
                _mm256_storeu_ps(to.add((c + i) * to_stride), _mm256_castpd_ps(*column));
            }
        }
    }
}

/// 16 bytes become 32 values in four operations: the table is one register.
///
/// # Safety
/// AVX-512 F; `p` must be valid for reading 16 bytes.
#[inline(always)]
pub(super) unsafe fn nibbles_avx512(table: &Nibbles, p: *const u8) -> [__m512; 2] {
    // SAFETY: the caller's duty; the table has 16 values.
    unsafe {
        let values = _mm512_loadu_ps(table.values.as_ptr());
        // The permutation reads four bits of each index.
        let low = _mm512_cvtepu8_epi32(_mm_loadu_si128(p.cast()));
        let high = _mm512_srli_epi32::<4>(low);
        [
            _mm512_permutexvar_ps(low, values),
            _mm512_permutexvar_ps(high, values),
        ]
    }
}

/// The even elements, then the odd ones.
///
/// # Safety
/// AVX-512 F.
#[inline(always)]
pub(super) unsafe fn nibble_order_avx512([a, b]: [__m512; 2]) -> [__m512; 2] {
    // SAFETY: the caller's duty.
    unsafe {
        let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        [
            _mm512_permutex2var_ps(a, even, b),
            _mm512_permutex2var_ps(a, odd, b),
        ]
    }
}

/// # Safety
/// AVX-512 F; `p` must be valid for reading 32 integers.
#[inline(always)]
pub(super) unsafe fn int8s_avx512(p: *const i8) -> [__m512; 2] {
    // SAFETY: the caller's duty.
    unsafe {
        let (a, b) = (_mm_loadu_si128(p.cast()), _mm_loadu_si128(p.add(16).cast()));
        [
            _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(a)),
            _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(b)),
        ]
    }
}

/// Four by four within quarters of registers, of which quarter l holds rows 4 l to 4 l + 3.
///
/// # Safety
/// AVX-512 F; see `Simd::transpose`.
#[inline(always)]
pub(super) unsafe fn transpose_avx512(
    from: *const f32,
    from_stride: usize,
    to: *mut f32,
    to_stride: usize,
) {
    // SAFETY: the caller's duty.
    unsafe {
        for c in [0, 4, 8, 12] {
            let mut rows = [_mm512_setzero_ps(); 4];
            for (r, row) in rows.iter_mut().enumerate() {
                let at = from.add(r * from_stride + c);
                let v = _mm512_castps128_ps512(_mm_loadu_ps(at));
                let v = _mm512_insertf32x4::<1>(v, _mm_loadu_ps(at.add(4 * from_stride)));
                let v = _mm512_insertf32x4::<2>(v, _mm_loadu_ps(at.add(8 * from_stride)));
                *row = _mm512_insertf32x4::<3>(v, _mm_loadu_ps(at.add(12 * from_stride)));
            }
            let [a, b, c0, d] = rows;
            let ab_low = _mm512_castps_pd(_mm512_unpacklo_ps(a, b));
            let ab_high = _mm512_castps_pd(_mm512_unpackhi_ps(a, b));
            let cd_low = _mm512_castps_pd(_mm512_unpacklo_ps(c0, d));
            let cd_high = _mm512_castps_pd(_mm512_unpackhi_ps(c0, d));
            let columns = [
                _mm512_unpacklo_pd(ab_low, cd_low),
                _mm512_unpackhi_pd(ab_low, cd_low),
                _mm512_unpacklo_pd(ab_high, cd_high),
                _mm512_unpackhi_pd(ab_high, cd_high),
            ];
            for (i, column) in columns.iter().enumerate() {
                _mm512_storeu_ps(to.add((c + i) * to_stride), _mm512_castpd_ps(*column));
            }
        }
    }
}
