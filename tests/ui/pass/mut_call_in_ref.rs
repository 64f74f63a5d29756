use linnet_runtime::prelude::*;

#[block]
pub struct Cache<Batch: Dim, MaxSeq: Dim, D: Dim, T: Float> {
    #[state]
    keys: Tensor![Batch, MaxSeq, D; T],
}

#[block]
impl Cache {
    pub fn fill(&mut self, x: Tensor![Batch, MaxSeq, D; T]) {
        self.keys = x;
    }

    pub fn read(&mut self, x: Tensor![Batch, MaxSeq, D; T]) -> Tensor![Batch, MaxSeq, D; T] {
        self.fill(x);
        self.keys
    }
}

fn main() {}
