//! The blocked product: c = act(a b + bias), a (M, K), b (K, N), c (M, N), any strides.
//!
//! The scheme of Goto and van de Geijn with its loops in the order N, K, M so that threads
//! share nothing but the packed a:
//!
//! - rows are taken in blocks of at most [`ROWS`]; a's rows of a block are packed once, by
//!   all threads, as panels of MR rows;
//! - a task is a block of nc columns (and, where columns are few, a part of the rows). For
//!   each block of kc steps it packs its part of b, as panels of NR columns, into its
//!   thread's scratch, and multiplies mc rows at a time;
//! - sums that continue over several blocks of k wait in the thread's scratch; the last
//!   block adds the bias, applies the activation, rounds and stores.
//!
//! Where a sum starts and ends depends on K only, so the result does not depend on the
//! number of threads. Bound by the FMA units: packing reads each element of b once per
//! block of rows, for 2 * ROWS operations.

use crate::cpu::Cpu;
use crate::cpu::linear::Epilogue;
use crate::cpu::linear::finish::Finish;
use crate::cpu::matmul::pack::panel;
use crate::cpu::matmul::tile::{MAX_TILE, NR_VECTORS, tile};
use crate::cpu::scratch::aligned_len;
use crate::element::{Element, MAX_LANES};
use crate::simd::{Kernel, Simd};
use crate::view::{MatMut, MatRef, Shared};

/// Steps of k in a block: a panel of b (kc NR f32, 16 KiB on AVX2) and one of a (kc MR, 6 KiB)
/// fill two thirds of an L1 cache of 32 KiB; twice that with AVX-512, whose machines have 48 KiB.
const KC: usize = 256;
/// Columns of a task: its packed b (kc nc f32, 256 KiB) is half of an L2 cache of 512 KiB..
const NC: usize = 256;
/// ..and the rows multiplied with it at a time (mc kc f32, 192 KiB) leave room for the sums.
const MC: usize = 192;
/// Rows packed at once: bounds the scratch space (ROWS K f32).
const ROWS: usize = 768;

/// How a product of given lengths is divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    mr: usize,
    /// Rows in a block, a multiple of MR.
    rows: usize,
    /// Steps in a block.
    kc: usize,
    /// Blocks of steps, at least one.
    k_blocks: usize,
    /// Columns in a task, a multiple of NR.
    nc: usize,
    col_tasks: usize,
    /// Rows in a task, a multiple of MR.
    task_rows: usize,
    threads: usize,
    inner: usize,
}

struct TileSize;

impl Kernel for TileSize {
    type Output = (usize, usize);
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> (usize, usize) {
        (S::MR, NR_VECTORS * S::LANES)
    }
}

impl Plan {
    pub(crate) fn new(cpu: &Cpu, m: usize, k: usize, n: usize) -> Self {
        let (mr, nr) = cpu.dispatch(TileSize);
        let threads = cpu.threads();
        let row_blocks = m.div_ceil(ROWS).max(1);
        let rows = m.div_ceil(row_blocks).next_multiple_of(mr);
        let k_blocks = k.div_ceil(KC).max(1);
        let kc = k.div_ceil(k_blocks);
        // As many tasks as make equal shares for all threads.
        let shares = n.div_ceil(NC * threads).max(1) * threads;
        let nc = n
            .div_ceil(shares)
            .next_multiple_of(nr)
            .clamp(nr, NC.next_multiple_of(nr));
        let col_tasks = n.div_ceil(nc);
        let row_tasks = if col_tasks < threads {
            threads.div_ceil(col_tasks.max(1))
        } else {
            1
        };
        let task_rows = rows.div_ceil(row_tasks).next_multiple_of(mr).max(mr);
        Self {
            mr,
            rows,
            kc,
            k_blocks,
            nc,
            col_tasks,
            task_rows,
            threads,
            inner: k,
        }
    }

    /// f32 elements of one thread's packed b, bias and sums.
    fn thread_scratch(&self) -> [usize; 2] {
        [
            self.kc * self.nc,
            if self.k_blocks > 1 {
                self.task_rows * self.nc
            } else {
                0
            },
        ]
    }

    /// All f32 elements of scratch space.
    pub(crate) fn scratch(&self) -> usize {
        aligned_len(self.rows * self.inner)
            + self.threads * self.thread_scratch().iter().sum::<usize>()
    }
}

/// c = act(a b + bias).
///
/// # Safety
/// The lengths of the views, of the bias and of `scratch` (see [`Plan::scratch`]) must fit.
pub(crate) unsafe fn product<A: Element, B: Element, W: Element>(
    cpu: &Cpu,
    plan: &Plan,
    a: MatRef<'_, A>,
    b: MatRef<'_, B>,
    epilogue: Epilogue<'_, W>,
    c: &mut MatMut<'_, A>,
    scratch: &mut [f32],
) {
    let (m, n) = (c.rows(), c.cols());
    let finish = Finish::new(epilogue, c);
    let (packed_a, rest) = scratch.split_at_mut(aligned_len(plan.rows * plan.inner));
    let packed_a = Shared::new(packed_a.as_mut_ptr());
    let threads = Shared::new(rest.as_mut_ptr());
    let mut first_row = 0;
    while first_row < m {
        let rows = (m - first_row).min(plan.rows);
        let panels = rows.div_ceil(plan.mr);
        // A few panels to a task: one is too little to hand out.
        let group = panels.div_ceil(plan.threads * 2);
        cpu.pool().run(panels.div_ceil(group), &|i| {
            let panels = i * group..((i + 1) * group).min(panels);
            cpu.dispatch(PackA {
                plan,
                a,
                first_row,
                rows,
                panels,
                out: packed_a.get(),
            });
        });
        let row_tasks = rows.div_ceil(plan.task_rows);
        cpu.pool()
            .run_indexed(plan.col_tasks * row_tasks, &|task, thread| {
                let (col, row) = (task / row_tasks, task % row_tasks);
                let [b_len, sums_len] = plan.thread_scratch();
                // SAFETY: the caller vouches for scratch space of this layout; each thread has its own part.
                let own = unsafe { threads.get().add(thread * (b_len + sums_len)) };
                let first_col = col * plan.nc;
                let r0 = row * plan.task_rows;
                cpu.dispatch(Block {
                    plan,
                    b,
                    packed_a: packed_a.get(),
                    block_rows: rows,
                    rows: (r0, (r0 + plan.task_rows).min(rows)),
                    first_row,
                    cols: (first_col, (first_col + plan.nc).min(n)),
                    packed_b: own,
                    sums: own.wrapping_add(b_len),
                    finish: &finish,
                });
            });
        first_row += rows;
    }
}

/// The packed a: for each block of steps, for each panel of rows, its steps in order.
struct PackA<'a, A> {
    plan: &'a Plan,
    a: MatRef<'a, A>,
    first_row: usize,
    rows: usize,
    panels: std::ops::Range<usize>,
    out: *mut f32,
}

impl<A: Element> Kernel for PackA<'_, A> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            plan,
            a,
            first_row,
            rows,
            panels,
            out,
        } = self;
        let padded = rows.next_multiple_of(plan.mr);
        for k0 in (0..plan.inner).step_by(plan.kc.max(1)) {
            let kc = (plan.inner - k0).min(plan.kc);
            for p in panels.clone() {
                let row = p * plan.mr;
                // SAFETY: the panel's rows and steps are inside a; its place is inside the packed a.
                unsafe {
                    let x = a
                        .as_ptr()
                        .add((first_row + row) * a.row_stride() + k0 * a.col_stride());
                    let to = out.add(k0 * padded + row * kc);
                    let strides = [a.row_stride(), a.col_stride()];
                    panel(s, x, strides, (rows - row).min(plan.mr), kc, plan.mr, to);
                }
            }
        }
    }
}

/// One task's columns and rows.
struct Block<'a, 'f, A, B, W> {
    plan: &'a Plan,
    b: MatRef<'a, B>,
    packed_a: *const f32,
    /// Rows in the packed a.
    block_rows: usize,
    /// This task's rows within the packed a.
    rows: (usize, usize),
    /// The row of c that the packed a starts with.
    first_row: usize,
    cols: (usize, usize),
    packed_b: *mut f32,
    /// Sums (task_rows, nc), if there is more than one block of steps.
    sums: *mut f32,
    finish: &'a Finish<'f, A, W>,
}

impl<A: Element, B: Element, W: Element> Kernel for Block<'_, '_, A, B, W> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            plan,
            b,
            packed_a,
            block_rows,
            rows,
            first_row,
            cols,
            packed_b,
            sums,
            finish,
        } = self;
        let (mr, nr, nc) = (S::MR, NR_VECTORS * S::LANES, plan.nc);
        let padded = block_rows.next_multiple_of(mr);
        let n_cols = cols.1 - cols.0;
        let mut last_tile = [0.0f32; MAX_TILE];
        for block in 0..plan.k_blocks {
            let k0 = block * plan.kc;
            let kc = plan.inner.saturating_sub(k0).min(plan.kc);
            let (first, last) = (block == 0, block + 1 == plan.k_blocks);
            // SAFETY: all offsets stay within the task's columns and rows, the packed a of
            // `padded` rows, and the thread's scratch of kc nc and task_rows nc elements; the
            // caller of `product` vouches for their sizes.
            unsafe {
                for j in (0..n_cols).step_by(nr) {
                    let x = b
                        .as_ptr()
                        .add(k0 * b.row_stride() + (cols.0 + j) * b.col_stride());
                    let strides = [b.col_stride(), b.row_stride()];
                    panel(
                        s,
                        x,
                        strides,
                        (n_cols - j).min(nr),
                        kc,
                        nr,
                        packed_b.add(j * kc),
                    );
                }
                let mut top = rows.0;
                while top < rows.1 {
                    let bottom = (top + MC.next_multiple_of(mr)).min(rows.1);
                    for j in (0..n_cols).step_by(nr) {
                        for i in (top..bottom).step_by(mr) {
                            let a = packed_a.add(k0 * padded + i * kc);
                            let b = packed_b.add(j * kc);
                            let sum = sums.wrapping_add((i - rows.0) * nc + j);
                            if !last {
                                tile(s, kc, a, [1, mr], b, nr, sum, nc, !first);
                                continue;
                            }
                            tile(s, kc, a, [1, mr], b, nr, last_tile.as_mut_ptr(), nr, false);
                            if !first {
                                add_tile(s, last_tile.as_mut_ptr(), sum, nc);
                            }
                            let (m, n) = ((rows.1 - i).min(mr), (n_cols - j).min(nr));
                            finish.store(
                                s,
                                last_tile.as_mut_ptr(),
                                nr,
                                [m, n],
                                [first_row + i, cols.0 + j],
                            );
                        }
                    }
                    top = bottom;
                }
            }
        }
        const { assert!(MAX_LANES * NR_VECTORS * 12 <= MAX_TILE) };
    }
}

/// Adds the waiting sums to a tile.
///
/// # Safety
/// Both must be valid for MR rows of NR elements.
#[inline(always)]
unsafe fn add_tile<S: Simd>(s: S, tile: *mut f32, sums: *const f32, stride: usize) {
    // SAFETY: the caller vouches for the elements.
    unsafe {
        for i in 0..S::MR {
            for j in 0..NR_VECTORS {
                let p = tile.add((i * NR_VECTORS + j) * S::LANES);
                s.store(
                    p,
                    s.add(s.load(p), s.load(sums.add(i * stride + j * S::LANES))),
                );
            }
        }
    }
}
