use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B; T]) -> Tensor![B; T] {
    select(x > 0.0, x, -x)
}

fn main() {}
