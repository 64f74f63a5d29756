use linnet_runtime::prelude::*;

#[block]
pub struct Outer<H: Dim, T: Float> {
    #[param]
    scale: Tensor![H; T],
}

#[block]
impl Outer {
    pub fn set(&mut self, x: Tensor![H; T]) {
        self.scale = x;
    }
}

fn main() {}
