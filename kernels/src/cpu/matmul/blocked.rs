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
//! - sums wait in the thread's scratch; after the last block of k, mc rows at a time, the bias
//!   is added, the activation applied, and the result rounded and stored.
//!
//! Where a sum starts and ends depends on K only, so the result does not depend on the
//! number of threads. Bound by the FMA units: packing reads each element of b once per
//! block of rows, for 2 * ROWS operations.

use crate::cpu::Cpu;
use crate::cpu::linear::Epilogue;
use crate::cpu::linear::finish::Finish;
use crate::cpu::matmul::pack::Pack;
use crate::cpu::matmul::tile::{NR_VECTORS, tile};
use crate::cpu::scratch::aligned_len;
use crate::element::Element;
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
    nr: usize,
    /// Rows multiplied at a time, a multiple of MR.
    mc: usize,
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
            nr,
            mc: MC.next_multiple_of(mr),
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

    /// f32 elements of one thread's packed b, and of its sums.
    fn thread_scratch(&self) -> [usize; 2] {
        [
            aligned_len(self.kc * self.nc),
            aligned_len(self.task_rows * self.nc),
        ]
    }

    /// The steps of a block.
    fn steps(&self, block: usize) -> (usize, usize) {
        let first = (block * self.kc).min(self.inner);
        (first, (first + self.kc).min(self.inner))
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
    let finish = Finish::new(cpu.level, epilogue, c);
    let (packed_a, rest) = scratch.split_at_mut(aligned_len(plan.rows * plan.inner));
    let packed_a = Shared::new(packed_a.as_mut_ptr());
    let threads = Shared::new(rest.as_mut_ptr());
    let mut first_row = 0;
    while first_row < m {
        let rows = (m - first_row).min(plan.rows);
        let padded = rows.next_multiple_of(plan.mr);
        let panels = padded / plan.mr;
        // A few panels to a task: one is too little to hand out.
        let group = panels.div_ceil(plan.threads * 2);
        cpu.pool().run(panels.div_ceil(group), &|i| {
            let first = i * group * plan.mr;
            let last = (first + group * plan.mr).min(rows);
            for block in 0..plan.k_blocks {
                let (k0, k1) = plan.steps(block);
                let strides = [a.row_stride(), a.col_stride()];
                // SAFETY: the rows and steps are inside a; a block's panels start at k0 `padded`.
                let (x, out) = unsafe {
                    let x = a
                        .as_ptr()
                        .add((first_row + first) * strides[0] + k0 * strides[1]);
                    (x, packed_a.get().add(k0 * padded + first * (k1 - k0)))
                };
                A::run_pack(
                    cpu.level,
                    Pack {
                        x,
                        strides,
                        n_rows: last - first,
                        n_k: k1 - k0,
                        width: plan.mr,
                        out,
                    },
                );
            }
        });
        let row_tasks = rows.div_ceil(plan.task_rows);
        cpu.pool()
            .run_indexed(plan.col_tasks * row_tasks, &|task, thread| {
                let (col, row) = (
                    task / row_tasks * plan.nc,
                    task % row_tasks * plan.task_rows,
                );
                let n_cols = (n - col).min(plan.nc);
                let bottom = (row + plan.task_rows).min(rows);
                let [b_len, sums_len] = plan.thread_scratch();
                // SAFETY: the caller vouches for scratch space of this layout; each thread has its own part.
                let packed_b = unsafe { threads.get().add(thread * (b_len + sums_len)) };
                let sums = packed_b.wrapping_add(b_len);
                for block in 0..plan.k_blocks {
                    let (k0, k1) = plan.steps(block);
                    let strides = [b.col_stride(), b.row_stride()];
                    // SAFETY: the columns and steps are inside b.
                    let x = unsafe { b.as_ptr().add(col * strides[0] + k0 * strides[1]) };
                    let pack = Pack {
                        x,
                        strides,
                        n_rows: n_cols,
                        n_k: k1 - k0,
                        width: plan.nr,
                        out: packed_b,
                    };
                    B::run_pack(cpu.level, pack);
                    for top in (row..bottom).step_by(plan.mc) {
                        let rows = (bottom - top).min(plan.mc);
                        let sums = sums.wrapping_add((top - row) * plan.nc);
                        cpu.dispatch(Multiply {
                            rows,
                            cols: n_cols,
                            steps: k1 - k0,
                            packed_a: packed_a.get().wrapping_add(k0 * padded + top * (k1 - k0)),
                            packed_b,
                            sums,
                            sums_stride: plan.nc,
                            accumulate: block > 0,
                        });
                        if block + 1 == plan.k_blocks {
                            // SAFETY: this block of the output is this task's own, and inside the bias.
                            unsafe {
                                finish.store(sums, plan.nc, [rows, n_cols], [first_row + top, col])
                            };
                        }
                    }
                }
            });
        first_row += rows;
    }
}

/// sums[i, j] (+)= sum_k a[i, k] b[k, j] for packed operands: rows and columns in whole tiles,
/// so that up to MR - 1 rows and NR - 1 columns more than asked for are written.
struct Multiply {
    rows: usize,
    cols: usize,
    steps: usize,
    packed_a: *const f32,
    packed_b: *const f32,
    sums: *mut f32,
    sums_stride: usize,
    accumulate: bool,
}

impl Kernel for Multiply {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self {
            rows,
            cols,
            steps,
            packed_a,
            packed_b,
            sums,
            sums_stride,
            accumulate,
        } = self;
        let (mr, nr) = (S::MR, NR_VECTORS * S::LANES);
        for j in (0..cols).step_by(nr) {
            for i in (0..rows).step_by(mr) {
                // SAFETY: `product` packed rows and columns in whole panels of `steps`, and gives
                // sums of whole tiles.
                unsafe {
                    let (a, b) = (packed_a.add(i * steps), packed_b.add(j * steps));
                    let sums = sums.add(i * sums_stride + j);
                    tile::<S, NR_VECTORS>(
                        s,
                        steps,
                        a,
                        [1, mr],
                        b,
                        nr,
                        sums,
                        sums_stride,
                        accumulate,
                    );
                }
            }
        }
    }
}
