use linnet_runtime::prelude::*;

#[op]
fn swap<S: Shape, T: Float>(a: &mut Tensor![*S; T], b: &mut Tensor![*S; T]) {
    let first = a;
    *a = b;
    *b = first;
}

#[block]
pub struct Cache<Batch: Dim, Heads: Dim, MaxSeq: Dim, D: Dim, T: Float> {
    #[state]
    keys: Tensor![Batch, Heads, MaxSeq, D; T],
    #[state]
    values: Tensor![Batch, Heads, MaxSeq, D; T],
}

#[block]
impl Cache {
    pub fn exchange(&mut self) {
        swap(&mut self.keys, &mut self.keys);
    }
}

fn main() {}
