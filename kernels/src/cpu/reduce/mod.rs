//! The place of the largest element of a row.
//!
//! Layout: (R, N), any strides; contiguous rows are vectorised: one pass finds the largest
//! element of each block and remembers the first block that has it, then that block is
//! searched. Bound by memory.

use crate::cpu::{Cpu, rows::split};
use crate::element::Element;
use crate::error::{KernelError, Result, expect_len};
use crate::view::{MatRef, Shared};
use row::Row;

pub(crate) mod row;
#[cfg(test)]
mod tests;

/// `out[r]` = the first index of the largest element of row r; of the first NaN, if there is one
/// (so that a caller who looks at the element notices).
///
/// # Errors
/// If the lengths differ, or there are rows but no columns, or more columns than an i32 counts.
pub fn argmax_rows<E: Element>(cpu: &Cpu, x: MatRef<'_, E>, out: &mut [i32]) -> Result<()> {
    const KERNEL: &str = "argmax_rows";
    expect_len(KERNEL, "the length of out", x.rows(), out.len())?;
    if x.rows() > 0 && x.cols() == 0 {
        return Err(KernelError::Invalid {
            kernel: KERNEL,
            what: "a row without columns has no largest element",
        });
    }
    if i32::try_from(x.cols()).is_err() {
        return Err(KernelError::Invalid {
            kernel: KERNEL,
            what: "an i32 cannot count the columns",
        });
    }
    let to = Shared::new(out.as_mut_ptr());
    split(cpu, x.rows(), x.cols(), 1, &|first, last| {
        for r in first..last {
            // SAFETY: the view was checked for row r, and this task's rows are its own.
            unsafe {
                let row = x.as_ptr().add(r * x.row_stride());
                *to.get().add(r) = E::run_argmax(
                    cpu.level,
                    Row {
                        x: row,
                        n: x.cols(),
                        stride: x.col_stride(),
                    },
                ) as i32;
            }
        }
    });
    Ok(())
}
