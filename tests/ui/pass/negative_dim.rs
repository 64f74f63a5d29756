use linnet_runtime::prelude::*;

#[op]
#[require(S > 0)]
pub fn example<S: Dim, T: Float>(x: Tensor![S; T]) -> Tensor![S - 1; T] {
    x.slice(s![1..S])
}

fn main() {}
