use linnet_runtime::prelude::*;

#[block]
pub struct Scale<H: Dim, T: Float> {
    #[param]
    scale: Tensor![H; T],
}

#[block]
impl Scale {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
        x * self.scale
    }
}

#[block]
pub struct Outer<H: Dim, T: Float> {
    scale: Scale<H, T>,
}

#[block]
impl Outer {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
        self.scale.forward(x)
    }
}

fn main() {}
