use linnet_runtime::prelude::*;

#[block]
#[require(Heads > 0, H % Heads == 0)]
pub struct Attention<H: Dim, Heads: Dim, T: Float> {
    #[param]
    sinks: Tensor![Heads, H / Heads; T],
}

#[block]
impl Attention {
    pub fn forward<B: Dim>(&self, x: Tensor![B, H; T]) -> Tensor![B, H; T] {
        (x.reshape([B, Heads, H / Heads]) + self.sinks).reshape([B, H])
    }
}

#[block]
#[require(Width > 0)]
pub struct Block<Width: Dim, T: Float> {
    attn: Attention<{ 8 * Width + 16 }, 8, T>,
}

#[block]
impl Block {}

fn main() {}
