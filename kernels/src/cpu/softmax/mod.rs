//! Softmax over rows.
//!
//! ```text
//! softmax:     y[i] = e^(x[i] - max) / sum_j e^(x[j] - max)
//! log_softmax: y[i] = x[i] - max - ln sum_j e^(x[j] - max)
//! ```
//!
//! Layout: (R, N) with contiguous columns. A row with a NaN, or whose largest element
//! is infinite, becomes NaN, as the formula says; elements of -inf get 0 (or -inf).
//! Bound by the exponentials (about 15 operations an element, once; 16-bit types twice).

use crate::cpu::norm::require_contiguous_columns;
use crate::cpu::{Cpu, rows::split};
use crate::element::Element;
use crate::error::{Result, expect_len};
use crate::view::{MatMut, MatRef, Shared};
use row::Row;

pub(crate) mod row;
#[cfg(test)]
mod tests;

/// out = softmax(x), row by row.
///
/// # Errors
/// If the shapes differ, or the columns of `x` or `out` are not contiguous.
pub fn softmax<E: Element>(cpu: &Cpu, x: MatRef<'_, E>, mut out: MatMut<'_, E>) -> Result<()> {
    check("softmax", &x, &out)?;
    rows(cpu, false, x.as_ptr(), x.row_stride(), &mut out);
    Ok(())
}

/// x = softmax(x), row by row.
///
/// # Errors
/// If the columns are not contiguous.
pub fn softmax_in_place<E: Element>(cpu: &Cpu, mut x: MatMut<'_, E>) -> Result<()> {
    check("softmax_in_place", &x.as_ref(), &x)?;
    let row_stride = x.row_stride();
    rows(cpu, false, x.as_mut_ptr(), row_stride, &mut x);
    Ok(())
}

/// out = log_softmax(x), row by row.
///
/// # Errors
/// If the shapes differ, or the columns of `x` or `out` are not contiguous.
pub fn log_softmax<E: Element>(cpu: &Cpu, x: MatRef<'_, E>, mut out: MatMut<'_, E>) -> Result<()> {
    check("log_softmax", &x, &out)?;
    rows(cpu, true, x.as_ptr(), x.row_stride(), &mut out);
    Ok(())
}

fn check<E>(kernel: &'static str, x: &MatRef<'_, E>, out: &MatMut<'_, E>) -> Result<()> {
    expect_len(kernel, "the rows of out", x.rows(), out.rows())?;
    expect_len(kernel, "the columns of out", x.cols(), out.cols())?;
    require_contiguous_columns(kernel, x.cols(), x.col_stride(), out.col_stride())
}

/// `x` may be the data of `out`, with the same strides.
fn rows<E: Element>(cpu: &Cpu, log: bool, x: *const E, x_stride: usize, out: &mut MatMut<'_, E>) {
    let (n_rows, n, out_stride) = (out.rows(), out.cols(), out.row_stride());
    if n == 0 {
        return;
    }
    let from = Shared::new(x.cast_mut());
    let to = Shared::new(out.as_mut_ptr());
    split(cpu, n_rows, 4 * n, 1, &|first, last| {
        for r in first..last {
            // SAFETY: the views were checked for row r, and this task's rows are its own.
            let (x, out) = unsafe {
                (
                    from.get().cast_const().add(r * x_stride),
                    to.get().add(r * out_stride),
                )
            };
            E::run_softmax(cpu.level, Row { n, x, out, log });
        }
    });
}
