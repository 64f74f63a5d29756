//! The rows of a task: what the two forms of attention have in common.

use super::{AttentionArgs, Mask, Plan, decode, prefill};
use crate::cpu::cache::row_of;
use crate::element::Element;
use crate::simd::{Kernel, Simd};
use crate::view::{HeadsMut, HeadsRef, Shared};

/// One task: the rows (query, head of the group) that share keys.
pub struct Rows<'a, 'd, E> {
    pub(super) plan: Plan,
    pub(super) q: &'a HeadsRef<'d, E>,
    pub(super) k: &'a HeadsRef<'d, E>,
    pub(super) v: &'a HeadsRef<'d, E>,
    pub(super) args: &'a AttentionArgs<'d, E>,
    pub(super) out: &'a HeadsMut<'d, E>,
    pub(super) to: Shared<E>,
    pub(super) b: usize,
    pub(super) kv_head: usize,
    pub(super) queries: (usize, usize),
}

impl<E: Element> Rows<'_, '_, E> {
    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        (self.queries.1 - self.queries.0) * self.plan.group
    }
    /// The query and the head of a row.
    #[inline(always)]
    pub(super) fn place(&self, row: usize) -> (usize, usize) {
        let group = self.plan.group;
        (
            self.queries.0 + row / group,
            self.kv_head * group + row % group,
        )
    }
    /// The keys that a row sees.
    #[inline(always)]
    pub(super) fn visible(&self, row: usize) -> (usize, usize) {
        match self.args.mask {
            Mask::Full { keys } => (0, keys),
            Mask::Causal { positions, window } => {
                let last = positions.of(self.b) as usize + self.place(row).0 + 1;
                (window.map_or(0, |w| last.saturating_sub(w)), last)
            }
        }
    }
    /// A row of q.
    #[inline(always)]
    pub(super) fn q(&self, row: usize) -> *const E {
        let (s, h) = self.place(row);
        self.q.as_ptr().wrapping_add(self.q.offset(self.b, h, s))
    }
    /// A row of out.
    #[inline(always)]
    pub(super) fn out(&self, row: usize) -> *mut E {
        let (s, h) = self.place(row);
        self.to.get().wrapping_add(self.out.offset(self.b, h, s))
    }
    /// A key.
    #[inline(always)]
    pub(super) fn key(&self, m: usize) -> *const E {
        let c = row_of(self.args.rows, self.b);
        self.k
            .as_ptr()
            .wrapping_add(self.k.offset(c, self.kv_head, m))
    }
    /// A value.
    #[inline(always)]
    pub(super) fn value(&self, m: usize) -> *const E {
        let c = row_of(self.args.rows, self.b);
        self.v
            .as_ptr()
            .wrapping_add(self.v.offset(c, self.kv_head, m))
    }
    /// What a row's weighted sum of values is multiplied by, from its largest score and its sum of
    /// e^(score - largest).
    #[inline(always)]
    pub(super) fn factor(&self, row: usize, max: f32, sum: f32) -> f32 {
        let (first, last) = self.visible(row);
        if first >= last {
            return 0.0;
        }
        match self.args.sinks {
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

pub struct Task<'a, 'd, E> {
    pub(super) rows: Rows<'a, 'd, E>,
    pub(super) scratch: &'a mut [f32],
}

impl<E: Element> Kernel for Task<'_, '_, E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // SAFETY: `attention` checked the views, positions, rows and the scratch space; this
        // task's rows of out are its own.
        unsafe {
            if self.rows.plan.lanes {
                prefill::run(s, &self.rows, self.scratch);
            } else {
                decode::run(s, &self.rows, self.scratch);
            }
        }
    }
}
