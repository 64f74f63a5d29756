//! Rows of x as f32 in blocks, in the order in which decoded weights come.

use crate::element::Element;
use crate::simd::{BLOCK, Kernel, Simd};

use super::format::Layout;

/// Which rows of a matrix a product takes.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Their numbers, or null: then the rows from `first` on.
    pub list: *const u32,
    pub first: usize,
    pub n: usize,
    /// How many numbers name one row of x, one after another.
    pub per_row: usize,
}

// SAFETY: the list is only read, inside a call that holds the slice it is from.
unsafe impl Send for Rows {}
// SAFETY: as above.
unsafe impl Sync for Rows {}

impl Rows {
    /// The number of row `i`.
    ///
    /// # Safety
    /// i < n, and the list must still exist.
    #[inline(always)]
    pub(crate) unsafe fn number(self, i: usize) -> usize {
        if self.list.is_null() {
            return self.first + i;
        }
        // SAFETY: the caller's duty.
        unsafe { *self.list.add(i) as usize }
    }
}

/// out[i, b] = block b of row i of x, padded with zeros, for the blocks `first..last`.
pub struct Arrange<X> {
    pub x: *const X,
    pub strides: [usize; 2],
    pub rows: Rows,
    pub layout: Layout,
    pub blocks: (usize, usize),
    /// The column of x for each element of a row, or null for the same.
    pub order: *const i32,
    /// Whether elements come in the order of `Simd::nibble_order`.
    pub nibbles: bool,
    pub out: *mut f32,
    pub out_stride: usize,
}

impl<X: Element> Kernel for Arrange<X> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            x,
            strides: [row_stride, col_stride],
            rows,
            layout,
            blocks: (first, last),
            order,
            nibbles,
            out,
            out_stride,
        } = self;
        let per_segment = layout.blocks_per_segment();
        for i in 0..rows.n {
            // SAFETY: whoever makes an `Arrange` vouches for the rows and for out.
            let (x, mut out) = unsafe {
                let row = rows.number(i) / rows.per_row;
                (x.add(row * row_stride), out.add(i * out_stride))
            };
            for b in first..last {
                let (segment, within) = (b / per_segment, b % per_segment * BLOCK);
                let n = (layout.segment - within).min(BLOCK);
                let mut block = s.zero_block();
                // SAFETY: the block's n elements are inside the row, and out has whole blocks.
                unsafe {
                    let start = segment * layout.segment + within;
                    if n == BLOCK && col_stride == 1 && order.is_null() {
                        for (v, lanes) in block.as_mut().iter_mut().enumerate() {
                            *lanes = X::load(s, x.add(start + v * S::LANES));
                        }
                    } else {
                        let mut elements = [0.0f32; BLOCK];
                        for (j, element) in elements.iter_mut().enumerate().take(n) {
                            let column = if order.is_null() {
                                start + j
                            } else {
                                *order.add(start + j) as usize
                            };
                            *element = (*x.add(column * col_stride)).to_f32();
                        }
                        for (v, lanes) in block.as_mut().iter_mut().enumerate() {
                            *lanes = s.load(elements.as_ptr().add(v * S::LANES));
                        }
                    }
                    if nibbles {
                        block = s.nibble_order(block);
                    }
                    for (v, &lanes) in block.as_ref().iter().enumerate() {
                        s.store(out.add(v * S::LANES), lanes);
                    }
                    out = out.add(BLOCK);
                }
            }
        }
    }
}
