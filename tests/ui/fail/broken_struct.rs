use linnet_runtime::prelude::*;

#[block]
pub struct Scale<H: Dim, T: Float> {
    #[param]
    scale: Tensor![H],
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
    #[entry]
    pub fn forward<B: Dim>(&self, x: Tensor![B, H; T]) -> Tensor![B, H; T] {
        self.scale.forward(x)
    }
}

pub fn run(outer: &Outer<Dyn, f32>, x: &Tensor<(Dyn, Dyn), f32>) -> linnet_runtime::Result<()> {
    outer.forward(x).map(drop)
}

fn main() {}
