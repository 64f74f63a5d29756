use linnet_runtime::prelude::*;

#[block]
pub struct Inner<H: Dim, T: Float> {
    #[param]
    scale: Tensor![H; T],
}

#[block]
impl Inner {
    pub fn forward<B: Dim, S: Dim>(&self, x: Tensor![B, S, H; T]) -> Tensor![B, S, H; T] {
        self.double(x) * self.scale
    }

    fn double<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
        x + x
    }
}

#[block]
pub struct Outer<H: Dim, T: Float> {
    inner: Inner<H, T>,
}

#[block]
impl Outer {
    pub fn forward<B: Dim, S: Dim>(&self, x: Tensor![B, S, H; T]) -> Tensor![B, S, H; T] {
        self.inner.forward(x)
    }
}

fn main() {}
