//! The linear layer over packed weights: `out[r, o] = sum_i x[r, i] w[o, i] + bias[o]`.
//!
//! Layout: x (R, I), out (R, O), bias (O), and as weights
//! - int8: codes (O, I), `w[o, i] = code * scale[o]`;
//! - int4: codes (O, I / 2), two to a byte, the even column in the low half, -8 to 7;
//! - int4 groups: codes (O, G, I / G / 2) of 0 to 15, `w[o, i] = (code - zero[o, g]) scale[o, g]`,
//!   where stored column i may be another column of x.
//!
//! Sums are f32; scale and bias are applied to the sum, which is rounded once.

use crate::cpu::embedding::check_ids;
use crate::cpu::linear::{Epilogue, finish::Finish, widen::Widen};
use crate::cpu::scratch::{ALIGN, aligned, aligned_len};
use crate::cpu::{Cpu, rows::split};
use crate::element::Element;
use crate::error::{KernelError, Result, expect_len, expect_scratch};
use crate::isa::Level;
use crate::simd::BLOCK;
use crate::view::{MatMut, MatRef, Shared};

use super::arrange::{Arrange, Rows};
use super::format::{Int4Codes, Int4GroupCodes, Int8Codes, Layout};
use super::product::{self, Item, Product, ThreadScratch, Weights};

/// Codes of 8 or 4 bits with a scale for each row.
#[derive(Clone, Copy)]
struct Scaled<'a, F> {
    format: F,
    codes: &'a [i8],
    scale: &'a [f32],
    inner: usize,
}

macro_rules! row_weights {
    ($format:ty) => {
        impl Weights for Scaled<'_, $format> {
            type Format = $format;

            fn layout(&self) -> Layout {
                Layout {
                    segment: self.inner,
                    segments: 1,
                }
            }
            fn codes(&self) -> *const u8 {
                self.codes.as_ptr().cast()
            }
            fn strip_scratch(&self, _: usize) -> usize {
                0
            }
            unsafe fn format(&self, _: Level, _: (usize, usize), _: *mut f32) -> $format {
                self.format
            }
            fn factors(&self, first: usize) -> *const f32 {
                self.scale[first..].as_ptr()
            }
        }
    };
}
row_weights!(Int8Codes);
row_weights!(Int4Codes);

/// `out[r, o] = scale[o] * sum_i x[r, i] * weight[o, i] + bias[o]`.
///
/// # Errors
/// If lengths differ or `scratch` is shorter than [`int8_linear_scratch`] says.
pub fn int8_linear<X: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    weight: &[i8],
    scale: &[f32],
    bias: Option<&[X]>,
    out: MatMut<'_, X>,
    scratch: &mut [f32],
) -> Result<()> {
    const KERNEL: &str = "int8_linear";
    let (inner, outputs) = (x.cols(), scale.len());
    let bytes = inner.saturating_mul(outputs);
    expect_len(KERNEL, "the length of weight", bytes, weight.len())?;
    let weights = Scaled {
        format: Int8Codes,
        codes: weight,
        scale,
        inner,
    };
    linear(KERNEL, cpu, x, weights, outputs, None, bias, out, scratch)
}

/// The f32 elements of scratch space that [`int8_linear`] needs.
pub fn int8_linear_scratch(cpu: &Cpu, rows: usize, inner: usize, outputs: usize) -> usize {
    let weights = Scaled {
        format: Int8Codes,
        codes: &[],
        scale: &[],
        inner,
    };
    scratch_of(cpu, &weights, rows, outputs, false)
}

/// `out[r, o] = scale[o] * sum_i x[r, i] * weight[o, i] + bias[o]` with two codes to a byte.
///
/// # Errors
/// If x has an odd number of columns, lengths differ or `scratch` is shorter than
/// [`int4_linear_scratch`] says.
pub fn int4_linear<X: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    weight: &[i8],
    scale: &[f32],
    bias: Option<&[X]>,
    out: MatMut<'_, X>,
    scratch: &mut [f32],
) -> Result<()> {
    const KERNEL: &str = "int4_linear";
    let (inner, outputs) = (x.cols(), scale.len());
    if !inner.is_multiple_of(2) {
        return Err(KernelError::Invalid {
            kernel: KERNEL,
            what: "x must have an even number of columns",
        });
    }
    let bytes = (inner / 2).saturating_mul(outputs);
    expect_len(KERNEL, "the length of weight", bytes, weight.len())?;
    let weights = Scaled {
        format: Int4Codes,
        codes: weight,
        scale,
        inner,
    };
    linear(KERNEL, cpu, x, weights, outputs, None, bias, out, scratch)
}

/// The f32 elements of scratch space that [`int4_linear`] needs.
pub fn int4_linear_scratch(cpu: &Cpu, rows: usize, inner: usize, outputs: usize) -> usize {
    let weights = Scaled {
        format: Int4Codes,
        codes: &[],
        scale: &[],
        inner,
    };
    scratch_of(cpu, &weights, rows, outputs, false)
}

/// Weights of 4 bits in groups: codes (O, G, group / 2), scales and zero points (O, G).
#[derive(Clone, Copy, Debug)]
pub struct Int4Groups<'a, T> {
    /// Two codes to a byte.
    pub codes: &'a [u8],
    /// The scale of each group.
    pub scale: &'a [T],
    /// The zero point of each group.
    pub zero: &'a [u8],
    /// The column of x that each stored column multiplies, if not the same.
    pub order: Option<&'a [i32]>,
    /// How they lie.
    pub layout: GroupLayout,
}

/// The lengths of weights in groups.
#[derive(Clone, Copy, Debug)]
pub struct GroupLayout {
    /// O.
    pub outputs: usize,
    /// Groups in a row.
    pub groups: usize,
    /// Columns in a group, an even number.
    pub group: usize,
}

impl<T: Element> Weights for Int4Groups<'_, T> {
    type Format = Int4GroupCodes;

    fn layout(&self) -> Layout {
        Layout {
            segment: self.layout.group,
            segments: self.layout.groups,
        }
    }
    fn codes(&self) -> *const u8 {
        self.codes.as_ptr()
    }
    fn strip_scratch(&self, width: usize) -> usize {
        width * self.layout.groups
    }
    unsafe fn format(
        &self,
        level: Level,
        (first, last): (usize, usize),
        scratch: *mut f32,
    ) -> Int4GroupCodes {
        let groups = self.layout.groups;
        let kernel = Widen {
            x: self.scale[first * groups..last * groups].as_ptr(),
            strides: [groups, 1],
            rows: last - first,
            cols: groups,
            out: scratch,
            out_stride: groups,
        };
        T::run_widen(level, kernel);
        Int4GroupCodes {
            zeros: self.zero.as_ptr(),
            // So that the strip's first group is at its number.
            scales: scratch.wrapping_sub(first * groups),
        }
    }
    fn factors(&self, _: usize) -> *const f32 {
        std::ptr::null()
    }
}

/// `out[r, o] = sum_i x[r, order[i]] * (code[o, i] - zero[o, g]) * scale[o, g] + bias[o]`.
///
/// # Errors
/// If a group has an odd number of columns, lengths differ, a column of `order` is not one of
/// x, or `scratch` is shorter than [`int4_group_linear_scratch`] says.
pub fn int4_group_linear<X: Element, W: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    weights: Int4Groups<'_, W>,
    bias: Option<&[W]>,
    out: MatMut<'_, X>,
    scratch: &mut [f32],
) -> Result<()> {
    const KERNEL: &str = "int4_group_linear";
    let GroupLayout {
        outputs,
        groups,
        group,
    } = weights.layout;
    if !group.is_multiple_of(2) {
        return Err(KernelError::Invalid {
            kernel: KERNEL,
            what: "a group must have an even number of columns",
        });
    }
    let many = |n: &[usize]| {
        n.iter()
            .try_fold(1usize, |n, &axis| n.checked_mul(axis))
            .unwrap_or(usize::MAX)
    };
    expect_len(KERNEL, "the columns of x", many(&[groups, group]), x.cols())?;
    let bytes = many(&[outputs, groups, group / 2]);
    expect_len(KERNEL, "the length of weight", bytes, weights.codes.len())?;
    let scales = many(&[outputs, groups]);
    expect_len(KERNEL, "the length of scale", scales, weights.scale.len())?;
    expect_len(KERNEL, "the length of zero", scales, weights.zero.len())?;
    if let Some(order) = weights.order {
        expect_len(KERNEL, "the length of order", x.cols(), order.len())?;
        check_ids(KERNEL, "order", order, x.cols())?;
    }
    let order = weights.order;
    linear(KERNEL, cpu, x, weights, outputs, order, bias, out, scratch)
}

/// The f32 elements of scratch space that [`int4_group_linear`] needs, with an order if `ordered`.
pub fn int4_group_linear_scratch(
    cpu: &Cpu,
    rows: usize,
    layout: GroupLayout,
    ordered: bool,
) -> usize {
    let weights = Int4Groups::<f32> {
        codes: &[],
        scale: &[],
        zero: &[],
        order: None,
        layout,
    };
    scratch_of(cpu, &weights, rows, layout.outputs, ordered)
}

/// From one row of x in its other order to the next.
fn ordered_stride(layout: Layout) -> usize {
    aligned_len(layout.elements().next_multiple_of(BLOCK))
}

fn scratch_of<W: Weights>(
    cpu: &Cpu,
    weights: &W,
    rows: usize,
    outputs: usize,
    ordered: bool,
) -> usize {
    let ordered = if ordered {
        rows * ordered_stride(weights.layout())
    } else {
        0
    };
    let thread = ThreadScratch::new(weights, rows, outputs);
    let items = aligned_len(Item::scratch(Item::most(1, rows)));
    ALIGN + ordered + items + cpu.threads() * thread.len()
}

#[allow(clippy::too_many_arguments)]
fn linear<X: Element, W: Weights, B: Element>(
    kernel: &'static str,
    cpu: &Cpu,
    x: MatRef<'_, X>,
    weights: W,
    outputs: usize,
    order: Option<&[i32]>,
    bias: Option<&[B]>,
    mut out: MatMut<'_, X>,
    scratch: &mut [f32],
) -> Result<()> {
    let rows = x.rows();
    expect_len(kernel, "the rows of out", rows, out.rows())?;
    expect_len(kernel, "the columns of out", outputs, out.cols())?;
    if let Some(bias) = bias {
        expect_len(kernel, "the length of bias", outputs, bias.len())?;
    }
    let needed = scratch_of(cpu, &weights, rows, outputs, order.is_some());
    expect_scratch(kernel, needed, scratch.len())?;
    if u32::try_from(rows).is_err() {
        return Err(KernelError::Invalid {
            kernel,
            what: "x must have fewer than 2^32 rows",
        });
    }
    let epilogue = Epilogue {
        bias,
        activation: None,
    };
    let finish = Finish::new(cpu.level, epilogue, &mut out);
    let scratch = aligned(scratch);
    match order {
        None => rest(cpu, x, weights, outputs, &finish, scratch),
        Some(order) => {
            let layout = weights.layout();
            let stride = ordered_stride(layout);
            let (ordered, scratch) = scratch.split_at_mut(rows * stride);
            arrange_all(cpu, x, order, ordered, stride);
            let x = MatRef::new(ordered, [rows, layout.elements()], [stride, 1])?;
            rest(cpu, x, weights, outputs, &finish, scratch);
        }
    }
    Ok(())
}

/// ordered[r, i] = x[r, order[i]].
fn arrange_all<X: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    order: &[i32],
    ordered: &mut [f32],
    stride: usize,
) {
    let to = Shared::new(ordered.as_mut_ptr());
    let layout = Layout {
        segment: order.len(),
        segments: 1,
    };
    split(cpu, x.rows(), 4 * order.len(), 1, &|first, last| {
        let kernel = Arrange {
            x: x.as_ptr(),
            strides: [x.row_stride(), x.col_stride()],
            rows: Rows {
                list: std::ptr::null(),
                first,
                n: last - first,
                per_row: 1,
            },
            layout,
            blocks: (0, layout.blocks()),
            order: order.as_ptr(),
            nibbles: false,
            out: to.get().wrapping_add(first * stride),
            out_stride: stride,
        };
        X::run_arrange(cpu.level, kernel);
    });
}

/// The product, of a checked x with checked weights.
fn rest<X: Element, W: Weights, O: Element, B: Element>(
    cpu: &Cpu,
    x: MatRef<'_, X>,
    weights: W,
    outputs: usize,
    finish: &Finish<'_, O, B>,
    scratch: &mut [f32],
) {
    let (list, scratch) = scratch.split_at_mut(aligned_len(Item::scratch(Item::most(1, x.rows()))));
    let list = Item::list(list);
    let mut n = 0;
    for item in Item::divide(0, 0, x.rows()) {
        list[n] = item;
        n += 1;
    }
    let thread = ThreadScratch::new(&weights, x.rows(), outputs);
    let product = Product {
        x,
        list: std::ptr::null(),
        per_row: 1,
        items: &list[..n],
        weights,
        outputs,
    };
    // SAFETY: x, the weights and the scratch space have the lengths that were checked; each
    // block is inside the output, and no two are the same.
    unsafe {
        product::run(cpu, &product, thread, scratch, &|block| {
            let shape = [block.rows.n, block.n_out];
            finish.store(
                block.sums,
                block.stride,
                shape,
                [block.rows.first, block.first],
            );
        });
    }
}
