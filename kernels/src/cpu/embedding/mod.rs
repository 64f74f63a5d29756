//! Rows of a table by id: `out[i, :] = table[ids[i], :]`.
//!
//! Layout: ids (R), table (V, H), out (R, H), columns contiguous. Bound by memory.

use crate::cpu::linear::widen::Widen;
use crate::cpu::norm::require_contiguous_columns;
use crate::cpu::{Cpu, rows::split};
use crate::element::Element;
use crate::error::{KernelError, Result, expect_len};
use crate::view::{MatMut, MatRef, Shared};

#[cfg(test)]
mod tests;

/// `out[i, :] = table[ids[i], :]`. Any element type; nothing is written if an id is out of range.
///
/// # Errors
/// If the shapes differ, columns are not contiguous, or an id is not in `0..V`
/// ([`KernelError::Index`] with its place and value).
pub fn embedding<E: Copy + Send + Sync>(
    cpu: &Cpu,
    ids: &[i32],
    table: MatRef<'_, E>,
    mut out: MatMut<'_, E>,
) -> Result<()> {
    const KERNEL: &str = "embedding";
    expect_len(KERNEL, "the rows of out", ids.len(), out.rows())?;
    expect_len(KERNEL, "the columns of out", table.cols(), out.cols())?;
    require_contiguous_columns(KERNEL, table.cols(), table.col_stride(), out.col_stride())?;
    check_ids(KERNEL, "ids", ids, table.rows())?;
    let (n, out_stride) = (table.cols(), out.row_stride());
    let to = Shared::new(out.as_mut_ptr());
    split(cpu, ids.len(), 2 * n, 1, &|first, last| {
        for (i, &id) in ids.iter().enumerate().take(last).skip(first) {
            // SAFETY: the id was checked, so both rows are inside their views; this task's rows of out are its own.
            unsafe {
                let row = table.as_ptr().add(id as usize * table.row_stride());
                std::ptr::copy_nonoverlapping(row, to.get().add(i * out_stride), n);
            }
        }
    });
    Ok(())
}

/// The same from a table of any float type to f32.
///
/// # Errors
/// As [`embedding`].
pub fn embedding_widened<E: Element>(
    cpu: &Cpu,
    ids: &[i32],
    table: MatRef<'_, E>,
    mut out: MatMut<'_, f32>,
) -> Result<()> {
    const KERNEL: &str = "embedding";
    expect_len(KERNEL, "the rows of out", ids.len(), out.rows())?;
    expect_len(KERNEL, "the columns of out", table.cols(), out.cols())?;
    require_contiguous_columns(KERNEL, table.cols(), table.col_stride(), out.col_stride())?;
    check_ids(KERNEL, "ids", ids, table.rows())?;
    let (n, out_stride) = (table.cols(), out.row_stride());
    let to = Shared::new(out.as_mut_ptr());
    split(cpu, ids.len(), 2 * n, 1, &|first, last| {
        for (i, &id) in ids.iter().enumerate().take(last).skip(first) {
            // The id was checked, so both rows are inside their views; this task's rows of out are its own.
            let widen = Widen {
                x: table
                    .as_ptr()
                    .wrapping_add(id as usize * table.row_stride()),
                strides: [n, 1],
                rows: 1,
                cols: n,
                out: to.get().wrapping_add(i * out_stride),
                out_stride: n,
            };
            E::run_widen(cpu.level, widen);
        }
    });
    Ok(())
}

/// Checks that every id is in `0..limit`.
pub(crate) fn check_ids(
    kernel: &'static str,
    what: &'static str,
    ids: &[i32],
    limit: usize,
) -> Result<()> {
    match ids
        .iter()
        .position(|&id| usize::try_from(id).map_or(true, |id| id >= limit))
    {
        None => Ok(()),
        Some(at) => Err(KernelError::Index {
            kernel,
            what,
            at,
            value: i64::from(ids[at]),
            limit,
        }),
    }
}
