use linnet_runtime::prelude::*;

#[block]
pub struct Cache<Batch: Dim, MaxSeq: Dim, D: Dim, T: Float> {
    #[state]
    keys: Tensor![Batch, MaxSeq, D; T],
}

#[block]
impl Cache {
    pub fn fill(&self, x: Tensor![Batch, MaxSeq, D; T]) {
        self.keys = x;
    }
}

fn main() {}
