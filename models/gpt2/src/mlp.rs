//! The feed-forward half of a layer.

use linnet_runtime::{nn::activations::gelu, prelude::*};

use crate::conv1d::Conv1D;

/// Two projections with GELU between, four times as wide inside.
#[block]
pub struct Mlp<H: Dim, T: Float> {
    up: Conv1D<H, { 4 * H }, T>,
    down: Conv1D<{ 4 * H }, H, T>,
}

#[block]
impl Mlp {
    /// `down(gelu(up(x)))`.
    pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
        self.down.forward(gelu(self.up.forward(x)))
    }
}
