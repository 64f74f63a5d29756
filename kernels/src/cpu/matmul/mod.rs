//! The matrix product: `c[m, n] = sum_k a[m, k] b[k, n]`.
//!
//! `blocked` is the product in blocks, `tile` its inner loop, `pack` the copies it reads.

pub(crate) mod blocked;
pub(crate) mod pack;
#[cfg(test)]
mod tests;
pub(crate) mod tile;

use crate::cpu::Cpu;
use crate::cpu::linear::{Epilogue, linear, linear_scratch};
use crate::element::Element;
use crate::error::{Result, expect_len};
use crate::view::{MatMut, MatRef};

/// `c[m, n] = sum_k a[m, k] * b[k, n]`, any strides.
///
/// # Errors
/// If shapes differ or `scratch` is shorter than [`matmul_scratch`] says.
pub fn matmul<A: Element, B: Element>(
    cpu: &Cpu,
    a: MatRef<'_, A>,
    b: MatRef<'_, B>,
    c: MatMut<'_, A>,
    scratch: &mut [f32],
) -> Result<()> {
    expect_len("matmul", "the rows of b", a.cols(), b.rows())?;
    linear(cpu, a, b.transposed(), Epilogue::default(), c, scratch)
}

/// The f32 elements of scratch space that [`matmul`] needs on `cpu` for a (M, K) times b (K, N).
pub fn matmul_scratch(cpu: &Cpu, m: usize, k: usize, n: usize) -> usize {
    linear_scratch(cpu, m, k, n)
}
