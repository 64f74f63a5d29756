use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim>(x: Tensor![B; i32]) -> Tensor![B; f32] {
    exp(cast::<f32>(x))
}

fn main() {}
