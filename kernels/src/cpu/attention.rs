//! out[b, h, s, :] = sum_m p[m] v[row(b), h / G, m, :], with
//! p = softmax over the visible m of scale * q[b, h, s, :] . k[row(b), h / G, m, :]
//!
//! Layout: q, out (B, H, S, D), k and v (C, KvHeads, M, D), D contiguous, H = KvHeads * G.

use crate::cpu::Cpu;
use crate::cpu::cache::{Positions, check_rows, row_of};
use crate::element::Element;
use crate::error::{KernelError, Result, expect_len, expect_scratch};
use crate::view::{HeadsMut, HeadsRef, Shared};

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
    expect_scratch(
        KERNEL,
        attention_scratch(cpu, q.shape(), kv_heads),
        scratch.len(),
    )?;
    if batch * heads * length == 0 {
        return Ok(());
    }
    let group = heads / kv_heads;
    let to = Shared::new(out.as_mut_ptr());
    let out = &out;
    cpu.pool().run(batch * heads, &|task| {
        let (b, h) = (task / heads, task % heads);
        let row = row_of(args.rows, b);
        for s in 0..length {
            let (first, last) = match args.mask {
                Mask::Causal { positions, window } => {
                    let last = positions.of(b) as usize + s + 1;
                    (window.map_or(0, |w| last.saturating_sub(w)), last)
                }
                Mask::Full { keys } => (0, keys),
            };
            // SAFETY: all views were checked, positions and rows too; this task's head is its own.
            unsafe {
                let q = q.as_ptr().add(q.offset(b, h, s));
                let o = to.get().add(out.offset(b, h, s));
                let score = |m: usize| {
                    let k = k.as_ptr().add(k.offset(row, h / group, m));
                    (0..dim)
                        .map(|d| (*q.add(d)).to_f32() * (*k.add(d)).to_f32())
                        .sum::<f32>()
                        * args.scale
                };
                let sink = args
                    .sinks
                    .map_or(f32::NEG_INFINITY, |sinks| sinks[h].to_f32());
                let max = (first..last).map(score).fold(sink, f32::max);
                let total =
                    (first..last).map(|m| (score(m) - max).exp()).sum::<f32>() + (sink - max).exp();
                for d in 0..dim {
                    let weighted = |m: usize| {
                        (score(m) - max).exp()
                            * (*v.as_ptr().add(v.offset(row, h / group, m) + d)).to_f32()
                    };
                    let sum = (first..last).map(weighted).sum::<f32>();
                    *o.add(d) = E::from_f32(if last > first { sum / total } else { 0.0 });
                }
            }
        }
    });
    Ok(())
}

/// The f32 elements of scratch space that [`attention`] needs on `cpu` for q of this shape
/// (B, H, S, D) and this number of key heads. It does not depend on the length of the cache.
pub fn attention_scratch(cpu: &Cpu, q_shape: [usize; 4], kv_heads: usize) -> usize {
    let _ = (cpu, q_shape, kv_heads);
    0
}
