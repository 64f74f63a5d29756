//! What happens to a block of sums: bias, activation, rounding, store.

use crate::cpu::linear::Epilogue;
use crate::cpu::unary::{self, UnaryOp};
use crate::element::{Element, load_partial, sealed::Lanes, store_partial};
use crate::isa::Level;
use crate::simd::{Kernel, Simd};
use crate::view::{MatMut, Shared};

/// The output of a product and its epilogue.
pub(crate) struct Finish<'a, X, W> {
    level: Level,
    out: Shared<X>,
    strides: [usize; 2],
    bias: Option<&'a [W]>,
    activation: Option<UnaryOp>,
}

impl<'a, X: Element, W: Element> Finish<'a, X, W> {
    pub(crate) fn new(level: Level, epilogue: Epilogue<'a, W>, out: &mut MatMut<'_, X>) -> Self {
        let strides = [out.row_stride(), out.col_stride()];
        let Epilogue { bias, activation } = epilogue;
        Self {
            level,
            out: Shared::new(out.as_mut_ptr()),
            strides,
            bias,
            activation,
        }
    }

    /// Stores the sums of `m` rows (`stride` apart) of `n` columns, which it overwrites, at
    /// (row, col) of the output.
    ///
    /// # Safety
    /// The sums must be valid, rounded up to whole vectors per row; the block must be inside
    /// the output and the bias, and no other thread may write there.
    pub(crate) unsafe fn store(
        &self,
        sums: *mut f32,
        stride: usize,
        [m, n]: [usize; 2],
        [row, col]: [usize; 2],
    ) {
        let [row_stride, col_stride] = self.strides;
        // SAFETY: the caller vouches for the block.
        let (out, bias) = unsafe {
            let out = self.out.get().add(row * row_stride + col * col_stride);
            (out, self.bias.map(|bias| bias.as_ptr().add(col)))
        };
        if let Some(bias) = bias {
            W::run_add_row(
                self.level,
                AddRow {
                    bias,
                    sums,
                    stride,
                    m,
                    n,
                },
            );
        }
        if let Some(op) = self.activation {
            for i in 0..m {
                let row = sums.wrapping_add(i * stride);
                f32::run_unary(
                    self.level,
                    unary::row::Row {
                        op,
                        n,
                        x: row,
                        x_step: 1,
                        out: row,
                        out_step: 1,
                    },
                );
            }
        }
        X::run_narrow(
            self.level,
            Narrow {
                sums,
                stride,
                m,
                n,
                out,
                strides: self.strides,
            },
        );
    }
}

/// sums[i, j] += bias[j] for `m` rows of `n`.
pub struct AddRow<W> {
    bias: *const W,
    sums: *mut f32,
    stride: usize,
    m: usize,
    n: usize,
}

impl<W: Element> Kernel for AddRow<W> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            bias,
            sums,
            stride,
            m,
            n,
        } = self;
        for j in (0..n).step_by(S::LANES) {
            // SAFETY: `Finish::store` passed on what its caller vouches for; sums are whole vectors.
            unsafe {
                let bias = bias.add(j);
                let v = if j + S::LANES <= n {
                    W::load(s, bias)
                } else {
                    load_partial(s, bias, n - j)
                };
                for i in 0..m {
                    let sum = sums.add(i * stride + j);
                    s.store(sum, s.add(s.load(sum), v));
                }
            }
        }
    }
}

/// out[i, j] = sums[i, j], rounded, for `m` rows of `n`.
pub struct Narrow<X> {
    sums: *const f32,
    stride: usize,
    m: usize,
    n: usize,
    out: *mut X,
    strides: [usize; 2],
}

impl<X: Element> Kernel for Narrow<X> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            sums,
            stride,
            m,
            n,
            out,
            strides: [row_stride, col_stride],
        } = self;
        for i in 0..m {
            // SAFETY: `Finish::store` passed on what its caller vouches for; sums are whole vectors.
            unsafe {
                let (sums, out) = (sums.add(i * stride), out.add(i * row_stride));
                if col_stride != 1 {
                    for j in 0..n {
                        *out.add(j * col_stride) = X::from_f32(*sums.add(j));
                    }
                    continue;
                }
                for j in (0..n).step_by(S::LANES) {
                    let v = s.load(sums.add(j));
                    if j + S::LANES <= n {
                        X::store(s, out.add(j), v);
                    } else {
                        store_partial(s, out.add(j), v, n - j);
                    }
                }
            }
        }
    }
}
