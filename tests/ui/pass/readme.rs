use linnet_runtime::{nn::{activations::gelu, linear::Linear}, prelude::*};

/// Two projections with GELU between, `Inner` wide inside.
#[block]
pub struct Mlp<H: Dim, Inner: Dim, T: Float> {
    up: Linear<H, Inner, T>,
    down: Linear<Inner, H, T>,
}

#[block]
impl Mlp {
    /// `down(gelu(up(x)))`.
    #[entry]
    pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
        self.down.forward(gelu(self.up.forward(x)))
    }
}

fn main() {}
