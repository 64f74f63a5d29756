//! MXFP4: blocks of 32 codes of four bits (E2M1), two to a byte, the even element in the low
//! half, with a power of two (E8M0) for each block.

use crate::cpu::{Cpu, rows::split};
use crate::error::{KernelError, Result, expect_len};
use crate::isa::Level;
use crate::simd::BLOCK;
use crate::view::Shared;

use super::format::{E2M1, E8M0, Layout, Mxfp4Codes};
use super::product::Weights;

/// Bytes of a block's codes.
const BYTES: usize = BLOCK / 2;

/// Matrices of MXFP4 weights: blocks (E, O, I / 32, 16) and scales (E, O, I / 32).
#[derive(Clone, Copy, Debug)]
pub struct Mxfp4<'a> {
    blocks: &'a [u8],
    scales: &'a [u8],
    /// (E, O, I / 32).
    shape: [usize; 3],
}

impl<'a> Mxfp4<'a> {
    /// `shape = [matrices, outputs, blocks]`.
    ///
    /// # Errors
    /// If a slice has another length than the shape says.
    pub fn new(blocks: &'a [u8], scales: &'a [u8], shape: [usize; 3]) -> Result<Self> {
        const KERNEL: &str = "Mxfp4::new";
        let n = shape
            .iter()
            .try_fold(1usize, |n, &axis| n.checked_mul(axis))
            .filter(|n| n.checked_mul(BYTES).is_some());
        let Some(n) = n else {
            return Err(KernelError::Invalid {
                kernel: KERNEL,
                what: "the shape has more elements than memory",
            });
        };
        expect_len(KERNEL, "the number of scales", n, scales.len())?;
        expect_len(KERNEL, "the bytes of the blocks", n * BYTES, blocks.len())?;
        Ok(Self {
            blocks,
            scales,
            shape,
        })
    }

    /// Weights of these lengths without any bytes, to plan with.
    pub(crate) fn of_lengths(matrices: usize, outputs: usize, inner: usize) -> Self {
        Self {
            blocks: &[],
            scales: &[],
            shape: [matrices, outputs, inner / BLOCK],
        }
    }

    /// The number of matrices.
    pub fn matrices(&self) -> usize {
        self.shape[0]
    }

    /// Rows of each matrix.
    pub fn outputs(&self) -> usize {
        self.shape[1]
    }

    /// Columns of each matrix.
    pub fn inner(&self) -> usize {
        self.shape[2] * BLOCK
    }
}

impl Weights for Mxfp4<'_> {
    type Format = Mxfp4Codes;

    fn layout(&self) -> Layout {
        Layout {
            segment: BLOCK,
            segments: self.shape[2],
        }
    }
    fn codes(&self) -> *const u8 {
        self.blocks.as_ptr()
    }
    fn strip_scratch(&self, _: usize) -> usize {
        0
    }
    unsafe fn format(&self, _: Level, _: (usize, usize), _: *mut f32) -> Mxfp4Codes {
        Mxfp4Codes {
            scales: self.scales.as_ptr(),
        }
    }
    fn factors(&self, _: usize) -> *const f32 {
        std::ptr::null()
    }
}

/// The values of blocks (N, 16) with scales (N), exactly: out (N, 32). Bound by memory.
///
/// # Errors
/// If the lengths differ.
pub fn dequantize(cpu: &Cpu, blocks: &[u8], scales: &[u8], out: &mut [f32]) -> Result<()> {
    const KERNEL: &str = "mxfp4 dequantize";
    let n = scales.len();
    let lengths = n.checked_mul(BLOCK).map(|elements| (n * BYTES, elements));
    let (bytes, elements) = lengths.unwrap_or((usize::MAX, usize::MAX));
    expect_len(KERNEL, "the bytes of the blocks", bytes, blocks.len())?;
    expect_len(KERNEL, "the length of out", elements, out.len())?;
    let out = Shared::new(out.as_mut_ptr());
    split(cpu, n, BLOCK, 1, &|first, last| {
        let blocks = &blocks[first * BYTES..last * BYTES];
        // SAFETY: out has BLOCK elements for each scale, and these are this task's own.
        let out = unsafe {
            std::slice::from_raw_parts_mut(out.get().add(first * BLOCK), (last - first) * BLOCK)
        };
        dequantize_part(blocks, &scales[first..last], out);
    });
    Ok(())
}

fn dequantize_part(blocks: &[u8], scales: &[u8], out: &mut [f32]) {
    let (blocks, _) = blocks.as_chunks::<BYTES>();
    let (out, _) = out.as_chunks_mut::<BLOCK>();
    for ((block, &scale), out) in blocks.iter().zip(scales).zip(out) {
        let scale = E8M0[usize::from(scale)];
        for (byte, pair) in block.iter().zip(out.as_chunks_mut::<2>().0) {
            *pair = [byte & 15, byte >> 4].map(|code| E2M1.values[usize::from(code)] * scale);
        }
    }
}
