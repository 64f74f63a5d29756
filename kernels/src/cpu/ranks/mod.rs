//! The rank of each element of a row: `out[e] = #{o: x[o] > x[e], or x[o] = x[e] and o < e}`.
//!
//! Layout: x, out (R, N), any strides. Every pair is compared, a block of elements against
//! one at a time: N^2 / LANES steps of five operations, which for the few elements of a router
//! beats sorting. A NaN is larger than nothing and nothing is larger than it.

use crate::cpu::{Cpu, rows::split};
use crate::element::Element;
use crate::error::{KernelError, Result, expect_len};
use crate::view::{MatMut, MatRef, Shared};
use row::Row;

pub(crate) mod row;
#[cfg(test)]
mod tests;

/// `out[r, e]` = the place of `x[r, e]` among its row from the largest down, 0 for the largest;
/// of equal elements the one with the lower index comes first.
///
/// # Errors
/// If the shapes differ, or there are more columns than an i32 counts.
pub fn descending_ranks<E: Element>(
    cpu: &Cpu,
    x: MatRef<'_, E>,
    mut out: MatMut<'_, i32>,
) -> Result<()> {
    const KERNEL: &str = "descending_ranks";
    let (rows, n) = (x.rows(), x.cols());
    expect_len(KERNEL, "the rows of out", rows, out.rows())?;
    expect_len(KERNEL, "the columns of out", n, out.cols())?;
    if i32::try_from(n).is_err() {
        return Err(KernelError::Invalid {
            kernel: KERNEL,
            what: "an i32 cannot count the columns",
        });
    }
    let to = Shared::new(out.as_mut_ptr());
    let out = &out;
    split(cpu, rows, n.saturating_mul(n), 1, &|first, last| {
        for r in first..last {
            // SAFETY: the views were checked for row r, and this task's rows are its own.
            let (x_row, out_row) = unsafe {
                (
                    x.as_ptr().add(r * x.row_stride()),
                    to.get().add(r * out.row_stride()),
                )
            };
            E::run_ranks(
                cpu.level,
                Row {
                    n,
                    x: x_row,
                    x_step: x.col_stride(),
                    out: out_row,
                    out_step: out.col_stride(),
                },
            );
        }
    });
    Ok(())
}
