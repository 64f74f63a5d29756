//! What happens to a block of sums: bias, activation, rounding, store.

use crate::cpu::linear::Epilogue;
use crate::cpu::unary::{UnaryOp, row_in_place};
use crate::element::{Element, load_partial, store_partial};
use crate::simd::Simd;
use crate::view::{MatMut, Shared};

/// The output of a product and its epilogue.
pub(crate) struct Finish<'a, X, W> {
    out: Shared<X>,
    strides: [usize; 2],
    bias: Option<&'a [W]>,
    activation: Option<UnaryOp>,
}

impl<'a, X: Element, W: Element> Finish<'a, X, W> {
    pub(crate) fn new(epilogue: Epilogue<'a, W>, out: &mut MatMut<'_, X>) -> Self {
        let strides = [out.row_stride(), out.col_stride()];
        Self {
            out: Shared::new(out.as_mut_ptr()),
            strides,
            bias: epilogue.bias,
            activation: epilogue.activation,
        }
    }

    /// Stores the sums of `m` rows (`stride` apart) of `n` columns, which it overwrites, at
    /// (row, col) of the output.
    ///
    /// # Safety
    /// The sums must be valid, rounded up to whole vectors per row; the block must be inside
    /// the output and the bias, and no other thread may write there.
    #[inline(always)]
    pub(crate) unsafe fn store<S: Simd>(
        &self,
        s: S,
        sums: *mut f32,
        stride: usize,
        [m, n]: [usize; 2],
        [row, col]: [usize; 2],
    ) {
        let whole = n / S::LANES * S::LANES;
        // SAFETY: the caller vouches for the block.
        unsafe {
            for i in 0..m {
                let sums = sums.add(i * stride);
                if let Some(bias) = self.bias {
                    let bias = bias.as_ptr().add(col);
                    for j in (0..whole).step_by(S::LANES) {
                        s.store(
                            sums.add(j),
                            s.add(s.load(sums.add(j)), W::load(s, bias.add(j))),
                        );
                    }
                    if whole < n {
                        let v = load_partial(s, bias.add(whole), n - whole);
                        s.store(sums.add(whole), s.add(s.load(sums.add(whole)), v));
                    }
                }
                if let Some(op) = self.activation {
                    row_in_place(s, op, n, sums);
                }
                let [row_stride, col_stride] = self.strides;
                let out = self
                    .out
                    .get()
                    .add((row + i) * row_stride + col * col_stride);
                if col_stride != 1 {
                    for j in 0..n {
                        *out.add(j * col_stride) = X::from_f32(*sums.add(j));
                    }
                    continue;
                }
                for j in (0..whole).step_by(S::LANES) {
                    X::store(s, out.add(j), s.load(sums.add(j)));
                }
                if whole < n {
                    store_partial(s, out.add(whole), s.load(sums.add(whole)), n - whole);
                }
            }
        }
    }
}
