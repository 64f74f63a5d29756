use linnet_runtime::prelude::*;

#[op]
pub fn example<T: Float>(x: Tensor![2, 6; T]) -> Tensor![3, 4; T] {
    x.reshape([3, 4])
}

fn main() {}
