use linnet_runtime::prelude::*;

#[op]
fn double<S: Shape, T: Float>(x: Tensor![*S; T]) -> Tensor![*S; T] {
    x + x
}

#[block]
pub struct Outer<H: Dim, T: Float> {
    #[param]
    scale: Tensor![H; T],
}

#[block]
impl Outer {
    #[entry]
    pub fn forward<B: Dim>(&self, x: Tensor![B, H; T]) -> Tensor![B, H; T] {
        double(x) * self.scale
    }
}

pub fn run(outer: &Outer<Dyn, f32>, x: &Tensor<(Dyn, Dyn), f32>) -> linnet_runtime::Result<()> {
    outer.forward(x).map(drop)
}

fn main() {}
