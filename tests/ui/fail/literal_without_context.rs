use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B; T]) -> Tensor![B; T] {
    let half = 0.5;
    x * half
}

fn main() {}
