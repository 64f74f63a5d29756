//! A gated feed-forward layer out of linnet's own blocks.

use linnet_runtime::{
    nn::{activations::silu, linear::Linear},
    prelude::*,
};

/// Multiplies each row by one number.
#[op]
pub fn scale<S: Shape, T: Float>(x: Tensor![*S; T], by: T) -> Tensor![*S; T] {
    x * by
}

/// `down(silu(gate) * up)`, where one projection computes gate and up.
#[block]
pub struct FeedForward<H: Dim, Inner: Dim, T: Float> {
    gate_up: Linear<H, { 2 * Inner }, T>,
    down: Linear<Inner, H, T>,
}

#[block]
impl FeedForward {
    /// One layer, half of it.
    pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
        let both = self.gate_up.forward(x);
        let gate = both.slice(s![..., 0..Inner]);
        let up = both.slice(s![..., Inner..2 * Inner]);
        scale(self.down.forward(silu(gate) * up), 0.5)
    }
}
