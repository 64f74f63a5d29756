use linnet_runtime::prelude::*;

#[op]
pub fn row_sums<B: Dim, H: Dim, T: Float>(x: Tensor![B, H; T]) -> Tensor![B; T] {
    index!([b] = sum[i] x[b, i])
}

pub fn run(x: &Tensor<(Dyn, Dyn), f32>) -> linnet_runtime::Result<Tensor<(Dyn,), f32>> {
    row_sums(x)
}

fn main() {}
