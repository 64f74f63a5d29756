//! Where the bytes of a checkpoint lie: in a mapped file, in the program, or in memory.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use crate::error::Result;
use crate::storage::Storage;

/// Read-only bytes that any number of tensors share. A clone costs a reference count.
#[derive(Clone)]
pub struct SharedBytes(Source);

#[derive(Clone)]
enum Source {
    Mapped(Arc<Mmap>),
    Embedded(&'static [u8]),
    Owned(Arc<[u8]>),
}

impl SharedBytes {
    /// Maps a regular file. Pages are read when they are first touched, and the
    /// system may drop them again, so a large checkpoint costs no memory of its own.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened or mapped, or is not a regular file.
    pub fn map(path: &Path) -> io::Result<SharedBytes> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a regular file",
            ));
        }
        if metadata.len() == 0 {
            return Ok(SharedBytes(Source::Embedded(&[])));
        }
        // SAFETY: the map is read-only and private to this process's view of the
        // file. Its contract, which no program can enforce, is the caller's: while
        // a model is loaded, nobody truncates or rewrites its weight files. A file
        // that is replaced by a rename (as downloads are) keeps its old bytes.
        let map = unsafe { Mmap::map(&file)? };
        Ok(SharedBytes(Source::Mapped(Arc::new(map))))
    }

    /// These of the bytes as the storage of a tensor, without a copy. None for
    /// bytes in memory, which belong to whoever opened them.
    ///
    /// # Errors
    ///
    /// When the range leaves the bytes.
    pub(crate) fn storage(&self, range: Range<usize>) -> Result<Option<Storage>> {
        match &self.0 {
            Source::Mapped(map) => Storage::mapped(Arc::clone(map), range).map(Some),
            Source::Embedded(bytes) => Ok(bytes.get(range).map(Storage::Static)),
            Source::Owned(_) => Ok(None),
        }
    }

    /// Whether the bytes are a mapped file.
    pub fn is_mapped(&self) -> bool {
        matches!(self.0, Source::Mapped(_))
    }
}

impl From<&'static [u8]> for SharedBytes {
    fn from(bytes: &'static [u8]) -> SharedBytes {
        SharedBytes(Source::Embedded(bytes))
    }
}

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> SharedBytes {
        SharedBytes(Source::Owned(bytes.into()))
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Source::Mapped(map) => map,
            Source::Embedded(bytes) => bytes,
            Source::Owned(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0 {
            Source::Mapped(_) => "mapped",
            Source::Embedded(_) => "embedded",
            Source::Owned(_) => "owned",
        };
        write!(f, "SharedBytes({kind}, {} bytes)", self.len())
    }
}
