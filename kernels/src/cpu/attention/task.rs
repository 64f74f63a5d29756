//! The rows of a task: what the two forms of attention have in common.

use super::{decode, prefill};
use crate::element::Element;
use crate::simd::{Kernel, Simd};
use crate::view::{HeadsMut, HeadsRef, Shared};

/// What all tasks of a launch have in common.
pub struct Operands<'a, E> {
    pub(super) q: HeadsRef<'a, E>,
    pub(super) k: HeadsRef<'a, E>,
    pub(super) v: HeadsRef<'a, E>,
    pub(super) scale: f32,
    pub(super) sinks: Option<&'a [E]>,
    /// Heads that share a key head.
    pub(super) group: usize,
    pub(super) out: &'a HeadsMut<'a, E>,
    /// The elements of `out`.
    pub(super) to: Shared<E>,
}

/// The keys that the queries of a task see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sight {
    /// The i-th query of the task stands at `pos + i` and sees the last `window` keys up to
    /// its own position.
    Causal { pos: usize, window: usize },
    /// All see the keys `0..keys`.
    Full { keys: usize },
}

/// One task: queries of one sequence, and a key head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The batch entry of q and out.
    pub(super) b: usize,
    /// The batch entry of k and v.
    pub(super) cache_row: usize,
    pub(super) kv_head: usize,
    /// The first query and past the last.
    pub(super) queries: (usize, usize),
    pub(super) sight: Sight,
}

/// The rows of a task (query, head of the group), which share keys.
pub struct Rows<'a, E> {
    pub(super) operands: &'a Operands<'a, E>,
    pub(super) piece: Piece,
}

impl<E: Element> Rows<'_, E> {
    /// The number of rows.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        (self.piece.queries.1 - self.piece.queries.0) * self.operands.group
    }
    /// D.
    #[inline(always)]
    pub(super) fn dim(&self) -> usize {
        self.operands.q.shape()[3]
    }
    /// The query and the head of a row.
    #[inline(always)]
    pub(super) fn place(&self, row: usize) -> (usize, usize) {
        let group = self.operands.group;
        (
            self.piece.queries.0 + row / group,
            self.piece.kv_head * group + row % group,
        )
    }
    /// The keys that a row sees.
    #[inline(always)]
    pub(super) fn visible(&self, row: usize) -> (usize, usize) {
        match self.piece.sight {
            Sight::Full { keys } => (0, keys),
            Sight::Causal { pos, window } => {
                let last = pos + row / self.operands.group + 1;
                (last.saturating_sub(window), last)
            }
        }
    }
    /// A row of q.
    #[inline(always)]
    pub(super) fn q(&self, row: usize) -> *const E {
        let (s, h) = self.place(row);
        let q = &self.operands.q;
        q.as_ptr().wrapping_add(q.offset(self.piece.b, h, s))
    }
    /// A row of out.
    #[inline(always)]
    pub(super) fn out(&self, row: usize) -> *mut E {
        let (s, h) = self.place(row);
        let at = self.operands.out.offset(self.piece.b, h, s);
        self.operands.to.get().wrapping_add(at)
    }
    /// A key.
    #[inline(always)]
    pub(super) fn key(&self, m: usize) -> *const E {
        let (k, piece) = (&self.operands.k, &self.piece);
        k.as_ptr()
            .wrapping_add(k.offset(piece.cache_row, piece.kv_head, m))
    }
    /// A value.
    #[inline(always)]
    pub(super) fn value(&self, m: usize) -> *const E {
        let (v, piece) = (&self.operands.v, &self.piece);
        v.as_ptr()
            .wrapping_add(v.offset(piece.cache_row, piece.kv_head, m))
    }
    /// What a row's weighted sum of values is multiplied by, from its largest score and its sum of
    /// e^(score - largest).
    #[inline(always)]
    pub(super) fn factor(&self, row: usize, max: f32, sum: f32) -> f32 {
        let (first, last) = self.visible(row);
        if first >= last {
            return 0.0;
        }
        match self.operands.sinks {
            None => 1.0 / sum,
            Some(sinks) => {
                let sink = sinks[self.place(row).1].to_f32();
                // A NaN in either must not be lost.
                let largest = if sink > max { sink } else { max };
                let shrink = (max - largest).exp();
                shrink / (sum * shrink + (sink - largest).exp())
            }
        }
    }
}

/// The most rows that are handled one by one.
const SINGLE_ROWS: usize = 4;

/// The f32 elements of scratch space of a thread whose tasks have up to `rows` rows.
pub(super) struct Room {
    pub rows: usize,
    pub dim: usize,
}

impl Kernel for Room {
    type Output = usize;
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> usize {
        let Self { rows, dim } = self;
        let single = decode::room(rows.min(SINGLE_ROWS), dim);
        // A task may have fewer rows than the largest, and then be of another form.
        let one = prefill::room::<S, 1>(rows.min(S::LANES), dim);
        let two = prefill::room::<S, 2>(rows, dim);
        match rows {
            0..=SINGLE_ROWS => single,
            _ if rows <= S::LANES => single.max(one),
            _ => single.max(one).max(two),
        }
    }
}

pub struct Task<'a, E> {
    pub(super) rows: Rows<'a, E>,
    pub(super) scratch: &'a mut [f32],
}

impl<E: Element> Kernel for Task<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let n = self.rows.len();
        // SAFETY: the launch checked the views, positions, rows and the scratch space; this
        // task's rows of out are its own.
        unsafe {
            if n <= SINGLE_ROWS {
                decode::run(s, &self.rows, self.scratch);
            } else if n <= S::LANES {
                prefill::run::<S, E, 1>(s, &self.rows, self.scratch);
            } else {
                prefill::run::<S, E, 2>(s, &self.rows, self.scratch);
            }
        }
    }
}
