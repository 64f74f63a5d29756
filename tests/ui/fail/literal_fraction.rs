use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim>(x: Tensor![B; i32]) -> Tensor![B; i32] {
    x * 0.5
}

fn main() {}
