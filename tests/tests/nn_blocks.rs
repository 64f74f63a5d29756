//! The standard blocks compute what their definitions say, by small examples
//! worked out by hand.

use linnet_runtime::{
    Argument, Block, DType, Device, Dyn, ErasedTensor, GenericValue, Instance, Numerics,
    OutputValue,
    nn::{embedding::Embedding, linear::Linear, norm::RmsNorm},
};

/// Calls `forward` of a block of `f32` in both numerics.
fn forward<B: Block>(
    sizes: &[usize],
    parameters: &[(&str, &[usize], &[f32])],
    input: &ErasedTensor,
) -> Vec<f32> {
    let mut generics: Vec<_> = sizes.iter().map(|n| GenericValue::Dim(*n)).collect();
    generics.push(GenericValue::DType(DType::F32));
    let results = [Numerics::Exact, Numerics::Fast].map(|numerics| {
        let parameters = parameters
            .iter()
            .map(|(path, shape, values)| {
                (
                    (*path).to_owned(),
                    ErasedTensor::from_slice(shape, values).unwrap(),
                )
            })
            .collect();
        let device = Device::cpu_with_threads(2).unwrap();
        let mut instance = Instance::new(B::DESCRIPTOR, &generics, parameters, &device).unwrap();
        instance.set_numerics(numerics);
        let mut output = instance
            .call("forward", &mut [Argument::Tensor(input.clone())])
            .unwrap();
        match output.take().unwrap() {
            OutputValue::Tensor(y) => y.as_slice::<f32>().unwrap().to_vec(),
            other => panic!("forward results in a tensor, found {other:?}"),
        }
    });
    assert_eq!(results[0], results[1], "exact and fast");
    let [exact, _] = results;
    exact
}

const WEIGHT: (&str, &[usize], &[f32]) = ("weight", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);

#[test]
fn linear_with_and_without_bias() {
    let x = ErasedTensor::from_slice(&[2, 3], &[1.0f32, 0.0, -1.0, 2.0, 2.0, 2.0]).unwrap();
    let y = forward::<Linear<Dyn, Dyn, f32>>(&[3, 2], &[WEIGHT], &x);
    assert_eq!(y, [-2.0, -2.0, 12.0, 30.0]);
    let bias: (&str, &[usize], &[f32]) = ("bias", &[2], &[10.0, 20.0]);
    let y = forward::<Linear<Dyn, Dyn, f32>>(&[3, 2], &[WEIGHT, bias], &x);
    assert_eq!(y, [8.0, 18.0, 22.0, 50.0]);
}

#[test]
fn embedding_picks_rows() {
    let ids = ErasedTensor::from_slice(&[3], &[1i32, 0, 1]).unwrap();
    let y = forward::<Embedding<Dyn, Dyn, f32>>(&[2, 3], &[WEIGHT], &ids);
    assert_eq!(y, [4.0, 5.0, 6.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn embedding_refuses_an_id_outside_its_table() {
    let generics = [
        GenericValue::Dim(2),
        GenericValue::Dim(3),
        GenericValue::DType(DType::F32),
    ];
    let table = ErasedTensor::from_slice(WEIGHT.1, WEIGHT.2).unwrap();
    let device = Device::cpu_with_threads(1).unwrap();
    let block = Embedding::<Dyn, Dyn, f32>::DESCRIPTOR;
    let parameters = [("weight".to_owned(), table)].into();
    let instance = Instance::new(block, &generics, parameters, &device).unwrap();
    let ids = ErasedTensor::from_slice(&[2], &[0i32, 2]).unwrap();
    let error = instance
        .call("forward", &mut [Argument::Tensor(ids)])
        .unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("ids is 2 at [1]: must be < Vocab = 2"),
        "{message}"
    );
}

#[test]
fn rms_norm_of_rows_of_equal_magnitude() {
    // The mean square is 4 (and 1e-5 more): each element is halved, then weighted.
    let x = ErasedTensor::from_slice(&[1, 4], &[2.0f32, -2.0, 2.0, -2.0]).unwrap();
    let weight: (&str, &[usize], &[f32]) = ("weight", &[4], &[1.0, 2.0, 3.0, 4.0]);
    let y = forward::<RmsNorm<Dyn, f32>>(&[4], &[weight], &x);
    for (found, expected) in y.iter().zip([1.0f32, -2.0, 3.0, -4.0]) {
        let expected = expected * (4.0f32 / 4.00001).sqrt();
        assert!(
            (found - expected).abs() <= 1e-6,
            "{found} is not {expected}"
        );
    }
}
