use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B, 2; T], first: bool) -> Tensor![B, 2; T] {
    if first { x } else { x.slice(s![.., 0..1]) + x }
}

fn main() {}
