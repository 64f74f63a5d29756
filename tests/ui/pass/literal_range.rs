use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim>(x: Tensor![B; i8]) -> Tensor![B; i8] {
    x + 100
}

fn main() {}
