use linnet_runtime::prelude::*;

#[op]
pub fn pick<M: Dim, N: Dim, T: Float>(
    a: Tensor![M; T],
    b: Tensor![N; T],
    bias: Option<Tensor![M; T]>,
) -> Tensor![M; T] {
    match bias {
        Some(bias) => a + bias,
        None => a,
    }
}

fn main() {}
