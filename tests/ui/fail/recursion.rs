use linnet_runtime::prelude::*;

#[block]
pub struct Cache<Batch: Dim, MaxSeq: Dim, D: Dim, T: Float> {
    #[state]
    keys: Tensor![Batch, MaxSeq, D; T],
}

#[block]
impl Cache {
    pub fn even(&self, x: Tensor![D; T]) -> Tensor![D; T] {
        self.odd(x)
    }

    pub fn odd(&self, x: Tensor![D; T]) -> Tensor![D; T] {
        self.even(x)
    }
}

fn main() {}
