//! Strided copies: what a permuted or sliced view becomes when it must be contiguous.
//!
//! Layout: any two sets of strides over one shape of up to 8 axes. Bound by memory; rows
//! whose last axis is contiguous on both sides are moved whole, transposes in tiles.

use crate::cpu::{Cpu, rows::split};
use crate::error::{KernelError, Result, expect_len};
use crate::view::{MAX_RANK, Shared, distinct, extent};

#[cfg(test)]
mod tests;

/// `out[i, ..] = x[i, ..]` for all indices of `shape`. Strides count elements; those of x may be 0.
///
/// # Errors
/// If the numbers of axes differ or are above [`MAX_RANK`], a view reaches past its
/// slice, or the strides of `out` name an element twice.
pub fn copy_strided<T: Copy + Send + Sync>(
    cpu: &Cpu,
    shape: &[usize],
    x: &[T],
    x_strides: &[usize],
    out: &mut [T],
    out_strides: &[usize],
) -> Result<()> {
    const KERNEL: &str = "copy_strided";
    expect_len(
        KERNEL,
        "the number of strides of x",
        shape.len(),
        x_strides.len(),
    )?;
    expect_len(
        KERNEL,
        "the number of strides of out",
        shape.len(),
        out_strides.len(),
    )?;
    if shape.len() > MAX_RANK {
        return Err(KernelError::Invalid {
            kernel: KERNEL,
            what: "a tensor has at most 8 axes",
        });
    }
    for (what, strides, len) in [("x", x_strides, x.len()), ("out", out_strides, out.len())] {
        let needed = extent(shape, strides).unwrap_or(usize::MAX);
        if needed > len {
            return Err(KernelError::OutOfBounds {
                kernel: KERNEL,
                what,
                needed,
                len,
            });
        }
    }
    if !distinct(shape, out_strides) {
        return Err(KernelError::Aliased {
            kernel: KERNEL,
            what: "out",
        });
    }
    if shape.contains(&0) {
        return Ok(());
    }

    // Axes of length 1 go; neighbours that are one axis on both sides become one.
    let mut axes = [(1usize, 0usize, 0usize); MAX_RANK];
    let mut rank = 0;
    for ((&n, &from), &to) in shape.iter().zip(x_strides).zip(out_strides) {
        if n == 1 {
            continue;
        }
        if rank > 0 {
            let (m, outer_from, outer_to) = axes[rank - 1];
            if outer_from == n * from && outer_to == n * to {
                axes[rank - 1] = (m * n, from, to);
                continue;
            }
        }
        axes[rank] = (n, from, to);
        rank += 1;
    }
    // The two innermost axes are the loop body, the others are counted.
    let (inner, outer_axes) = match rank {
        0 => ([(1, 0, 0), (1, 0, 0)], &axes[..0]),
        1 => ([(1, 0, 0), axes[0]], &axes[..0]),
        _ => ([axes[rank - 2], axes[rank - 1]], &axes[..rank - 2]),
    };
    let planes: usize = outer_axes.iter().map(|a| a.0).product();
    let [(rows, row_from, row_to), (cols, col_from, col_to)] = inner;
    let to = Shared::new(out.as_mut_ptr());
    let run = |plane: usize, rows: (usize, usize), cols: (usize, usize)| {
        let (mut rest, mut x_at, mut out_at) = (plane, 0, 0);
        for &(n, from, to) in outer_axes.iter().rev() {
            x_at += rest % n * from;
            out_at += rest % n * to;
            rest /= n;
        }
        let block = Block {
            rows: (rows.1 - rows.0, row_from, row_to),
            cols: (cols.1 - cols.0, col_from, col_to),
        };
        x_at += rows.0 * row_from + cols.0 * col_from;
        out_at += rows.0 * row_to + cols.0 * col_to;
        // SAFETY: both views were checked for all indices of the shape, and tasks have different indices.
        unsafe { block.copy(x.as_ptr().add(x_at), to.get().add(out_at)) };
    };
    if planes > 1 {
        split(cpu, planes, 2 * rows * cols, 1, &|a, b| {
            (a..b).for_each(|p| run(p, (0, rows), (0, cols)))
        });
    } else if rows > 1 {
        split(cpu, rows, 2 * cols, TILE, &|a, b| run(0, (a, b), (0, cols)));
    } else {
        split(cpu, cols, 2, 64, &|a, b| run(0, (0, 1), (a, b)));
    }
    Ok(())
}

/// Rows and columns of a tile of a transpose: 16 rows of 16 elements touch 16 cache
/// lines on each side, which stay in the L1 cache while the tile is moved.
const TILE: usize = 16;

/// Length, stride of x and stride of out for the rows and the columns.
struct Block {
    rows: (usize, usize, usize),
    cols: (usize, usize, usize),
}

impl Block {
    /// # Safety
    /// All elements of the block must be valid for reading at `x` and for writing at `out`.
    unsafe fn copy<T: Copy>(&self, x: *const T, out: *mut T) {
        let (rows, row_from, row_to) = self.rows;
        let (cols, col_from, col_to) = self.cols;
        // SAFETY: every access is within the block that the caller vouches for.
        unsafe {
            if col_from == 1 && col_to == 1 {
                for r in 0..rows {
                    std::ptr::copy_nonoverlapping(x.add(r * row_from), out.add(r * row_to), cols);
                }
                return;
            }
            for r0 in (0..rows).step_by(TILE) {
                for c0 in (0..cols).step_by(TILE) {
                    for r in r0..(r0 + TILE).min(rows) {
                        for c in c0..(c0 + TILE).min(cols) {
                            *out.add(r * row_to + c * col_to) = *x.add(r * row_from + c * col_from);
                        }
                    }
                }
            }
        }
    }
}
