use half::{bf16, f16};

use super::*;
use crate::testing::{Rng, assert_close, each_cpu, smallest};

const SEED: u64 = 0x50f7;

fn reference(x: &[f64], log: bool) -> Vec<f64> {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = x.iter().map(|x| (x - max).exp()).sum();
    x.iter()
        .map(|x| {
            if log {
                x - max - total.ln()
            } else {
                (x - max).exp() / total
            }
        })
        .collect()
}

/// x - max has one roundoff of itself (|x - max| <= range), which e^ turns into a relative error;
/// exp adds 2, the total n, the division 1. The logarithm has the same as an absolute error.
fn check<E: Element>(cpu: &Cpu, rows: usize, n: usize, range: f32) {
    let mut rng = Rng::new(SEED);
    let x: Vec<E> = (0..rows * n)
        .map(|_| E::from_f32(rng.unit() * range))
        .collect();
    let error = f32::UNIT_ROUNDOFF * (4.0 * f64::from(range) + 8.0 + n as f64);
    for log in [false, true] {
        let mut out = vec![E::from_f32(7.0); rows * n];
        let (x_view, out_view) = (
            MatRef::contiguous(&x, rows, n).unwrap(),
            MatMut::contiguous(&mut out, rows, n).unwrap(),
        );
        if log {
            log_softmax(cpu, x_view, out_view).unwrap();
        } else {
            softmax(cpu, x_view, out_view).unwrap();
            let mut same = x.clone();
            softmax_in_place(cpu, MatMut::contiguous(&mut same, rows, n).unwrap()).unwrap();
            assert!(same == out, "in place differs");
        }
        for r in 0..rows {
            let row: Vec<f64> = x[r * n..][..n]
                .iter()
                .map(|x| f64::from(x.to_f32()))
                .collect();
            let expected = reference(&row, log);
            let what = format!(
                "softmax (log {log}) {} {} row {r} of {rows} x {n}, range {range}, seed {SEED}",
                cpu.isa().name(),
                E::NAME
            );
            assert_close(&what, &out[r * n..][..n], &expected, |i| {
                let y = expected[i].abs();
                let smallest = smallest::<E>() + smallest::<f32>();
                if log {
                    error + E::UNIT_ROUNDOFF * y
                } else {
                    (error + E::UNIT_ROUNDOFF) * y + smallest
                }
            });
        }
    }
}

#[test]
fn lengths_and_types() {
    each_cpu(|cpu| {
        for n in (0..=2 * crate::element::MAX_LANES + 1).chain([100, 1000]) {
            for range in [1.0, 50.0] {
                check::<f32>(cpu, 3, n, range);
                check::<f16>(cpu, 2, n, range);
                check::<bf16>(cpu, 2, n, range);
            }
        }
        check::<f32>(cpu, 100, 500, 10.0);
        check::<f32>(cpu, 0, 5, 10.0);
    });
}

#[test]
fn special_rows() {
    each_cpu(|cpu| {
        let run = |x: &[f32]| {
            let mut out = x.to_vec();
            softmax_in_place(cpu, MatMut::contiguous(&mut out, 1, x.len()).unwrap()).unwrap();
            out
        };
        for n in [3, 8, 20] {
            let mut x = vec![-1e30f32; n];
            x[n - 2] = 3e38;
            assert!(
                run(&x)
                    .iter()
                    .enumerate()
                    .all(|(i, y)| *y == f32::from(u8::from(i == n - 2)))
            );
            x.fill(f32::NEG_INFINITY);
            x[1] = 5.0;
            assert!(
                run(&x)
                    .iter()
                    .enumerate()
                    .all(|(i, y)| *y == f32::from(u8::from(i == 1)))
            );
            for at in [0, n - 1] {
                for bad in [f32::NAN, f32::INFINITY] {
                    let mut x = vec![1.0; n];
                    x[at] = bad;
                    let y = run(&x);
                    assert!(y[at].is_nan(), "{bad} at {at} of {n}: {y:?}");
                }
            }
            assert!(run(&vec![f32::NEG_INFINITY; n]).iter().all(|y| y.is_nan()));
        }
    });
}
