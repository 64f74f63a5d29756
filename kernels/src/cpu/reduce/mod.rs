//! The place of the largest element.

use crate::cpu::{Cpu, rows::split};
use crate::element::Element;
use crate::error::{KernelError, Result, expect_len};
use crate::view::{MatRef, Shared};

#[cfg(test)]
mod tests;

/// out[r] = the first index of the largest element of row r; of the first NaN, if there is one
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
                *to.get().add(r) =
                    argmax(x.as_ptr().add(r * x.row_stride()), x.cols(), x.col_stride())
            };
        }
    });
    Ok(())
}

/// # Safety
/// `n` elements at that stride must be valid for reading.
unsafe fn argmax<E: Element>(x: *const E, n: usize, stride: usize) -> i32 {
    let mut best = 0;
    let mut largest = f32::NEG_INFINITY;
    for i in 0..n {
        // SAFETY: the caller vouches for the elements.
        let v = unsafe { *x.add(i * stride) }.to_f32();
        if v.is_nan() {
            return i as i32;
        }
        if v > largest {
            (best, largest) = (i, v);
        }
    }
    best as i32
}
