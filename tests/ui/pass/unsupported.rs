use linnet_runtime::prelude::*;

#[op]
pub fn example<B: Dim, T: Float>(x: Tensor![B; T]) -> Tensor![B; T] {
    let mut y = x;
    for _ in 0..3 {
        y = y + x;
    }
    y
}

fn main() {}
