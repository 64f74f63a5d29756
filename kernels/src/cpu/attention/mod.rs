//! Attention: `out[b, h, s, :] = sum_m p[m] v[row(b), h / G, m, :]`, with
//! p = softmax over the visible m of scale * q[b, h, s, :] . k[row(b), h / G, m, :].
//!
//! Layout: q, out (B, H, S, D), k and v (C, KvHeads, M, D), D contiguous, H = KvHeads * G.
//!
//! Keys are taken in blocks with a running maximum and sum (online softmax), so that only
//! the visible part of the cache is read, once. A task is a batch entry, a key head and a
//! block of queries; the G heads that share a key head are its rows. Few rows are handled
//! one by one (`decode`, bound by memory), more as lanes of vectors (`prefill`, bound
//! by the FMA units). Nothing depends on the number of threads.

mod decode;
mod prefill;
pub(crate) mod task;
#[cfg(test)]
mod tests;

use crate::cpu::Cpu;
use crate::cpu::cache::{Positions, check_rows};
use crate::cpu::scratch::{ALIGN, aligned};
use crate::element::Element;
use crate::error::{KernelError, Result, expect_len, expect_scratch};
use crate::view::{HeadsMut, HeadsRef, Shared};
use task::{Rows, Task};

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
        expect_len(KERNEL, what, expected, found)?;
    }
    if kv_heads == 0 && heads > 0 || kv_heads > 0 && !heads.is_multiple_of(kv_heads) {
        return Err(KernelError::Invalid {
            kernel: KERNEL,
            what: "the heads of q must be a multiple of those of k",
        });
    }
    check_rows(KERNEL, args.rows, batch, cache_rows)?;
    match args.mask {
        Mask::Causal { positions, window } => {
            positions.check(KERNEL, batch, length, capacity)?;
            if window == Some(0) {
                return Err(KernelError::Invalid {
                    kernel: KERNEL,
                    what: "a window must be at least 1",
                });
            }
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
    if let Some(sinks) = args.sinks {
        expect_len(KERNEL, "the length of sinks", heads, sinks.len())?;
    }
    let plan = Plan::new(cpu, q.shape(), kv_heads);
    expect_scratch(KERNEL, plan.scratch(cpu), scratch.len())?;
    if batch * heads * length * dim == 0 {
        return Ok(());
    }
    let scratch = Shared::new(aligned(scratch).as_mut_ptr());
    let to = Shared::new(out.as_mut_ptr());
    let out = &out;
    let blocks = length.div_ceil(plan.queries);
    let tasks = batch * kv_heads * blocks;
    cpu.pool().run_indexed(tasks, &|task, thread| {
        // The last block of queries sees the most keys: it goes first, so that threads end together.
        let (block, rest) = (
            blocks - 1 - task / (batch * kv_heads),
            task % (batch * kv_heads),
        );
        let (b, kv_head) = (rest / kv_heads, rest % kv_heads);
        let first = block * plan.queries;
        let rows = Rows {
            plan,
            q: &q,
            k: &k,
            v: &v,
            args: &args,
            out,
            to,
            b,
            kv_head,
            queries: (first, (first + plan.queries).min(length)),
        };
        // SAFETY: the scratch space has this much for each thread.
        let own = unsafe {
            std::slice::from_raw_parts_mut(scratch.get().add(thread * plan.own), plan.own)
        };
        E::run_attention(cpu.level, Task { rows, scratch: own });
    });
    Ok(())
}

/// The f32 elements of scratch space that [`attention`] needs on `cpu` for q of this shape
/// (B, H, S, D) and this number of key heads. It does not depend on the length of the cache.
pub fn attention_scratch(cpu: &Cpu, q_shape: [usize; 4], kv_heads: usize) -> usize {
    Plan::new(cpu, q_shape, kv_heads).scratch(cpu)
}

/// How the work is divided.
#[derive(Clone, Copy)]
struct Plan {
    /// Heads that share a key head.
    group: usize,
    /// Queries in a task.
    queries: usize,
    /// Whether rows are lanes of vectors.
    lanes: bool,
    /// f32 elements of scratch space of a thread.
    own: usize,
}

/// Rows of a task: with 64, what is done once per block of keys (copying them) costs a few
/// percent of the products.
const ROWS: usize = 64;
/// The most rows that are handled one by one.
const SINGLE_ROWS: usize = 4;

impl Plan {
    fn new(cpu: &Cpu, [_, heads, length, dim]: [usize; 4], kv_heads: usize) -> Self {
        let group = heads.checked_div(kv_heads).unwrap_or(0).max(1);
        let queries = (ROWS / group).clamp(1, length.max(1));
        let rows = queries * group;
        let lanes = rows > SINGLE_ROWS;
        let own = if lanes {
            cpu.dispatch(prefill::Room { rows, dim })
        } else {
            decode::room(rows, dim)
        };
        Self {
            group,
            queries,
            lanes,
            own: own.next_multiple_of(ALIGN),
        }
    }

    fn scratch(&self, cpu: &Cpu) -> usize {
        ALIGN + cpu.threads() * self.own
    }
}
