#![allow(missing_docs, reason = "the blocks are for these tests only")]

use super::{Affine, AffineBias};
use crate::nn::activations::gelu;
use crate::nn::linear::{Linear, linear};
use crate::prelude::*;
use crate::quant::int8::Int8Linear;

fn of<B: crate::Block>() -> Option<Affine> {
    Affine::of(B::DESCRIPTOR)
}

#[block]
pub struct Conv<In: Dim, Out: Dim, T: Float> {
    #[param]
    weight: Tensor![In, Out; T],
    #[param]
    bias: Tensor![Out; T],
}

#[block]
impl Conv {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        linear(x, self.weight.permute([1, 0]), Some(self.bias))
    }
}

/// Other names, index notation, a requirement that few sizes satisfy, no bias.
#[block]
#[require(A % 32 == 0, A > 32)]
pub struct Own<U: Float, B: Dim, A: Dim> {
    #[param]
    kernel: Tensor![B, A; U],
}

#[block]
impl Own {
    pub fn forward<Any: Shape>(&self, x: Tensor![*Any, A; U]) -> Tensor![*Any, B; U] {
        index!([*any, b] = sum[a] x[*any, a] * self.kernel[b, a])
    }
}

/// One width for both sides, and stored transposed, which no declaration shows.
#[block]
pub struct Square<H: Dim, T: Float> {
    #[param]
    w: Tensor![H, H; T],
}

#[block]
impl Square {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
        linear(x, self.w.permute([1, 0]), None)
    }
}

#[test]
fn affine_maps_are_known_by_what_they_declare_and_compute() {
    let expected = Affine {
        inputs: "In",
        outputs: "Out",
        dtype: "T",
        weight: "weight",
        transposed: false,
        bias: Some(AffineBias {
            name: "bias",
            optional: true,
        }),
    };
    assert_eq!(of::<Linear<Dyn, Dyn, f32>>(), Some(expected));
    let conv = Affine {
        transposed: true,
        bias: Some(AffineBias {
            name: "bias",
            optional: false,
        }),
        ..expected
    };
    assert_eq!(of::<Conv<Dyn, Dyn, f32>>(), Some(conv));
    let own = Affine {
        inputs: "A",
        outputs: "B",
        dtype: "U",
        weight: "kernel",
        transposed: false,
        bias: None,
    };
    assert_eq!(of::<Own<f32, Dyn, Dyn>>(), Some(own));
    let square = of::<Square<Dyn, f32>>().unwrap();
    assert!(square.transposed && square.weight == "w" && square.inputs == square.outputs);
}

#[block]
pub struct Activated<In: Dim, Out: Dim, T: Float> {
    #[param]
    weight: Tensor![Out, In; T],
    #[param]
    bias: Option<Tensor![Out; T]>,
}

#[block]
impl Activated {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        gelu(linear(x, self.weight, self.bias))
    }
}

#[block]
pub struct Clamped<In: Dim, Out: Dim, T: Float> {
    #[param]
    weight: Tensor![Out, In; T],
}

#[block]
impl Clamped {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        linear(min(x, 100.0), self.weight, None)
    }
}

#[block]
pub struct Gated<In: Dim, Out: Dim, T: Float> {
    #[param]
    weight: Tensor![Out, In; T],
    #[param]
    gate: Tensor![In; T],
}

#[block]
impl Gated {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        linear(x * self.gate, self.weight, None)
    }
}

#[block]
pub struct TwoFunctions<In: Dim, Out: Dim, T: Float> {
    #[param]
    weight: Tensor![Out, In; T],
}

#[block]
impl TwoFunctions {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        linear(x, self.weight, None)
    }

    pub fn backward<S: Shape>(&self, x: Tensor![*S, Out; T]) -> Tensor![*S, In; T] {
        linear(x, self.weight.permute([1, 0]), None)
    }
}

#[test]
fn other_blocks_are_none() {
    assert_eq!(of::<Activated<Dyn, Dyn, f32>>(), None, "it computes more");
    assert_eq!(of::<Clamped<Dyn, Dyn, f32>>(), None, "large numbers differ");
    assert_eq!(of::<Gated<Dyn, Dyn, f32>>(), None, "another parameter");
    assert_eq!(
        of::<TwoFunctions<Dyn, Dyn, f32>>(),
        None,
        "a second function"
    );
    assert_eq!(
        of::<Int8Linear<Dyn, Dyn, f32>>(),
        None,
        "its weight is no float"
    );
}
