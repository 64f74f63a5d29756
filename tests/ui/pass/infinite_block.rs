use linnet_runtime::prelude::*;

#[block]
pub struct Leaf<H: Dim, T: Float> {
    #[param]
    scale: Tensor![H; T],
}

#[block]
impl Leaf {}

#[block]
pub struct Tree<H: Dim, T: Float> {
    left: Leaf<H, T>,
}

#[block]
impl Tree {}

fn main() {}
