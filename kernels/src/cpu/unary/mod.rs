//! Element-wise functions of one argument: `out[i] = f(x[i])`.
//!
//! Layout: matrices with any strides; rows with contiguous columns are vectorised.
//! Bound by memory for `Relu`, by the FMA units for those with an exponential
//! (about 20 operations an element).

use crate::cpu::{Cpu, rows::split};
use crate::element::Element;
use crate::error::{Result, expect_len};
use crate::view::{MatMut, MatRef, Shared};
use row::Row;

pub(crate) mod row;
#[cfg(test)]
mod tests;

/// The function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnaryOp {
    /// x / 2 * (1 + tanh(0.7978845608 (x + 0.044715 x^3)))
    Gelu,
    /// x / (1 + e^-x)
    Silu,
    /// max(x, 0); NaN for NaN.
    Relu,
    /// 1 / (1 + e^-x)
    Sigmoid,
    /// tanh x
    Tanh,
    /// e^x
    Exp,
}

impl UnaryOp {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Gelu,
        Self::Silu,
        Self::Relu,
        Self::Sigmoid,
        Self::Tanh,
        Self::Exp,
    ];
}

/// out = f(x), element by element.
///
/// # Errors
/// If the shapes differ.
pub fn unary<E: Element>(
    cpu: &Cpu,
    op: UnaryOp,
    x: MatRef<'_, E>,
    mut out: MatMut<'_, E>,
) -> Result<()> {
    expect_len("unary", "the rows of out", x.rows(), out.rows())?;
    expect_len("unary", "the columns of out", x.cols(), out.cols())?;
    map(
        cpu,
        op,
        x.as_ptr(),
        [x.row_stride(), x.col_stride()],
        &mut out,
    );
    Ok(())
}

/// x = f(x), element by element.
pub fn unary_in_place<E: Element>(cpu: &Cpu, op: UnaryOp, mut x: MatMut<'_, E>) {
    let steps = [x.row_stride(), x.col_stride()];
    map(cpu, op, x.as_mut_ptr(), steps, &mut x);
}

/// `x` may be the data of `out`, with the same strides.
fn map<E: Element>(
    cpu: &Cpu,
    op: UnaryOp,
    x: *const E,
    x_steps: [usize; 2],
    out: &mut MatMut<'_, E>,
) {
    let (mut rows, mut cols) = (out.rows(), out.cols());
    if rows == 0 || cols == 0 {
        return;
    }
    let mut steps = [x_steps[0], x_steps[1], out.row_stride(), out.col_stride()];
    let contiguous = (cols == 1 || (steps[1] == 1 && steps[3] == 1))
        && (rows == 1 || (steps[0] == cols && steps[2] == cols));
    if contiguous {
        (rows, cols) = (1, rows * cols);
        steps = [cols, 1, cols, 1];
    }
    let from = Shared::new(x.cast_mut());
    let to = Shared::new(out.as_mut_ptr());
    if rows == 1 {
        split(cpu, cols, 1, 64, &|first, last| {
            // SAFETY: the views were checked for one row of `cols`, and this task's columns are its own.
            let (x, out) = unsafe {
                (
                    from.get().cast_const().add(first * steps[1]),
                    to.get().add(first * steps[3]),
                )
            };
            E::run_unary(
                cpu.level,
                Row {
                    op,
                    n: last - first,
                    x,
                    x_step: steps[1],
                    out,
                    out_step: steps[3],
                },
            );
        });
        return;
    }
    split(cpu, rows, cols, 1, &|first, last| {
        for r in first..last {
            // SAFETY: the views were checked for row r, and this task's rows are its own.
            let (x, out) = unsafe {
                (
                    from.get().cast_const().add(r * steps[0]),
                    to.get().add(r * steps[2]),
                )
            };
            E::run_unary(
                cpu.level,
                Row {
                    op,
                    n: cols,
                    x,
                    x_step: steps[1],
                    out,
                    out_step: steps[3],
                },
            );
        }
    });
}
