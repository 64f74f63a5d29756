use linnet_runtime::prelude::*;

#[op]
#[require(Out <= In)]
pub fn example<S: Shape, In: Dim, Out: Dim, T: Float>(
    x: Tensor![*S, Out; T],
    bias: Tensor![In; T],
) -> Tensor![*S, Out; T] {
    x + bias.slice(s![0..Out])
}

fn main() {}
