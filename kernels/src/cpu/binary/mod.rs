//! Element-wise functions of two arguments: `out[r, c] = f(a[r, c], b[r, c])`.
//!
//! Layout: matrices with any strides; a stride of 0 broadcasts a row
//! ([`MatRef::repeated_row`]), a column or a single value. Rows with contiguous
//! (or broadcast) columns are vectorised. Bound by memory.

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
pub enum BinaryOp {
    /// a + b
    Add,
    /// a - b
    Sub,
    /// a * b
    Mul,
    /// a / b
    Div,
}

impl BinaryOp {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Add, Self::Sub, Self::Mul, Self::Div];
}

/// out = f(a, b), element by element.
///
/// # Errors
/// If the shapes differ.
pub fn binary<E: Element>(
    cpu: &Cpu,
    op: BinaryOp,
    a: MatRef<'_, E>,
    b: MatRef<'_, E>,
    mut out: MatMut<'_, E>,
) -> Result<()> {
    expect_len("binary", "the rows of a", out.rows(), a.rows())?;
    expect_len("binary", "the columns of a", out.cols(), a.cols())?;
    expect_len("binary", "the rows of b", out.rows(), b.rows())?;
    expect_len("binary", "the columns of b", out.cols(), b.cols())?;
    zip(
        cpu,
        op,
        a.as_ptr(),
        [a.row_stride(), a.col_stride()],
        b,
        &mut out,
    );
    Ok(())
}

/// a = f(a, b), element by element.
///
/// # Errors
/// If the shapes differ.
pub fn binary_in_place<E: Element>(
    cpu: &Cpu,
    op: BinaryOp,
    mut a: MatMut<'_, E>,
    b: MatRef<'_, E>,
) -> Result<()> {
    expect_len("binary_in_place", "the rows of b", a.rows(), b.rows())?;
    expect_len("binary_in_place", "the columns of b", a.cols(), b.cols())?;
    let steps = [a.row_stride(), a.col_stride()];
    zip(cpu, op, a.as_mut_ptr(), steps, b, &mut a);
    Ok(())
}

/// `a` may be the data of `out`, with the same strides.
fn zip<E: Element>(
    cpu: &Cpu,
    op: BinaryOp,
    a: *const E,
    a_steps: [usize; 2],
    b: MatRef<'_, E>,
    out: &mut MatMut<'_, E>,
) {
    let (mut rows, mut cols) = (out.rows(), out.cols());
    if rows == 0 || cols == 0 {
        return;
    }
    let mut row_steps = [a_steps[0], b.row_stride(), out.row_stride()];
    let mut steps = [a_steps[1], b.col_stride(), out.col_stride()];
    if cols == 1 {
        steps = [1; 3];
    }
    if steps == [1; 3] && (rows == 1 || row_steps == [cols; 3]) {
        (rows, cols) = (1, rows * cols);
        row_steps = [cols; 3];
    }
    let from = Shared::new(a.cast_mut());
    let to = Shared::new(out.as_mut_ptr());
    let run = |r: usize, first: usize, last: usize| {
        // SAFETY: the views were checked for row r and these columns, which are this task's own.
        let (a, b, out) = unsafe {
            (
                from.get()
                    .cast_const()
                    .add(r * row_steps[0] + first * steps[0]),
                b.as_ptr().add(r * row_steps[1] + first * steps[1]),
                to.get().add(r * row_steps[2] + first * steps[2]),
            )
        };
        E::run_binary(
            cpu.level,
            Row {
                op,
                n: last - first,
                a,
                b,
                out,
                steps,
            },
        );
    };
    if rows == 1 {
        split(cpu, cols, 2, 64, &|first, last| run(0, first, last));
    } else {
        split(cpu, rows, cols * 2, 1, &|first, last| {
            (first..last).for_each(|r| run(r, 0, cols))
        });
    }
}
