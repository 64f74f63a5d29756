//! The mixture of experts, its weights in MXFP4.

use linnet_runtime::{
    nn::{activations::clamped_swiglu, linear::Linear, softmax::softmax, top_k::descending_ranks},
    prelude::*,
    quant::mxfp4::{mxfp4_experts, mxfp4_experts_sum},
};

/// Each token goes through the `TopK` experts that the router gives the highest
/// logits; their results are weighted by the softmax over those logits.
///
/// An expert is `down(swiglu(gate_up(x)))`, with gates at even and values at odd
/// rows of `gate_up`.
#[block]
#[require(H == 32 * Blocks, Inner == 32 * InnerBlocks, Inner > 0)]
#[require(TopK > 0, TopK <= Experts)]
pub struct MixtureOfExperts<
    H: Dim,
    Inner: Dim,
    Experts: Dim,
    TopK: Dim,
    Blocks: Dim,
    InnerBlocks: Dim,
    T: Float,
> {
    router: Linear<H, Experts, T>,
    #[param]
    gate_up_blocks: Tensor![Experts, 2 * Inner, Blocks, 16; u8],
    #[param]
    gate_up_scales: Tensor![Experts, 2 * Inner, Blocks; u8],
    #[param]
    gate_up_bias: Tensor![Experts, 2 * Inner; T],
    #[param]
    down_blocks: Tensor![Experts, H, InnerBlocks, 16; u8],
    #[param]
    down_scales: Tensor![Experts, H, InnerBlocks; u8],
    #[param]
    down_bias: Tensor![Experts, H; T],
}

#[block]
impl MixtureOfExperts {
    /// Whole sequences: each expert multiplies only the tokens that chose it.
    pub fn forward<B: Dim, S: Dim>(&self, x: Tensor![B, S, H; T]) -> Tensor![B, S, H; T] {
        self.forward_routed(x)
    }

    /// One token a row: each reads only its `TopK` experts.
    pub fn forward_topk<B: Dim>(&self, x: Tensor![B, 1, H; T]) -> Tensor![B, 1, H; T] {
        let expert = self.experts_of(x);
        let weight = self.weights_of(x);
        let gate_up = mxfp4_experts(
            x.reshape([B, H]),
            self.gate_up_blocks,
            self.gate_up_scales,
            expert,
        );
        let down = mxfp4_experts_sum(
            self.activate(gate_up, expert),
            self.down_blocks,
            self.down_scales,
            expert,
            weight,
        );
        (down + self.down_bias_of(weight, expert)).reshape([B, 1, H])
    }

    /// Several tokens a row: each expert multiplies only the tokens that chose it.
    pub fn forward_routed<B: Dim, S: Dim>(&self, x: Tensor![B, S, H; T]) -> Tensor![B, S, H; T] {
        self.forward_topk(x.reshape([B * S, 1, H]))
            .reshape([B, S, H])
    }

    /// The experts that each row chooses, best first.
    fn experts_of<R: Dim>(&self, x: Tensor![R, 1, H; T]) -> Tensor![R, TopK; i64] {
        let ranks = self.ranks(self.router.forward(x));
        index!([r, k: TopK] = max[e] if ranks[r, 0, e] == k { cast::<i64>(e) } else { 0 })
    }

    /// The weights of those experts.
    fn weights_of<R: Dim>(&self, x: Tensor![R, 1, H; T]) -> Tensor![R, TopK; T] {
        let weights = self.route(self.router.forward(x));
        let expert = self.experts_of(x);
        index!([r, k] = weights[r, 0, expert[r, k]])
    }

    /// The activation between the two products, with the bias of the first.
    fn activate<R: Dim>(
        &self,
        gate_up: Tensor![R, TopK, 2 * Inner; T],
        expert: Tensor![R, TopK; i64],
    ) -> Tensor![R, TopK, Inner; T] {
        let biased = index!([r, k, i] = gate_up[r, k, i] + self.gate_up_bias[expert[r, k], i]);
        clamped_swiglu(biased, 1.702, 7.0)
    }

    /// The weighted biases of the second product.
    fn down_bias_of<R: Dim>(
        &self,
        weight: Tensor![R, TopK; T],
        expert: Tensor![R, TopK; i64],
    ) -> Tensor![R, H; T] {
        index!([r, h] = sum[k] weight[r, k] * self.down_bias[expert[r, k], h])
    }

    /// The weight of every expert for every token: zero for those not chosen.
    fn route<B: Dim, S: Dim>(
        &self,
        logits: Tensor![B, S, Experts; T],
    ) -> Tensor![B, S, Experts; T] {
        let ranks = self.ranks(logits);
        softmax(index!(
            [b, s, e] = if ranks[b, s, e] < TopK { logits[b, s, e] } else { T::NEG_INFINITY }
        ))
    }

    /// The place of every expert in the order of its logit; ties go to the lower index.
    fn ranks<B: Dim, S: Dim>(
        &self,
        logits: Tensor![B, S, Experts; T],
    ) -> Tensor![B, S, Experts; i32] {
        descending_ranks(logits)
    }
}
