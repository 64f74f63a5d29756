//! The clamped SwiGLU: `out[i] = (up + 1) gate / (1 + e^(-alpha gate))` with
//! `gate = min(x[2i], limit)` and `up = x[2i + 1]` clamped to -limit..limit.
//!
//! Layout: x (R, 2 I) and out (R, I), columns contiguous; gate and up side by side. A NaN in
//! either makes the result NaN. Bound by the exponential (about 25 operations a result).

use crate::cpu::norm::require_contiguous_columns;
use crate::cpu::{Cpu, rows::split};
use crate::element::Element;
use crate::error::{Result, expect_len};
use crate::view::{MatMut, MatRef, Shared};
use row::Row;

pub(crate) mod row;
#[cfg(test)]
mod tests;

/// out = (up + 1) gate sigmoid(alpha gate), row by row, with gate at most `limit` and up in
/// `-limit..=limit`.
///
/// # Errors
/// If x does not have the rows of out and twice its columns, or columns are not contiguous.
pub fn clamped_swiglu<E: Element>(
    cpu: &Cpu,
    x: MatRef<'_, E>,
    alpha: f32,
    limit: f32,
    mut out: MatMut<'_, E>,
) -> Result<()> {
    const KERNEL: &str = "clamped_swiglu";
    let (mut rows, mut n) = (out.rows(), out.cols());
    expect_len(KERNEL, "the rows of x", rows, x.rows())?;
    expect_len(KERNEL, "the columns of x", n.saturating_mul(2), x.cols())?;
    require_contiguous_columns(KERNEL, x.cols(), x.col_stride(), out.col_stride())?;
    if rows == 0 || n == 0 {
        return Ok(());
    }
    let (mut x_step, mut out_step) = (x.row_stride(), out.row_stride());
    if rows == 1 || x_step == 2 * n && out_step == n {
        // One row of all: its parts can be of any length.
        n *= rows;
        (x_step, out_step, rows) = (2 * n, n, 1);
    }
    let to = Shared::new(out.as_mut_ptr());
    // A task is a part of the one row, or whole rows.
    let (units, cost, align) = if rows == 1 {
        (n, 4, 64)
    } else {
        (rows, 4 * n, 1)
    };
    split(cpu, units, cost, align, &|first, last| {
        let (rows, columns) = if rows == 1 {
            (0..1, first..last)
        } else {
            (first..last, 0..n)
        };
        for r in rows {
            // SAFETY: the views were checked for these columns of row r, which are this task's own.
            let (x, out) = unsafe {
                (
                    x.as_ptr().add(r * x_step + 2 * columns.start),
                    to.get().add(r * out_step + columns.start),
                )
            };
            E::run_swiglu(
                cpu.level,
                Row {
                    n: columns.len(),
                    x,
                    out,
                    alpha,
                    limit,
                },
            );
        }
    });
    Ok(())
}
