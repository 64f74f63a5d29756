use linnet_runtime::prelude::*;

#[block]
pub struct Cache<Batch: Dim, MaxSeq: Dim, D: Dim, T: Float> {
    #[state]
    keys: Tensor![Batch, MaxSeq, D; T],
}

#[block]
impl Cache {
    pub fn twice(&self, x: Tensor![D; T]) -> Tensor![D; T] {
        x + x
    }

    pub fn double(&self, x: Tensor![MaxSeq; T]) -> Tensor![MaxSeq; T] {
        x + x
    }
}

fn main() {}
