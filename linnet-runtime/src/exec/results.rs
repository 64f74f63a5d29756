//! Buffers of results, used again once the program has dropped what it got.

use std::sync::Arc;

use crate::error::Result;
use crate::storage::Storage;

/// Buffers kept for later results. A program that holds on to more results than
/// this at a time pays for new ones.
const KEPT: usize = 16;

/// Buffers of earlier results.
#[derive(Debug, Default)]
pub(super) struct Results {
    kept: Vec<Arc<Storage>>,
}

impl Results {
    /// Appends to `taken` an unshared buffer for each size, not larger than twice that.
    pub(super) fn take(&mut self, sizes: &[usize], taken: &mut Vec<Arc<Storage>>) -> Result<()> {
        for &size in sizes {
            let mut best: Option<(usize, usize)> = None;
            for (i, storage) in self.kept.iter_mut().enumerate() {
                let Some(bytes) = Arc::get_mut(storage).and_then(Storage::bytes_mut) else {
                    continue;
                };
                let n = bytes.len();
                if n >= size && n <= 2 * size.max(64) && best.is_none_or(|(_, least)| n < least) {
                    best = Some((i, n));
                }
            }
            taken.push(match best {
                Some((i, _)) => self.kept.swap_remove(i),
                None => Arc::new(Storage::zeroed(size)?),
            });
        }
        Ok(())
    }

    /// Keeps the buffers for later; drops the oldest if there are too many.
    pub(super) fn put_back(&mut self, taken: &mut Vec<Arc<Storage>>) {
        for storage in taken.drain(..) {
            if self.kept.len() == KEPT {
                self.kept.remove(0);
            }
            self.kept.push(storage);
        }
    }
}
