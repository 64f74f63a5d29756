use half::{bf16, f16};

use super::*;
use crate::testing::{Rng, assert_close, each_cpu};

const SEED: u64 = 0x4095;
const EPS: f32 = 1e-5;

/// Mean and variance are sums of n terms (n + 1 roundoffs of f32, relative to magnitudes); the
/// difference from the mean then has an absolute error of (n + 2) roundoffs of the largest
/// magnitude, which the scale multiplies; a few operations follow.
fn bound<X: Element>(n: usize, largest: f64, scale: f64, y: f64) -> f64 {
    let terms = (n + 2) as f64 * f32::UNIT_ROUNDOFF;
    terms * largest * scale * 2.0
        + (2.0 * terms + 8.0 * f32::UNIT_ROUNDOFF + X::UNIT_ROUNDOFF) * y.abs()
        + 1e-37
}

fn check<X: Element>(cpu: &Cpu, rows: usize, n: usize, offset: f32, centre: bool) {
    let mut rng = Rng::new(SEED);
    let stride = n + 3;
    let x: Vec<X> = (0..rows * stride + 1)
        .map(|_| X::from_f32(rng.unit() + offset))
        .collect();
    let w: Vec<X> = rng.vec(n);
    let b: Vec<X> = rng.vec(n);
    let mut out = vec![X::from_f32(7.0); rows * stride + 1];
    let x_view = MatRef::new(&x[1..], [rows, n], [stride, 1]).unwrap();
    let out_view = MatMut::new(&mut out[1..], [rows, n], [stride, 1]).unwrap();
    if centre {
        layer_norm(cpu, x_view, &w, Some(&b), EPS, out_view).unwrap();
    } else {
        rms_norm(cpu, x_view, &w, EPS, out_view).unwrap();
    }
    for r in 0..rows {
        let row: Vec<f64> = x[1 + r * stride..][..n]
            .iter()
            .map(|x| f64::from(x.to_f32()))
            .collect();
        let mean = if centre {
            row.iter().sum::<f64>() / n as f64
        } else {
            0.0
        };
        let var = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        let scale = 1.0 / (var + f64::from(EPS)).sqrt();
        let expected: Vec<f64> = (0..n)
            .map(|i| {
                let shift = if centre {
                    f64::from(b[i].to_f32())
                } else {
                    0.0
                };
                (row[i] - mean) * scale * f64::from(w[i].to_f32()) + shift
            })
            .collect();
        let largest = row.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let what = format!(
            "norm (centre {centre}) {} {} row {r} of {rows} x {n}, offset {offset}, seed {SEED}",
            cpu.isa().name(),
            X::NAME
        );
        // A shift adds its own rounding: at most 1 in magnitude.
        let shift = f32::UNIT_ROUNDOFF * 4.0 + X::UNIT_ROUNDOFF * if centre { 1.0 } else { 0.0 };
        assert_close(&what, &out[1 + r * stride..][..n], &expected, |i| {
            bound::<X>(n, largest, scale, expected[i]) + shift
        });
        assert!(
            out[1 + r * stride + n..][..3]
                .iter()
                .take(out.len() - 1 - r * stride - n)
                .all(|o| *o == X::from_f32(7.0))
        );
    }
}

#[test]
fn lengths_and_types() {
    each_cpu(|cpu| {
        for centre in [false, true] {
            for n in (0..=2 * crate::element::MAX_LANES + 1).chain([64, 65, 768, 1000]) {
                check::<f32>(cpu, 3, n, 0.0, centre);
                check::<f16>(cpu, 2, n, 0.5, centre);
                check::<bf16>(cpu, 2, n, 0.5, centre);
            }
            check::<f32>(cpu, 0, 8, 0.0, centre);
            check::<f32>(cpu, 200, 768, 0.0, centre);
        }
    });
}

#[test]
fn a_large_mean_does_not_cancel() {
    each_cpu(|cpu| {
        // With E(x^2) - E(x)^2 nothing would be left of the variance: 1e4^2 has a roundoff of 6.
        check::<f32>(cpu, 2, 768, 1e4, true);
    });
}

#[test]
fn special_rows() {
    each_cpu(|cpu| {
        let w = [1.0f32; 20];
        let run = |x: &[f32]| {
            let mut out = vec![0.0f32; x.len()];
            let view = MatMut::contiguous(&mut out, 1, x.len()).unwrap();
            layer_norm(
                cpu,
                MatRef::contiguous(x, 1, x.len()).unwrap(),
                &w[..x.len()],
                None,
                EPS,
                view,
            )
            .unwrap();
            out
        };
        assert!(run(&[3.0; 20]).iter().all(|y| *y == 0.0));
        let mut x = [1.0; 20];
        x[17] = f32::NAN;
        assert!(run(&x).iter().all(|y| y.is_nan()));
        assert!(run(&[1e-42; 20]).iter().all(|y| *y == 0.0));
    });
}

#[test]
fn bad_arguments() {
    let cpu = Cpu::new(1).unwrap();
    let x = [0.0f32; 12];
    let mut out = [0.0f32; 12];
    let mut call = |x: MatRef<'_, f32>, w: usize, b: usize| {
        let out = MatMut::contiguous(&mut out, 3, 4).unwrap();
        layer_norm(
            &cpu,
            x,
            &[1.0f32; 8][..w],
            Some(&[0.0f32; 8][..b]),
            EPS,
            out,
        )
        .map_err(|e| e.to_string())
    };
    let rows = MatRef::contiguous(&x, 3, 4).unwrap();
    let is = |message: &str| Err(message.to_string());
    assert_eq!(call(rows, 4, 4), Ok(()));
    assert_eq!(
        call(rows, 5, 4),
        is("layer_norm: the length of weight must be 4, found 5")
    );
    assert_eq!(
        call(rows, 4, 3),
        is("layer_norm: the length of bias must be 4, found 3")
    );
    assert_eq!(
        call(rows.transposed(), 4, 4),
        is("layer_norm: the rows of out must be 4, found 3")
    );
    let columns = MatRef::contiguous(&x, 4, 3).unwrap().transposed();
    assert_eq!(
        call(columns, 4, 4),
        is("layer_norm: the columns of x and out must be contiguous (stride 1)")
    );
}
