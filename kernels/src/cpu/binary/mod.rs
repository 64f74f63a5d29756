//! Element-wise functions of two arguments: out[r, c] = f(a[r, c], b[r, c]).
//!
//! Layout: matrices with any strides; a stride of 0 broadcasts a row
//! ([`MatRef::repeated_row`]), a column or a single value. Rows with contiguous
//! (or broadcast) columns are vectorised. Bound by memory.

use crate::cpu::{Cpu, rows::split};
use crate::element::{Element, load_partial, store_partial};
use crate::error::{Result, expect_len};
use crate::simd::{Kernel, Simd};
use crate::view::{MatMut, MatRef, Shared};

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
        cpu.dispatch(Row {
            op,
            n: last - first,
            a,
            b,
            out,
            steps,
        });
    };
    if rows == 1 {
        split(cpu, cols, 2, 64, &|first, last| run(0, first, last));
    } else {
        split(cpu, rows, cols * 2, 1, &|first, last| {
            (first..last).for_each(|r| run(r, 0, cols))
        });
    }
}

struct Row<E> {
    op: BinaryOp,
    n: usize,
    a: *const E,
    b: *const E,
    out: *mut E,
    steps: [usize; 3],
}

impl<E: Element> Kernel for Row<E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match self.op {
            BinaryOp::Add => self.each(s, |a, b| s.add(a, b)),
            BinaryOp::Sub => self.each(s, |a, b| s.sub(a, b)),
            BinaryOp::Mul => self.each(s, |a, b| s.mul(a, b)),
            BinaryOp::Div => self.each(s, |a, b| s.div(a, b)),
        }
    }
}

impl<E: Element> Row<E> {
    #[inline(always)]
    fn each<S: Simd>(&self, s: S, f: impl Fn(S::F, S::F) -> S::F) {
        let Self {
            n,
            a,
            b,
            out,
            steps,
            ..
        } = *self;
        // SAFETY: the caller of this kernel checked that `n` elements at these steps are inside the views;
        // each element of `a` is read before the one of `out` is written.
        unsafe {
            let fast = steps[2] == 1 && steps[0] <= 1 && steps[1] <= 1;
            if !fast {
                for i in 0..n {
                    let (x, y) = (
                        load_partial(s, a.add(i * steps[0]), 1),
                        load_partial(s, b.add(i * steps[1]), 1),
                    );
                    store_partial(s, out.add(i * steps[2]), f(x, y), 1);
                }
                return;
            }
            let fetch = |p: *const E, step: usize, i: usize| {
                if step == 1 {
                    E::load(s, p.add(i))
                } else {
                    s.splat((*p).to_f32())
                }
            };
            let fetch_last = |p: *const E, step: usize, i: usize| {
                if step == 1 {
                    load_partial(s, p.add(i), n - i)
                } else {
                    s.splat((*p).to_f32())
                }
            };
            let whole = n / S::LANES * S::LANES;
            for i in (0..whole).step_by(S::LANES) {
                E::store(
                    s,
                    out.add(i),
                    f(fetch(a, steps[0], i), fetch(b, steps[1], i)),
                );
            }
            if whole < n {
                let v = f(
                    fetch_last(a, steps[0], whole),
                    fetch_last(b, steps[1], whole),
                );
                store_partial(s, out.add(whole), v, n - whole);
            }
        }
    }
}
