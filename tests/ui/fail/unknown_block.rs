use linnet_runtime::prelude::*;

#[block]
pub struct Outer<H: Dim, T: Float> {
    projection: Projection<H, T>,
}

#[block]
impl Outer {}

fn main() {}
