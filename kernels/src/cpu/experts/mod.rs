//! Products of rows with the matrices of the experts that they chose, in MXFP4.
//!
//! `out[r, k] = x[r] . W[expert[r, k]]^T`, and the same weighted and added up over k.
//!
//! Layout: x (R, I) or (R K, I), expert (R, K), W (E, O, I), out (R K, O) or (R, O). The rows
//! are sorted by expert, so that each expert's weights are read once for all rows that chose
//! it: bound by memory for few rows an expert, by the FMA units for many. Products and their
//! sums over k are f32, rounded once.

use crate::cpu::linear::{Epilogue, finish::Finish};
use crate::cpu::quant::Mxfp4;
use crate::cpu::quant::product::{self, Item, Product, ThreadScratch};
use crate::cpu::scratch::{ALIGN, aligned, aligned_len};
use crate::cpu::{Cpu, rows::split};
use crate::element::Element;
use crate::error::{KernelError, Result, expect_len, expect_scratch};
use crate::simd::{Kernel, Simd};
use crate::view::{MatMut, MatRef, Shared};

mod group;
#[cfg(test)]
mod tests;

/// Rows that are taken at once: bounds the scratch space for products that are to be added.
const ROWS: usize = 1024;

/// Lengths of a product with experts.
#[derive(Clone, Copy, Debug)]
pub struct ExpertsShape {
    /// R.
    pub rows: usize,
    /// K, the experts of each row.
    pub top_k: usize,
    /// E.
    pub experts: usize,
    /// O.
    pub outputs: usize,
    /// I, a multiple of 32.
    pub inner: usize,
}

/// How the scratch space is divided, in f32 elements.
struct Parts {
    ends: usize,
    list: usize,
    items: usize,
    /// The products that are to be added, and from one to the next.
    products: usize,
    product_stride: usize,
    thread: ThreadScratch,
    total: usize,
}

impl ExpertsShape {
    fn parts(&self, cpu: &Cpu, adds: bool) -> Parts {
        let choices = self.rows.min(ROWS).saturating_mul(self.top_k);
        let weights = Mxfp4::of_lengths(self.experts, self.outputs, self.inner);
        let thread = ThreadScratch::new(&weights, choices, self.outputs);
        let ends = aligned_len(self.experts);
        let list = aligned_len(choices);
        let items = aligned_len(Item::scratch(Item::most(self.experts, choices)));
        let product_stride = aligned_len(self.outputs);
        // One at least: the sum of no products.
        let products = if adds {
            choices.max(1) * product_stride
        } else {
            0
        };
        Parts {
            ends,
            list,
            items,
            products,
            product_stride,
            thread,
            total: ALIGN + ends + list + items + products + cpu.threads() * thread.len(),
        }
    }

    fn check<X: Element>(
        &self,
        kernel: &'static str,
        x: MatRef<'_, X>,
        expert: &[i64],
        needed: usize,
        scratch: &[f32],
    ) -> Result<()> {
        expect_len(kernel, "the columns of x", self.inner, x.cols())?;
        let choices = self.rows.saturating_mul(self.top_k);
        expect_len(
            kernel,
            "the number of experts chosen",
            choices,
            expert.len(),
        )?;
        if u32::try_from(choices.max(self.experts)).is_err() {
            return Err(KernelError::Invalid {
                kernel,
                what: "there must be fewer than 2^32 experts, and choices of them",
            });
        }
        let is_outside = |&e: &i64| usize::try_from(e).map_or(true, |e| e >= self.experts);
        if let Some(at) = expert.iter().position(is_outside) {
            return Err(KernelError::Index {
                kernel,
                what: "expert",
                at,
                value: expert[at],
                limit: self.experts,
            });
        }
        expect_scratch(kernel, needed, scratch.len())
    }
}

/// `out[r * top_k + k] = x[r] . w[expert[r, k]]^T`.
///
/// # Errors
/// If lengths differ, an expert is not one of `w`'s matrices, or `scratch` is shorter than
/// [`experts_scratch`] says.
pub fn experts<X: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    w: Mxfp4<'_>,
    expert: &[i64],
    top_k: usize,
    mut out: MatMut<'_, X>,
    scratch: &mut [f32],
) -> Result<()> {
    const KERNEL: &str = "mxfp4 experts";
    let shape = ExpertsShape {
        rows: x.rows(),
        top_k,
        experts: w.matrices(),
        outputs: w.outputs(),
        inner: w.inner(),
    };
    let parts = shape.parts(cpu, false);
    shape.check(KERNEL, x, expert, parts.total, scratch)?;
    expect_len(KERNEL, "the rows of out", expert.len(), out.rows())?;
    expect_len(KERNEL, "the columns of out", shape.outputs, out.cols())?;
    let finish = Finish::<X, X>::new(cpu.level, Epilogue::default(), &mut out);
    let store = |block: product::Block| {
        for i in 0..block.rows.n {
            // SAFETY: the list has this row, whose number is a row of the output; no other
            // block has the same outputs of it.
            unsafe {
                let to = [block.rows.number(i), block.first];
                let sums = block.sums.add(i * block.stride);
                finish.store(sums, block.stride, [1, block.n_out], to);
            }
        }
    };
    let chunk = ROWS * top_k.max(1);
    for (i, choices) in expert.chunks(chunk).enumerate() {
        run(
            cpu,
            x,
            w,
            choices,
            i * chunk,
            top_k,
            &parts,
            aligned(scratch),
            &store,
        );
    }
    Ok(())
}

/// The f32 elements of scratch space that [`experts`] needs.
pub fn experts_scratch(cpu: &Cpu, shape: ExpertsShape) -> usize {
    shape.parts(cpu, false).total
}

/// `out[r] = sum_k weight[r, k] * (x[r * top_k + k] . w[expert[r, k]]^T)`, in the order of k.
///
/// # Errors
/// If lengths differ, an expert is not one of `w`'s matrices, or `scratch` is shorter than
/// [`experts_sum_scratch`] says.
#[allow(clippy::too_many_arguments)]
pub fn experts_sum<X: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    w: Mxfp4<'_>,
    expert: &[i64],
    weight: MatRef<'_, X>,
    mut out: MatMut<'_, X>,
    scratch: &mut [f32],
) -> Result<()> {
    const KERNEL: &str = "mxfp4 experts_sum";
    let (rows, top_k) = (weight.rows(), weight.cols());
    let shape = ExpertsShape {
        rows,
        top_k,
        experts: w.matrices(),
        outputs: w.outputs(),
        inner: w.inner(),
    };
    let parts = shape.parts(cpu, true);
    shape.check(KERNEL, x, expert, parts.total, scratch)?;
    expect_len(KERNEL, "the rows of x", expert.len(), x.rows())?;
    expect_len(KERNEL, "the rows of out", rows, out.rows())?;
    expect_len(KERNEL, "the columns of out", shape.outputs, out.cols())?;
    let finish = Finish::<X, X>::new(cpu.level, Epilogue::default(), &mut out);
    let (products, scratch) = aligned(scratch).split_at_mut(parts.products);
    if top_k == 0 {
        products.fill(0.0);
    }
    let products = Shared::new(products.as_mut_ptr());
    for first in (0..rows).step_by(ROWS) {
        let n = (rows - first).min(ROWS);
        let base = first * top_k;
        let store = |block: product::Block| {
            for i in 0..block.rows.n {
                // SAFETY: the list has this row, whose number, counted from the base, is that of
                // a product; no other block has the same outputs of it.
                unsafe {
                    let product = block.rows.number(i) - base;
                    let to = products
                        .get()
                        .add(product * parts.product_stride + block.first);
                    std::ptr::copy_nonoverlapping(
                        block.sums.add(i * block.stride),
                        to,
                        block.n_out,
                    );
                }
            }
        };
        let choices = &expert[base..base + n * top_k];
        run(cpu, x, w, choices, base, 1, &parts, scratch, &store);
        split(cpu, n, top_k * shape.outputs, 1, &|from, to| {
            for r in from..to {
                let sums = products
                    .get()
                    .wrapping_add(r * top_k * parts.product_stride);
                for k in 0..top_k {
                    // SAFETY: the weights have this element.
                    let factor = unsafe {
                        let at = (first + r) * weight.row_stride() + k * weight.col_stride();
                        (*weight.as_ptr().add(at)).to_f32()
                    };
                    cpu.dispatch(AddScaled {
                        sums,
                        from: sums.wrapping_add(k * parts.product_stride),
                        n: parts.product_stride,
                        factor,
                        is_first: k == 0,
                    });
                }
                // SAFETY: the row's first product, whole vectors, holds the sum; the row of
                // the output is this task's own.
                unsafe { finish.store(sums, 0, [1, shape.outputs], [first + r, 0]) };
            }
        });
    }
    Ok(())
}

/// The f32 elements of scratch space that [`experts_sum`] needs.
pub fn experts_sum_scratch(cpu: &Cpu, shape: ExpertsShape) -> usize {
    shape.parts(cpu, true).total
}

/// Groups the choices, whose numbers start at `base`, and multiplies.
#[allow(clippy::too_many_arguments)]
fn run<X: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    w: Mxfp4<'_>,
    choices: &[i64],
    base: usize,
    per_row: usize,
    parts: &Parts,
    scratch: &mut [f32],
    store: &(dyn Fn(product::Block) + Sync),
) {
    let (ends, scratch) = scratch.split_at_mut(parts.ends);
    let (list, scratch) = scratch.split_at_mut(parts.list);
    let (items, scratch) = scratch.split_at_mut(parts.items);
    let (ends, list, items) = (words(ends), words(list), Item::list(items));
    let n = group::group(choices, base, &mut ends[..w.matrices()], list, items);
    let product = Product {
        x,
        list: list.as_ptr(),
        per_row: per_row.max(1),
        items: &items[..n],
        weights: w,
        outputs: w.outputs(),
    };
    // SAFETY: the choices and all lengths were checked, so that the rows and matrices of the
    // items exist; the scratch space was divided as `parts` says.
    unsafe { product::run(cpu, &product, parts.thread, scratch, store) };
}

/// Scratch space as u32, which hold anything at first.
fn words(scratch: &mut [f32]) -> &mut [u32] {
    // SAFETY: u32 has the size and alignment of f32 and may hold any bits; the slice is
    // borrowed for as long.
    unsafe { std::slice::from_raw_parts_mut(scratch.as_mut_ptr().cast(), scratch.len()) }
}

/// sums[j] = factor * from[j], plus sums[j] unless it is the first.
struct AddScaled {
    sums: *mut f32,
    from: *const f32,
    /// Whole vectors.
    n: usize,
    factor: f32,
    is_first: bool,
}

impl Kernel for AddScaled {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let factor = s.splat(self.factor);
        for j in (0..self.n).step_by(S::LANES) {
            // SAFETY: `experts_sum` gives two rows of n sums, or the same twice.
            unsafe {
                let from = s.load(self.from.add(j));
                let sum = if self.is_first {
                    s.mul(factor, from)
                } else {
                    s.fma(factor, from, s.load(self.sums.add(j)))
                };
                s.store(self.sums.add(j), sum);
            }
        }
    }
}
