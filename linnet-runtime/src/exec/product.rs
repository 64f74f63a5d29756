//! Running matrix products.

use half::{bf16, f16};
use linnet_kernels::matmul::matmul;
use linnet_kernels::{MatMut, MatRef};

use super::Machine;
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::plan::product::{Matrix, Product};

impl Product {
    /// Computes every batch.
    ///
    /// # Safety
    /// The buffers that `machine` has for the three roots must hold every
    /// element that the product reaches, and the result's may not overlap the
    /// factors'. The scratch buffer must hold what was planned.
    pub(crate) unsafe fn run(&self, machine: &Machine<'_>, scratch: &mut [f32]) -> Result<()> {
        // SAFETY: the caller's duty is the same.
        unsafe {
            match self.c.dtype {
                DType::F16 => self.run_as::<f16, f16>(machine, scratch),
                DType::BF16 => self.run_as::<bf16, bf16>(machine, scratch),
                _ => match self.b.dtype {
                    DType::F16 => self.run_as::<f32, f16>(machine, scratch),
                    DType::BF16 => self.run_as::<f32, bf16>(machine, scratch),
                    _ => self.run_as::<f32, f32>(machine, scratch),
                },
            }
        }
    }

    unsafe fn run_as<A, B>(&self, machine: &Machine<'_>, scratch: &mut [f32]) -> Result<()>
    where
        A: Element + linnet_kernels::Element,
        B: Element + linnet_kernels::Element,
    {
        let offset = |matrix: &Matrix| {
            let dynamic: usize = matrix
                .dynamic
                .iter()
                .map(|d| machine.scalars[d.scalar].to_i64() as usize * d.stride)
                .sum();
            matrix.offset + dynamic
        };
        let length = |rows: usize, cols: usize, matrix: &Matrix| {
            (rows - 1) * matrix.row_stride + (cols - 1) * matrix.col_stride + 1
        };
        let base = |matrix: &Matrix| machine.bases[matrix.root];
        let a = base(&self.a).cast::<A>().wrapping_add(offset(&self.a));
        let b = base(&self.b).cast::<B>().wrapping_add(offset(&self.b));
        let c = base(&self.c).cast::<A>().wrapping_add(offset(&self.c));
        let batches: usize = self.batches.iter().map(|axis| axis.extent).product();
        for batch in 0..batches {
            let (mut rest, mut a_offset, mut b_offset, mut c_offset) = (batch, 0, 0, 0);
            for axis in self.batches.iter().rev() {
                let i = rest % axis.extent;
                rest /= axis.extent;
                a_offset += i * axis.a_stride;
                b_offset += i * axis.b_stride;
                c_offset += i * axis.c_stride;
            }
            // SAFETY: the caller's duty: these are the elements that this batch
            // reaches, and the result overlaps neither factor.
            let (a, b, c) = unsafe {
                (
                    std::slice::from_raw_parts(a.add(a_offset), length(self.m, self.k, &self.a)),
                    std::slice::from_raw_parts(b.add(b_offset), length(self.k, self.n, &self.b)),
                    std::slice::from_raw_parts_mut(
                        c.add(c_offset),
                        length(self.m, self.n, &self.c),
                    ),
                )
            };
            matmul(
                machine.cpu,
                MatRef::new(a, [self.m, self.k], [self.a.row_stride, self.a.col_stride])?,
                MatRef::new(b, [self.k, self.n], [self.b.row_stride, self.b.col_stride])?,
                MatMut::new(c, [self.m, self.n], [self.c.row_stride, self.c.col_stride])?,
                scratch,
            )?;
        }
        Ok(())
    }
}
