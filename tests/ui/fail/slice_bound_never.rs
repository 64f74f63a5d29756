use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, H: Dim, T: Float>(x: Tensor![B, 2 * H; T]) -> Tensor![B, H; T] {
    x.slice(s![.., 2 * H..3 * H + 1]).slice(s![.., 0..H])
}

fn main() {}
