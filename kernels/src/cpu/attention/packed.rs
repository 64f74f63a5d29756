//! Attention of tokens of several sequences side by side: prompts, and single tokens of
//! sequences that are being decoded.
//!
//! Neighbouring tokens of one cache row at consecutive positions are a run, and a run is cut
//! into blocks. A task is a block and a key head, so the work is shared among threads over
//! requests as well as within them. The blocks are found once a launch, in the scratch space.

use super::task::{Operands, Piece, Sight};
use super::{Plan, check_shapes, check_window, launch};
use crate::cpu::Cpu;
use crate::cpu::cache::check_packed;
use crate::cpu::scratch::aligned_len;
use crate::element::Element;
use crate::error::{KernelError, Result, expect_len, expect_scratch};
use crate::view::{HeadsMut, HeadsRef, Shared};

/// What [`packed_attention`] computes with, besides its tensors.
#[derive(Clone, Copy, Debug)]
pub struct PackedArgs<'a, E> {
    /// Multiplies the scores; usually 1 / sqrt(D).
    pub scale: f32,
    /// Each token's cache row (P).
    pub rows: &'a [i32],
    /// Each token's position (P); at -1 a token sees no key.
    pub positions: &'a [i32],
    /// How many positions a token sees, its own included; all up to its own without a window.
    pub window: Option<usize>,
    /// One logit per head (H) that takes part in the softmax's denominator only.
    pub sinks: Option<&'a [E]>,
}

/// Attention with grouped heads of P tokens over a key and value cache.
///
/// q and out (1, H, P, D); k and v (C, KvHeads, M, D) with H a multiple of KvHeads. Token p sees
/// the last `window` keys of its cache row up to its position, and only those are read. A
/// token at position -1 gets zeros.
///
/// # Errors
/// If shapes differ, H is not a multiple of KvHeads, a cache row is outside the cache or a
/// position neither inside nor -1, the window is 0, or `scratch` is shorter than
/// [`packed_attention_scratch`] says.
pub fn packed_attention<E: Element>(
    cpu: &Cpu,
    q: HeadsRef<'_, E>,
    k: HeadsRef<'_, E>,
    v: HeadsRef<'_, E>,
    args: PackedArgs<'_, E>,
    mut out: HeadsMut<'_, E>,
    scratch: &mut [f32],
) -> Result<()> {
    const KERNEL: &str = "packed_attention";
    let [batch, _, tokens, _] = q.shape();
    let [cache_rows, kv_heads, capacity, _] = k.shape();
    expect_len(KERNEL, "the batch of q", 1, batch)?;
    check_shapes(KERNEL, &q, &k, &v, args.sinks, &out)?;
    check_packed(
        KERNEL,
        args.rows,
        args.positions,
        tokens,
        cache_rows,
        capacity,
    )?;
    check_window(KERNEL, args.window)?;
    if u32::try_from(tokens).is_err() {
        return Err(KernelError::Invalid {
            kernel: KERNEL,
            what: "a u32 cannot count the tokens",
        });
    }
    let needed = packed_attention_scratch(cpu, q.shape(), kv_heads);
    expect_scratch(KERNEL, needed, scratch.len())?;
    if q.shape().contains(&0) {
        return Ok(());
    }
    let plan = Plan::new(cpu, q.shape(), kv_heads);
    let (blocks, scratch) = scratch.split_at_mut(aligned_len(tokens));
    let blocks = find_blocks(args.rows, args.positions, plan.queries, as_u32(blocks));
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
    let piece = |task: usize| {
        // Later blocks of a run see more keys: they go first, so that threads end together.
        let block = blocks.len() - 1 - task / kv_heads;
        let first = blocks[block] as usize;
        let end = blocks.get(block + 1).map_or(tokens, |&end| end as usize);
        Piece {
            b: 0,
            cache_row: args.rows[first] as usize,
            kv_head: task % kv_heads,
            queries: (first, end),
            sight: match usize::try_from(args.positions[first]) {
                Ok(pos) => Sight::Causal {
                    pos,
                    window: args.window.unwrap_or(usize::MAX),
                },
                Err(_) => Sight::Full { keys: 0 },
            },
        }
    };
    launch(
        cpu,
        &plan,
        &operands,
        blocks.len() * kv_heads,
        &piece,
        scratch,
    );
    Ok(())
}

/// The f32 elements of scratch space that [`packed_attention`] needs on `cpu` for q of this shape
/// (1, H, P, D) and this number of key heads. It does not depend on the length of the cache.
pub fn packed_attention_scratch(cpu: &Cpu, q_shape: [usize; 4], kv_heads: usize) -> usize {
    aligned_len(q_shape[2]) + Plan::new(cpu, q_shape, kv_heads).scratch(cpu)
}

/// The first token of each block, in order, written to the front of `room`, which has a place
/// for every token. A block's tokens are of one cache row at consecutive positions, or all
/// see nothing; it has at most `longest`.
fn find_blocks<'a>(
    rows: &[i32],
    positions: &[i32],
    longest: usize,
    room: &'a mut [u32],
) -> &'a [u32] {
    let mut n = 0;
    let mut length = 0;
    for p in 0..rows.len() {
        let joins = p > 0 && length < longest && {
            let (before, here) = (positions[p - 1], positions[p]);
            match here {
                -1 => before == -1,
                _ => rows[p - 1] == rows[p] && before != -1 && here - 1 == before,
            }
        };
        if joins {
            length += 1;
        } else {
            room[n] = p as u32;
            (n, length) = (n + 1, 1);
        }
    }
    &room[..n]
}

/// The same memory as integers.
fn as_u32(room: &mut [f32]) -> &mut [u32] {
    // SAFETY: both types have the same size and alignment, and every bit pattern is a value of each.
    unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), room.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_runs_of_one_row() {
        let find = |rows: &[i32], positions: &[i32], longest| {
            find_blocks(rows, positions, longest, &mut vec![0; rows.len()]).to_vec()
        };
        assert_eq!(find(&[], &[], 8), [] as [u32; 0]);
        assert_eq!(find(&[3; 5], &[0, 1, 2, 3, 4], 8), [0]);
        assert_eq!(find(&[3; 5], &[0, 1, 2, 3, 4], 2), [0, 2, 4]);
        // Another row, a gap, a step back, and the same position again start a block.
        assert_eq!(find(&[3, 3, 4, 4], &[0, 1, 2, 3], 8), [0, 2]);
        assert_eq!(find(&[3; 4], &[0, 2, 1, 1], 8), [0, 1, 2, 3]);
        // Tokens that see nothing are of any row; position 0 does not follow them.
        assert_eq!(find(&[0, 1, 1, 1], &[-1, -1, 0, -1], 8), [0, 2, 3]);
    }
}
