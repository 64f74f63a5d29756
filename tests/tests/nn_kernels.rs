//! Every standard operation's kernel against the operation's body, on random
//! inputs of odd and even sizes in every float type.

mod gpt2_support;
mod kernel_support;

use gpt2_support::Random;
use kernel_support::*;
use linnet_runtime::{
    DType, ErasedTensor, Numerics, ScalarValue,
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
