//! The kernels of gpt-oss' operations against the operations' bodies, on
//! random inputs in every float type.

mod gpt2_support;
mod kernel_support;

use gpt2_support::Random;
use kernel_support::*;
use linnet_runtime::{
    DType, ErasedTensor, Numerics, ScalarValue,
    nn::{
        activations::clamped_swiglu,
        attention::{merge_heads, split_heads},
        cache::write_packed,
        rope::yarn_rope,
        sink_attention::{cached_sink_attention, packed_sink_attention, sink_attention},
        top_k::descending_ranks,
    },
    prelude::*,
};

/// Queries as a model has them: heads side by side, rotated; and the result
/// with its heads side by side again.
#[op]
#[require(KvHeads > 0, Heads % KvHeads == 0, window > 0, D > 0, D % 2 == 0)]
pub fn rotated_sequences<B: Dim, Heads: Dim, KvHeads: Dim, S: Dim, D: Dim, T: Float>(
    q: Tensor![B, S, Heads * D; T],
    k: Tensor![B, KvHeads, S, D; T],
    v: Tensor![B, S, KvHeads * D; T],
    sinks: Tensor![Heads; T],
    window: i32,
) -> Tensor![B, S, Heads * D; T] {
    let positions: Tensor![B, S; i32] = index!([b: B, s: S] = cast::<i32>(s));
    let q = split_heads::<B, S, Heads, D, T>(q);
    let v = split_heads::<B, S, KvHeads, D, T>(v);
    let q = yarn_rope(q, positions, 10000.0, 4.0, 32.0, 1.0, 64.0);
    let k = yarn_rope(k, positions, 10000.0, 4.0, 32.0, 1.0, 64.0);
    merge_heads(sink_attention(q, k, v, sinks, window))
}

/// The same for tokens side by side, over caches.
#[op]
#[require(KvHeads > 0, Heads % KvHeads == 0, window > 0, D > 0, D % 2 == 0)]
#[require(0 <= rows, rows < B, -1 <= positions, positions < M)]
pub fn rotated_pack<B: Dim, Heads: Dim, KvHeads: Dim, P: Dim, M: Dim, D: Dim, T: Float>(
    q: Tensor![1, P, Heads * D; T],
    cache_k: Tensor![B, KvHeads, M, D; T],
    cache_v: Tensor![B, KvHeads, M, D; T],
    sinks: Tensor![Heads; T],
    rows: Tensor![P; i32],
    positions: Tensor![P; i32],
    window: i32,
) -> Tensor![1, P, Heads * D; T] {
    let q = split_heads::<1, P, Heads, D, T>(q);
    let places = positions.reshape([1, P]);
    let q = yarn_rope(q, places, 10000.0, 4.0, 32.0, 1.0, 64.0);
    merge_heads(packed_sink_attention(
        q, cache_k, cache_v, sinks, rows, positions, window,
    ))
}

fn scalar(x: f32) -> Value {
    Value::Scalar(ScalarValue::F32(x))
}

fn window(n: i32) -> Value {
    Value::Scalar(ScalarValue::I32(n))
}

fn tensor(random: &mut Random, dtype: DType, shape: &[usize]) -> Value {
    Value::Tensor(floats(random, dtype, shape))
}

#[test]
fn rotations() {
    let mut random = Random::new(11);
    let published = [150_000.0, 32.0, 32.0, 1.0, 4096.0];
    for dtype in FLOATS {
        for [b, heads, s, d] in [
            [1, 1, 1, 2],
            [1, 2, 3, 4],
            [2, 3, 5, 14],
            [3, 1, 2, 18],
            [1, 4, 40, 64],
            [2, 64, 1, 64],
            [1, 0, 3, 4],
            [2, 3, 0, 8],
        ] {
            for yarn in [published, [10_000.0, 1.0, 32.0, 1.0, 128.0]] {
                let x = tensor(&mut random, dtype, &[b, heads, s, d]);
                let mut positions: Vec<i32> =
                    (0..b * s).map(|_| random.below(131_072) as i32).collect();
                if let Some(last) = positions.last_mut() {
                    *last = -1;
                }
                // Operation by operation the same arithmetic: equal to the last bit.
                let case = case::<yarn_rope>(dtype, 0, &[b, heads, s, d]);
                let mut values = vec![x, ints(&[b, s], &positions)];
                values.extend(yarn.map(scalar));
                check(&case, &values);
            }
        }
    }
}

#[test]
fn gated_activations() {
    let mut random = Random::new(12);
    let inf = f32::INFINITY;
    let special = [
        0.0,
        -0.0,
        1e-40,
        6.99,
        7.0,
        7.5,
        -7.5,
        -60.0,
        -3e4,
        3e4,
        inf,
        f32::NAN,
    ];
    for dtype in FLOATS {
        for shape in [
            &[2][..],
            &[6],
            &[0, 4],
            &[3, 14],
            &[2, 3, 66],
            &[1, 4, 5760],
            &[5, 32],
        ] {
            let mut x = random.units(shape.iter().product());
            x.iter_mut().for_each(|v| *v *= 9.0);
            let x = ErasedTensor::from_slice(shape, &x).unwrap();
            let values = [
                Value::Tensor(x.cast(dtype).unwrap()),
                scalar(1.702),
                scalar(7.0),
            ];
            // A result is at most 8 * 7.
            check(&case::<clamped_swiglu>(dtype, 56, shape), &values);
        }
        let pairs: Vec<f32> = special
            .iter()
            .flat_map(|&gate| special.iter().flat_map(move |&up| [gate, up]))
            .collect();
        let x = ErasedTensor::from_slice(&[pairs.len()], &pairs).unwrap();
        let values = [
            Value::Tensor(x.cast(dtype).unwrap()),
            scalar(1.702),
            scalar(7.0),
        ];
        check(&case::<clamped_swiglu>(dtype, 56, &[pairs.len()]), &values);
    }
}

#[test]
fn ranks() {
    let mut random = Random::new(13);
    for dtype in FLOATS {
        for n in [0, 1, 2, 3, 7, 31, 32, 33, 64, 100, 128, 200] {
            for rows in [&[][..], &[1], &[2, 3]] {
                let shape = [rows, &[n]].concat();
                let case = case::<descending_ranks>(dtype, 0, &shape);
                check(&case, &[tensor(&mut random, dtype, &shape)]);
                // Of few different values many are equal.
                let len = shape.iter().product();
                let few: Vec<f32> = (0..len).map(|_| random.below(4) as f32).collect();
                let few = ErasedTensor::from_slice(&shape, &few).unwrap();
                check(&case, &[Value::Tensor(few.cast(dtype).unwrap())]);
            }
        }
    }
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let row = [0.0, nan, inf, -inf, -0.0, inf, nan, 1e-40];
    let x = ErasedTensor::from_slice(&[8], &row).unwrap();
    let case = case::<descending_ranks>(DType::F32, 0, &[8]);
    check(&case, &[Value::Tensor(x)]);
}

/// `[B, Heads, KvHeads, S, M, D]`
const SIZES: [[usize; 6]; 8] = [
    [1, 1, 1, 1, 1, 2],
    [1, 2, 2, 5, 9, 8],
    [2, 4, 2, 3, 7, 12],
    [3, 6, 2, 1, 17, 34],
    [2, 8, 1, 9, 9, 6],
    [1, 16, 2, 40, 64, 64],
    [2, 8, 1, 1, 150, 64],
    [2, 2, 2, 0, 4, 4],
];

#[test]
fn attention_within_sequences() {
    let mut random = Random::new(14);
    for dtype in FLOATS {
        for [b, heads, kv_heads, s, _, d] in SIZES {
            for w in [1, 3, 16, i32::MAX] {
                let sizes = [b, heads, kv_heads, s, d];
                let [k, v] = [0, 1].map(|_| tensor(&mut random, dtype, &[b, kv_heads, s, d]));
                let sinks = tensor(&mut random, dtype, &[heads]);
                let mut case = case::<sink_attention>(dtype, s + d, &sizes);
                case.what = format!("{} window {w}", case.what);
                let q = tensor(&mut random, dtype, &[b, heads, s, d]);
                let values = [q, k.clone(), v, sinks.clone(), window(w)];
                check(&case, &values);

                let mut case = case_of_rotated::<rotated_sequences>(dtype, s + d, &sizes);
                case.what = format!("{} window {w}", case.what);
                let q = tensor(&mut random, dtype, &[b, s, heads * d]);
                let v = tensor(&mut random, dtype, &[b, s, kv_heads * d]);
                check(&case, &[q, k, v, sinks, window(w)]);
            }
        }
    }
}

/// A case of an operation whose queries are rotated on the way: scores are larger, and
/// rounded once more.
fn case_of_rotated<O: linnet_runtime::Op>(dtype: DType, n_terms: usize, sizes: &[usize]) -> Case {
    case::<O>(dtype, 2 * n_terms, sizes)
}

#[test]
fn attention_over_a_cache() {
    let mut random = Random::new(15);
    for dtype in FLOATS {
        for [b, heads, kv_heads, s, m, d] in SIZES {
            let sizes = [b, heads, kv_heads, s, m, d];
            let q = tensor(&mut random, dtype, &[b, heads, s, d]);
            let [k, v] = [0, 1].map(|_| tensor(&mut random, dtype, &[b, kv_heads, m, d]));
            let sinks = tensor(&mut random, dtype, &[heads]);
            for pos in [0, (m - s) / 2, m - s] {
                for w in [1, 5, m as i32, i32::MAX] {
                    let mut case = case::<cached_sink_attention>(dtype, m + d, &sizes);
                    case.what = format!("{} at {pos}, window {w}", case.what);
                    let pos = Value::Scalar(ScalarValue::I32(pos as i32));
                    let values = [
                        q.clone(),
                        k.clone(),
                        v.clone(),
                        sinks.clone(),
                        pos,
                        window(w),
                    ];
                    check(&case, &values);
                }
            }
        }
    }
}

/// Steps of some rows, runs of others of random lengths, idle tokens, and now
/// and then a row twice: (row, position) of each token.
fn pack(random: &mut Random, rows: usize, m: usize) -> Vec<(i32, i32)> {
    let mut tokens = vec![];
    for _ in 0..rows + 2 {
        let row = random.below(rows) as i32;
        match random.below(4) {
            0 => tokens.push((row, -1)),
            1 => tokens.push((row, random.below(m) as i32)),
            _ => {
                let first = random.below(m);
                let n = 1 + random.below((m - first).min(30));
                tokens.extend((first..first + n).map(|pos| (row, pos as i32)));
            }
        }
    }
    tokens
}

#[test]
fn attention_of_packs() {
    let mut random = Random::new(16);
    for dtype in FLOATS {
        for [b, heads, kv_heads, _, m, d] in SIZES {
            for w in [1, 5, 16, i32::MAX] {
                let tokens = pack(&mut random, b, m);
                let p = tokens.len();
                let (rows, positions): (Vec<i32>, Vec<i32>) = tokens.iter().copied().unzip();
                let [k, v] = [0, 1].map(|_| tensor(&mut random, dtype, &[b, kv_heads, m, d]));
                let sinks = tensor(&mut random, dtype, &[heads]);
                let rest = [
                    k,
                    v,
                    sinks,
                    ints(&[p], &rows),
                    ints(&[p], &positions),
                    window(w),
                ];
                let sizes = [b, heads, kv_heads, p, m, d];
                let mut case = case::<packed_sink_attention>(dtype, m + d, &sizes);
                case.what = format!("{} window {w}, {tokens:?}", case.what);
                let q = tensor(&mut random, dtype, &[1, heads, p, d]);
                check(&case, &[&[q][..], &rest].concat());

                let mut case = case_of_rotated::<rotated_pack>(dtype, m + d, &sizes);
                case.what = format!("{} window {w}, {tokens:?}", case.what);
                let q = tensor(&mut random, dtype, &[1, p, heads * d]);
                check(&case, &[&[q][..], &rest].concat());
            }
        }
    }
}

#[test]
fn what_a_token_does_not_see_has_no_influence() {
    let mut random = Random::new(17);
    let (b, heads, kv_heads, m, d, w) = (2, 8, 1, 40, 16, 7);
    // A run that straddles its window, a step, and an idle row.
    let mut tokens: Vec<(i32, i32)> = (10..22).map(|pos| (1, pos)).collect();
    tokens.extend([(0, 30), (0, -1)]);
    let seen = |row: usize, at: usize| {
        tokens.iter().any(|&(r, pos)| {
            r as usize == row && pos >= 0 && at as i32 <= pos && at as i32 > pos - w
        })
    };
    let [k, v] = [0, 1].map(|_| {
        let mut values = random.units(b * kv_heads * m * d);
        for (i, value) in values.iter_mut().enumerate() {
            if !seen(i / d / m / kv_heads, i / d % m) {
                *value = f32::NAN;
            }
        }
        Value::Tensor(ErasedTensor::from_slice(&[b, kv_heads, m, d], &values).unwrap())
    });
    let p = tokens.len();
    let (rows, positions): (Vec<i32>, Vec<i32>) = tokens.iter().copied().unzip();
    let values = [
        tensor(&mut random, DType::F32, &[1, heads, p, d]),
        k,
        v,
        tensor(&mut random, DType::F32, &[heads]),
        ints(&[p], &rows),
        ints(&[p], &positions),
        window(w),
    ];
    let sizes = [b, heads, kv_heads, p, m, d];
    let case = case::<packed_sink_attention>(DType::F32, m + d, &sizes);
    check(&case, &values);
    let result = call(&case, Numerics::Exact, 1, &values);
    let result = result.as_slice::<f32>().unwrap();
    assert!(result.iter().all(|v| v.is_finite()), "{result:?}");
    // The last token sees nothing.
    for h in 0..heads {
        let last = &result[(h * p + p - 1) * d..][..d];
        assert!(last.iter().all(|v| *v == 0.0), "head {h}: {last:?}");
    }
}

#[test]
fn writes_of_packs() {
    let mut random = Random::new(18);
    for dtype in FLOATS {
        for [b, heads, _, _, m, d] in SIZES {
            for _ in 0..4 {
                let tokens = pack(&mut random, b, m);
                let p = tokens.len();
                let (rows, positions): (Vec<i32>, Vec<i32>) = tokens.iter().copied().unzip();
                let mut case = case::<write_packed>(dtype, 0, &[b, heads, p, m, d]);
                case.what = format!("{} {tokens:?}", case.what);
                let values = [
                    Value::Mut(floats(&mut random, dtype, &[b, heads, m, d])),
                    tensor(&mut random, dtype, &[1, heads, p, d]),
                    ints(&[p], &rows),
                    ints(&[p], &positions),
                ];
                check(&case, &values);
            }
        }
    }
    // No token at all.
    let case = case::<write_packed>(DType::F32, 0, &[0]);
    let values = [
        Value::Mut(floats(&mut random, DType::F32, &[2, 3, 4, 5])),
        tensor(&mut random, DType::F32, &[1, 3, 0, 5]),
        ints(&[0], &[]),
        ints(&[0], &[]),
    ];
    check(&case, &values);
}
