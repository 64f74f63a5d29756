use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B; T], first: bool) -> Tensor![B; T] {
    if first {
        return x;
    }
    x + x
}

fn main() {}
