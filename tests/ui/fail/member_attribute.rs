use linnet_runtime::prelude::*;

#[block]
pub struct Outer<H: Dim, T: Float> {
    #[parameter]
    scale: Tensor![H; T],
}

#[block]
impl Outer {}

fn main() {}
