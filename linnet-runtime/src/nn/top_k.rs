//! Which elements are the largest.

use crate::kernel::top_k::DescendingRanksKernel;
use crate::prelude::*;

/// The rank of each element along the last axis: 0 for the largest. Of equal
/// elements the one with the lower index ranks first.
#[op(kernel = DescendingRanksKernel)]
pub fn descending_ranks<S: Shape, N: Dim, T: Float>(x: Tensor![*S, N; T]) -> Tensor![*S, N; i32] {
    index!(
        [*s, e] = sum[o] if x[*s, o] > x[*s, e] || x[*s, o] == x[*s, e] && o < e { 1 } else { 0 }
    )
}
