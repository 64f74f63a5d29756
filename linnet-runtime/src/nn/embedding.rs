//! Rows of a table, looked up by number.

use crate::kernel::embedding::EmbeddingKernel;
use crate::prelude::*;

/// Row `ids[..]` of `table` for each id.
#[op(kernel = EmbeddingKernel)]
#[require(0 <= ids, ids < Vocab)]
pub fn embedding<S: Shape, Vocab: Dim, H: Dim, T: Float>(
    ids: Tensor![*S; i32],
    table: Tensor![Vocab, H; T],
) -> Tensor![*S, H; T] {
    index!([*s, h] = table[ids[*s], h])
}

/// A learned table of `Vocab` rows of width `H`.
#[block]
pub struct Embedding<Vocab: Dim, H: Dim, T: Float = bf16> {
    #[param]
    weight: Tensor![Vocab, H; T],
}

#[block]
impl Embedding {
    /// The row of each id.
    #[require(0 <= ids, ids < Vocab)]
    pub fn forward<S: Shape>(&self, ids: Tensor![*S; i32]) -> Tensor![*S, H; T] {
        embedding(ids, self.weight)
    }
}
