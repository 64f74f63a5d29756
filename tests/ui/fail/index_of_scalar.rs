use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B; T], scale: T) -> Tensor![B; T] {
    index!([b] = x[b] * scale[b])
}

fn main() {}
