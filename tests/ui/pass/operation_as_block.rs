use linnet_runtime::prelude::*;

#[op]
fn scale<S: Shape, T: Float>(x: Tensor![*S; T], by: T) -> Tensor![*S; T] {
    x * by
}

#[block]
pub struct Outer<H: Dim, T: Float> {
    #[param]
    weight: Tensor![H; T],
}

#[block]
impl Outer {
    pub fn forward(&self, by: T) -> Tensor![H; T] {
        scale(self.weight, by)
    }
}

fn main() {}
