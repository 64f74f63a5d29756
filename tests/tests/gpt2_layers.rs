//! GPT-2 stage by stage against the plain reference: a failure names the stage.
//! Each stage is given the reference's own input, so that one wrong stage does
//! not spoil the next.

mod gpt2_support;

use gpt2::{block::Block as Layer, layer_norm::LayerNorm};
use gpt2_support::{Checkpoint, NUMERICS, assert_close};
use linnet_runtime::{
    Argument, Block, DType, Device, Dyn, ErasedTensor, GenericValue, Instance, Numerics,
    OutputValue, Parameters,
};

/// Of values of magnitude 1 to 10 in `f32`, over sums of up to 192 products.
const STAGE_TOLERANCE: f64 = 2e-5;

fn instance<B: Block>(sizes: &[usize], parameters: Parameters, numerics: Numerics) -> Instance {
    let mut generics: Vec<_> = sizes.iter().map(|n| GenericValue::Dim(*n)).collect();
    generics.push(GenericValue::DType(DType::F32));
    let device = Device::cpu_with_threads(2).unwrap();
    let mut instance = Instance::new(B::DESCRIPTOR, &generics, parameters, &device).unwrap();
    instance.set_numerics(numerics);
    instance
}

/// Calls `forward` with `x` as `[1, S, H]`.
fn forward(instance: &Instance, x: &[f64], h: usize) -> Vec<f32> {
    let x: Vec<f32> = x.iter().map(|v| *v as f32).collect();
    let x = ErasedTensor::from_slice(&[1, x.len() / h, h], &x).unwrap();
    let mut output = instance
        .call("forward", &mut [Argument::Tensor(x)])
        .unwrap();
    match output.take().unwrap() {
        OutputValue::Tensor(y) => y.as_slice::<f32>().unwrap().to_vec(),
        other => panic!("forward results in a tensor, found {other:?}"),
    }
}

#[test]
fn each_layer_agrees_with_the_reference() {
    for checkpoint in Checkpoint::all() {
        let reference = &checkpoint.reference;
        let stages = reference.run(checkpoint.row(0));
        for numerics in NUMERICS {
            for layer in 0..reference.layers {
                let instance = instance::<Layer<Dyn, Dyn, Dyn, Dyn, f32>>(
                    &[reference.h, reference.heads, 1, 8],
                    checkpoint.layer_parameters(layer),
                    numerics,
                );
                let found = forward(&instance, &stages.hidden[layer], reference.h);
                let what = format!("{} {numerics} layer {layer}", checkpoint.name);
                assert_close(&what, &found, &stages.hidden[layer + 1], STAGE_TOLERANCE);
            }
        }
    }
}

#[test]
fn the_final_normalisation_agrees_with_the_reference() {
    for checkpoint in Checkpoint::all() {
        let reference = &checkpoint.reference;
        let stages = reference.run(checkpoint.row(0));
        for numerics in NUMERICS {
            let parameters = [("weight", "ln_f.weight"), ("bias", "ln_f.bias")]
                .map(|(member, name)| (member.to_owned(), checkpoint.tensor(name)));
            let instance =
                instance::<LayerNorm<Dyn, f32>>(&[reference.h], parameters.into(), numerics);
            let found = forward(&instance, &stages.hidden[reference.layers], reference.h);
            let what = format!("{} {numerics} ln_f", checkpoint.name);
            assert_close(&what, &found, &stages.normed, STAGE_TOLERANCE);
        }
    }
}

#[test]
fn a_model_without_layers_is_its_embeddings_and_head() {
    for checkpoint in Checkpoint::all() {
        let reference = &checkpoint.reference;
        let without = reference.without_layers();
        let mut parameters = checkpoint.parameters();
        parameters.retain(|path, _| !path.starts_with("blocks."));
        for numerics in NUMERICS {
            let sizes = [
                reference.vocab,
                reference.positions,
                reference.h,
                reference.heads,
                0,
                1,
                8,
            ];
            let instance = instance::<gpt2_support::DynModel>(&sizes, parameters.clone(), numerics);
            let tokens = ErasedTensor::from_slice(&[1, 24], checkpoint.row(1)).unwrap();
            let mut output = instance
                .call("forward", &mut [Argument::Tensor(tokens)])
                .unwrap();
            let OutputValue::Tensor(logits) = output.take().unwrap() else {
                panic!("forward results in a tensor")
            };
            let expected = without.run(checkpoint.row(1)).logits;
            let what = format!("{} {numerics} embeddings and head", checkpoint.name);
            assert_close(
                &what,
                logits.as_slice::<f32>().unwrap(),
                &expected,
                STAGE_TOLERANCE,
            );
        }
    }
}
