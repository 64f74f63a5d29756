use half::{bf16, f16};

use super::*;
use crate::testing::{Rng, assert_close, each_cpu, smallest};

const SEED: u64 = 0x5319;
const ALPHA: f32 = 1.702;
const LIMIT: f32 = 7.0;

fn reference(gate: f64, up: f64) -> f64 {
    // `min` and `max` of f64 drop a NaN; the kernel must not.
    if gate.is_nan() || up.is_nan() {
        return f64::NAN;
    }
    let limit = f64::from(LIMIT);
    let (gate, up) = (gate.min(limit), up.clamp(-limit, limit));
    (up + 1.0) * gate / (1.0 + (-f64::from(ALPHA) * gate).exp())
}

fn check<E: Element>(cpu: &Cpu, x: &[E], rows: usize, gaps: [usize; 2]) {
    let n = x.len() / 2 / rows.max(1);
    let [x_step, out_step] = [2 * n + gaps[0], n + gaps[1]];
    let mut apart = vec![E::from_f32(f32::NAN); rows * x_step];
    for r in 0..rows {
        apart[r * x_step..][..2 * n].copy_from_slice(&x[r * 2 * n..][..2 * n]);
    }
    // One element in front: an unaligned start.
    let mut out = vec![E::from_f32(7.0); rows * out_step + 1];
    clamped_swiglu(
        cpu,
        MatRef::new(&apart, [rows, 2 * n], [x_step, 1]).unwrap(),
        ALPHA,
        LIMIT,
        MatMut::new(&mut out[1..], [rows, n], [out_step, 1]).unwrap(),
    )
    .unwrap();
    let what = format!(
        "swiglu {} {} {rows} x {n}, gaps {gaps:?}, seed {SEED}",
        cpu.isa().name(),
        E::NAME
    );
    for r in 0..rows {
        let wide = |i: usize| f64::from(x[r * 2 * n + i].to_f32());
        let expected: Vec<f64> = (0..n)
            .map(|i| reference(wide(2 * i), wide(2 * i + 1)))
            // What f32 (or the type) cannot hold becomes infinite.
            .map(|y| f64::from(E::from_f32(y as f32).to_f32()))
            .collect();
        let (row, rest) = out[1 + r * out_step..].split_at(n);
        assert_close(&what, row, &expected, |i| {
            // The exponential is within 2 roundoffs and those of its argument, below 104; six more
            // operations; and up + 1 may cancel, but then it is exact.
            let (gate, up) = (wide(2 * i), wide(2 * i + 1));
            let y = reference(gate, up).abs();
            let argument = (f64::from(ALPHA) * gate).abs().min(104.0);
            y * ((8.0 + argument) * f32::UNIT_ROUNDOFF + 2.0 * E::UNIT_ROUNDOFF)
                + smallest::<f32>() * (2.0 + 8.0 * gate.abs().min(200.0))
                + smallest::<E>()
        });
        let gap = &rest[..gaps[1].min(rest.len())];
        assert!(
            gap.iter().all(|&x| x == E::from_f32(7.0)),
            "{what}: written outside"
        );
    }
    assert!(out[0] == E::from_f32(7.0), "{what}: written outside");
}

fn all_types(cpu: &Cpu, x: &[f32], rows: usize, gaps: [usize; 2]) {
    check(cpu, x, rows, gaps);
    let narrow: Vec<f16> = x.iter().map(|&x| f16::from_f32(x)).collect();
    check(cpu, &narrow, rows, gaps);
    let narrow: Vec<bf16> = x.iter().map(|&x| bf16::from_f32(x)).collect();
    check(cpu, &narrow, rows, gaps);
}

#[test]
fn lengths() {
    each_cpu(|cpu| {
        let mut rng = Rng::new(SEED);
        for n in (0..=2 * crate::element::MAX_LANES + 1).chain([100, 2880]) {
            for (rows, gaps) in [(1, [0, 0]), (3, [0, 0]), (4, [5, 1]), (2, [0, 3])] {
                let x: Vec<f32> = (0..2 * n * rows).map(|_| rng.unit() * 12.0).collect();
                all_types(cpu, &x, rows, gaps);
            }
        }
        let long: Vec<f32> = (0..200_002).map(|_| rng.unit() * 20.0).collect();
        check(cpu, &long, 1, [0, 0]);
        check(cpu, &long, 11, [0, 9]);
    });
}

#[test]
fn every_kind_of_value() {
    let inf = f32::INFINITY;
    let values = [
        0.0,
        -0.0,
        1e-40,
        -1e-40,
        1e-10,
        -1.0,
        1.0,
        6.999,
        7.0,
        7.001,
        -7.0,
        -7.5,
        -50.0,
        -61.0,
        -1e4,
        1e4,
        inf,
        f32::NAN,
    ];
    each_cpu(|cpu| {
        let pairs: Vec<f32> = values
            .iter()
            .flat_map(|&gate| values.iter().flat_map(move |&up| [gate, up]))
            .collect();
        all_types(cpu, &pairs, 1, [0, 0]);
        // Up at minus infinity is clamped; a gate at minus infinity is 0 times infinity.
        let mut out = [0.0f32; 2];
        clamped_swiglu(
            cpu,
            MatRef::contiguous(&[1.0, -inf, -inf, 1.0], 1, 4).unwrap(),
            ALPHA,
            LIMIT,
            MatMut::contiguous(&mut out, 1, 2).unwrap(),
        )
        .unwrap();
        assert!((f64::from(out[0]) - reference(1.0, -7.0)).abs() < 1e-5);
        assert!(out[1].is_nan());
    });
}

#[test]
fn bad_arguments() {
    let cpu = Cpu::new(1).unwrap();
    let (x, mut out) = ([0.0f32; 24], [0.0f32; 24]);
    let mut call = |x_shape: [usize; 2], x_strides: [usize; 2], out_shape: [usize; 2]| {
        clamped_swiglu(
            &cpu,
            MatRef::new(&x, x_shape, x_strides).unwrap(),
            ALPHA,
            LIMIT,
            MatMut::contiguous(&mut out, out_shape[0], out_shape[1]).unwrap(),
        )
        .map_err(|e| e.to_string())
    };
    let is = |message: &str| Err(message.to_string());
    assert_eq!(call([2, 6], [6, 1], [2, 3]), Ok(()));
    assert_eq!(
        call([3, 6], [6, 1], [2, 3]),
        is("clamped_swiglu: the rows of x must be 2, found 3")
    );
    assert_eq!(
        call([2, 7], [7, 1], [2, 3]),
        is("clamped_swiglu: the columns of x must be 6, found 7")
    );
    assert_eq!(
        call([2, 6], [1, 2], [2, 3]),
        is("clamped_swiglu: the columns of x and out must be contiguous (stride 1)")
    );
}
