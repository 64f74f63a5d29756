//! Every standard operation's kernel against the operation's body, on random
//! inputs of odd and even sizes in every float type.

mod gpt2_support;

use gpt2_support::Random;
use linnet_runtime::{
    Argument, DType, Device, ErasedTensor, Numerics, Op, OutputValue, ScalarValue,
    descriptor::OpDescriptor,
    instance::call_op_with,
    nn::{activations, attention, cache, embedding, linear, norm, softmax},
    prelude::*,
};

/// A weight stored as `[In, Out]`: the kernel sees it transposed.
#[op]
pub fn linear_of_transposed<S: Shape, In: Dim, Out: Dim, T: Float>(
    x: Tensor![*S, In; T],
    weight: Tensor![In, Out; T],
    bias: Option<Tensor![Out; T]>,
) -> Tensor![*S, Out; T] {
    linear_op(x, weight.permute([1, 0]), bias)
}

use linear::linear as linear_op;

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Half a unit in the last place of 1.
fn roundoff(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 2f64.powi(-24),
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        other => panic!("{other} is no float type"),
    }
}

/// What a kernel may differ from a body that sums `n` terms of magnitude up to
/// 1 in `f32`, beside a result of magnitude `size`.
///
/// Body and kernel round their result once each, and a body may round once
/// more on the way (a product before its bias is added): four roundings of
/// values of magnitude `size + 1` cover them. The orders of summation differ
/// by at most two roundings of `f32` for each term, and an approximated
/// exponential by a few: hence the eight more.
fn tolerance(dtype: DType, n: usize, size: f64) -> f64 {
    4.0 * roundoff(dtype) * (size + 1.0) + 2.0 * (n as f64 + 8.0) * roundoff(DType::F32)
}

/// An operation and what it is called with.
struct Case {
    op: &'static OpDescriptor,
    what: String,
    dtype: DType,
    n_terms: usize,
}

/// A value to call with.
#[derive(Clone)]
enum Value {
    Tensor(ErasedTensor),
    Mut(ErasedTensor),
    Scalar(ScalarValue),
    None,
}

/// Calls the operation and returns its result, or its updated tensor.
fn call(case: &Case, numerics: Numerics, threads: usize, values: &[Value]) -> ErasedTensor {
    let device = Device::cpu_with_threads(threads).unwrap();
    let mut values = values.to_vec();
    let mut args: Vec<Argument<'_>> = values
        .iter_mut()
        .map(|value| match value {
            Value::Tensor(tensor) => Argument::Tensor(tensor.clone()),
            Value::Mut(tensor) => Argument::Mut(tensor),
            Value::Scalar(scalar) => Argument::Scalar(*scalar),
            Value::None => Argument::None,
        })
        .collect();
    let mut output = call_op_with(case.op, numerics, &device, &mut args)
        .unwrap_or_else(|error| panic!("{} {numerics}: {error}", case.what));
    drop(args);
    if output.is_empty() {
        let updated = values.into_iter().find_map(|value| match value {
            Value::Mut(tensor) => Some(tensor),
            _ => None,
        });
        return updated.expect("an operation without a result updates a tensor");
    }
    match output.take().unwrap() {
        OutputValue::Tensor(tensor) => tensor,
        other => panic!("{}: expected a tensor, found {other:?}", case.what),
    }
}

/// Compares the kernel with the body, and one thread with two.
#[track_caller]
fn check(case: &Case, values: &[Value]) {
    let exact = call(case, Numerics::Exact, 1, values);
    let fast = call(case, Numerics::Fast, 1, values);
    let what = &case.what;
    assert_eq!(fast.shape(), exact.shape(), "{what}");
    assert_eq!(fast.dtype(), exact.dtype(), "{what}");
    for i in 0..exact.len() {
        let (found, expected) = (fast.element(i).to_f64(), exact.element(i).to_f64());
        let allowed = match case.n_terms {
            0 => 0.0,
            n => tolerance(case.dtype, n, expected.abs()),
        };
        let same = found == expected || (found.is_nan() && expected.is_nan());
        assert!(
            same || (found - expected).abs() <= allowed,
            "{what}: element {i} of {:?} is {found} by the kernel and {expected} by the body, allowed {allowed:e}",
            exact.shape(),
        );
    }
    let threaded = call(case, Numerics::Fast, 2, values);
    assert_eq!(
        threaded.bytes(),
        fast.bytes(),
        "{what}: two threads differ from one"
    );
}

/// A case named by its operation, dtype and sizes.
fn case<O: Op>(dtype: DType, n_terms: usize, sizes: &[usize]) -> Case {
    let op = O::DESCRIPTOR;
    Case {
        op,
        what: format!("{} {dtype} {sizes:?}", op.function.name),
        dtype,
        n_terms,
    }
}

fn floats(random: &mut Random, dtype: DType, shape: &[usize]) -> ErasedTensor {
    let values = random.units(shape.iter().product());
    ErasedTensor::from_slice(shape, &values)
        .unwrap()
        .cast(dtype)
        .unwrap()
}

fn ints(shape: &[usize], values: &[i32]) -> Value {
    Value::Tensor(ErasedTensor::from_slice(shape, values).unwrap())
}

/// Widths below, at and past those of vectors of 8 and 16, and none.
const WIDTHS: [usize; 12] = [0, 1, 2, 3, 7, 8, 9, 16, 17, 31, 33, 130];

#[test]
fn activations_of_random_values() {
    let mut random = Random::new(1);
    for dtype in FLOATS {
        for shape in [
            &[][..],
            &[0],
            &[1],
            &[5],
            &[3, 7],
            &[2, 3, 33],
            &[1, 40, 1000],
        ] {
            let mut x = random.units(shape.iter().product());
            x.iter_mut().for_each(|v| *v *= 8.0);
            let x = ErasedTensor::from_slice(shape, &x)
                .unwrap()
                .cast(dtype)
                .unwrap();
            let values = [Value::Tensor(x)];
            check(&case::<activations::gelu>(dtype, 8, shape), &values);
            check(&case::<activations::silu>(dtype, 8, shape), &values);
            check(&case::<activations::relu>(dtype, 0, shape), &values);
        }
    }
}

#[test]
fn activations_of_special_values() {
    let special = [
        0.0,
        -0.0,
        1e-40,
        -1e-40,
        1e-3,
        88.0,
        -88.0,
        -120.0,
        3e38,
        -3e38,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    for dtype in FLOATS {
        let x = ErasedTensor::from_slice(&[13], &special)
            .unwrap()
            .cast(dtype)
            .unwrap();
        let values = [Value::Tensor(x)];
        check(&case::<activations::gelu>(dtype, 8, &[13]), &values);
        check(&case::<activations::silu>(dtype, 8, &[13]), &values);
        check(&case::<activations::relu>(dtype, 0, &[13]), &values);
    }
}

#[test]
fn softmax_of_random_rows() {
    let mut random = Random::new(2);
    for dtype in FLOATS {
        for n in WIDTHS {
            for rows in [&[][..], &[1], &[5], &[2, 3]] {
                let shape = [rows, &[n]].concat();
                let values = [Value::Tensor(floats(&mut random, dtype, &shape))];
                check(&case::<softmax::softmax>(dtype, n.max(1), &shape), &values);
            }
        }
    }
}

#[test]
fn softmax_of_special_rows() {
    let inf = f32::INFINITY;
    for row in [
        [1.0, -inf, 2.0, -inf],
        [-inf, -inf, -inf, -inf],
        [inf, 0.0, 1.0, 2.0],
        [f32::NAN, 0.0, 1.0, 2.0],
        [0.0, 1.0, 2.0, f32::NAN],
        [1000.0, 999.0, -1000.0, 0.0],
        [-3e38, -3e38, -3e38, 3e38],
    ] {
        let x = ErasedTensor::from_slice(&[1, 4], &row).unwrap();
        let mut case = case::<softmax::softmax>(DType::F32, 4, &[1, 4]);
        case.what = format!("softmax of {row:?}");
        check(&case, &[Value::Tensor(x)]);
    }
}

#[test]
fn norms_of_random_rows() {
    let mut random = Random::new(3);
    for dtype in FLOATS {
        for h in WIDTHS {
            for rows in [&[][..], &[1], &[4], &[3, 2]] {
                let shape = [rows, &[h]].concat();
                let x = Value::Tensor(floats(&mut random, dtype, &shape));
                let weight = Value::Tensor(floats(&mut random, dtype, &[h]));
                let bias = Value::Tensor(floats(&mut random, dtype, &[h]));
                let eps = Value::Scalar(ScalarValue::F32(1e-5));
                // A normalised value is at most sqrt(H), and so are the terms here.
                let n = (h as f64).powf(1.5).ceil() as usize + 1;
                let values = [x.clone(), weight.clone(), bias, eps.clone()];
                check(&case::<norm::layer_norm>(dtype, n, &shape), &values);
                check(&case::<norm::rms_norm>(dtype, n, &shape), &[x, weight, eps]);
            }
        }
    }
}

#[test]
fn linear_of_both_layouts_with_and_without_bias() {
    let mut random = Random::new(4);
    for dtype in FLOATS {
        for (rows, n_in, n_out) in [
            (&[][..], 5, 3),
            (&[1], 1, 1),
            (&[1], 33, 17),
            (&[1], 64, 200),
            (&[2], 48, 144),
            (&[3, 2], 31, 7),
            (&[7], 16, 16),
            (&[2, 9], 130, 65),
            (&[40], 96, 33),
            (&[0], 4, 4),
            (&[3], 0, 4),
            (&[3], 4, 0),
        ] {
            let shape = [rows, &[n_in]].concat();
            let sizes = [&shape[..], &[n_out]].concat();
            let x = Value::Tensor(floats(&mut random, dtype, &shape));
            let weight = Value::Tensor(floats(&mut random, dtype, &[n_out, n_in]));
            let transposed = Value::Tensor(floats(&mut random, dtype, &[n_in, n_out]));
            for bias in [
                Value::None,
                Value::Tensor(floats(&mut random, dtype, &[n_out])),
            ] {
                let values = [x.clone(), weight.clone(), bias.clone()];
                check(&case::<linear::linear>(dtype, n_in + 1, &sizes), &values);
                let values = [x.clone(), transposed.clone(), bias];
                check(
                    &case::<linear_of_transposed>(dtype, n_in + 1, &sizes),
                    &values,
                );
            }
        }
    }
}

#[test]
fn embedding_of_random_ids() {
    let mut random = Random::new(5);
    for dtype in FLOATS {
        for (rows, vocab, h) in [
            (&[][..], 3, 5),
            (&[4], 1, 1),
            (&[2, 3], 17, 33),
            (&[0], 0, 4),
            (&[300], 50, 0),
        ] {
            let n = rows.iter().product::<usize>();
            let ids: Vec<i32> = (0..n).map(|_| random.below(vocab) as i32).collect();
            let table = Value::Tensor(floats(&mut random, dtype, &[vocab, h]));
            let sizes = [rows, &[vocab, h]].concat();
            check(
                &case::<embedding::embedding>(dtype, 0, &sizes),
                &[ints(rows, &ids), table],
            );
        }
    }
}

/// `[B, Heads, KvHeads, S, M, D]`
const ATTENTION: [[usize; 6]; 8] = [
    [1, 1, 1, 1, 1, 1],
    [1, 2, 2, 5, 9, 8],
    [2, 4, 2, 3, 7, 12],
    [3, 6, 2, 1, 17, 33],
    [2, 3, 1, 9, 9, 7],
    [1, 4, 4, 40, 64, 64],
    [2, 2, 1, 17, 33, 16],
    [2, 2, 2, 0, 4, 3],
];

#[test]
fn attention_within_sequences() {
    let mut random = Random::new(6);
    for dtype in FLOATS {
        for [b, heads, kv_heads, s, _, d] in ATTENTION {
            let sizes = [b, heads, kv_heads, s, d];
            let values = [heads, kv_heads, kv_heads]
                .map(|h| Value::Tensor(floats(&mut random, dtype, &[b, h, s, d])));
            check(&case::<attention::attention>(dtype, s + d, &sizes), &values);
        }
    }
}

#[test]
fn attention_over_a_cache() {
    let mut random = Random::new(7);
    for dtype in FLOATS {
        for [b, heads, kv_heads, s, m, d] in ATTENTION {
            let sizes = [b, heads, kv_heads, s, m, d];
            let q = Value::Tensor(floats(&mut random, dtype, &[b, heads, s, d]));
            let [k, v] =
                [0, 1].map(|_| Value::Tensor(floats(&mut random, dtype, &[b, kv_heads, m, d])));
            for pos in [0, (m - s) / 2, m - s] {
                let pos = Value::Scalar(ScalarValue::I32(pos as i32));
                let mut case = case::<attention::cached_attention>(dtype, m + d, &sizes);
                case.what = format!("{} at {:?}", case.what, (m - s) / 2);
                check(&case, &[q.clone(), k.clone(), v.clone(), pos]);
            }
            let q = Value::Tensor(floats(&mut random, dtype, &[b, heads, 1, d]));
            let positions: Vec<i32> = (0..b).map(|_| random.below(m) as i32).collect();
            let case = case::<attention::cached_attention_rows>(dtype, m + d, &sizes);
            check(&case, &[q, k, v, ints(&[b], &positions)]);
        }
    }
}

#[test]
fn what_a_query_does_not_see_has_no_influence() {
    let mut random = Random::new(9);
    let (b, heads, s, m, d, pos) = (2, 2, 2, 6, 5, 1);
    let q = floats(&mut random, DType::F32, &[b, heads, s, d]);
    // The queries stand at positions 1 and 2: the entries from 3 on are NaN.
    let [k, v] = [0, 1].map(|_| {
        let mut values = random.units(b * heads * m * d);
        for (i, value) in values.iter_mut().enumerate() {
            if i / d % m > pos + 1 {
                *value = f32::NAN;
            }
        }
        ErasedTensor::from_slice(&[b, heads, m, d], &values).unwrap()
    });
    let [q, k, v] = [q, k, v].map(Value::Tensor);
    let case = case::<attention::cached_attention>(DType::F32, m + d, &[b, heads, s, m, d]);
    let values = [q, k, v, Value::Scalar(ScalarValue::I32(pos as i32))];
    check(&case, &values);
    let result = call(&case, Numerics::Exact, 1, &values);
    assert!(
        result
            .as_slice::<f32>()
            .unwrap()
            .iter()
            .all(|v| v.is_finite()),
        "{result:?}"
    );
}

#[test]
fn writes_into_a_cache() {
    let mut random = Random::new(8);
    for dtype in FLOATS {
        for [b, heads, _, s, m, d] in ATTENTION {
            let sizes = [b, heads, s, m, d];
            let cache = Value::Mut(floats(&mut random, dtype, &[b, heads, m, d]));
            let x = Value::Tensor(floats(&mut random, dtype, &[b, heads, s, d]));
            for pos in [0, (m - s) / 2, m - s] {
                let pos = Value::Scalar(ScalarValue::I32(pos as i32));
                let case = case::<cache::write_at>(dtype, 0, &sizes);
                check(&case, &[cache.clone(), x.clone(), pos]);
            }

            let row = Value::Tensor(floats(&mut random, dtype, &[b, heads, 1, d]));
            let positions: Vec<i32> = (0..b).map(|_| random.below(m) as i32).collect();
            let case_rows = case::<cache::write_rows>(dtype, 0, &sizes);
            check(&case_rows, &[cache.clone(), row, ints(&[b], &positions)]);

            for n in 0..=b {
                let prompts = Value::Tensor(floats(&mut random, dtype, &[n, heads, s, d]));
                // The last n slots, last first.
                let slots: Vec<i32> = (0..n).map(|i| (b - 1 - i) as i32).collect();
                let case = case::<cache::write_slots>(dtype, 0, &sizes);
                check(&case, &[cache.clone(), prompts, ints(&[n], &slots)]);
            }
        }
    }
}
