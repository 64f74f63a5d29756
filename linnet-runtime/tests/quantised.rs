//! Blocks with weights in few bits, by themselves and in the place of float ones.
#![allow(
    missing_docs,
    reason = "the blocks and operations are for these tests only"
)]

mod common;

use common::{assert_close, noise};
use linnet_runtime::nn::activations::gelu;
use linnet_runtime::nn::linear::{Linear, linear};
use linnet_runtime::prelude::*;
use linnet_runtime::quant::{int4::Int4Linear, int4_group::Int4GroupLinear, int8::Int8Linear};
use linnet_runtime::{
    Argument, DType, Device, ErasedTensor, GenericValue, Instance, Numerics, Parameters, Result,
};

/// Sums of at most 64 products of numbers up to 1 in another order, times scales
/// below 1: some units in the last place of numbers up to 10.
const F32_TOLERANCE: f32 = 1e-5;

/// Results are rounded to bf16 once, and the two sides may round a tie apart.
const BF16_TOLERANCE: f32 = 1e-2;

/// Quantised weights, and the floats that they stand for as `[Out, In]`.
struct Quantised {
    tensors: Vec<(&'static str, ErasedTensor)>,
    floats: Vec<f32>,
}

fn bytes(n: usize, seed: u32) -> Vec<u8> {
    noise(n, seed)
        .iter()
        .map(|x| ((x + 1.0) * 128.0) as u8)
        .collect()
}

fn tensor<T: linnet_runtime::Element>(shape: &[usize], data: &[T]) -> ErasedTensor {
    ErasedTensor::from_slice(shape, data).unwrap()
}

impl Quantised {
    fn int8(inputs: usize, outputs: usize, seed: u32) -> Quantised {
        let codes: Vec<i8> = bytes(outputs * inputs, seed)
            .iter()
            .map(|&b| b as i8)
            .collect();
        let scale = scales(outputs, seed);
        let floats = codes
            .iter()
            .enumerate()
            .map(|(n, &code)| f32::from(code) * scale[n / inputs])
            .collect();
        Quantised {
            tensors: vec![
                ("weight", tensor(&[outputs, inputs], &codes)),
                ("scale", tensor(&[outputs], &scale)),
            ],
            floats,
        }
    }

    fn int4(inputs: usize, outputs: usize, seed: u32) -> Quantised {
        let packed: Vec<i8> = bytes(outputs * inputs / 2, seed)
            .iter()
            .map(|&b| b as i8)
            .collect();
        let scale = scales(outputs, seed);
        let floats = (0..outputs * inputs)
            .map(|n| {
                let byte = packed[n / 2] as u8;
                let code = if n % 2 == 0 { byte & 15 } else { byte >> 4 };
                let signed = if code < 8 {
                    i32::from(code)
                } else {
                    i32::from(code) - 16
                };
                signed as f32 * scale[n / inputs]
            })
            .collect();
        Quantised {
            tensors: vec![
                ("weight", tensor(&[outputs, inputs / 2], &packed)),
                ("scale", tensor(&[outputs], &scale)),
            ],
            floats,
        }
    }

    fn int4_group(
        inputs: usize,
        outputs: usize,
        group: usize,
        order: Option<&[i32]>,
        dtype: DType,
        seed: u32,
    ) -> Quantised {
        let groups = inputs / group;
        let packed = bytes(outputs * inputs / 2, seed);
        let zero: Vec<u8> = bytes(outputs * groups, seed + 1)
            .iter()
            .map(|b| b % 16)
            .collect();
        let scale = tensor(&[outputs, groups], &scales(outputs * groups, seed));
        let scale = scale.cast(dtype).unwrap();
        let rounded = scale.cast(DType::F32).unwrap();
        let rounded = rounded.as_slice::<f32>().unwrap();
        let mut floats = vec![0.0; outputs * inputs];
        for o in 0..outputs {
            for i in 0..inputs {
                let byte = packed[(o * inputs + i) / 2];
                let code = if i % 2 == 0 { byte & 15 } else { byte >> 4 };
                let g = o * groups + i / group;
                let column = order.map_or(i, |order| order[i] as usize);
                let steps = i32::from(code) - i32::from(zero[g]);
                floats[o * inputs + column] = steps as f32 * rounded[g];
            }
        }
        let mut tensors = vec![
            ("weight", tensor(&[outputs, groups, group / 2], &packed)),
            ("scale", scale),
            ("zero", tensor(&[outputs, groups], &zero)),
        ];
        if let Some(order) = order {
            tensors.push(("order", tensor(&[inputs], order)));
        }
        Quantised { tensors, floats }
    }

    fn add_to(&self, parameters: &mut Parameters, path: &str) {
        for (name, tensor) in &self.tensors {
            parameters.insert(format!("{path}{name}"), tensor.clone());
        }
    }
}

fn scales(n: usize, seed: u32) -> Vec<f32> {
    noise(n, seed + 7)
        .iter()
        .map(|x| (x + 1.5) / 128.0)
        .collect()
}

/// `x . weight^T + bias` by three loops.
fn affine(x: &[f32], floats: &[f32], bias: Option<&[f32]>, inputs: usize) -> Vec<f32> {
    let outputs = floats.len() / inputs;
    let rows = x.chunks(inputs).flat_map(|row| {
        (0..outputs).map(move |o| {
            let weights = &floats[o * inputs..(o + 1) * inputs];
            let sum: f64 = row.iter().zip(weights).map(|(x, w)| f64::from(x * w)).sum();
            sum as f32 + bias.map_or(0.0, |bias| bias[o])
        })
    });
    rows.collect()
}

fn call(
    block: &'static linnet_runtime::descriptor::BlockDescriptor,
    generics: &[GenericValue],
    parameters: &Parameters,
    x: &ErasedTensor,
    numerics: Numerics,
) -> Result<Vec<f32>> {
    let device = Device::cpu_with_threads(2)?;
    let mut instance = Instance::new(block, generics, parameters.clone(), &device)?;
    instance.set_numerics(numerics);
    let mut arguments = [Argument::Tensor(x.clone())];
    let result: ErasedTensor = instance.call("forward", &mut arguments)?.into_typed()?;
    let floats = result.cast(DType::F32)?;
    Ok(floats.as_slice().unwrap().to_vec())
}

/// Both numerics against three loops, in f32 and in bf16, with a bias and without.
fn check_block(
    block: &'static linnet_runtime::descriptor::BlockDescriptor,
    dims: &[usize],
    make: &dyn Fn(DType) -> Quantised,
) {
    let (inputs, outputs) = (dims[0], dims[1]);
    for (dtype, tolerance) in [(DType::F32, F32_TOLERANCE), (DType::BF16, BF16_TOLERANCE)] {
        let quantised = make(dtype);
        let mut generics: Vec<GenericValue> =
            dims.iter().map(|&dim| GenericValue::Dim(dim)).collect();
        generics.push(GenericValue::DType(dtype));
        for rows in [0, 1, 3] {
            let rounded = |values: &[f32], shape: &[usize]| {
                let stored = tensor(shape, values).cast(dtype).unwrap();
                let wide = stored.cast(DType::F32).unwrap();
                (stored, wide.as_slice::<f32>().unwrap().to_vec())
            };
            let (x, wide_x) = rounded(&noise(rows * inputs, 11), &[rows, inputs]);
            let (bias, wide_bias) = rounded(&noise(outputs, 12), &[outputs]);
            for with_bias in [true, false] {
                let mut parameters = Parameters::new();
                quantised.add_to(&mut parameters, "");
                if with_bias {
                    parameters.insert("bias".to_owned(), bias.clone());
                }
                let added = with_bias.then_some(&wide_bias[..]);
                let expected = affine(&wide_x, &quantised.floats, added, inputs);
                for numerics in [Numerics::Exact, Numerics::Fast] {
                    let found = call(block, &generics, &parameters, &x, numerics).unwrap();
                    assert_close(&found, &expected, tolerance);
                }
            }
        }
    }
}

#[test]
fn the_blocks_compute_what_their_codes_stand_for() {
    for (inputs, outputs) in [(2, 1), (6, 5), (64, 33)] {
        check_block(
            Int8Linear::<Dyn, Dyn>::DESCRIPTOR,
            &[inputs, outputs],
            &|_| Quantised::int8(inputs, outputs, 1),
        );
        check_block(
            Int4Linear::<Dyn, Dyn>::DESCRIPTOR,
            &[inputs, outputs],
            &|_| Quantised::int4(inputs, outputs, 2),
        );
    }
    for (inputs, outputs, group) in [(2, 1, 2), (12, 5, 4), (64, 33, 32), (64, 3, 64)] {
        let reversed: Vec<i32> = (0..inputs as i32).rev().collect();
        for order in [None, Some(&reversed[..])] {
            let block = Int4GroupLinear::<Dyn, Dyn, Dyn>::DESCRIPTOR;
            check_block(block, &[inputs, outputs, group], &|dtype| {
                Quantised::int4_group(inputs, outputs, group, order, dtype, 3)
            });
        }
    }
}

#[test]
fn all_codes_have_their_values() {
    // One column set at a time reads the codes one by one.
    let every: Vec<i8> = (0..=255u8).map(|b| b as i8).collect();
    let mut parameters = Parameters::new();
    parameters.insert("weight".to_owned(), tensor(&[256, 1], &every));
    parameters.insert("scale".to_owned(), tensor(&[256], &[0.5f32; 256]));
    let x = tensor(&[2, 2], &[1f32, 0.0, 0.0, 1.0]);
    let generics = [
        GenericValue::Dim(2),
        GenericValue::Dim(256),
        GenericValue::DType(DType::F32),
    ];
    for numerics in [Numerics::Exact, Numerics::Fast] {
        let block = Int4Linear::<Dyn, Dyn>::DESCRIPTOR;
        let found = call(block, &generics, &parameters, &x, numerics).unwrap();
        for b in 0..256 {
            let signed = |code: usize| (code as f32 - if code < 8 { 0.0 } else { 16.0 }) * 0.5;
            assert_eq!(found[b], signed(b % 16), "low bits of {b}, {numerics}");
            assert_eq!(
                found[256 + b],
                signed(b / 16),
                "high bits of {b}, {numerics}"
            );
        }
    }
}

/// A map of a user's own, stored transposed.
#[block]
pub struct Own<In: Dim, Out: Dim, T: Float> {
    #[param]
    kernel: Tensor![In, Out; T],
    #[param]
    shift: Tensor![Out; T],
}

#[block]
impl Own {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        linear(x, self.kernel.permute([1, 0]), Some(self.shift))
    }
}

/// The declaration of a map, and more than one.
#[block]
pub struct Activated<In: Dim, Out: Dim, T: Float> {
    #[param]
    weight: Tensor![Out, In; T],
}

#[block]
impl Activated {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        gelu(linear(x, self.weight, None))
    }
}

#[block]
pub struct Net<H: Dim, Layers: Dim, T: Float> {
    first: Own<H, { 2 * H }, T>,
    layers: [Linear<{ 2 * H }, { 2 * H }, T>; Layers],
    read: Linear<{ 2 * H }, H, T>,
    extra: Option<Linear<H, H, T>>,
    gate: Activated<H, H, T>,
    #[state]
    last: Tensor![3, H; T],
}

#[block]
impl Net {
    #[entry]
    pub fn forward(&mut self, x: Tensor![3, H; T]) -> Tensor![3, H; T] {
        let mut y = self.first.forward(x);
        for layer in &self.layers {
            y = y + layer.forward(y);
        }
        let y = linear(y, self.read.weight, None);
        let y = match self.extra {
            Some(extra) => extra.forward(y),
            None => y,
        };
        self.last = y;
        self.gate.forward(y)
    }
}

const H: usize = 8;
const LAYERS: usize = 2;

fn net_generics() -> [GenericValue; 3] {
    [
        GenericValue::Dim(H),
        GenericValue::Dim(LAYERS),
        GenericValue::DType(DType::F32),
    ]
}

/// The paths of the maps that can be quantised, with their features.
const MAPS: [(&str, usize, usize); 4] = [
    ("first.", H, 2 * H),
    ("layers.0.", 2 * H, 2 * H),
    ("layers.1.", 2 * H, 2 * H),
    ("extra.", H, H),
];

/// The parameters of [`Net`], each map quantised by `make` or, where that gives
/// none, as noise; and the same net in floats.
fn net(make: &dyn Fn(usize, usize, usize) -> Option<Quantised>) -> (Parameters, Parameters) {
    let mut floats = Parameters::new();
    floats.insert(
        "read.weight".to_owned(),
        tensor(&[H, 2 * H], &noise(2 * H * H, 21)),
    );
    floats.insert("gate.weight".to_owned(), tensor(&[H, H], &noise(H * H, 22)));
    let mut parameters = floats.clone();
    for (n, (path, inputs, outputs)) in MAPS.into_iter().enumerate() {
        let quantised = make(n, inputs, outputs);
        let weights = match &quantised {
            Some(quantised) => quantised.floats.clone(),
            None => noise(inputs * outputs, 30 + n as u32),
        };
        let (weight, bias) = if path == "first." {
            ("kernel", "shift")
        } else {
            ("weight", "bias")
        };
        let float = match path {
            "first." => {
                let at = |n: usize| weights[n % outputs * inputs + n / outputs];
                let turned: Vec<f32> = (0..weights.len()).map(at).collect();
                tensor(&[inputs, outputs], &turned)
            }
            _ => tensor(&[outputs, inputs], &weights),
        };
        let added = tensor(&[outputs], &noise(outputs, 40 + n as u32));
        match quantised {
            Some(quantised) => {
                quantised.add_to(&mut parameters, path);
                parameters.insert(format!("{path}bias"), added.clone());
            }
            None => {
                parameters.insert(format!("{path}{weight}"), float.clone());
                parameters.insert(format!("{path}{bias}"), added.clone());
            }
        }
        floats.insert(format!("{path}{weight}"), float);
        floats.insert(format!("{path}{bias}"), added);
    }
    (parameters, floats)
}

fn forward(parameters: &Parameters, numerics: Numerics) -> Result<Vec<f32>> {
    let block = Net::<Dyn, Dyn, f32>::DESCRIPTOR;
    let x = tensor(&[3, H], &noise(3 * H, 50));
    call(block, &net_generics(), parameters, &x, numerics)
}

#[test]
fn quantised_maps_stand_in_the_place_of_float_ones() {
    let reversed: Vec<i32> = (0..2 * H as i32).rev().collect();
    let int8 = |n: usize, inputs, outputs| Some(Quantised::int8(inputs, outputs, n as u32));
    let int4 = |n: usize, inputs, outputs| Some(Quantised::int4(inputs, outputs, n as u32));
    let groups = |n: usize, inputs: usize, outputs| {
        let order = (inputs == 2 * H).then_some(&reversed[..]);
        let quantised = Quantised::int4_group(inputs, outputs, 4, order, DType::F32, n as u32);
        Some(quantised)
    };
    // Several formats and floats in one model.
    let mixed = |n: usize, inputs, outputs| match n {
        0 => int8(n, inputs, outputs),
        1 => groups(n, inputs, outputs),
        2 => int4(n, inputs, outputs),
        _ => None,
    };
    let makes: [&dyn Fn(usize, usize, usize) -> Option<Quantised>; 4] =
        [&int8, &int4, &groups, &mixed];
    for make in makes {
        let (parameters, floats) = net(make);
        let expected = forward(&floats, Numerics::Exact).unwrap();
        for numerics in [Numerics::Exact, Numerics::Fast] {
            let found = forward(&parameters, numerics).unwrap();
            assert_close(&found, &expected, 1e-4);
        }
    }
}

#[test]
fn an_optional_map_may_be_absent_or_quantised() {
    let int8 = |n: usize, inputs, outputs| Some(Quantised::int8(inputs, outputs, n as u32));
    let (mut parameters, mut floats) = net(&int8);
    for parameters in [&mut parameters, &mut floats] {
        parameters.retain(|path, _| !path.starts_with("extra."));
    }
    let expected = forward(&floats, Numerics::Exact).unwrap();
    assert_close(
        &forward(&parameters, Numerics::Fast).unwrap(),
        &expected,
        1e-4,
    );
}

#[track_caller]
fn refuses(parameters: &Parameters, expected: &[&str]) {
    let message = forward(parameters, Numerics::Fast)
        .expect_err("must be refused")
        .to_string();
    for expected in expected {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn parameters_that_do_not_fit() {
    let (good, _) = net(&|n, inputs, outputs| {
        Some(Quantised::int4_group(
            inputs,
            outputs,
            4,
            None,
            DType::F32,
            n as u32,
        ))
    });
    let with = |path: &str, tensor: Option<ErasedTensor>| {
        let mut parameters = good.clone();
        match tensor {
            Some(tensor) => parameters.insert(path.to_owned(), tensor),
            None => parameters.remove(path),
        };
        parameters
    };
    refuses(
        &with("layers.1.scale", None),
        &["`layers.1.scale`: missing, expected Tensor[Out, In / Group; T] = "],
    );
    refuses(
        &with("first.bias", None),
        &["`first.bias`: missing, expected Tensor[Out; T] = "],
    );
    refuses(
        &with("first.weight", None),
        &[
            "`first.kernel`: missing",
            "`first.scale`: no member of this path",
        ],
    );
    refuses(
        &with("layers.0.zero", Some(tensor(&[2 * H, 1], &[0u8; 2 * H]))),
        &["`layers.0.zero`: expected Tensor[Out, In / Group; u8] = "],
    );
    refuses(
        &with(
            "layers.0.scale",
            Some(tensor(&[2 * H, 4], &[f32::INFINITY; 8 * H])),
        ),
        &["`layers.0.scale`: element 0 is inf, but a scale is finite"],
    );
    refuses(
        &with("layers.0.order", Some(tensor(&[2 * H], &[3i32; 2 * H]))),
        &["`layers.0.order`: element 1 is 3 again"],
    );
    refuses(
        &with(
            "layers.0.weight",
            Some(tensor(&[2 * H, 1, 5], &[0u8; 10 * H])),
        ),
        &["`Int4GroupLinear` requires `In % Group == 0`, but In is 16 and Group is 10"],
    );
    // What is read from outside keeps its type, and so does what is no map.
    for path in ["read.weight", "gate.weight"] {
        let shape = good[path].shape().to_vec();
        let codes = tensor(&shape, &vec![1i8; good[path].len()]);
        refuses(
            &with(path, Some(codes)),
            &[&format!("`{path}`: expected Tensor[Out, In; T] = ")],
        );
    }
}
