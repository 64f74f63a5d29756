use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B; T], bias: Option<Tensor![B; T]>) -> Tensor![B; T] {
    match bias {
        Some(bias) => x + bias,
    }
}

fn main() {}
