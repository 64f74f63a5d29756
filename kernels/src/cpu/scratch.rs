//! Parts of a caller's scratch space that start on cache lines.

/// f32 elements in a cache line.
pub(crate) const ALIGN: usize = 16;

/// `n` elements rounded up to whole cache lines.
pub(crate) fn aligned_len(n: usize) -> usize {
    n.next_multiple_of(ALIGN)
}

/// A distance of at least `n` elements, in whole cache lines, between rows that are used together.
///
/// Rows whose distance is a multiple of 4 KiB share the few places of one set of the L1 cache
/// (64 sets of 64 bytes): eight of them push each other out. A distance of 4 KiB times
/// something plus 256 bytes puts 16 rows side by side.
pub(crate) fn row_stride(n: usize, rows: usize) -> usize {
    if rows == 1 {
        aligned_len(n)
    } else {
        n.next_multiple_of(1024) + 64
    }
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
