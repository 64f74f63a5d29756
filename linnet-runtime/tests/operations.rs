//! Operations called by themselves, each against plain loops.
#![allow(
    missing_docs,
    reason = "the blocks and operations are for these tests only"
)]

mod common;

use common::{Arg, assert_close, call, noise, raw, run, scalar, tensor};
use linnet_runtime::prelude::*;
use linnet_runtime::{Argument, Device, ErasedTensor, Numerics};

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32 - n as f32 / 2.0).collect()
}

fn floats(out: &ErasedTensor) -> Vec<f32> {
    out.as_slice::<f32>().unwrap().to_vec()
}

fn ints(out: &ErasedTensor) -> Vec<i32> {
    out.as_slice::<i32>().unwrap().to_vec()
}

#[op]
pub fn scale_and_shift<S: Shape, H: Dim, T: Float>(
    x: Tensor![*S, H; T],
    w: Tensor![H; T],
) -> Tensor![*S, H; T] {
    x * 2.0 + w
}

#[test]
fn element_wise_operations_broadcast() {
    for shape in [
        &[5][..],
        &[3, 5],
        &[2, 3, 5],
        &[7, 5, 2, 3, 5],
        &[0, 5],
        &[300, 5],
    ] {
        let n = shape.iter().product();
        let (x, w) = (ramp(n), ramp(5));
        let out = call::<scale_and_shift>(&[tensor(shape, &x), tensor(&[5], &w)]).unwrap();
        let expected: Vec<f32> = x
            .iter()
            .enumerate()
            .map(|(i, x)| x * 2.0 + w[i % 5])
            .collect();
        assert_eq!(out.shape(), shape);
        assert_eq!(floats(&out), expected);
    }
}

#[test]
fn results_round_to_their_dtype() {
    let x: Vec<bf16> = noise(100, 1).into_iter().map(bf16::from_f32).collect();
    let w: Vec<bf16> = noise(10, 2).into_iter().map(bf16::from_f32).collect();
    let out = call::<scale_and_shift>(&[tensor(&[10, 10], &x), tensor(&[10], &w)]).unwrap();
    let expected: Vec<bf16> = x
        .iter()
        .enumerate()
        .map(|(i, x)| {
            bf16::from_f32(bf16::from_f32(x.to_f32() * 2.0).to_f32() + w[i % 10].to_f32())
        })
        .collect();
    assert_eq!(out.as_slice::<bf16>().unwrap(), expected);
    let x: Vec<f16> = noise(100, 1).into_iter().map(f16::from_f32).collect();
    let w = vec![f16::from_f32(60000.0); 10];
    let out = call::<scale_and_shift>(&[tensor(&[10, 10], &x), tensor(&[10], &w)]).unwrap();
    assert_eq!(out.dtype(), linnet_runtime::DType::F16);
}

#[op]
#[require(H > 0, H % 2 == 0)]
pub fn views<B: Dim, S: Dim, H: Dim>(x: Tensor![B, S, H; f32]) -> Tensor![S, B, H / 2; f32] {
    let even = x.slice(s![..., 0..H;2]);
    let odd = x.slice(s![.., .., 1..H;2]);
    (even - odd).permute([1, 0, 2])
}

#[op]
pub fn shuffle<B: Dim, S: Dim, A: Dim, C: Dim>(
    x: Tensor![B, S, A * C; f32],
) -> Tensor![B, A, S * C; f32] {
    x.reshape([B, S, A, C])
        .permute([0, 2, 1, 3])
        .reshape([B, A, S * C])
}

#[test]
fn views_name_the_right_elements() {
    let (b, s, h) = (3, 4, 6);
    let x = noise(b * s * h, 3);
    let out = call::<views>(&[tensor(&[b, s, h], &x)]).unwrap();
    assert_eq!(out.shape(), [s, b, h / 2]);
    let found = floats(&out);
    for i in 0..s {
        for j in 0..b {
            for k in 0..h / 2 {
                let at = (j * s + i) * h + 2 * k;
                assert_eq!(found[(i * b + j) * (h / 2) + k], x[at] - x[at + 1]);
            }
        }
    }
}

#[test]
fn a_reshape_that_cannot_be_a_view_copies() {
    // A * C is 6; both are determined by the result only, so they are given here by a block's generics
    // elsewhere; an operation called by itself cannot know them.
    let err = call::<shuffle>(&[tensor(&[1, 2, 6], &ramp(12))]).unwrap_err();
    assert!(
        err.to_string().contains("do not determine `A: Dim`"),
        "{err}"
    );
}

#[op]
pub fn merge<B: Dim, H: Dim, S: Dim, D: Dim>(
    x: Tensor![B, H, S, D; f32],
) -> Tensor![B, S, H * D; f32] {
    x.permute([0, 2, 1, 3]).reshape([B, S, H * D])
}

#[test]
fn heads_merge() {
    let (b, h, s, d) = (2, 3, 4, 5);
    let x = noise(b * h * s * d, 4);
    let out = call::<merge>(&[tensor(&[b, h, s, d], &x)]).unwrap();
    let found = floats(&out);
    for (flat, value) in found.iter().enumerate() {
        let (k, i) = (flat % d, flat / d % h);
        let (j, n) = (flat / (d * h) % s, flat / (d * h * s));
        assert_eq!(*value, x[((n * h + i) * s + j) * d + k]);
    }
}

#[op]
pub fn side_by_side<A: Dim, B: Dim, H: Dim>(
    a: Tensor![A, H; i32],
    b: Tensor![B, H; i32],
) -> Tensor![A + B + A, H; i32] {
    concat([a, b, a], 0)
}

#[test]
fn concat_puts_parts_side_by_side() {
    let out =
        call::<side_by_side>(&[tensor(&[1, 2], &[1, 2]), tensor(&[2, 2], &[3, 4, 5, 6])]).unwrap();
    assert_eq!(ints(&out), [1, 2, 3, 4, 5, 6, 1, 2]);
    let out =
        call::<side_by_side>(&[tensor(&[0, 2], &[0i32; 0]), tensor(&[1, 2], &[3, 4])]).unwrap();
    assert_eq!(ints(&out), [3, 4]);
}

#[op]
pub fn folds<A: Dim, B: Dim, C: Dim>(
    x: Tensor![A, B, C; f32],
) -> (
    Tensor![A, C; f32],
    Tensor![B; f32],
    Tensor![A, B; f32],
    Tensor![A, B; f32],
) {
    (x.sum(1), x.max([0, 2]), x.prod(-1), x.min(2))
}

#[test]
fn folds_over_axes() {
    for (a, b, c) in [(2, 3, 4), (1, 1, 1), (3, 300, 2), (2, 2, 600), (40, 1, 7)] {
        let x = noise(a * b * c, 5);
        let args = [tensor(&[a, b, c], &x)];
        for (numerics, threads) in [
            (Numerics::Exact, 1),
            (Numerics::Exact, 2),
            (Numerics::Fast, 2),
        ] {
            let out = raw::<folds>(numerics, threads, &args).unwrap();
            let (sum, max, prod, min): (ErasedTensor, ErasedTensor, ErasedTensor, ErasedTensor) =
                out.into_typed().unwrap();
            for i in 0..a {
                for k in 0..c {
                    let expected = (0..b).fold(0.0, |s, j| s + x[(i * b + j) * c + k]);
                    assert_eq!(floats(&sum)[i * c + k], expected);
                }
                for j in 0..b {
                    let row = &x[(i * b + j) * c..][..c];
                    assert_eq!(floats(&prod)[i * b + j], row.iter().fold(1.0, |p, x| p * x));
                    assert_eq!(
                        floats(&min)[i * b + j],
                        row.iter().copied().fold(f32::INFINITY, f32::min)
                    );
                }
            }
            for j in 0..b {
                let all = (0..a).flat_map(|i| &x[(i * b + j) * c..][..c]);
                assert_eq!(
                    floats(&max)[j],
                    all.copied().fold(f32::NEG_INFINITY, f32::max)
                );
            }
        }
    }
}

#[test]
fn folds_over_nothing() {
    let out = raw::<folds>(Numerics::Exact, 1, &[tensor(&[2, 0, 1], &[0.0f32; 0])]).unwrap();
    let (sum, max, prod, min): (ErasedTensor, ErasedTensor, ErasedTensor, ErasedTensor) =
        out.into_typed().unwrap();
    assert_eq!(floats(&sum), [0.0, 0.0]);
    assert_eq!(
        (max.shape(), prod.shape(), min.shape()),
        (&[0][..], &[2, 0][..], &[2, 0][..])
    );
    let out = raw::<folds>(Numerics::Exact, 1, &[tensor(&[0, 2, 1], &[0.0f32; 0])]).unwrap();
    let (_, max, _, _): (ErasedTensor, ErasedTensor, ErasedTensor, ErasedTensor) =
        out.into_typed().unwrap();
    assert_eq!(floats(&max), [f32::NEG_INFINITY; 2]);
}

#[op]
pub fn product<B: Dim, S: Dim, I: Dim, V: Dim, T: Float>(
    h: Tensor![B, S, I; T],
    w: Tensor![V, I; T],
) -> Tensor![B, S, V; T] {
    index!([b, s, v] = sum[i] h[b, s, i] * w[v, i])
}

#[op]
pub fn scores<B: Dim, H: Dim, S: Dim, M: Dim, D: Dim>(
    q: Tensor![B, S, H, D; f32],
    k: Tensor![B, M, H, D; f32],
) -> Tensor![B, H, S, M; f32] {
    index!([b, h, s, m] = sum[d] q[b, s, h, d] * k[b, m, h, d])
}

#[test]
fn contractions_are_matrix_products() {
    for (b, s, i, v) in [
        (1, 1, 7, 9),
        (2, 3, 64, 33),
        (1, 5, 300, 1),
        (3, 1, 1, 1),
        (2, 9, 129, 40),
    ] {
        let (h, w) = (noise(b * s * i, 6), noise(v * i, 7));
        let args = [tensor(&[b, s, i], &h), tensor(&[v, i], &w)];
        let expected: Vec<f32> = (0..b * s * v)
            .map(|flat| {
                (0..i).fold(0.0, |sum, k| {
                    sum + h[flat / v * i + k] * w[flat % v * i + k]
                })
            })
            .collect();
        let exact = run::<product>(Numerics::Exact, 2, &args).unwrap();
        assert_eq!(floats(&exact), expected);
        let fast = run::<product>(Numerics::Fast, 2, &args).unwrap();
        // Sums of up to 300 products of numbers below 1 in another order: 300 units of 2^-24.
        assert_close(&floats(&fast), &expected, 2e-5);
        assert_eq!(run::<product>(Numerics::Fast, 1, &args).unwrap(), fast);
    }
}

#[test]
fn contractions_with_batches() {
    let (b, h, s, m, d) = (2, 3, 4, 5, 16);
    let (q, k) = (noise(b * s * h * d, 8), noise(b * m * h * d, 9));
    let args = [tensor(&[b, s, h, d], &q), tensor(&[b, m, h, d], &k)];
    let exact = run::<scores>(Numerics::Exact, 1, &args).unwrap();
    for (flat, found) in floats(&exact).iter().enumerate() {
        let (j, i) = (flat % m, flat / m % s);
        let (g, n) = (flat / (m * s) % h, flat / (m * s * h));
        let expected = (0..d).fold(0.0, |sum, t| {
            sum + q[((n * s + i) * h + g) * d + t] * k[((n * m + j) * h + g) * d + t]
        });
        assert_eq!(*found, expected);
    }
    assert_close(
        &floats(&run::<scores>(Numerics::Fast, 2, &args).unwrap()),
        &floats(&exact),
        1e-5,
    );
}

#[test]
fn products_of_half_precision_accumulate_in_single() {
    let (i, v) = (64, 8);
    let h: Vec<bf16> = noise(i, 10).into_iter().map(bf16::from_f32).collect();
    let w: Vec<bf16> = noise(v * i, 11).into_iter().map(bf16::from_f32).collect();
    let args = [tensor(&[1, 1, i], &h), tensor(&[v, i], &w)];
    let exact = run::<product>(Numerics::Exact, 1, &args).unwrap();
    for (k, found) in exact.as_slice::<bf16>().unwrap().iter().enumerate() {
        let sum = (0..i).fold(0.0, |sum, t| sum + h[t].to_f32() * w[k * i + t].to_f32());
        assert_eq!(*found, bf16::from_f32(sum));
    }
}

#[op]
#[require(0 <= ids, ids < V)]
pub fn lookup<S: Shape, V: Dim, H: Dim>(
    ids: Tensor![*S; i32],
    table: Tensor![V, H; f32],
) -> Tensor![*S, H; f32] {
    index!([*s, h] = table[ids[*s], h])
}

#[op]
pub fn unchecked_lookup<S: Dim, V: Dim>(
    ids: Tensor![S; i32],
    table: Tensor![V; f32],
) -> Tensor![S; f32] {
    index!([s] = table[ids[s]])
}

#[test]
fn computed_indices_are_checked() {
    let table = ramp(8);
    let out = call::<lookup>(&[tensor(&[2, 1], &[3, 0]), tensor(&[4, 2], &table)]).unwrap();
    assert_eq!(out.shape(), [2, 1, 2]);
    assert_eq!(floats(&out), [2.0, 3.0, -4.0, -3.0]);
    let err =
        call::<lookup>(&[tensor(&[1, 4], &[3, 0, 1, 70000]), tensor(&[4, 2], &table)]).unwrap_err();
    let place = "operations::lookup";
    assert_eq!(
        err.to_string(),
        format!("`{place}`: ids is 70000 at [0, 3]: must be < V = 4 (requires `ids < V`)")
    );
    let err = call::<lookup>(&[tensor(&[2], &[3, -1]), tensor(&[4, 2], &table)]).unwrap_err();
    assert_eq!(
        err.to_string(),
        format!("`{place}`: ids is -1 at [1]: must be >= 0 (requires `0 <= ids`)")
    );
    let err =
        call::<unchecked_lookup>(&[tensor(&[2], &[3, 4]), tensor(&[4], &ramp(4))]).unwrap_err();
    assert!(
        err.to_string()
            .contains("index 4 is outside axis 0 of length 4"),
        "{err}"
    );
    assert!(
        err.to_string()
            .contains("operations::unchecked_lookup`, line "),
        "{err}"
    );
    let err =
        call::<unchecked_lookup>(&[tensor(&[1], &[i32::MIN]), tensor(&[4], &ramp(4))]).unwrap_err();
    assert!(err.to_string().contains("index -2147483648"), "{err}");
    let out =
        call::<unchecked_lookup>(&[tensor(&[0], &[0i32; 0]), tensor(&[0], &[0.0f32; 0])]).unwrap();
    assert!(out.is_empty());
    assert!(call::<unchecked_lookup>(&[tensor(&[1], &[0]), tensor(&[0], &[0.0f32; 0])]).is_err());
}

#[op]
#[require(0 <= pos, pos + S <= M)]
pub fn put_at<M: Dim, S: Dim>(cache: &mut Tensor![M; f32], x: Tensor![S; f32], pos: i32) {
    *cache = index!(
        [m] = if m >= pos && m < pos + S {
            x[m - pos]
        } else {
            cache[m]
        }
    );
}

#[test]
fn mutable_arguments_are_updated() {
    for numerics in [Numerics::Exact, Numerics::Fast] {
        for (m, s, pos) in [
            (6, 2, 0),
            (6, 2, 4),
            (6, 2, 3),
            (600, 300, 123),
            (4, 4, 0),
            (4, 0, 4),
        ] {
            let mut cache = ErasedTensor::from_slice(&[m], &ramp(m)).unwrap();
            let shared = cache.clone();
            let x = noise(s, 12);
            let mut args = [
                Argument::Mut(&mut cache),
                Argument::Tensor(ErasedTensor::from_slice(&[s], &x).unwrap()),
                Argument::Scalar((pos as i32).into()),
            ];
            let device = Device::cpu().unwrap();
            linnet_runtime::instance::call_op_with(
                put_at::DESCRIPTOR,
                numerics,
                &device,
                &mut args,
            )
            .unwrap();
            let mut expected = ramp(m);
            assert_eq!(shared.as_slice::<f32>().unwrap(), expected);
            expected[pos..pos + s].copy_from_slice(&x);
            assert_eq!(cache.as_slice::<f32>().unwrap(), expected);
        }
    }
}

#[test]
fn requirements_on_scalars_name_the_values() {
    let mut cache = Tensor::from(ramp(6)).try_into_shape::<(Dyn,)>().unwrap();
    let x = Tensor::from([1.0f32, 2.0])
        .try_into_shape::<(Dyn,)>()
        .unwrap();
    let err = put_at(&mut cache, &x, 5).unwrap_err();
    assert_eq!(
        err.to_string(),
        "`operations::put_at` requires `pos + S <= M`, but pos is 5 and S is 2 and M is 6"
    );
    let err = put_at(&mut cache, &x, -1).unwrap_err();
    assert_eq!(
        err.to_string(),
        "`operations::put_at` requires `0 <= pos`, but pos is -1"
    );
    assert_eq!(cache.to_vec(), ramp(6));
    put_at(&mut cache, &x, 4).unwrap();
    assert_eq!(cache.to_vec(), [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0]);
}

#[op]
#[require(0 <= slots, distinct(slots))]
pub fn twice<N: Dim>(slots: Tensor![N; i32]) -> Tensor![N; i32] {
    slots + slots
}

#[test]
fn duplicates_are_named() {
    assert_eq!(
        ints(&call::<twice>(&[tensor(&[3], &[5, 0, 2])]).unwrap()),
        [10, 0, 4]
    );
    let err = call::<twice>(&[tensor(&[4], &[5, 0, 2, 0])]).unwrap_err();
    let expected = "`operations::twice`: slots is 0 at both [1] and [3]: must be distinct (requires `distinct(slots)`)";
    assert_eq!(err.to_string(), expected);
}

#[test]
fn arguments_of_other_types_are_named() {
    let err =
        call::<product>(&[tensor(&[1, 2, 3], &ramp(6)), tensor(&[2, 4], &ramp(8))]).unwrap_err();
    let expected = "`operations::product`: argument `w` must be Tensor[V, I; T], found Tensor[2, 4; f32] \
                    (with T = f32 from `h`, V = 2, I = 3 from `h`)";
    assert_eq!(err.to_string(), expected);
    let err = call::<product>(&[tensor(&[2, 3], &ramp(6)), tensor(&[2, 4], &ramp(8))]).unwrap_err();
    assert!(
        err.to_string()
            .contains("argument `h` must be Tensor[B, S, I; T], found Tensor[2, 3; f32]"),
        "{err}"
    );
    let err = call::<product>(&[tensor(&[1, 2, 3], &ramp(6))]).unwrap_err();
    assert_eq!(
        err.to_string(),
        "`operations::product` takes 2 arguments, found 1"
    );
    let err = call::<lookup>(&[tensor(&[1], &[1.0f32]), tensor(&[4, 1], &ramp(4))]).unwrap_err();
    assert!(
        err.to_string()
            .contains("`ids` must be Tensor[*S; i32], found Tensor[1; f32]"),
        "{err}"
    );
    let err = call::<lookup>(&[Arg::None, tensor(&[4, 1], &ramp(4))]).unwrap_err();
    assert!(err.to_string().contains("found none"), "{err}");
}

#[op]
pub fn arithmetic<N: Dim, T: Int>(
    a: Tensor![N; T],
    b: Tensor![N; T],
) -> (
    Tensor![N; T],
    Tensor![N; T],
    Tensor![N; T],
    Tensor![N; bool],
) {
    (a / b, a % b, a * b + 1, (a < b) & !(a == b))
}

#[test]
fn integers_divide_downwards_and_wrap() {
    let a = [7i32, -7, 7, -7, i32::MAX, 0];
    let b = [2, 2, -2, -2, i32::MAX, 5];
    let out = raw::<arithmetic>(Numerics::Fast, 1, &[tensor(&[6], &a), tensor(&[6], &b)]).unwrap();
    let (quotient, rest, product, less): (ErasedTensor, ErasedTensor, ErasedTensor, ErasedTensor) =
        out.into_typed().unwrap();
    assert_eq!(ints(&quotient), [3, -4, -4, 3, 1, 0]);
    assert_eq!(ints(&rest), [1, 1, -1, -1, 0, 0]);
    assert_eq!(ints(&product), [15, -13, -13, 15, 2, 1]);
    assert_eq!(
        less.as_slice::<bool>().unwrap(),
        [false, true, false, true, false, true]
    );
    let err = raw::<arithmetic>(
        Numerics::Fast,
        1,
        &[tensor(&[1], &[1i64]), tensor(&[1], &[0i64])],
    )
    .unwrap_err();
    assert!(
        err.to_string().contains("division of an integer by zero"),
        "{err}"
    );
}

#[op]
pub fn guarded<N: Dim, M: Dim>(a: Tensor![N; i32], x: Tensor![M; i32]) -> Tensor![N; i32] {
    index!(
        [n] = if a[n] >= 0 && a[n] < M && x[a[n]] != 0 {
            100 / x[a[n]]
        } else {
            0 - 1
        }
    )
}

#[test]
fn branches_not_taken_are_not_computed() {
    let out =
        call::<guarded>(&[tensor(&[5], &[-1, 0, 1, 2, 9]), tensor(&[3], &[5, 0, 7])]).unwrap();
    assert_eq!(ints(&out), [-1, 20, -1, 14, -1]);
}

#[op]
pub fn soft<S: Shape, N: Dim, T: Float>(x: Tensor![*S, N; T]) -> Tensor![*S, N; T] {
    let wide = cast::<f32>(x);
    let high = index!([*s] = max[i] wide[*s, i]);
    let power = index!([*s, i] = exp(wide[*s, i] - high[*s]));
    let total = index!([*s] = sum[i] power[*s, i]);
    index!([*s, i] = cast::<T>(power[*s, i] / total[*s]))
}

#[test]
fn softmax_in_index_notation() {
    for shape in [&[7][..], &[3, 300], &[2, 3, 1], &[2, 2, 2, 5]] {
        let n = *shape.last().unwrap();
        let x = noise(shape.iter().product(), 13);
        let out = call::<soft>(&[tensor(shape, &x)]).unwrap();
        let expected: Vec<f32> = x
            .chunks(n)
            .flat_map(|row| {
                let high = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let power: Vec<f32> = row.iter().map(|x| (x - high).exp()).collect();
                let total = power.iter().fold(0.0, |sum, x| sum + x);
                power.into_iter().map(move |x| x / total)
            })
            .collect();
        assert_eq!(floats(&out), expected);
    }
    let out = run::<soft>(Numerics::Exact, 1, &[tensor(&[2], &[f32::NAN, 1.0])]).unwrap();
    assert!(floats(&out).iter().all(|x| x.is_nan()));
}

#[op]
pub fn scalar_branch<N: Dim>(x: Tensor![N; f32], k: i32) -> (Tensor![N; f32], i32) {
    let mut y = x;
    let mut n = k;
    if k > 2 && k != 5 {
        y = x * 2.0;
        n = k + 1;
    } else {
        y = y + 1.0;
    }
    (y - 1.0, n * n)
}

#[test]
fn run_time_scalars_choose_branches() {
    for numerics in [Numerics::Exact, Numerics::Fast] {
        for k in 0..7 {
            let x = noise(5, 14);
            let out = raw::<scalar_branch>(numerics, 1, &[tensor(&[5], &x), scalar(k)]).unwrap();
            let (y, n): (ErasedTensor, i32) = out.into_typed().unwrap();
            let taken = k > 2 && k != 5;
            let expected: Vec<f32> = x
                .iter()
                .map(|x| if taken { x * 2.0 - 1.0 } else { x + 1.0 - 1.0 })
                .collect();
            assert_eq!(floats(&y), expected);
            assert_eq!(n, if taken { (k + 1) * (k + 1) } else { k * k });
        }
    }
}

#[op]
pub fn window<N: Dim, H: Dim>(x: Tensor![N, H; f32], pos: i32) -> Tensor![2, H; f32] {
    x.slice(s![pos..pos + 2, ..]) * 1.0
}

#[test]
fn run_time_slices_are_checked() {
    let x = noise(15, 15);
    for pos in 0..4 {
        let out = call::<window>(&[tensor(&[5, 3], &x), scalar(pos)]).unwrap();
        assert_eq!(floats(&out), x[pos as usize * 3..][..6]);
    }
    let err = call::<window>(&[tensor(&[5, 3], &x), scalar(4)]).unwrap_err();
    assert!(
        err.to_string()
            .contains("the slice 4..6 is outside axis 0 of length 5"),
        "{err}"
    );
    let err = call::<window>(&[tensor(&[5, 3], &x), scalar(-1)]).unwrap_err();
    assert!(
        err.to_string()
            .contains("the slice -1..1 is outside axis 0 of length 5"),
        "{err}"
    );
    assert!(call::<window>(&[tensor(&[1, 3], &[0.0f32; 3]), scalar(0)]).is_err());
}

#[op]
pub fn counted<N: Dim>(x: Tensor![N; f32]) -> Tensor![N, 3; f32] {
    let steps = cast::<f32>(iota::<i32>(N));
    let sum = x + steps * 0.5;
    let column = sum.reshape([N, 1]);
    concat([column, fill(7.0, [N, 1]), column.broadcast_to([N, 1])], -1)
}

#[test]
fn iota_and_fill() {
    let x = noise(9, 16);
    let out = call::<counted>(&[tensor(&[9], &x)]).unwrap();
    let expected: Vec<f32> = x
        .iter()
        .enumerate()
        .flat_map(|(i, x)| [x + i as f32 * 0.5, 7.0, x + i as f32 * 0.5])
        .collect();
    assert_eq!(floats(&out), expected);
}

#[op]
pub fn optional<N: Dim>(x: Tensor![N; f32], bias: Option<Tensor![N; f32]>) -> Tensor![N; f32] {
    match bias {
        Some(bias) => x + bias,
        None => x,
    }
}

#[test]
fn optional_arguments() {
    let (x, b) = (ramp(4), noise(4, 17));
    let out = call::<optional>(&[tensor(&[4], &x), Arg::None]).unwrap();
    assert_eq!(floats(&out), x);
    let out = call::<optional>(&[tensor(&[4], &x), tensor(&[4], &b)]).unwrap();
    assert_eq!(
        floats(&out),
        x.iter().zip(&b).map(|(x, b)| x + b).collect::<Vec<_>>()
    );
}

#[op]
pub fn reversed<N: Dim, M: Dim>(
    x: Tensor![N; f32],
    y: Tensor![M, 2; f32],
) -> (Tensor![N; f32], Tensor![M; f32]) {
    (
        index!([n: N] = x[N - 1 - n] * cast::<f32>(n)),
        index!([m] = y[m, 1]),
    )
}

#[test]
fn index_arithmetic() {
    let (x, y) = (noise(5, 18), noise(6, 19));
    let out =
        raw::<reversed>(Numerics::Exact, 1, &[tensor(&[5], &x), tensor(&[3, 2], &y)]).unwrap();
    let (a, b): (ErasedTensor, ErasedTensor) = out.into_typed().unwrap();
    assert_eq!(
        floats(&a),
        (0..5).map(|i| x[4 - i] * i as f32).collect::<Vec<_>>()
    );
    assert_eq!(floats(&b), [y[1], y[3], y[5]]);
}

#[test]
fn large_results_do_not_depend_on_the_threads() {
    // Well above the size from which a nest runs on several threads.
    let (n, h) = (700, 96);
    let (x, w) = (noise(n * h, 20), noise(h, 21));
    let out = call::<scale_and_shift>(&[tensor(&[n, h], &x), tensor(&[h], &w)]).unwrap();
    let expected: Vec<f32> = x
        .iter()
        .enumerate()
        .map(|(i, x)| x * 2.0 + w[i % h])
        .collect();
    assert_eq!(floats(&out), expected);
    let out = call::<soft>(&[tensor(&[n, h], &x)]).unwrap();
    for row in floats(&out).chunks(h) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }
    // An error on any thread is the one that a single thread would meet first.
    let mut ids: Vec<i32> = (0..50_000).map(|i| i % 100).collect();
    ids[20_000] = -7;
    ids[49_999] = 100;
    let err = call::<unchecked_lookup>(&[tensor(&[50_000], &ids), tensor(&[100], &ramp(100))])
        .unwrap_err();
    assert!(err.to_string().contains("index -7"), "{err}");
}

#[test]
fn instances_and_tensors_move_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<linnet_runtime::Instance>();
    check::<ErasedTensor>();
    check::<Tensor<(Dyn, Const<3>), bf16>>();
    check::<Device>();
    let x = Tensor::from(ramp(4)).try_into_shape::<(Dyn,)>().unwrap();
    let doubled = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| optional(&x, Some(&x)).unwrap().to_vec()))
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert!(doubled.iter().all(|y| *y == [-4.0, -2.0, 0.0, 2.0]));
}
