//! Attention: `out[b, h, s, :] = sum_m p[m] v[row(b), h / G, m, :]`, with
//! p = softmax over the visible m of scale * q[b, h, s, :] . k[row(b), h / G, m, :].
//!
//! Layout: q, out (B, H, S, D), k and v (C, KvHeads, M, D), D contiguous, H = KvHeads * G.
//!
//! Keys are taken in blocks with a running maximum and sum (online softmax), so that only
//! the visible part of the cache is read, once. A task is a sequence, a key head and a
//! block of queries at consecutive positions; the G heads that share a key head are its rows.
//! Few rows are handled one by one (`decode`, bound by memory), more as lanes of vectors
//! (`prefill`, bound by the FMA units). [`attention`] takes queries by batch entry, one
//! sequence each; [`packed_attention`] takes tokens of any sequences. Nothing depends on the
//! number of threads.

mod decode;
mod packed;
#[cfg(test)]
mod packed_tests;
mod prefill;
pub(crate) mod task;
#[cfg(test)]
mod tests;

use crate::cpu::Cpu;
use crate::cpu::cache::{Positions, check_rows, row_of};
use crate::cpu::scratch::{ALIGN, aligned};
use crate::element::Element;
use crate::error::{KernelError, Result, expect_len, expect_scratch};
use crate::view::{HeadsMut, HeadsRef, Shared};
use task::{Operands, Piece, Room, Rows, Sight, Task};

pub use packed::{PackedArgs, packed_attention, packed_attention_scratch};

/// Which keys a query sees.
#[derive(Clone, Copy, Debug)]
pub enum Mask<'a> {
    /// Query s of entry b sees the keys `0..=pos(b) + s`; with a window of W, only the last W of
    /// them (the query's own position counts).
    Causal {
        /// The position of each entry's first query. `Positions::All(0)` for a whole sequence.
        positions: Positions<'a>,
        /// W.
        window: Option<usize>,
    },
    /// Every query sees the keys `0..keys`.
    Full {
        /// How many keys there are.
        keys: usize,
    },
}

/// What [`attention`] computes with, besides its tensors.
#[derive(Clone, Copy, Debug)]
pub struct AttentionArgs<'a, E> {
    /// Multiplies the scores; usually 1 / sqrt(D).
    pub scale: f32,
    /// Which keys a query sees.
    pub mask: Mask<'a>,
    /// row(b): the cache row of each batch entry; b without a map.
    pub rows: Option<&'a [i32]>,
    /// One logit per head (H) that takes part in the softmax's denominator only.
    pub sinks: Option<&'a [E]>,
}

/// Attention with grouped heads over a key and value cache (or a whole sequence's keys and values).
///
/// q and out (B, H, S, D); k and v (C, KvHeads, M, D) with H a multiple of KvHeads; only the
/// visible part of the cache is read. A query that sees no key gets zeros.
///
/// # Errors
/// If shapes differ, H is not a multiple of KvHeads, a cache row or a position is outside the
/// cache, the window is 0, or `scratch` is shorter than [`attention_scratch`] says.
pub fn attention<E: Element>(
    cpu: &Cpu,
    q: HeadsRef<'_, E>,
    k: HeadsRef<'_, E>,
    v: HeadsRef<'_, E>,
    args: AttentionArgs<'_, E>,
    mut out: HeadsMut<'_, E>,
    scratch: &mut [f32],
) -> Result<()> {
    const KERNEL: &str = "attention";
    let [batch, _, length, _] = q.shape();
    let [cache_rows, kv_heads, capacity, _] = k.shape();
    check_shapes(KERNEL, &q, &k, &v, args.sinks, &out)?;
    check_rows(KERNEL, args.rows, batch, cache_rows)?;
    match args.mask {
        Mask::Causal { positions, window } => {
            positions.check(KERNEL, batch, length, capacity)?;
            check_window(KERNEL, window)?;
        }
        Mask::Full { keys } if keys > capacity => {
            return Err(KernelError::OutOfBounds {
                kernel: KERNEL,
                what: "the keys",
                needed: keys,
                len: capacity,
            });
        }
        Mask::Full { .. } => {}
    }
    let plan = Plan::new(cpu, q.shape(), kv_heads);
    expect_scratch(KERNEL, plan.scratch(cpu), scratch.len())?;
    if q.shape().contains(&0) {
        return Ok(());
    }
    let operands = Operands {
        q,
        k,
        v,
        scale: args.scale,
        sinks: args.sinks,
        group: plan.group,
        to: Shared::new(out.as_mut_ptr()),
        out: &out,
    };
    let blocks = length.div_ceil(plan.queries);
    let piece = |task: usize| {
        // The last block of queries sees the most keys: it goes first, so that threads end together.
        let (block, rest) = (
            blocks - 1 - task / (batch * kv_heads),
            task % (batch * kv_heads),
        );
        let (b, kv_head) = (rest / kv_heads, rest % kv_heads);
        let first = block * plan.queries;
        Piece {
            b,
            cache_row: row_of(args.rows, b),
            kv_head,
            queries: (first, (first + plan.queries).min(length)),
            sight: match args.mask {
                Mask::Full { keys } => Sight::Full { keys },
                Mask::Causal { positions, window } => Sight::Causal {
                    pos: positions.of(b) as usize + first,
                    window: window.unwrap_or(usize::MAX),
                },
            },
        }
    };
    launch(
        cpu,
        &plan,
        &operands,
        batch * kv_heads * blocks,
        &piece,
        scratch,
    );
    Ok(())
}

/// The f32 elements of scratch space that [`attention`] needs on `cpu` for q of this shape
/// (B, H, S, D) and this number of key heads. It does not depend on the length of the cache.
pub fn attention_scratch(cpu: &Cpu, q_shape: [usize; 4], kv_heads: usize) -> usize {
    Plan::new(cpu, q_shape, kv_heads).scratch(cpu)
}

/// Checks that the tensors belong together, in their axes other than those of the cache's rows.
fn check_shapes<E: Element>(
    kernel: &'static str,
    q: &HeadsRef<'_, E>,
    k: &HeadsRef<'_, E>,
    v: &HeadsRef<'_, E>,
    sinks: Option<&[E]>,
    out: &HeadsMut<'_, E>,
) -> Result<()> {
    let [batch, heads, length, dim] = q.shape();
    let [cache_rows, kv_heads, capacity, _] = k.shape();
    for (what, expected, found) in [
        ("the batch of out", batch, out.shape()[0]),
        ("the heads of out", heads, out.shape()[1]),
        ("the positions of out", length, out.shape()[2]),
        ("the head dimension of out", dim, out.shape()[3]),
        ("the head dimension of k", dim, k.shape()[3]),
        ("the batch of v", cache_rows, v.shape()[0]),
        ("the heads of v", kv_heads, v.shape()[1]),
        ("the positions of v", capacity, v.shape()[2]),
        ("the head dimension of v", dim, v.shape()[3]),
    ] {
        expect_len(kernel, what, expected, found)?;
    }
    if kv_heads == 0 && heads > 0 || kv_heads > 0 && !heads.is_multiple_of(kv_heads) {
        return Err(KernelError::Invalid {
            kernel,
            what: "the heads of q must be a multiple of those of k",
        });
    }
    if let Some(sinks) = sinks {
        expect_len(kernel, "the length of sinks", heads, sinks.len())?;
    }
    Ok(())
}

fn check_window(kernel: &'static str, window: Option<usize>) -> Result<()> {
    if window == Some(0) {
        return Err(KernelError::Invalid {
            kernel,
            what: "a window must be at least 1",
        });
    }
    Ok(())
}

/// Runs `tasks` tasks. `piece` names each one's queries; no query of a head is in two of them.
fn launch<E: Element>(
    cpu: &Cpu,
    plan: &Plan,
    operands: &Operands<'_, E>,
    tasks: usize,
    piece: &(dyn Fn(usize) -> Piece + Sync),
    scratch: &mut [f32],
) {
    let scratch = Shared::new(aligned(scratch).as_mut_ptr());
    cpu.pool().run_indexed(tasks, &|task, thread| {
        let rows = Rows {
            operands,
            piece: piece(task),
        };
        // SAFETY: the scratch space, which the caller checked, has this much for each thread.
        let own = unsafe {
            std::slice::from_raw_parts_mut(scratch.get().add(thread * plan.own), plan.own)
        };
        E::run_attention(cpu.level, Task { rows, scratch: own });
    });
}

/// How the work is divided.
#[derive(Clone, Copy)]
struct Plan {
    /// Heads that share a key head.
    group: usize,
    /// The most queries in a task.
    queries: usize,
    /// f32 elements of scratch space of a thread.
    own: usize,
}

/// Rows of a task: with 64, what is done once per block of keys (copying them) costs a few
/// percent of the products.
const ROWS: usize = 64;

impl Plan {
    fn new(cpu: &Cpu, [_, heads, length, dim]: [usize; 4], kv_heads: usize) -> Self {
        let group = heads.checked_div(kv_heads).unwrap_or(0).max(1);
        let queries = (ROWS / group).clamp(1, length.max(1));
        let rows = queries * group;
        let own = cpu.dispatch(Room { rows, dim }).next_multiple_of(ALIGN);
        Self {
            group,
            queries,
            own,
        }
    }

    fn scratch(&self, cpu: &Cpu) -> usize {
        ALIGN + cpu.threads() * self.own
    }
}
