use linnet_runtime::prelude::*;

#[block]
#[require(Heads > 0)]
pub struct Attention<Batch: Dim, H: Dim, Heads: Dim, T: Float> {
    #[state]
    cache: Tensor![Batch, Heads, H / Heads; T],
}

#[block]
impl Attention {}

fn main() {}
