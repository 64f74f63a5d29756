//! Writing into key and value caches, `[B, Heads, M, D]`: for each row of the
//! batch and each head, one vector for each of `M` positions.

use crate::kernel::cache::{WriteAtKernel, WritePackedKernel, WriteRowsKernel, WriteSlotsKernel};
use crate::prelude::*;

/// Puts `x` at positions `pos..pos + S` of every row.
#[op(kernel = WriteAtKernel)]
#[require(0 <= pos, pos + S <= M)]
pub fn write_at<B: Dim, Heads: Dim, M: Dim, S: Dim, D: Dim, T: Float>(
    cache: &mut Tensor![B, Heads, M, D; T],
    x: Tensor![B, Heads, S, D; T],
    pos: i32,
) {
    *cache = index!(
        [b, h, m, d] = if m >= pos && m < pos + S { x[b, h, m - pos, d] } else { cache[b, h, m, d] }
    );
}

/// Puts row `b` of `x` at position `positions[b]` of row `b`.
#[op(kernel = WriteRowsKernel)]
#[require(0 <= positions, positions < M)]
pub fn write_rows<B: Dim, Heads: Dim, M: Dim, D: Dim, T: Float>(
    cache: &mut Tensor![B, Heads, M, D; T],
    x: Tensor![B, Heads, 1, D; T],
    positions: Tensor![B; i32],
) {
    *cache = index!(
        [b, h, m, d] = if m == positions[b] { x[b, h, 0, d] } else { cache[b, h, m, d] }
    );
}

/// Puts `x[n]` at positions `0..S` of row `slots[n]`. Rows that `slots` does
/// not name keep what they hold.
#[op(kernel = WriteSlotsKernel)]
#[require(S <= M, 0 <= slots, slots < B, distinct(slots))]
pub fn write_slots<B: Dim, Heads: Dim, M: Dim, N: Dim, S: Dim, D: Dim, T: Float>(
    cache: &mut Tensor![B, Heads, M, D; T],
    x: Tensor![N, Heads, S, D; T],
    slots: Tensor![N; i32],
) {
    // One more than the prompt that goes into row b, and less than 1 for none.
    let source: Tensor![B; i32] = index!([b: B] = max[n] if slots[n] == b { n + 1 } else { 0 });
    let old = cache.slice(s![.., .., 0..S, ..]);
    let new = index!(
        [b, h, s, d] = if source[b] > 0 { x[source[b] - 1, h, s, d] } else { old[b, h, s, d] }
    );
    *cache = concat([new, cache.slice(s![.., .., S..M, ..])], 2);
}

/// Puts token `p` of `x` at position `positions[p]` of row `rows[p]`. A token
/// at position -1 is not written; of several tokens for one place the last is.
#[op(kernel = WritePackedKernel)]
#[require(0 <= rows, rows < B, -1 <= positions, positions < M)]
pub fn write_packed<B: Dim, Heads: Dim, M: Dim, P: Dim, D: Dim, T: Float>(
    cache: &mut Tensor![B, Heads, M, D; T],
    x: Tensor![1, Heads, P, D; T],
    rows: Tensor![P; i32],
    positions: Tensor![P; i32],
) {
    // One more than the token that goes there, and less than 1 for none.
    let source: Tensor![B, M; i32] = index!(
        [b: B, m: M] = max[p] if rows[p] == b && positions[p] == m { p + 1 } else { 0 }
    );
    *cache = index!(
        [b, h, m, d] = if source[b, m] > 0 {
            x[0, h, source[b, m] - 1, d]
        } else {
            cache[b, h, m, d]
        }
    );
}
