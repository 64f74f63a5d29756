//! Products of some rows of x with matrices of packed weights, whatever the format.
//!
//! The work is a list of items, each some rows of x for one matrix; a task is an item's strip of
//! outputs. Few rows stream the weights (`stream`, bound by memory), more are multiplied in
//! panels (`unpack`, bound by the FMA units). Each sum is taken in an order that depends on the
//! layout and on the item's number of rows, not on the strips, so the number of threads does not
//! show in the result.

use crate::cpu::Cpu;
use crate::cpu::scratch::{ALIGN, aligned_len, row_stride};
use crate::element::Element;
use crate::isa::Level;
use crate::simd::BLOCK;
use crate::view::{MatRef, Shared};

use super::arrange::{Arrange, Rows};
use super::format::{Format, Layout};
use super::stream::Stream;
use super::unpack::{Multiply, Scale, Unpack};

/// The most rows that stream the weights; with more, panels pay.
pub(crate) const STREAM_ROWS: usize = 12;
/// Blocks of the inner axis in a panel, 256 elements: see `cpu::matmul` for this and what follows.
const K_BLOCKS: usize = 8;
/// Outputs in a strip: the strip's panels take half of an L2 cache of 512 KiB.
const WIDTH: usize = 256;
/// The fewest outputs in a strip, and what strips are a multiple of: whole panels.
const NARROWEST: usize = 32;
/// The most rows of an item: their part of x takes the other half.
const ITEM_ROWS: usize = 192;
/// A multiple of the rows of every register tile.
const TILE_ROWS: usize = 12;
/// From one row of x to the next in panels: not a power of two, for the L1 cache.
const PANEL_STRIDE: usize = K_BLOCKS * BLOCK + ALIGN;

/// Packed weights of one or more matrices, one after another.
pub(crate) trait Weights: Copy + Sync {
    type Format: Format;
    /// How a row lies.
    fn layout(&self) -> Layout;
    /// The codes of the first row.
    fn codes(&self) -> *const u8;
    /// f32 elements that `format` needs for a strip of `width` rows.
    fn strip_scratch(&self, width: usize) -> usize;
    /// The format for a strip of rows.
    ///
    /// # Safety
    /// The rows must exist, and `scratch` be valid for `strip_scratch` elements while the
    /// format is used.
    unsafe fn format(&self, level: Level, rows: (usize, usize), scratch: *mut f32) -> Self::Format;
    /// The factors of the sums of rows from `first` on, or null for none.
    fn factors(&self, first: usize) -> *const f32;
}

/// Some rows of x for one matrix.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Item {
    pub matrix: u32,
    /// Where its rows begin in the list.
    pub first: u32,
    pub n: u32,
}

impl Item {
    /// f32 elements of scratch space for `n` items.
    pub(crate) fn scratch(n: usize) -> usize {
        n * (size_of::<Item>() / size_of::<f32>())
    }

    /// Scratch space as items, which hold anything at first.
    pub(crate) fn list(scratch: &mut [f32]) -> &mut [Item] {
        let n = scratch.len() / Item::scratch(1);
        // SAFETY: an item is three u32, whose size and alignment are those of f32 and which
        // may hold any bits; the slice is borrowed for as long.
        unsafe { std::slice::from_raw_parts_mut(scratch.as_mut_ptr().cast(), n) }
    }

    /// The items into which `n` rows of a matrix, from `first` on, are divided: as few as may
    /// be, and equal.
    pub(crate) fn divide(matrix: usize, first: usize, n: usize) -> impl Iterator<Item = Item> {
        let rows = n.div_ceil(n.div_ceil(ITEM_ROWS).max(1)).max(1);
        (0..n).step_by(rows).map(move |i| Item {
            matrix: matrix as u32,
            first: (first + i) as u32,
            n: (n - i).min(rows) as u32,
        })
    }

    /// The most items that `rows` rows become.
    pub(crate) fn most(matrices: usize, rows: usize) -> usize {
        matrices.min(rows) + rows / ITEM_ROWS
    }
}

/// Sums of a task, to be stored.
pub(crate) struct Block {
    /// What the numbers of the rows are.
    pub rows: Rows,
    /// The first output and the number of outputs.
    pub first: usize,
    pub n_out: usize,
    /// (rows, stride), whole vectors; may be overwritten.
    pub sums: *mut f32,
    pub stride: usize,
}

/// How much scratch space a thread needs, in f32 elements: for x, sums, panels and the format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadScratch([usize; 4]);

impl ThreadScratch {
    /// For at most `rows` rows in an item and matrices of `outputs` rows.
    pub(crate) fn new<W: Weights>(weights: &W, rows: usize, outputs: usize) -> Self {
        let layout = weights.layout();
        let width = WIDTH.min(outputs.next_multiple_of(NARROWEST));
        let streamed = rows.min(STREAM_ROWS);
        let in_panels = rows.min(ITEM_ROWS).next_multiple_of(TILE_ROWS);
        let panels = rows > STREAM_ROWS;
        let stream_x = streamed * row_stride(layout.blocks() * BLOCK, streamed);
        let (panel_x, panel_w) = if panels {
            (in_panels * PANEL_STRIDE, width * K_BLOCKS * BLOCK)
        } else {
            (0, 0)
        };
        let sums = if panels { in_panels } else { streamed } * width;
        let format = weights.strip_scratch(width);
        Self([stream_x.max(panel_x), sums, panel_w, format].map(aligned_len))
    }

    /// For one thread.
    pub(crate) fn len(self) -> usize {
        self.0.iter().sum()
    }
}

/// A product to be run.
pub(crate) struct Product<'a, X, W> {
    pub x: MatRef<'a, X>,
    /// The rows of x by item, see [`Rows`]; null: an item's rows are those from its `first` on.
    pub list: *const u32,
    pub per_row: usize,
    pub items: &'a [Item],
    pub weights: W,
    /// The outputs of each matrix.
    pub outputs: usize,
}

/// Runs the product and gives each block of sums to `store`, on any thread.
///
/// # Safety
/// The items' rows and matrices must exist, x have the layout's elements as columns, and
/// `scratch` hold `thread` for every thread of `cpu`.
pub(crate) unsafe fn run<X: Element, W: Weights>(
    cpu: &Cpu,
    product: &Product<'_, X, W>,
    thread: ThreadScratch,
    scratch: &mut [f32],
    store: &(dyn Fn(Block) + Sync),
) {
    let Product {
        x,
        per_row,
        items,
        weights,
        outputs,
        ..
    } = *product;
    if items.is_empty() || outputs == 0 {
        return;
    }
    let list = Shared::new(product.list.cast_mut());
    let scratch = Shared::new(scratch.as_mut_ptr());
    // Some tasks for each thread, so that threads end together even if one is held up.
    let tasks = if cpu.threads() == 1 {
        1
    } else {
        4 * cpu.threads()
    };
    let width = (outputs * items.len())
        .div_ceil(tasks)
        .next_multiple_of(NARROWEST)
        .min(WIDTH)
        .min(outputs.next_multiple_of(NARROWEST));
    let strips = outputs.div_ceil(width);
    cpu.pool()
        .run_indexed(items.len() * strips, &|task, index| {
            let (item, first) = (items[task / strips], task % strips * width);
            let n_out = (outputs - first).min(width);
            // SAFETY: the caller vouches for scratch space of this layout; each thread has its own.
            let [for_x, sums, panels, for_format] = unsafe {
                let mut start = scratch.get().add(index * thread.len());
                thread.0.map(|n| {
                    let part = start;
                    start = start.wrapping_add(n);
                    part
                })
            };
            let rows = Rows {
                list: if list.get().is_null() {
                    std::ptr::null()
                } else {
                    list.get().wrapping_add(item.first as usize)
                },
                first: item.first as usize,
                n: item.n as usize,
                per_row,
            };
            let first_row = item.matrix as usize * outputs + first;
            // SAFETY: the caller vouches for the matrix, whose rows these are; the scratch space is this thread's.
            let format =
                unsafe { weights.format(cpu.level, (first_row, first_row + n_out), for_format) };
            let strip = Strip {
                level: cpu.level,
                rows,
                format,
                codes: weights.codes(),
                layout: weights.layout(),
                first: first_row,
                n_out,
                for_x,
                panels,
                sums,
                stride: width,
            };
            let mut factor = 1.0;
            if rows.n <= STREAM_ROWS {
                strip.stream(x);
            } else {
                strip.multiply(x);
                factor = W::Format::PANEL_FACTOR;
            }
            let factors = weights.factors(first_row);
            if factor != 1.0 || !factors.is_null() {
                cpu.dispatch(Scale {
                    sums,
                    stride: width,
                    rows: rows.n,
                    cols: n_out,
                    factors,
                    factor,
                });
            }
            store(Block {
                rows,
                first,
                n_out,
                sums,
                stride: width,
            });
        });
}

/// One task.
struct Strip<F> {
    level: Level,
    rows: Rows,
    format: F,
    codes: *const u8,
    layout: Layout,
    /// The first row of weights, and how many.
    first: usize,
    n_out: usize,
    for_x: *mut f32,
    panels: *mut f32,
    sums: *mut f32,
    stride: usize,
}

impl<F: Format> Strip<F> {
    /// Puts blocks of x into scratch space.
    fn arrange<X: Element>(&self, x: MatRef<'_, X>, blocks: (usize, usize), out_stride: usize) {
        let kernel = Arrange {
            x: x.as_ptr(),
            strides: [x.row_stride(), x.col_stride()],
            rows: self.rows,
            layout: self.layout,
            blocks,
            order: std::ptr::null(),
            nibbles: F::NIBBLES,
            out: self.for_x,
            out_stride,
        };
        X::run_arrange(self.level, kernel);
    }

    fn stream<X: Element>(&self, x: MatRef<'_, X>) {
        let blocks = self.layout.blocks();
        let x_stride = row_stride(blocks * BLOCK, self.rows.n);
        self.arrange(x, (0, blocks), x_stride);
        let kernel = Stream {
            format: self.format,
            codes: self.codes,
            layout: self.layout,
            first: self.first,
            n_out: self.n_out,
            x: self.for_x,
            x_stride,
            rows: self.rows.n,
            sums: self.sums,
            sums_stride: self.stride,
        };
        F::run_stream(self.level, kernel);
    }

    fn multiply<X: Element>(&self, x: MatRef<'_, X>) {
        let whole = self.layout.blocks();
        if whole == 0 {
            for i in 0..self.rows.n {
                // SAFETY: the scratch space has rows of `stride` sums.
                unsafe { self.sums.add(i * self.stride).write_bytes(0, self.n_out) };
            }
        }
        // Equal parts of the inner axis.
        let parts = whole.div_ceil(K_BLOCKS).max(1);
        let part = whole.div_ceil(parts).max(1);
        for first in (0..whole).step_by(part) {
            let blocks = (first, (first + part).min(whole));
            self.arrange(x, blocks, PANEL_STRIDE);
            let kernel = Unpack {
                format: self.format,
                codes: self.codes,
                layout: self.layout,
                first: self.first,
                n_out: self.n_out,
                blocks,
                out: self.panels,
            };
            F::run_unpack(self.level, kernel);
            self.level.dispatch(Multiply {
                x: self.for_x,
                x_stride: PANEL_STRIDE,
                rows: self.rows.n,
                cols: self.n_out,
                steps: (blocks.1 - blocks.0) * BLOCK,
                panels: self.panels,
                sums: self.sums,
                sums_stride: self.stride,
                accumulate: first > 0,
            });
        }
    }
}
