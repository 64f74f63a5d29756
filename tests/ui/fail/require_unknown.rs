use linnet_runtime::prelude::*;

#[block]
#[require(Head > 0)]
pub struct Outer<H: Dim, Heads: Dim, T: Float> {
    #[param]
    scale: Tensor![H; T],
}

#[block]
impl Outer {}

fn main() {}
