use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, H: Dim, N: Dim, T: Float>(x: Tensor![B, H; T]) -> Tensor![B, H; T] {
    let mut y = x;
    for i in 0..N {
        y = y.sum(0) + x;
    }
    y
}

fn main() {}
