//! The kernels over packed weights against the operations' bodies, on random
//! inputs in every float type.

mod gpt2_support;
mod kernel_support;

use gpt2_support::Random;
use kernel_support::*;
use linnet_runtime::{
    DType, ErasedTensor, Numerics,
    prelude::*,
    quant::{
        int4::int4_linear,
        int4_group::int4_group_linear,
        int8::int8_linear,
        mxfp4::{mxfp4_dequantize, mxfp4_experts, mxfp4_experts_sum},
    },
};

/// Rows that are a part of wider ones.
#[op]
#[require(In == 32 * Blocks, 0 <= expert, expert < Experts)]
pub fn experts_of_a_part<
    R: Dim,
    TopK: Dim,
    Experts: Dim,
    Out: Dim,
    In: Dim,
    Blocks: Dim,
    T: Float,
>(
    x: Tensor![R, 2 * In; T],
    blocks: Tensor![Experts, Out, Blocks, 16; u8],
    scales: Tensor![Experts, Out, Blocks; u8],
    expert: Tensor![R, TopK; i64],
) -> Tensor![R, TopK, Out; T] {
    mxfp4_experts(x.slice(s![.., In..2 * In]), blocks, scales, expert)
}

/// Groups whose length an argument gives.
#[op]
#[require(Group > 0, Group % 2 == 0, In % Group == 0)]
#[require(0 <= order, order < In)]
pub fn linear_of_groups<S: Shape, In: Dim, Out: Dim, Group: Dim, T: Float>(
    x: Tensor![*S, In; T],
    weight: Tensor![Out, In / Group, Group / 2; u8],
    scale: Tensor![Out, In / Group; T],
    zero: Tensor![Out, In / Group; u8],
    order: Option<Tensor![In; i32]>,
    bias: Option<Tensor![Out; T]>,
    _group: Tensor![Group; u8],
) -> Tensor![*S, Out; T] {
    int4_group_linear::<_, _, _, Group, _>(x, weight, scale, zero, order, bias)
}

fn bytes(random: &mut Random, n: usize, limit: usize) -> Vec<u8> {
    (0..n).map(|_| random.below(limit) as u8).collect()
}

fn tensor(shape: &[usize], values: &[u8]) -> Value {
    Value::Tensor(ErasedTensor::from_slice(shape, values).unwrap())
}

fn signed(shape: &[usize], values: &[u8]) -> Value {
    let values: Vec<i8> = values.iter().map(|&v| v as i8).collect();
    Value::Tensor(ErasedTensor::from_slice(shape, &values).unwrap())
}

#[test]
fn dequantize_of_every_code_and_scale() {
    // Each scale with all codes: 16 bytes of both codes alike, one block.
    let blocks: Vec<u8> = (0..256 * 16).map(|i| (i % 16 * 17) as u8).collect();
    let scales: Vec<u8> = (0..=255).collect();
    for shape in [[1, 256], [256, 1], [8, 32]] {
        let blocks = tensor(&[shape[0], shape[1], 16], &blocks);
        let values = [blocks, tensor(&shape, &scales)];
        check(&case::<mxfp4_dequantize>(DType::F32, 0, &shape), &values);
    }
    let values = [tensor(&[3, 0, 16], &[]), tensor(&[3, 0], &[])];
    check(&case::<mxfp4_dequantize>(DType::F32, 0, &[3, 0]), &values);
}

/// Weights of at most 1, and the experts that rows choose.
fn experts(random: &mut Random, [r, k, e, o, blocks]: [usize; 5]) -> [Value; 3] {
    let n = e * o * blocks;
    // Up to 6 * 2^-3.
    let scales: Vec<u8> = bytes(random, n, 5).iter().map(|s| 120 + s).collect();
    let chosen: Vec<i64> = (0..r * k).map(|_| random.below(e) as i64).collect();
    [
        tensor(&[e, o, blocks, 16], &bytes(random, n * 16, 256)),
        tensor(&[e, o, blocks], &scales),
        Value::Tensor(ErasedTensor::from_slice(&[r, k], &chosen).unwrap()),
    ]
}

/// `[R, TopK, Experts, Out, Blocks]`: one expert for all rows, all experts for one, few rows an
/// expert and many.
const EXPERTS: [[usize; 5]; 9] = [
    [1, 1, 1, 1, 1],
    [1, 4, 4, 7, 2],
    [2, 2, 5, 16, 1],
    [3, 4, 8, 33, 3],
    [9, 1, 1, 19, 2],
    [40, 2, 2, 35, 4],
    [0, 2, 3, 4, 1],
    [2, 2, 3, 0, 1],
    [17, 2, 2, 5, 0],
];

#[test]
fn experts_of_random_rows() {
    let mut random = Random::new(11);
    for dtype in FLOATS {
        for sizes in EXPERTS {
            let [r, k, _, _, blocks] = sizes;
            let n = 32 * blocks;
            let [codes, scales, chosen] = experts(&mut random, sizes);
            let x = Value::Tensor(floats(&mut random, dtype, &[r, n]));
            let values = [x, codes.clone(), scales.clone(), chosen.clone()];
            check(&case::<mxfp4_experts>(dtype, n + 1, &sizes), &values);

            let wide = Value::Tensor(floats(&mut random, dtype, &[r, 2 * n]));
            let values = [wide, codes.clone(), scales.clone(), chosen.clone()];
            check(&case::<experts_of_a_part>(dtype, n + 1, &sizes), &values);

            let x = Value::Tensor(floats(&mut random, dtype, &[r, k, n]));
            let weight = Value::Tensor(floats(&mut random, dtype, &[r, k]));
            let values = [x, codes, scales, chosen, weight];
            let case = case::<mxfp4_experts_sum>(dtype, k * (n + 1) + 1, &sizes);
            check(&case, &values);
        }
    }
}

/// Rows, In, Out.
const LAYERS: [(&[usize], usize, usize); 10] = [
    (&[], 6, 3),
    (&[1], 2, 1),
    (&[1], 34, 17),
    (&[2], 64, 40),
    (&[3, 2], 130, 7),
    (&[5], 32, 16),
    (&[2, 11], 96, 65),
    (&[0], 4, 4),
    (&[3], 0, 4),
    (&[3], 4, 0),
];

#[test]
fn linear_of_integers_with_a_scale_for_each_row() {
    let mut random = Random::new(12);
    for dtype in FLOATS {
        for (rows, n_in, n_out) in LAYERS {
            let shape = [rows, &[n_in]].concat();
            let sizes = [&shape[..], &[n_out]].concat();
            let x = Value::Tensor(floats(&mut random, dtype, &shape));
            // Weights of at most 1.
            let scale = |random: &mut Random, most: f32| {
                let values: Vec<f32> = random.units(n_out).iter().map(|v| v / most).collect();
                Value::Tensor(ErasedTensor::from_slice(&[n_out], &values).unwrap())
            };
            for bias in [
                Value::None,
                Value::Tensor(floats(&mut random, dtype, &[n_out])),
            ] {
                let codes = signed(&[n_out, n_in], &bytes(&mut random, n_out * n_in, 256));
                let values = [x.clone(), codes, scale(&mut random, 128.0), bias.clone()];
                check(&case::<int8_linear>(dtype, n_in + 1, &sizes), &values);
                let half = n_in / 2;
                let codes = signed(&[n_out, half], &bytes(&mut random, n_out * half, 256));
                let values = [x.clone(), codes, scale(&mut random, 8.0), bias];
                check(&case::<int4_linear>(dtype, n_in + 1, &sizes), &values);
            }
        }
    }
}

#[test]
fn linear_of_groups_with_and_without_an_order() {
    let mut random = Random::new(13);
    for dtype in FLOATS {
        for (rows, groups, group, n_out) in [
            (&[][..], 1, 2, 3),
            (&[1], 3, 32, 17),
            (&[2], 2, 128, 9),
            (&[5], 3, 6, 33),
            (&[3, 6], 4, 32, 40),
            (&[1], 0, 32, 4),
            (&[0], 2, 4, 3),
            (&[2], 1, 64, 0),
        ] {
            let n_in = groups * group;
            let shape = [rows, &[n_in]].concat();
            let sizes = [&shape[..], &[n_out, groups, group]].concat();
            let x = Value::Tensor(floats(&mut random, dtype, &shape));
            let n = n_out * n_in / 2;
            let codes = tensor(&[n_out, groups, group / 2], &bytes(&mut random, n, 256));
            let zero = tensor(&[n_out, groups], &bytes(&mut random, n_out * groups, 16));
            // Weights of at most 1: codes are at most 15 from their zero point.
            let scale: Vec<f32> = random
                .units(n_out * groups)
                .iter()
                .map(|v| v / 16.0)
                .collect();
            let scale = ErasedTensor::from_slice(&[n_out, groups], &scale)
                .unwrap()
                .cast(dtype)
                .unwrap();
            // Columns may stand in any order, and more than once.
            let columns: Vec<i32> = (0..n_in).map(|_| random.below(n_in) as i32).collect();
            for order in [Value::None, ints(&[n_in], &columns)] {
                for bias in [
                    Value::None,
                    Value::Tensor(floats(&mut random, dtype, &[n_out])),
                ] {
                    let values = [
                        x.clone(),
                        codes.clone(),
                        Value::Tensor(scale.clone()),
                        zero.clone(),
                        order.clone(),
                        bias,
                        tensor(&[group], &vec![0; group]),
                    ];
                    let case = case::<linear_of_groups>(dtype, n_in + 1, &sizes);
                    check(&case, &values);
                }
            }
        }
    }
}

#[test]
fn kernels_run_where_numerics_are_fast() {
    // A sum in another order than the body's: of so many terms, some differ in their last bit.
    let mut random = Random::new(14);
    let (rows, n, outputs) = (3, 640, 50);
    let x = floats(&mut random, DType::F32, &[rows, n]);
    let [codes, scales, chosen] = experts(&mut random, [rows, 2, 4, outputs, n / 32]);
    let values = [Value::Tensor(x.clone()), codes, scales, chosen];
    let mut calls = vec![(case::<mxfp4_experts>(DType::F32, n, &[]), values.to_vec())];
    let codes = signed(&[outputs, n], &bytes(&mut random, outputs * n, 256));
    let ones = ErasedTensor::from_slice(&[outputs], &vec![1f32; outputs]).unwrap();
    let values = vec![
        Value::Tensor(x.clone()),
        codes,
        Value::Tensor(ones),
        Value::None,
    ];
    calls.push((case::<int8_linear>(DType::F32, n, &[]), values));
    let groups = n / 32;
    let codes = bytes(&mut random, outputs * n / 2, 256);
    let scale = floats(&mut random, DType::F32, &[outputs, groups]);
    let values = vec![
        Value::Tensor(x),
        tensor(&[outputs, groups, 16], &codes),
        Value::Tensor(scale),
        tensor(
            &[outputs, groups],
            &bytes(&mut random, outputs * groups, 16),
        ),
        Value::None,
        Value::None,
        tensor(&[32], &[0; 32]),
    ];
    calls.push((case::<linear_of_groups>(DType::F32, n, &[]), values));
    for (case, values) in calls {
        let exact = call(&case, Numerics::Exact, 1, &values);
        let fast = call(&case, Numerics::Fast, 1, &values);
        assert_ne!(exact.bytes(), fast.bytes(), "{}", case.what);
    }
}
