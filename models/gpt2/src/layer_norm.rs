//! Layer normalisation with GPT-2's epsilon.

use linnet_runtime::{nn::norm::layer_norm, prelude::*};

/// Normalises the last axis, then scales and shifts it by learned vectors.
#[block]
pub struct LayerNorm<H: Dim, T: Float> {
    #[param]
    weight: Tensor![H; T],
    #[param]
    bias: Tensor![H; T],
}

#[block]
impl LayerNorm {
    /// `(x - mean) / sqrt(variance + 1e-5) * weight + bias`.
    pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
        layer_norm(x, self.weight, self.bias, 1e-5)
    }
}
