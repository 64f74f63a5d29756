//! Parts of a caller's scratch space that start on cache lines.

/// f32 elements in a cache line.
pub(crate) const ALIGN: usize = 16;

/// `n` elements rounded up to whole cache lines.
pub(crate) fn aligned_len(n: usize) -> usize {
    n.next_multiple_of(ALIGN)
}

/// The scratch space from its first cache line on: up to [`ALIGN`] elements less.
pub(crate) fn aligned(scratch: &mut [f32]) -> &mut [f32] {
    let skip = scratch
        .as_ptr()
        .align_offset(ALIGN * size_of::<f32>())
        .min(ALIGN)
        .min(scratch.len());
    &mut scratch[skip..]
}
