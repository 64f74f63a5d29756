use half::{bf16, f16};

use super::*;
use crate::isa::Isa;
use crate::testing::{Rng, assert_close, each_cpu};

const SEED: u64 = 0x11ea;

/// A sum of n products in f32, in any order, is off by at most (n + 1) unit roundoffs of f32
/// times the sum of magnitudes (Higham, section 3.1); gelu adds less than 8, relative.
const F32_ROUNDOFF: f64 = f32::UNIT_ROUNDOFF;
const ACTIVATION_ROUNDOFFS: f64 = 8.0;

struct Case {
    rows: usize,
    inner: usize,
    outputs: usize,
    /// Strides of w for (o, i) and room for it.
    w_strides: [usize; 2],
    x_strides: [usize; 2],
    out_strides: [usize; 2],
    bias: bool,
    activation: Option<UnaryOp>,
}

fn room(shape: [usize; 2], strides: [usize; 2]) -> usize {
    crate::view::extent(&shape, &strides).unwrap()
}

fn reference_gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + (0.797_884_560_8 * (x + 0.044_715 * x * x * x)).tanh())
}

/// Runs the case and compares with three loops in f64; returns what was stored.
fn check<X: Element, W: Element>(cpu: &Cpu, case: &Case) -> Vec<X> {
    let Case {
        rows,
        inner,
        outputs,
        w_strides,
        x_strides,
        out_strides,
        bias,
        activation,
    } = *case;
    let mut rng = Rng::new(SEED);
    // One element more in front: unaligned starts.
    let x: Vec<X> = rng.vec(1 + room([rows, inner], x_strides));
    let w: Vec<W> = rng.vec(1 + room([outputs, inner], w_strides));
    let b: Vec<W> = rng.vec(outputs);
    let bias = bias.then_some(&b[..]);
    let mut out = vec![X::from_f32(7.0); 1 + room([rows, outputs], out_strides)];
    let mut scratch = vec![f32::NAN; linear_scratch(cpu, rows, inner, outputs)];
    linear(
        cpu,
        MatRef::new(&x[1..], [rows, inner], x_strides).unwrap(),
        MatRef::new(&w[1..], [outputs, inner], w_strides).unwrap(),
        Epilogue { bias, activation },
        MatMut::new(&mut out[1..], [rows, outputs], out_strides).unwrap(),
        &mut scratch,
    )
    .unwrap();

    let (mut found, mut expected, mut bounds) = (vec![], vec![], vec![]);
    let mut touched = vec![false; out.len()];
    for r in 0..rows {
        for o in 0..outputs {
            let (mut sum, mut magnitude) = bias.map_or((0.0, 0.0), |b| {
                (f64::from(b[o].to_f32()), f64::from(b[o].to_f32()).abs())
            });
            for i in 0..inner {
                let x = f64::from(x[1 + r * x_strides[0] + i * x_strides[1]].to_f32());
                let w = f64::from(w[1 + o * w_strides[0] + i * w_strides[1]].to_f32());
                sum += x * w;
                magnitude += (x * w).abs();
            }
            let mut bound = (inner + 1) as f64 * F32_ROUNDOFF * magnitude;
            if activation.is_some() {
                sum = reference_gelu(sum);
                // gelu's slope is at most 1.13.
                bound = 1.13 * bound + ACTIVATION_ROUNDOFFS * F32_ROUNDOFF * sum.abs();
            }
            bounds.push(bound + X::UNIT_ROUNDOFF * sum.abs() + f64::from(f32::MIN_POSITIVE));
            expected.push(sum);
            let at = 1 + r * out_strides[0] + o * out_strides[1];
            touched[at] = true;
            found.push(out[at]);
        }
    }
    let what = format!(
        "linear {} x {} w {}, {rows} x {inner} x {outputs}, strides {x_strides:?} {w_strides:?} {out_strides:?}, bias {}, {activation:?}, {} threads, seed {SEED}",
        cpu.isa().name(),
        X::NAME,
        W::NAME,
        bias.is_some(),
        cpu.threads()
    );
    assert_close(&what, &found, &expected, |i| bounds[i]);
    for (i, (touched, &out)) in touched.iter().zip(&out).enumerate() {
        assert!(
            *touched || out == X::from_f32(7.0),
            "{what}: element {i} is outside and was written"
        );
    }
    found
}

fn plain(rows: usize, inner: usize, outputs: usize, transposed: bool) -> Case {
    Case {
        rows,
        inner,
        outputs,
        w_strides: if transposed { [1, outputs] } else { [inner, 1] },
        x_strides: [inner, 1],
        out_strides: [outputs, 1],
        bias: false,
        activation: None,
    }
}

#[test]
fn lengths_around_vectors_and_tiles() {
    each_cpu(|cpu| {
        for transposed in [false, true] {
            for rows in [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 25] {
                for inner in [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33] {
                    check::<f32, f32>(cpu, &plain(rows, inner, 37, transposed));
                }
                for outputs in [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65] {
                    check::<f32, f32>(cpu, &plain(rows, 19, outputs, transposed));
                }
            }
        }
    });
}

#[test]
fn types() {
    each_cpu(|cpu| {
        for transposed in [false, true] {
            for rows in [1, 3, 8, 14] {
                let case = Case {
                    bias: true,
                    activation: Some(UnaryOp::Gelu),
                    ..plain(rows, 45, 71, transposed)
                };
                check::<f32, f32>(cpu, &case);
                check::<f16, f16>(cpu, &case);
                check::<bf16, bf16>(cpu, &case);
                check::<f32, f16>(cpu, &case);
                check::<f32, bf16>(cpu, &case);
                check::<bf16, f32>(cpu, &case);
            }
        }
    });
}

#[test]
fn strides() {
    each_cpu(|cpu| {
        for rows in [1, 5, 30] {
            let (inner, outputs) = (21, 50);
            let gaps = |w_strides| Case {
                w_strides,
                x_strides: [inner + 3, 1],
                out_strides: [outputs + 5, 1],
                bias: true,
                ..plain(rows, inner, outputs, false)
            };
            check::<f32, f32>(cpu, &gaps([inner + 4, 1]));
            check::<f32, f32>(cpu, &gaps([1, outputs + 9]));
            check::<f32, f32>(cpu, &gaps([2 * inner, 2]));
            check::<f32, f32>(
                cpu,
                &Case {
                    x_strides: [1, rows],
                    out_strides: [1, rows],
                    ..gaps([inner, 1])
                },
            );
            check::<bf16, bf16>(
                cpu,
                &Case {
                    x_strides: [0, 2],
                    out_strides: [3, 3 * rows],
                    ..gaps([0, 1])
                },
            );
        }
    });
}

#[test]
fn blocks_and_threads() {
    // Several blocks of every kind, and the same bits from every number of threads.
    let cases = [
        plain(1, 1000, 1100, true),
        plain(8, 700, 1100, false),
        plain(100, 600, 800, true),
        plain(13, 300, 40, false),
        plain(800, 10, 20, true),
        Case {
            bias: true,
            activation: Some(UnaryOp::Gelu),
            ..plain(50, 513, 300, true)
        },
    ];
    for case in &cases {
        let mut first: Vec<(Isa, Vec<f32>)> = vec![];
        each_cpu(|cpu| {
            let found = check::<f32, f32>(cpu, case);
            let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            match first.iter().find(|(isa, _)| *isa == cpu.isa()) {
                Some((_, other)) => {
                    assert_eq!(bits(other), bits(&found), "threads change the result")
                }
                None => first.push((cpu.isa(), found)),
            }
        });
    }
}

#[test]
fn special_values() {
    each_cpu(|cpu| {
        for rows in [1, 9] {
            for transposed in [false, true] {
                let mut x = vec![1.0f32; rows * 3];
                x[1] = f32::NAN;
                // The sum of either output is infinite: one by an element, one by overflow.
                let rows_of_w = [[1.0, 2.0, f32::INFINITY], [1e-40, 3e38, 3e38]];
                let strides = if transposed { [1, 2] } else { [3, 1] };
                let mut w = [0.0f32; 6];
                for (o, row) in rows_of_w.iter().enumerate() {
                    for (i, &v) in row.iter().enumerate() {
                        w[o * strides[0] + i * strides[1]] = v;
                    }
                }
                let mut out = vec![0.0f32; rows * 2];
                let mut scratch = vec![0.0; linear_scratch(cpu, rows, 3, 2)];
                let run = |x: &[f32], out: &mut [f32], scratch: &mut [f32]| {
                    linear(
                        cpu,
                        MatRef::contiguous(x, rows, 3).unwrap(),
                        MatRef::new(&w, [2, 3], strides).unwrap(),
                        Epilogue::default(),
                        MatMut::contiguous(out, rows, 2).unwrap(),
                        scratch,
                    )
                    .unwrap();
                };
                run(&x, &mut out, &mut scratch);
                assert!(out[0].is_nan() && out[1].is_nan(), "{out:?}");
                assert!(out[2..].iter().all(|o| *o == f32::INFINITY), "{out:?}");
            }
        }
    });
}

#[test]
fn bad_arguments() {
    let cpu = Cpu::new(2).unwrap();
    let data = vec![0.0f32; 1000];
    let mut out = vec![0.0f32; 100];
    let mut scratch = vec![0.0; 100_000];
    let mat = |r, c| MatRef::contiguous(&data, r, c).unwrap();
    let mut call = |x, w, shape: [usize; 2], bias: usize, scratch: &mut [f32]| {
        let out = MatMut::contiguous(&mut out, shape[0], shape[1]).unwrap();
        linear(
            &cpu,
            x,
            w,
            Epilogue {
                bias: Some(&data[..bias]),
                activation: None,
            },
            out,
            scratch,
        )
        .map_err(|e| e.to_string())
    };
    assert_eq!(call(mat(3, 4), mat(5, 4), [3, 5], 5, &mut scratch), Ok(()));
    assert_eq!(call(mat(0, 4), mat(5, 4), [0, 5], 5, &mut scratch), Ok(()));
    let is = |message: &str| Err(message.to_string());
    assert_eq!(
        call(mat(3, 4), mat(5, 6), [3, 5], 5, &mut scratch),
        is("linear: the columns of w must be 4, found 6")
    );
    assert_eq!(
        call(mat(3, 4), mat(5, 4), [2, 5], 5, &mut scratch),
        is("linear: the rows of out must be 3, found 2")
    );
    assert_eq!(
        call(mat(3, 4), mat(5, 4), [3, 4], 5, &mut scratch),
        is("linear: the columns of out must be 5, found 4")
    );
    assert_eq!(
        call(mat(3, 4), mat(5, 4), [3, 5], 4, &mut scratch),
        is("linear: the length of bias must be 5, found 4")
    );
    let needed = linear_scratch(&cpu, 3, 4, 5);
    let message = format!(
        "linear: needs {needed} f32 elements of scratch space, was given {}",
        needed - 1
    );
    assert_eq!(
        call(mat(3, 4), mat(5, 4), [3, 5], 5, &mut scratch[..needed - 1]),
        Err(message)
    );
}
