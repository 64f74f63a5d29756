//! The bytes behind tensors: owned and aligned, mapped from a file, or static.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::Mmap;

use crate::error::{Error, Result};

/// The alignment of owned storage in bytes: a cache line, and the widest vector register.
pub const ALIGNMENT: usize = 64;

/// Owned bytes that start at a multiple of [`ALIGNMENT`].
pub struct AlignedBytes {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: `AlignedBytes` owns its allocation, as a `Box<[u8]>` does.
unsafe impl Send for AlignedBytes {}
// SAFETY: shared access only reads, as with a `Box<[u8]>`.
unsafe impl Sync for AlignedBytes {}

impl AlignedBytes {
    /// `len` bytes of zero.
    ///
    /// # Errors
    /// If the machine has no room for them.
    pub fn zeroed(len: usize) -> Result<AlignedBytes> {
        let layout = Self::layout(len)?;
        // SAFETY: the layout's size is not zero, see `layout`.
        let start = unsafe { alloc_zeroed(layout) };
        match NonNull::new(start) {
            Some(start) => Ok(AlignedBytes { start, len }),
            None => Err(too_large(len)),
        }
    }

    /// A copy of `bytes`.
    ///
    /// # Errors
    /// As [`AlignedBytes::zeroed`].
    pub fn copy_of(bytes: &[u8]) -> Result<AlignedBytes> {
        let mut owned = Self::zeroed(bytes.len())?;
        owned.as_mut_slice().copy_from_slice(bytes);
        Ok(owned)
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` points to an allocation of at least `len` bytes, all
        // initialised by `zeroed`, that lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The bytes, to write.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// The first byte, for code that manages exclusive access itself.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The layout of `len` bytes; at least one, so that it is never empty.
    fn layout(len: usize) -> Result<Layout> {
        Layout::from_size_align(len.max(1), ALIGNMENT).map_err(|_| too_large(len))
    }
}

fn too_large(len: usize) -> Error {
    Error::TooLarge {
        what: format!("a buffer of {len} bytes"),
    }
}

impl Drop for AlignedBytes {
    fn drop(&mut self) {
        let layout = Self::layout(self.len).expect("the layout was valid when this was allocated");
        // SAFETY: allocated in `zeroed` with this same layout, and dropped once.
        unsafe { dealloc(self.start.as_ptr(), layout) }
    }
}

impl fmt::Debug for AlignedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBytes({})", self.len)
    }
}

/// Where a tensor's bytes live.
#[derive(Debug)]
pub enum Storage {
    /// Owned.
    Owned(AlignedBytes),
    /// A part of a mapped file, which must not change while it is mapped.
    Mapped {
        /// The file.
        file: Arc<Mmap>,
        /// Which of its bytes; inside the file, see [`Storage::mapped`].
        range: Range<usize>,
    },
    /// In the program itself.
    Static(&'static [u8]),
}

impl Storage {
    /// `len` owned bytes of zero.
    ///
    /// # Errors
    /// As [`AlignedBytes::zeroed`].
    pub fn zeroed(len: usize) -> Result<Storage> {
        Ok(Storage::Owned(AlignedBytes::zeroed(len)?))
    }

    /// The bytes `range` of a mapped file, without copying them.
    ///
    /// # Errors
    /// If the range leaves the file.
    pub fn mapped(file: Arc<Mmap>, range: Range<usize>) -> Result<Storage> {
        if range.start > range.end || range.end > file.len() {
            return Err(Error::InvalidTensor {
                reason: format!(
                    "bytes {range:?} lie outside the file of {} bytes",
                    file.len()
                ),
            });
        }
        Ok(Storage::Mapped { file, range })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Storage::Owned(bytes) => bytes.as_slice(),
            Storage::Mapped { file, range } => &file[range.clone()],
            Storage::Static(bytes) => bytes,
        }
    }

    /// The bytes to write; None unless they are owned.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        match self {
            Storage::Owned(bytes) => Some(bytes.as_mut_slice()),
            Storage::Mapped { .. } | Storage::Static(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned_bytes_are_aligned_and_zero() {
        for len in [0, 1, 63, 64, 65, 1000] {
            let bytes = AlignedBytes::zeroed(len).unwrap();
            assert_eq!(bytes.as_slice().as_ptr() as usize % ALIGNMENT, 0);
            assert_eq!(bytes.as_slice().len(), len);
            assert!(bytes.as_slice().iter().all(|&b| b == 0));
        }
        assert_eq!(
            AlignedBytes::copy_of(&[1, 2, 3]).unwrap().as_slice(),
            &[1, 2, 3]
        );
        assert!(AlignedBytes::zeroed(usize::MAX).is_err());
        // Seen by `black_box`, or the allocation could be optimised away.
        let half = std::hint::black_box(AlignedBytes::zeroed(isize::MAX as usize / 2));
        assert!(half.is_err());
    }
}
