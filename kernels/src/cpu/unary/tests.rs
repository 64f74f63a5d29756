use half::{bf16, f16};

use super::*;
use crate::testing::{Rng, assert_close, each_cpu, smallest};

const SEED: u64 = 0x0a11;

/// Relative error in roundoffs of f32: exp is within 2, a division and an addition add one each,
/// and an error in the argument of exp is multiplied by it (gelu's is at most 3 roundoffs of an
/// argument below 104, but there the result is 0 or x; where both terms of the denominator
/// matter the argument is below 18).
fn roundoffs(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Relu => 0.0,
        UnaryOp::Exp => 2.0,
        UnaryOp::Gelu => 6.0 + 3.0 * (2.0 * 0.798 * (x + 0.044_715 * x.powi(3))).abs(),
        UnaryOp::Silu | UnaryOp::Sigmoid | UnaryOp::Tanh => 6.0,
    }
}

fn reference(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Gelu => {
            let u = 0.797_884_560_8 * (x + 0.044_715 * x * x * x);
            // x / 2 * (1 + tanh u), without cancellation.
            x / (1.0 + (-2.0 * u).exp())
        }
        UnaryOp::Silu => x / (1.0 + (-x).exp()),
        UnaryOp::Relu if x.is_nan() => x,
        UnaryOp::Relu => x.max(0.0),
        UnaryOp::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Exp => x.exp(),
    }
}

fn check<E: Element>(cpu: &Cpu, op: UnaryOp, x: &[E]) {
    // One element in front: an unaligned start.
    let mut out = vec![E::from_f32(7.0); x.len() + 2];
    let n = x.len();
    unary(
        cpu,
        op,
        MatRef::contiguous(x, 1, n).unwrap(),
        MatMut::contiguous(&mut out[1..=n], 1, n).unwrap(),
    )
    .unwrap();
    assert!(
        out[0] == E::from_f32(7.0) && out[n + 1] == E::from_f32(7.0),
        "{op:?}: written outside"
    );
    let wide: Vec<f64> = x.iter().map(|x| f64::from(x.to_f32())).collect();
    // What f32 (or the type) cannot hold becomes infinite.
    let expected: Vec<f64> = wide
        .iter()
        .map(|&x| f64::from(E::from_f32(reference(op, x) as f32).to_f32()))
        .collect();
    let what = format!(
        "{op:?} {} {} of {n}, seed {SEED}",
        cpu.isa().name(),
        E::NAME
    );
    let bound = |i: usize| {
        let y = reference(op, wide[i]);
        // e^-|x| may be a subnormal, off by half its spacing, which x multiplies.
        let subnormal = smallest::<f32>() * (2.0 + wide[i].abs().min(200.0)) + smallest::<E>();
        y.abs() * (roundoffs(op, wide[i]) * f32::UNIT_ROUNDOFF + 2.0 * E::UNIT_ROUNDOFF) + subnormal
    };
    assert_close(&what, &out[1..=n], &expected, bound);
    let mut same = x.to_vec();
    unary_in_place(cpu, op, MatMut::contiguous(&mut same, 1, n).unwrap());
    let bits = |v: &[E]| v.iter().map(|x| x.to_f32().to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&same), bits(&out[1..=n]), "{what}: in place differs");
}

#[test]
fn lengths() {
    each_cpu(|cpu| {
        let mut rng = Rng::new(SEED);
        for op in UnaryOp::ALL {
            for n in 0..=2 * crate::element::MAX_LANES + 1 {
                let x: Vec<f32> = (0..n).map(|_| rng.unit() * 6.0).collect();
                check(cpu, op, &x);
                check(
                    cpu,
                    op,
                    &x.iter().map(|&x| f16::from_f32(x)).collect::<Vec<_>>(),
                );
                check(
                    cpu,
                    op,
                    &x.iter().map(|&x| bf16::from_f32(x)).collect::<Vec<_>>(),
                );
            }
            let long: Vec<f32> = (0..200_001).map(|_| rng.unit() * 20.0).collect();
            check(cpu, op, &long);
        }
    });
}

#[test]
fn every_kind_of_value() {
    let specials = [
        0.0,
        -0.0,
        1e-45,
        -1e-45,
        1e-38,
        -1e-38,
        1e-20,
        0.624,
        0.625,
        0.626,
        9.0,
        10.0,
        87.3,
        88.72,
        88.73,
        89.0,
        100.0,
        -87.3,
        -87.4,
        -88.0,
        -100.0,
        -103.9,
        -104.0,
        -105.0,
        1e10,
        3e38,
        f32::INFINITY,
        f32::NAN,
    ];
    each_cpu(|cpu| {
        for op in UnaryOp::ALL {
            check(cpu, op, &specials);
        }
        // Where x times 0 would be formed, the formulas themselves say NaN for -inf; others have a limit.
        for op in [UnaryOp::Relu, UnaryOp::Sigmoid, UnaryOp::Tanh, UnaryOp::Exp] {
            check(cpu, op, &[f32::NEG_INFINITY, -3e38, -1e10]);
        }
        // A sweep over all exponents.
        let all: Vec<f32> = (0..=u16::MAX)
            .map(|i| f32::from_bits(u32::from(i) << 16 | 0x1234))
            .collect();
        for op in [UnaryOp::Relu, UnaryOp::Sigmoid, UnaryOp::Tanh, UnaryOp::Exp] {
            check(cpu, op, &all);
        }
    });
}

#[test]
fn strides_and_shapes() {
    each_cpu(|cpu| {
        let mut rng = Rng::new(SEED);
        let (rows, cols) = (5, 19);
        let x: Vec<f32> = rng.vec(rows * cols * 2);
        for (x_strides, out_strides) in [
            ([cols, 1], [cols + 2, 1]),
            ([1, rows], [cols, 1]),
            ([2 * cols, 2], [1, rows]),
        ] {
            let mut out = vec![0.0f32; 200];
            unary(
                cpu,
                UnaryOp::Silu,
                MatRef::new(&x, [rows, cols], x_strides).unwrap(),
                MatMut::new(&mut out, [rows, cols], out_strides).unwrap(),
            )
            .unwrap();
            for r in 0..rows {
                for c in 0..cols {
                    let x = x[r * x_strides[0] + c * x_strides[1]];
                    let expected = reference(UnaryOp::Silu, f64::from(x)) as f32;
                    let found = out[r * out_strides[0] + c * out_strides[1]];
                    assert!(
                        (found - expected).abs() <= 1e-6,
                        "{r}, {c}: {found} {expected}"
                    );
                }
            }
        }
        let mut out = vec![0.0f32; 6];
        let error = unary(
            cpu,
            UnaryOp::Exp,
            MatRef::contiguous(&x, 2, 3).unwrap(),
            MatMut::contiguous(&mut out, 3, 2).unwrap(),
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            "unary: the rows of out must be 2, found 3"
        );
    });
}
