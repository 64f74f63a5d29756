use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, H: Dim, T: Float>(x: Tensor![B, 2 * H; T]) -> Tensor![B, H; T] {
    x.slice(s![.., H..2 * H])
}

fn main() {}
