use linnet_runtime::prelude::*;

#[block]
#[require(H < 32, H >= 64)]
pub struct Outer<H: Dim, T: Float> {
    #[param]
    scale: Tensor![H; T],
}

#[block]
impl Outer {}

fn main() {}
