//! GPT-2 in `bf16` and `f16` against the logits in `f32`.

mod gpt2_support;

use gpt2::model::Model;
use gpt2_support::{Checkpoint, LENGTH, NUMERICS, ROWS, assert_close};
use linnet_runtime::{
    Block, DType, Device, Dyn, Float, GenericValue, Instance, Numerics, Tensor, bf16, f16,
};

type HalfModel<T> = Model<Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, T>;

fn load<T: Float>(checkpoint: &Checkpoint, numerics: Numerics) -> HalfModel<T> {
    let mut generics = checkpoint.generics(ROWS, 32);
    generics[7] = GenericValue::DType(T::DTYPE);
    let parameters = checkpoint
        .parameters()
        .into_iter()
        .map(|(path, tensor)| (path, tensor.cast(T::DTYPE).unwrap()))
        .collect();
    let device = Device::cpu_with_threads(2).unwrap();
    let block = HalfModel::<T>::DESCRIPTOR;
    let mut instance = Instance::new(block, &generics, parameters, &device).unwrap();
    instance.set_numerics(numerics);
    HalfModel::from_instance(instance)
}

/// What a logit may differ from the one in `f32`: every weight and each of the
/// dozen values between an input and a logit is rounded once, to half a unit in
/// the last place, and the logits here are of magnitude up to `largest`. Errors
/// of either sign mostly cancel in the sums; ten roundings of the largest logit
/// leave room for those that do not.
fn tolerance(dtype: DType, largest: f64) -> f64 {
    let roundoff = if dtype == DType::F16 {
        2f64.powi(-11)
    } else {
        2f64.powi(-8)
    };
    10.0 * roundoff * largest
}

fn check<T: Float>() {
    for checkpoint in Checkpoint::all() {
        let largest = checkpoint.logits.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        let allowed = tolerance(T::DTYPE, largest);
        for numerics in NUMERICS {
            let mut model = load::<T>(&checkpoint, numerics);
            let what = format!("{} {} {numerics}", checkpoint.name, T::DTYPE);
            let tokens =
                Tensor::<(Dyn, Dyn), i32>::from_slice(&[ROWS, LENGTH], &checkpoint.tokens).unwrap();
            let logits = model.forward(&tokens).unwrap().cast::<f32>().unwrap();
            assert_close(
                &format!("{what} forward"),
                &logits.to_vec(),
                &checkpoint.logits,
                allowed,
            );
            let last = model.prefill(&tokens, 0).unwrap().cast::<f32>().unwrap();
            for (row, found) in last
                .to_vec()
                .chunks_exact(checkpoint.reference.vocab)
                .enumerate()
            {
                let expected = checkpoint.logits_at(row, LENGTH - 1);
                assert_close(
                    &format!("{what} prefill, row {row}"),
                    found,
                    expected,
                    allowed,
                );
            }
        }
    }
}

#[test]
fn bf16_agrees_within_its_roundings() {
    check::<bf16>();
}

#[test]
fn f16_agrees_within_its_roundings() {
    check::<f16>();
}
