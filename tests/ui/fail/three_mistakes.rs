use linnet_runtime::prelude::*;

#[block]
pub struct Cache<Batch: Dim, MaxSeq: Dim, D: Dim, T: Float> {
    #[state]
    keys: Tensor![Batch, MaxSeq, D; T],
}

#[block]
impl Cache {
    pub fn scale(&self, x: Tensor![D; T]) -> Tensor![D; T] {
        x * self.scales
    }

    pub fn last(&self) -> Tensor![Batch, D; T] {
        self.keys.slice(s![.., MaxSeq - 1, ..])
    }

    pub fn total(&self, bias: Tensor![Batch; T]) -> Tensor![MaxSeq, D; T] {
        self.keys.sum(0) + bias
    }
}

fn main() {}
