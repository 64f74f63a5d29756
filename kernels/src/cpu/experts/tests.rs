use half::{bf16, f16};

use super::*;
use crate::cpu::quant::tests::{bytes, mxfp4_value, nibble};
use crate::isa::Isa;
use crate::testing::{Rng, assert_close, each_cpu, smallest};

const SEED: u64 = 0xe4be;

#[derive(Clone, Debug)]
struct Case {
    rows: usize,
    top_k: usize,
    experts: usize,
    outputs: usize,
    blocks: usize,
    /// Scales are from this one on..
    scale: u8,
    /// ..and below it plus this.
    spread: u8,
    /// The experts that may be chosen: as many, from the last.
    among: usize,
}

fn plain([rows, top_k, experts, outputs, blocks]: [usize; 5]) -> Case {
    Case {
        rows,
        top_k,
        experts,
        outputs,
        blocks,
        scale: 120,
        spread: 12,
        among: experts,
    }
}

struct Data {
    blocks: Vec<u8>,
    scales: Vec<u8>,
    expert: Vec<i64>,
}

impl Data {
    fn new(case: &Case, rng: &mut Rng) -> Self {
        let n = case.experts * case.outputs * case.blocks;
        let scale = |s: u8| case.scale + s % case.spread;
        let scales = bytes(rng, n).into_iter().map(scale).collect();
        let choice = |rng: &mut Rng| (case.experts - 1 - rng.below(case.among)) as i64;
        Self {
            blocks: bytes(rng, n * 16),
            scales,
            expert: (0..case.rows * case.top_k).map(|_| choice(rng)).collect(),
        }
    }

    fn weights(&self, case: &Case) -> Mxfp4<'_> {
        let shape = [case.experts, case.outputs, case.blocks];
        Mxfp4::new(&self.blocks, &self.scales, shape).unwrap()
    }

    /// The sum of row x of a matrix, and the sum of magnitudes.
    fn dot<X: Element>(&self, case: &Case, x: &[X], expert: usize, o: usize) -> (f64, f64) {
        let row = (expert * case.outputs + o) * case.blocks;
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for (i, x) in x.iter().enumerate() {
            let block = row + i / 32;
            let code = nibble(&self.blocks[block * 16..], i % 32);
            let term = f64::from(x.to_f32()) * mxfp4_value(code, self.scales[block]);
            sum += term;
            magnitude += term.abs();
        }
        (sum, magnitude)
    }
}

fn shape_of(case: &Case) -> ExpertsShape {
    ExpertsShape {
        rows: case.rows,
        top_k: case.top_k,
        experts: case.experts,
        outputs: case.outputs,
        inner: case.blocks * 32,
    }
}

/// Runs both products and compares them with loops in f64; returns what they stored.
fn check<X: Element>(cpu: &Cpu, case: &Case) -> Vec<X> {
    let mut rng = Rng::new(SEED);
    let data = Data::new(case, &mut rng);
    let (choices, inner) = (case.rows * case.top_k, case.blocks * 32);
    let what = format!(
        "{case:?} {} {}, {} threads, seed {SEED}",
        X::NAME,
        cpu.isa().name(),
        cpu.threads()
    );
    // f32 roundings of a sum, and those of the weights times their scales, which are exact.
    let bound = |sum: f64, magnitude: f64, n: usize| {
        (n + 2) as f64 * f32::UNIT_ROUNDOFF * magnitude
            + X::UNIT_ROUNDOFF * sum.abs()
            + smallest::<X>()
            + n as f64 * smallest::<f32>()
    };

    let x: Vec<X> = rng.vec(case.rows * inner);
    let mut out = vec![X::from_f32(7.0); choices * case.outputs];
    let mut scratch = vec![f32::NAN; experts_scratch(cpu, shape_of(case))];
    experts(
        cpu,
        MatRef::contiguous(&x, case.rows, inner).unwrap(),
        data.weights(case),
        &data.expert,
        case.top_k,
        MatMut::contiguous(&mut out, choices, case.outputs).unwrap(),
        &mut scratch,
    )
    .unwrap();
    let (mut expected, mut bounds) = (vec![], vec![]);
    for (i, &expert) in data.expert.iter().enumerate() {
        let x = &x[i / case.top_k * inner..][..inner];
        for o in 0..case.outputs {
            let (sum, magnitude) = data.dot(case, x, expert as usize, o);
            expected.push(sum);
            bounds.push(bound(sum, magnitude, inner));
        }
    }
    assert_close(&what, &out, &expected, |i| bounds[i]);
    let mut all = out;

    let x: Vec<X> = rng.vec(choices * inner);
    let weight: Vec<X> = rng.vec(choices);
    let mut out = vec![X::from_f32(7.0); case.rows * case.outputs];
    let mut scratch = vec![f32::NAN; experts_sum_scratch(cpu, shape_of(case))];
    experts_sum(
        cpu,
        MatRef::contiguous(&x, choices, inner).unwrap(),
        data.weights(case),
        &data.expert,
        MatRef::contiguous(&weight, case.rows, case.top_k).unwrap(),
        MatMut::contiguous(&mut out, case.rows, case.outputs).unwrap(),
        &mut scratch,
    )
    .unwrap();
    let (mut expected, mut bounds) = (vec![], vec![]);
    for r in 0..case.rows {
        for o in 0..case.outputs {
            let (mut sum, mut magnitude) = (0.0, 0.0);
            for i in r * case.top_k..(r + 1) * case.top_k {
                let x = &x[i * inner..][..inner];
                let (dot, size) = data.dot(case, x, data.expert[i] as usize, o);
                let weight = f64::from(weight[i].to_f32());
                sum += weight * dot;
                magnitude += weight.abs() * size;
            }
            expected.push(sum);
            bounds.push(bound(sum, magnitude, inner + case.top_k));
        }
    }
    assert_close(&format!("sum of {what}"), &out, &expected, |i| bounds[i]);
    all.extend(out);
    all
}

#[test]
fn sizes() {
    each_cpu(|cpu| {
        for sizes in [
            [1, 1, 1, 1, 1],
            [1, 4, 4, 5, 2],
            [2, 3, 3, 17, 3],
            [3, 2, 7, 33, 1],
            [5, 4, 32, 31, 5],
            [13, 1, 1, 40, 3],
            [30, 2, 3, 50, 9],
            [0, 4, 3, 5, 2],
            [3, 0, 3, 5, 2],
            [3, 2, 3, 0, 2],
            [3, 2, 3, 4, 0],
            [16, 2, 2, 4, 0],
        ] {
            check::<f32>(cpu, &plain(sizes));
        }
        for rows in 1..=14 {
            check::<f32>(cpu, &plain([rows, 1, 1, 37, 45]));
        }
    });
}

#[test]
fn types() {
    each_cpu(|cpu| {
        for sizes in [[1, 4, 8, 45, 3], [40, 2, 3, 45, 3]] {
            check::<f32>(cpu, &plain(sizes));
            check::<f16>(cpu, &plain(sizes));
            check::<bf16>(cpu, &plain(sizes));
        }
    });
}

#[test]
fn all_rows_choose_one_expert() {
    each_cpu(|cpu| {
        for rows in [3, 70] {
            let case = Case {
                among: 1,
                ..plain([rows, 3, 5, 35, 2])
            };
            check::<f32>(cpu, &case);
        }
    });
}

#[test]
fn small_and_large_scales() {
    each_cpu(|cpu| {
        // Results are below the largest value; a weight by itself is not: 6 * 2^127.
        for (scale, spread) in [(0, 3), (1, 30), (220, 5)] {
            for rows in [1, 40] {
                let case = Case {
                    scale,
                    spread,
                    ..plain([rows, 1, 1, 20, 2])
                };
                check::<f32>(cpu, &case);
            }
        }
    });
}

#[test]
fn weights_above_the_largest_value_times_small_x() {
    each_cpu(|cpu| {
        for rows in [1, 5, 40] {
            let (outputs, inner) = (20, 32);
            // All codes 6, all scales 2^127.
            let (blocks, scales) = ([0x77; 20 * 16], [254; 20]);
            let w = Mxfp4::new(&blocks, &scales, [1, outputs, 1]).unwrap();
            let x = vec![2f32.powi(-40); rows * inner];
            let shape = ExpertsShape {
                rows,
                top_k: 1,
                experts: 1,
                outputs,
                inner,
            };
            let mut scratch = vec![0.0; experts_scratch(cpu, shape)];
            let mut out = vec![0.0f32; rows * outputs];
            let from = MatRef::contiguous(&x, rows, inner).unwrap();
            let to = MatMut::contiguous(&mut out, rows, outputs).unwrap();
            experts(cpu, from, w, &vec![0; rows], 1, to, &mut scratch).unwrap();
            let expected = 6.0 * 32.0 * 2f32.powi(87);
            assert!(
                out.iter().all(|&v| v == expected),
                "{out:?} instead of {expected}"
            );
        }
    });
}

#[test]
fn a_scale_of_255_is_nan() {
    each_cpu(|cpu| {
        for rows in [1, 40] {
            let (outputs, inner) = (3, 64);
            let blocks = [0x21; 3 * 2 * 16];
            let scales = [127, 127, 127, 255, 127, 127];
            let w = Mxfp4::new(&blocks, &scales, [1, outputs, 2]).unwrap();
            let x = vec![1.0f32; rows * inner];
            let shape = ExpertsShape {
                rows,
                top_k: 1,
                experts: 1,
                outputs,
                inner,
            };
            let mut scratch = vec![0.0; experts_scratch(cpu, shape)];
            let mut out = vec![0.0f32; rows * outputs];
            let from = MatRef::contiguous(&x, rows, inner).unwrap();
            let to = MatMut::contiguous(&mut out, rows, outputs).unwrap();
            experts(cpu, from, w, &vec![0; rows], 1, to, &mut scratch).unwrap();
            for row in out.chunks(outputs) {
                assert!(
                    row[0] == 48.0 && row[1].is_nan() && row[2] == 48.0,
                    "{row:?}"
                );
            }
        }
    });
}

#[test]
fn blocks_and_threads() {
    // Several strips, parts of the inner axis, items of one expert and chunks of rows, and the
    // same bits from every number of threads.
    let cases = [
        plain([1, 4, 5, 700, 20]),
        plain([9, 4, 5, 70, 60]),
        plain([210, 2, 2, 70, 9]),
        plain([1030, 2, 3, 5, 1]),
    ];
    for case in &cases {
        let mut first: Vec<(Isa, Vec<u32>)> = vec![];
        each_cpu(|cpu| {
            let found = check::<f32>(cpu, case);
            let bits: Vec<u32> = found.iter().map(|x| x.to_bits()).collect();
            match first.iter().find(|(isa, _)| *isa == cpu.isa()) {
                Some((_, other)) => assert!(*other == bits, "threads change {case:?}"),
                None => first.push((cpu.isa(), bits)),
            }
        });
    }
}

#[test]
fn bad_arguments() {
    let cpu = Cpu::new(1).unwrap();
    let case = plain([3, 2, 4, 5, 1]);
    let data = Data::new(&case, &mut Rng::new(SEED));
    let w = data.weights(&case);
    let x = vec![0.0f32; 6 * 32];
    let needed = experts_scratch(&cpu, shape_of(&case));
    let mut scratch = vec![0.0; needed.max(experts_sum_scratch(&cpu, shape_of(&case)))];
    let mut call = |expert: &[i64], rows: usize, outputs: usize, n: usize| {
        let mut out = vec![0.0f32; rows * outputs];
        let from = MatRef::contiguous(&x, 3, 32).unwrap();
        let to = MatMut::contiguous(&mut out, rows, outputs).unwrap();
        experts(&cpu, from, w, expert, 2, to, &mut scratch[..n]).map_err(|e| e.to_string())
    };
    let is = |message: &str| Err(message.to_owned());
    let good = [0, 1, 2, 3, 3, 3];
    assert_eq!(call(&good, 6, 5, needed), Ok(()));
    assert_eq!(
        call(&good[..5], 5, 5, needed),
        is("mxfp4 experts: the number of experts chosen must be 6, found 5")
    );
    assert_eq!(
        call(&good, 5, 5, needed),
        is("mxfp4 experts: the rows of out must be 6, found 5")
    );
    assert!(call(&good, 6, 4, needed).is_err());
    assert!(call(&good, 6, 5, needed - 1).is_err());
    assert_eq!(
        call(&[0, 1, 2, 4, 3, 3], 6, 5, needed),
        is("mxfp4 experts: expert[3] is 4, which is not in 0..4")
    );
    assert_eq!(
        call(&[0, 1, 2, 3, 3, i64::MIN], 6, 5, needed),
        is("mxfp4 experts: expert[5] is -9223372036854775808, which is not in 0..4")
    );
    let mut sum = |expert: &[i64], x_rows: usize| {
        let mut out = vec![0.0f32; 3 * 5];
        experts_sum(
            &cpu,
            MatRef::contiguous(&x, x_rows, 32).unwrap(),
            w,
            expert,
            MatRef::contiguous(&x, 3, 2).unwrap(),
            MatMut::contiguous(&mut out, 3, 5).unwrap(),
            &mut scratch,
        )
        .map_err(|e| e.to_string())
    };
    assert_eq!(sum(&good, 6), Ok(()));
    assert!(sum(&good, 5).is_err());
    assert!(sum(&[0, 0, -1, 0, 0, 0], 6).is_err());
    assert!(Mxfp4::new(&[0; 31], &[0; 2], [1, 2, 1]).is_err());
    assert!(Mxfp4::new(&[0; 32], &[0; 2], [1, 1, 1]).is_err());
    assert!(Mxfp4::new(&[], &[], [usize::MAX, 2, 1]).is_err());
}
