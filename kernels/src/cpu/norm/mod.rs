//! Normalisation of rows.
//!
//! layer_norm: y = (x - mean) / sqrt(var + eps) * w + b, with var the mean of (x - mean)^2
//! rms_norm:   y = x / sqrt(mean(x^2) + eps) * w
//!
//! Layout: x, out (R, H) with contiguous columns; w, b (H). The mean is taken first and
//! the squares of the differences in a second pass over the row, which is then in the
//! L1 cache: no cancellation however large the mean. Bound by memory (one read, one write).

use crate::cpu::{Cpu, rows::split};
use crate::element::Element;
use crate::error::{KernelError, Result, expect_len};
use crate::view::{MatMut, MatRef, Shared};
use row::Row;

pub(crate) mod row;
#[cfg(test)]
mod tests;

/// out = (x - mean) / sqrt(var + eps) * weight + bias, row by row.
///
/// # Errors
/// If shapes differ, or the columns of `x` or `out` are not contiguous.
pub fn layer_norm<E: Element>(
    cpu: &Cpu,
    x: MatRef<'_, E>,
    weight: &[E],
    bias: Option<&[E]>,
    eps: f32,
    out: MatMut<'_, E>,
) -> Result<()> {
    norm(cpu, "layer_norm", x, weight, bias, eps, true, out)
}

/// out = x / sqrt(mean(x^2) + eps) * weight, row by row.
///
/// # Errors
/// If shapes differ, or the columns of `x` or `out` are not contiguous.
pub fn rms_norm<E: Element>(
    cpu: &Cpu,
    x: MatRef<'_, E>,
    weight: &[E],
    eps: f32,
    out: MatMut<'_, E>,
) -> Result<()> {
    norm(cpu, "rms_norm", x, weight, None, eps, false, out)
}

#[allow(clippy::too_many_arguments)]
fn norm<E: Element>(
    cpu: &Cpu,
    kernel: &'static str,
    x: MatRef<'_, E>,
    weight: &[E],
    bias: Option<&[E]>,
    eps: f32,
    centre: bool,
    mut out: MatMut<'_, E>,
) -> Result<()> {
    let (rows, n) = (x.rows(), x.cols());
    expect_len(kernel, "the rows of out", rows, out.rows())?;
    expect_len(kernel, "the columns of out", n, out.cols())?;
    expect_len(kernel, "the length of weight", n, weight.len())?;
    if let Some(bias) = bias {
        expect_len(kernel, "the length of bias", n, bias.len())?;
    }
    require_contiguous_columns(kernel, x.cols(), x.col_stride(), out.col_stride())?;
    if n == 0 {
        return Ok(());
    }
    let to = Shared::new(out.as_mut_ptr());
    split(cpu, rows, 2 * n, 1, &|first, last| {
        for r in first..last {
            // SAFETY: the views were checked for row r, and this task's rows are its own.
            let (x, out) = unsafe {
                (
                    x.as_ptr().add(r * x.row_stride()),
                    to.get().add(r * out.row_stride()),
                )
            };
            E::run_norm(
                cpu.level,
                Row {
                    n,
                    x,
                    weight: weight.as_ptr(),
                    bias: bias.map(<[E]>::as_ptr),
                    eps,
                    centre,
                    out,
                },
            );
        }
    });
    Ok(())
}

/// Checks that rows are contiguous, as the row-wise kernels need.
pub(crate) fn require_contiguous_columns(
    kernel: &'static str,
    cols: usize,
    x: usize,
    out: usize,
) -> Result<()> {
    if cols > 1 && (x != 1 || out != 1) {
        return Err(KernelError::Invalid {
            kernel,
            what: "the columns of x and out must be contiguous (stride 1)",
        });
    }
    Ok(())
}
