//! Writes into a key or value cache: `cache[row(b), h, pos(b) + s, :] = x[b, h, s, :]`, and
//! for tokens of several sequences side by side `cache[row(p), h, pos(p), :] = x[0, h, p, :]`.
//!
//! Layout: x (B, H, S, D) and cache (C, H, M, D), D contiguous. Bound by memory.

use crate::cpu::{Cpu, embedding::check_ids, rows::split};
use crate::error::{KernelError, Result, expect_len};
use crate::view::{HeadsMut, HeadsRef, Shared};

#[cfg(test)]
mod tests;

/// Where each batch entry's first position is.
#[derive(Clone, Copy, Debug)]
pub enum Positions<'a> {
    /// The same for all.
    All(i32),
    /// One for each batch entry.
    Each(&'a [i32]),
}

impl Positions<'_> {
    /// Batch entry `b`'s position.
    #[inline(always)]
    pub(crate) fn of(&self, b: usize) -> i32 {
        match self {
            Self::All(pos) => *pos,
            Self::Each(positions) => positions[b],
        }
    }

    /// Checks that there is one for each of `batch` entries, and that `length` positions from
    /// each on are in `0..limit`.
    pub(crate) fn check(
        &self,
        kernel: &'static str,
        batch: usize,
        length: usize,
        limit: usize,
    ) -> Result<()> {
        if let Self::Each(positions) = self {
            expect_len(kernel, "the number of positions", batch, positions.len())?;
        }
        let first_bad = (limit + 1).saturating_sub(length);
        for b in 0..batch {
            let pos = self.of(b);
            if usize::try_from(pos).map_or(true, |pos| pos >= first_bad) {
                return Err(KernelError::Index {
                    kernel,
                    what: "pos",
                    at: b,
                    value: i64::from(pos),
                    limit: first_bad,
                });
            }
        }
        Ok(())
    }
}

/// Checks a map from batch entries to cache rows, or that there are as many rows as entries.
pub(crate) fn check_rows(
    kernel: &'static str,
    rows: Option<&[i32]>,
    batch: usize,
    cache_rows: usize,
) -> Result<()> {
    match rows {
        None => expect_len(kernel, "the batch of the cache", batch, cache_rows),
        Some(rows) => {
            expect_len(kernel, "the length of rows", batch, rows.len())?;
            check_ids(kernel, "rows", rows, cache_rows)
        }
    }
}

/// The cache row of batch entry `b`.
#[inline(always)]
pub(crate) fn row_of(rows: Option<&[i32]>, b: usize) -> usize {
    rows.map_or(b, |rows| rows[b] as usize)
}

/// `cache[row(b), h, pos(b) + s, :] = x[b, h, s, :]`, with row(b) = `rows[b]`, or b without a map.
/// Where two entries write the same place, the later one stays. Any element type.
///
/// # Errors
/// If shapes differ, or a row or a position (with the S - 1 after it) is outside
/// the cache; then nothing is written.
pub fn write_rows<E: Copy + Send + Sync>(
    cpu: &Cpu,
    x: HeadsRef<'_, E>,
    positions: Positions<'_>,
    rows: Option<&[i32]>,
    mut cache: HeadsMut<'_, E>,
) -> Result<()> {
    const KERNEL: &str = "write_rows";
    let [batch, heads, length, dim] = x.shape();
    let [cache_rows, cache_heads, capacity, cache_dim] = cache.shape();
    expect_len(KERNEL, "the heads of the cache", heads, cache_heads)?;
    expect_len(KERNEL, "the head dimension of the cache", dim, cache_dim)?;
    check_rows(KERNEL, rows, batch, cache_rows)?;
    positions.check(KERNEL, batch, length, capacity)?;
    let to = Shared::new(cache.as_mut_ptr());
    // Split over heads only: entries of one cache row stay in order.
    split(cpu, heads, 2 * batch * length * dim, 1, &|first, last| {
        for b in 0..batch {
            let (row, pos) = (row_of(rows, b), positions.of(b) as usize);
            for h in first..last {
                for s in 0..length {
                    // SAFETY: the views were checked, row and position too; this task's heads are its own.
                    unsafe {
                        let from = x.as_ptr().add(x.offset(b, h, s));
                        std::ptr::copy_nonoverlapping(
                            from,
                            to.get().add(cache.offset(row, h, pos + s)),
                            dim,
                        );
                    }
                }
            }
        }
    });
    Ok(())
}

/// `cache[rows[p], h, positions[p], :] = x[0, h, p, :]`; a token at position -1 is not written.
/// Where two tokens write the same place, the later one stays. Any element type.
///
/// # Errors
/// If shapes differ, a row is outside the cache, or a position neither inside nor -1;
/// then nothing is written.
pub fn write_packed<E: Copy + Send + Sync>(
    cpu: &Cpu,
    x: HeadsRef<'_, E>,
    rows: &[i32],
    positions: &[i32],
    mut cache: HeadsMut<'_, E>,
) -> Result<()> {
    const KERNEL: &str = "write_packed";
    let [batch, heads, tokens, dim] = x.shape();
    let [cache_rows, cache_heads, capacity, cache_dim] = cache.shape();
    expect_len(KERNEL, "the batch of x", 1, batch)?;
    expect_len(KERNEL, "the heads of the cache", heads, cache_heads)?;
    expect_len(KERNEL, "the head dimension of the cache", dim, cache_dim)?;
    check_packed(KERNEL, rows, positions, tokens, cache_rows, capacity)?;
    let to = Shared::new(cache.as_mut_ptr());
    // Split over heads only: tokens for one place stay in order.
    split(cpu, heads, 2 * tokens * dim, 1, &|first, last| {
        for (p, (&row, &pos)) in rows.iter().zip(positions).enumerate() {
            let Ok(pos) = usize::try_from(pos) else {
                continue;
            };
            for h in first..last {
                // SAFETY: the views were checked, row and position too; this task's heads are its own.
                unsafe {
                    let from = x.as_ptr().add(x.offset(0, h, p));
                    let at = cache.offset(row as usize, h, pos);
                    std::ptr::copy_nonoverlapping(from, to.get().add(at), dim);
                }
            }
        }
    });
    Ok(())
}

/// Checks the cache rows and positions of `tokens` tokens: rows in `0..cache_rows`, positions
/// in `-1..capacity`.
pub(crate) fn check_packed(
    kernel: &'static str,
    rows: &[i32],
    positions: &[i32],
    tokens: usize,
    cache_rows: usize,
    capacity: usize,
) -> Result<()> {
    expect_len(kernel, "the length of rows", tokens, rows.len())?;
    expect_len(kernel, "the number of positions", tokens, positions.len())?;
    check_ids(kernel, "rows", rows, cache_rows)?;
    let outside = |&pos: &i32| pos != -1 && usize::try_from(pos).map_or(true, |p| p >= capacity);
    match positions.iter().position(outside) {
        None => Ok(()),
        Some(at) => Err(KernelError::Index {
            kernel,
            what: "pos",
            at,
            value: i64::from(positions[at]),
            limit: capacity,
        }),
    }
}
