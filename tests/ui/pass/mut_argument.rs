use linnet_runtime::{nn::cache::write_at, prelude::*};

#[block]
pub struct Cache<Batch: Dim, Heads: Dim, MaxSeq: Dim, D: Dim, T: Float> {
    #[state]
    keys: Tensor![Batch, Heads, MaxSeq, D; T],
}

#[block]
impl Cache {
    #[require(0 <= pos, pos + S <= MaxSeq)]
    pub fn write<S: Dim>(&mut self, x: Tensor![Batch, Heads, S, D; T], pos: i32) {
        write_at(&mut self.keys, x, pos);
    }
}

fn main() {}
