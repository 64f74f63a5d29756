//! What distinguishes the formats of packed weights, and where their codes lie.

use crate::isa::Level;
use crate::simd::{BLOCK, Nibbles, SHIFTED_NIBBLES, Simd};

use super::stream::Stream;
use super::unpack::Unpack;

/// A row of weights: `segments` runs of `segment` elements, each with a scale of its own. The
/// kernels take a segment in blocks of [`BLOCK`] elements, of which the last may be shorter.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub segment: usize,
    pub segments: usize,
}

impl Layout {
    /// Blocks in a segment.
    #[inline(always)]
    pub(crate) fn blocks_per_segment(self) -> usize {
        self.segment.div_ceil(BLOCK)
    }

    /// Blocks in a row.
    pub(crate) fn blocks(self) -> usize {
        self.segments * self.blocks_per_segment()
    }

    /// Elements in a row.
    pub(crate) fn elements(self) -> usize {
        self.segments * self.segment
    }
}

/// A format of packed weights: how a block is decoded, and what scales it.
///
/// A segment is named by its number among all segments of all rows. The two kernels are
/// functions of the trait so that they are compiled in this crate.
pub trait Format: Copy + Send + Sync + 'static {
    /// Whether elements come in the order of `Simd::nibble_order`, else in their own.
    const NIBBLES: bool;
    /// Whether each segment is one whole block, whatever the layout says of its length.
    const ONE_BLOCK: bool;
    /// Whether segments have scales. Rows of the others are one segment.
    const SCALED: bool;
    /// Weights in a panel are this many times too small.
    const PANEL_FACTOR: f32;

    /// Bytes of `n` elements, an even number if two of them make a byte.
    #[inline(always)]
    fn bytes(n: usize) -> usize {
        if Self::NIBBLES { n / 2 } else { n }
    }

    /// The codes of a block as f32.
    ///
    /// # Safety
    /// `p` must be valid for the bytes of a block, and there must be such a segment.
    unsafe fn decode<S: Simd>(self, s: S, segment: usize, p: *const u8) -> S::Block;

    /// What the sum over a segment is multiplied with.
    ///
    /// # Safety
    /// There must be such a segment.
    unsafe fn scale(self, segment: usize) -> f32;

    /// The scale of the segment's weights in a panel: `scale / PANEL_FACTOR`.
    ///
    /// # Safety
    /// There must be such a segment.
    #[inline(always)]
    unsafe fn panel_scale(self, segment: usize) -> f32 {
        // SAFETY: the caller's duty is the same.
        unsafe { self.scale(segment) }
    }

    fn run_stream(level: Level, kernel: Stream<Self>);
    fn run_unpack(level: Level, kernel: Unpack<Self>);
}

/// Compiles a format's kernels.
macro_rules! kernels {
    () => {
        fn run_stream(level: Level, kernel: Stream<Self>) {
            level.dispatch(kernel);
        }
        fn run_unpack(level: Level, kernel: Unpack<Self>) {
            level.dispatch(kernel);
        }
    };
}

/// MXFP4: 32 codes E2M1 and a power of two.
#[derive(Clone, Copy, Debug)]
pub struct Mxfp4Codes {
    /// One exponent for each segment.
    pub scales: *const u8,
}

/// The values of the codes: a sign, two bits of exponent and one of mantissa.
pub(crate) static E2M1: Nibbles = Nibbles::new([
    0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0,
]);

/// `2^(scale - 127 - lower)`, and NaN for 255.
const fn powers(lower: u32) -> [f32; 256] {
    let mut powers = [f32::NAN; 256];
    let mut scale = 0;
    while scale < 255 {
        let exponent = scale as i32 - lower as i32;
        powers[scale] = f32::from_bits(if exponent > 0 {
            (exponent as u32) << 23
        } else {
            // Below the smallest normal power, 2^-126, the mantissa's bits halve.
            (1 << 22) >> -exponent
        });
        scale += 1;
    }
    powers
}

/// `2^(scale - 127)`, and NaN for 255.
pub(crate) static E8M0: [f32; 256] = powers(0);
/// A fourth of it: no code times this is infinite, and each product is exact.
static E8M0_LOWER: [f32; 256] = powers(2);

// SAFETY: the pointer is only read, inside a call that holds the slice it is from.
unsafe impl Send for Mxfp4Codes {}
// SAFETY: as above.
unsafe impl Sync for Mxfp4Codes {}

impl Format for Mxfp4Codes {
    const NIBBLES: bool = true;
    const ONE_BLOCK: bool = true;
    const SCALED: bool = true;
    const PANEL_FACTOR: f32 = 4.0;

    #[inline(always)]
    unsafe fn decode<S: Simd>(self, s: S, _: usize, p: *const u8) -> S::Block {
        // SAFETY: the caller's duty is the same.
        unsafe { s.nibbles(&E2M1, p) }
    }
    #[inline(always)]
    unsafe fn scale(self, segment: usize) -> f32 {
        // SAFETY: the caller vouches for the segment.
        E8M0[usize::from(unsafe { *self.scales.add(segment) })]
    }
    #[inline(always)]
    unsafe fn panel_scale(self, segment: usize) -> f32 {
        // SAFETY: the caller vouches for the segment.
        E8M0_LOWER[usize::from(unsafe { *self.scales.add(segment) })]
    }
    kernels!();
}

/// Whole numbers of 8 bits.
#[derive(Clone, Copy, Debug)]
pub struct Int8Codes;

impl Format for Int8Codes {
    const NIBBLES: bool = false;
    const ONE_BLOCK: bool = false;
    const SCALED: bool = false;
    const PANEL_FACTOR: f32 = 1.0;

    #[inline(always)]
    unsafe fn decode<S: Simd>(self, s: S, _: usize, p: *const u8) -> S::Block {
        // SAFETY: the caller's duty is the same.
        unsafe { s.int8s(p.cast()) }
    }
    #[inline(always)]
    unsafe fn scale(self, _: usize) -> f32 {
        1.0
    }
    kernels!();
}

/// Whole numbers of 4 bits in two's complement.
#[derive(Clone, Copy, Debug)]
pub struct Int4Codes;

static INT4: Nibbles = Nibbles::new([
    0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0,
]);

impl Format for Int4Codes {
    const NIBBLES: bool = true;
    const ONE_BLOCK: bool = false;
    const SCALED: bool = false;
    const PANEL_FACTOR: f32 = 1.0;

    #[inline(always)]
    unsafe fn decode<S: Simd>(self, s: S, _: usize, p: *const u8) -> S::Block {
        // SAFETY: the caller's duty is the same.
        unsafe { s.nibbles(&INT4, p) }
    }
    #[inline(always)]
    unsafe fn scale(self, _: usize) -> f32 {
        1.0
    }
    kernels!();
}

/// Whole numbers 0 to 15 with a zero point and a scale for each segment.
#[derive(Clone, Copy, Debug)]
pub struct Int4GroupCodes {
    pub zeros: *const u8,
    /// May point anywhere as long as the segments that are asked for are inside.
    pub scales: *const f32,
}

// SAFETY: as for `Mxfp4Codes`.
unsafe impl Send for Int4GroupCodes {}
// SAFETY: as above.
unsafe impl Sync for Int4GroupCodes {}

impl Format for Int4GroupCodes {
    const NIBBLES: bool = true;
    const ONE_BLOCK: bool = false;
    const SCALED: bool = true;
    const PANEL_FACTOR: f32 = 1.0;

    #[inline(always)]
    unsafe fn decode<S: Simd>(self, s: S, segment: usize, p: *const u8) -> S::Block {
        // SAFETY: the caller vouches for the segment and the bytes.
        unsafe { s.nibbles(&SHIFTED_NIBBLES[usize::from(*self.zeros.add(segment))], p) }
    }
    #[inline(always)]
    unsafe fn scale(self, segment: usize) -> f32 {
        // SAFETY: the caller vouches for the segment.
        unsafe { *self.scales.wrapping_add(segment) }
    }
    kernels!();
}

/// Decodes the first `n` elements of a block; the others have any finite value.
///
/// # Safety
/// `p` must be valid for the bytes of `n` elements, and there must be such a segment.
#[inline(always)]
pub(crate) unsafe fn decode_partial<S: Simd, F: Format>(
    s: S,
    format: F,
    segment: usize,
    p: *const u8,
    n: usize,
) -> S::Block {
    let mut bytes = [0u8; BLOCK];
    // SAFETY: the caller vouches for the bytes of n <= BLOCK elements, and the copy has a block's.
    unsafe {
        std::ptr::copy_nonoverlapping(p, bytes.as_mut_ptr(), F::bytes(n));
        format.decode(s, segment, bytes.as_ptr())
    }
}
