use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B; T]) -> Tensor![B; T] {
    twice_and_more(x)
}

fn main() {}
