//! Types of 16 bits: what is stored in them and what is not.

#![allow(missing_docs, reason = "the block is for these tests only")]

use linnet_runtime::prelude::*;
use linnet_runtime::{Block, Device, ErasedTensor, GenericValue, Instance, Numerics, Parameters};

#[block]
pub struct Sums<N: Dim, M: Dim, T: Float> {
    #[param]
    weight: Tensor![M, N; T],
    #[param]
    bias: Tensor![N; T],
    #[state]
    total: Tensor![N; T],
}

#[block]
impl Sums {
    /// `(x + a) - x`: zero if the sum is rounded to `T`.
    #[entry]
    pub fn small(&self, x: Tensor![N; T], a: T) -> Tensor![N; T] {
        (x + a) - x
    }

    /// The same, with the sum rounded where it says so.
    #[entry]
    pub fn rounded(&self, x: Tensor![N; T], a: T) -> Tensor![N; f32] {
        let sum = cast::<bf16>(x + a);
        cast::<f32>(sum) - cast::<f32>(x)
    }

    /// Adds to the state twice; gives it back.
    #[entry]
    pub fn add(&mut self, x: Tensor![N; T]) -> Tensor![N; T] {
        self.total = self.total + x;
        self.total = self.total + x;
        self.total
    }

    /// Products with the weight on either side, and the bias.
    #[entry]
    pub fn products<B: Dim>(
        &self,
        x: Tensor![B, N; T],
    ) -> (Tensor![B, M; T], Tensor![M, B; T], Tensor![B, N; T]) {
        let right = index!([b, m] = sum[n] x[b, n] * self.weight[m, n]);
        let left = index!([m, b] = sum[n] self.weight[m, n] * x[b, n]);
        (right, left, x + self.bias)
    }

    /// What is stored, sliced, chosen and put together.
    #[entry]
    pub fn parts(&self, flag: i32) -> Tensor![2 * N + N; T] {
        let chosen = if flag > 0 {
            self.bias
        } else {
            self.bias + self.bias
        };
        concat([self.bias, chosen, self.bias * 2.0], 0)
    }
}

type Small = Sums<Const<3>, Dyn, bf16>;

fn halves(shape: &[usize], values: &[f32]) -> ErasedTensor {
    let values: Vec<bf16> = values.iter().map(|v| bf16::from_f32(*v)).collect();
    ErasedTensor::from_slice(shape, &values).unwrap()
}

fn vector(values: [f32; 3]) -> Tensor<(Const<3>,), bf16> {
    Tensor::from_slice(&[3], &values.map(bf16::from_f32)).unwrap()
}

fn floats<S: linnet_runtime::Shape>(tensor: &Tensor<S, bf16>) -> Vec<f32> {
    tensor.to_vec().iter().map(|v| v.to_f32()).collect()
}

fn load(numerics: Numerics) -> Small {
    let mut parameters = Parameters::new();
    let weight: Vec<f32> = (0..6).map(|i| i as f32 - 2.0).collect();
    parameters.insert("weight".into(), halves(&[2, 3], &weight));
    parameters.insert("bias".into(), halves(&[3], &[1.0, -1.5, 0.25]));
    let generics = [
        GenericValue::Dim(3),
        GenericValue::Dim(2),
        GenericValue::DType(bf16::DTYPE),
    ];
    let device = Device::cpu_with_threads(1).unwrap();
    let mut instance = Instance::new(Small::DESCRIPTOR, &generics, parameters, &device).unwrap();
    instance.set_numerics(numerics);
    Small::from_instance(instance)
}

const NUMERICS: [Numerics; 2] = [Numerics::Exact, Numerics::Fast];

#[test]
fn values_between_are_f32() {
    for numerics in NUMERICS {
        let model = load(numerics);
        let a = bf16::from_f32(0.0078125);
        let x = vector([256.0, -512.0, 1024.0]);
        assert_eq!(floats(&model.small(&x, a).unwrap()), [0.0078125; 3]);
        // What is written out as bf16 is bf16.
        assert_eq!(model.rounded(&x, a).unwrap().to_vec(), [0.0; 3]);
    }
}

#[test]
fn states_are_stored_as_they_are_declared() {
    for numerics in NUMERICS {
        let mut model = load(numerics);
        // 257 is between two bf16: each write rounds it to even, 256.
        assert_eq!(
            floats(&model.add(&vector([128.0, 1.0, 0.5])).unwrap()),
            [256.0, 2.0, 1.0]
        );
        assert_eq!(
            floats(&model.add(&vector([1.0; 3])).unwrap()),
            [256.0, 4.0, 3.0]
        );
        assert_eq!(
            model.instance_mut().state("total").unwrap().dtype(),
            bf16::DTYPE
        );
    }
}

#[test]
fn stored_weights_on_either_side_of_a_product() {
    for numerics in NUMERICS {
        let model = load(numerics);
        let x = [1.0, 2.0, 3.0, -1.0, 0.5, 4.0].map(bf16::from_f32);
        let x = Tensor::<(Const<2>, Const<3>), bf16>::from_slice(&[2, 3], &x).unwrap();
        let (right, left, biased) = model.products(&x).unwrap();
        // weight rows: -2 -1 0 and 1 2 3
        assert_eq!(floats(&right), [-4.0, 14.0, 1.5, 12.0]);
        assert_eq!(floats(&left), [-4.0, 1.5, 14.0, 12.0]);
        assert_eq!(floats(&biased), [2.0, 0.5, 3.25, 0.0, -1.0, 4.25]);
    }
}

#[test]
fn stored_parts_meet_computed_ones() {
    for numerics in NUMERICS {
        let model = load(numerics);
        let bias = [1.0, -1.5, 0.25];
        let twice = bias.map(|v| 2.0 * v);
        assert_eq!(
            floats(&model.parts(1).unwrap()),
            [bias, bias, twice].concat()
        );
        assert_eq!(
            floats(&model.parts(0).unwrap()),
            [bias, twice, twice].concat()
        );
    }
}
