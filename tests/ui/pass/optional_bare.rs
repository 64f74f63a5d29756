use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B; T], bias: Option<Tensor![B; T]>) -> Tensor![B; T] {
    if let Some(bias) = bias { x + bias } else { x }
}

fn main() {}
