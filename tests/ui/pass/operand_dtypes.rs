use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B; T], y: Tensor![B; f32]) -> Tensor![B; f32] {
    cast::<f32>(x) + y
}

fn main() {}
