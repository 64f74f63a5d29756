use linnet_runtime::prelude::*;

#[block]
pub struct Cache<Batch: Dim, MaxSeq: Dim, D: Dim, T: Float> {
    #[state]
    keys: Tensor![Batch, MaxSeq, D; T],
}

#[block]
impl Cache {
    pub fn scale(&self, x: Tensor![D; T]) -> Tensor![Batch, MaxSeq, D; T] {
        x * self.keys
    }

    #[require(MaxSeq > 0)]
    pub fn last(&self) -> Tensor![Batch, D; T] {
        self.keys.slice(s![.., MaxSeq - 1, ..])
    }

    pub fn total(&self, bias: Tensor![D; T]) -> Tensor![MaxSeq, D; T] {
        self.keys.sum(0) + bias
    }
}

fn main() {}
