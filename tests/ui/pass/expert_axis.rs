use linnet_runtime::{prelude::*, quant::mxfp4::mxfp4_experts};

/// The weights of the experts were stored with the outputs before the experts.
#[op]
#[require(0 <= expert, expert < Experts)]
pub fn gate_up<R: Dim, TopK: Dim, Experts: Dim, Inner: Dim, Blocks: Dim, T: Float>(
    x: Tensor![R, 32 * Blocks; T],
    blocks: Tensor![2 * Inner, Experts, Blocks, 16; u8],
    scales: Tensor![Experts, 2 * Inner, Blocks; u8],
    expert: Tensor![R, TopK; i64],
) -> Tensor![R, TopK, 2 * Inner; T] {
    mxfp4_experts(x, blocks.permute([1, 0, 2, 3]), scales, expert)
}

fn main() {}
