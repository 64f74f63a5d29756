//! The projection as GPT-2 stores it.

use linnet_runtime::{nn::linear::linear, prelude::*};

/// An affine map whose weight is stored as `[In, Out]`.
#[block]
pub struct Conv1D<In: Dim, Out: Dim, T: Float> {
    #[param]
    weight: Tensor![In, Out; T],
    #[param]
    bias: Tensor![Out; T],
}

#[block]
impl Conv1D {
    /// `x . weight + bias` over the last axis.
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        linear(x, self.weight.permute([1, 0]), Some(self.bias))
    }
}
