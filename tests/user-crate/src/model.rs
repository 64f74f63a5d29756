//! A stack of feed-forward layers that counts its calls.

use linnet_runtime::prelude::*;

use crate::feed_forward::FeedForward;

/// `Layers` layers, each added to its input.
#[block]
pub struct Model<H: Dim, Inner: Dim, Layers: Dim, T: Float = f32> {
    layers: [FeedForward<H, Inner, T>; Layers],
    #[state]
    calls: Tensor![1; T],
}

#[block]
impl Model {
    /// All layers.
    #[entry]
    #[require(B > 0)]
    pub fn forward<B: Dim>(&mut self, x: Tensor![B, H; T]) -> Tensor![B, H; T] {
        let mut y = x;
        for layer in &self.layers {
            y = y + layer.forward(y);
        }
        self.calls = self.calls + 1.0;
        y
    }

    /// How often `forward` was called.
    #[entry]
    pub fn calls(&self) -> Tensor![1; T] {
        self.calls
    }
}
