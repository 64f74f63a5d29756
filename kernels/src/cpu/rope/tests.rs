use half::{bf16, f16};

use super::*;
use crate::testing::{Rng, assert_close, each_cpu};

const SEED: u64 = 0x209e;

/// As gpt-oss has it.
const YARN: Yarn = Yarn {
    theta: 150_000.0,
    factor: 32.0,
    beta_fast: 32.0,
    beta_slow: 1.0,
    original: 4096.0,
};

fn check<E: Element>(cpu: &Cpu, yarn: &Yarn, [batch, heads, length, dim]: [usize; 4], gap: usize) {
    let mut rng = Rng::new(SEED);
    let step = dim + gap;
    let shape = [batch, heads, length, dim];
    // x is [B, S, H, D] in memory, out [B, H, S, D].
    let x_strides = [length * heads * step, step, heads * step];
    let out_strides = [heads * length * step, length * step, step];
    let x: Vec<E> = rng.vec(batch * heads * length * step);
    let mut positions: Vec<i32> = (0..batch * length)
        .map(|_| rng.below(131_072) as i32)
        .collect();
    if let Some(first) = positions.first_mut() {
        *first = -1;
    }
    let mut out = vec![E::from_f32(7.0); x.len()];
    let mut scratch = vec![f32::NAN; rope_scratch(cpu, dim)];
    rope(
        cpu,
        HeadsRef::new(&x, shape, x_strides).unwrap(),
        MatRef::contiguous(&positions, batch, length).unwrap(),
        yarn,
        HeadsMut::new(&mut out, shape, out_strides).unwrap(),
        &mut scratch,
    )
    .unwrap();

    let half = dim / 2;
    let mut frequencies = vec![0.0; half];
    yarn.frequencies(&mut frequencies);
    let (mut found, mut expected) = (vec![], vec![]);
    let mut touched = vec![false; out.len()];
    for b in 0..batch {
        for h in 0..heads {
            for s in 0..length {
                let at = b * x_strides[0] + h * x_strides[1] + s * x_strides[2];
                let to = b * out_strides[0] + h * out_strides[1] + s * out_strides[2];
                let x = |i: usize| f64::from(x[at + i].to_f32());
                for (i, frequency) in frequencies.iter().enumerate() {
                    // The angle is an f32: what a rounding of it does is not the kernel's error.
                    let angle = f64::from(positions[b * length + s] as f32 * frequency);
                    let scale = 0.1 * f64::from(yarn.factor).ln() + 1.0;
                    let (sine, cosine) = (angle.sin() * scale, angle.cos() * scale);
                    for (j, y) in [
                        (i, x(i) * cosine - x(half + i) * sine),
                        (half + i, x(half + i) * cosine + x(i) * sine),
                    ] {
                        expected.push(y);
                        found.push(out[to + j]);
                        touched[to + j] = true;
                    }
                }
            }
        }
    }
    let what = format!(
        "rope {} {} {shape:?} gap {gap}, seed {SEED}",
        cpu.isa().name(),
        E::NAME
    );
    // Elements are at most 1 and the scale below 2: two products of at most 2, each with the
    // roundings of the sine, the scale (2) and itself, and their sum.
    let bound = 2.0 * 2.0 * 5.0 * f32::UNIT_ROUNDOFF + 4.0 * E::UNIT_ROUNDOFF;
    assert_close(&what, &found, &expected, |_| bound);
    for (i, (touched, &out)) in touched.iter().zip(&out).enumerate() {
        assert!(
            *touched || out == E::from_f32(7.0),
            "{what}: element {i} is outside and was written"
        );
    }
}

#[test]
fn shapes_and_types() {
    each_cpu(|cpu| {
        for dim in [2, 4, 6, 14, 16, 18, 32, 34, 64, 66, 128] {
            for gap in [0, 3] {
                check::<f32>(cpu, &YARN, [2, 3, 5, dim], gap);
            }
            check::<f16>(cpu, &YARN, [1, 2, 3, dim], 0);
            check::<bf16>(cpu, &YARN, [1, 2, 3, dim], 1);
        }
        check::<bf16>(cpu, &YARN, [1, 64, 1, 64], 0);
        check::<f32>(cpu, &YARN, [1, 8, 200, 64], 0);
        for empty in [[0, 2, 3, 4], [2, 0, 3, 4], [2, 3, 0, 4], [2, 3, 4, 0]] {
            check::<f32>(cpu, &YARN, empty, 0);
        }
    });
}

/// Frequencies in f64, by the formula of the YaRN paper.
#[test]
fn frequencies() {
    for (yarn, dim) in [
        (YARN, 64),
        (YARN, 32),
        (YARN, 2),
        // Nothing to mix: all stay, or all are divided.
        (
            Yarn {
                factor: 1.0,
                ..YARN
            },
            64,
        ),
        (
            Yarn {
                theta: 10_000.0,
                factor: 4.0,
                original: 2048.0,
                ..YARN
            },
            128,
        ),
    ] {
        let mut found = vec![0.0f32; dim / 2];
        yarn.frequencies(&mut found);
        let wide = |x: f32| f64::from(x);
        let at = |beta: f32| {
            dim as f64 * (wide(yarn.original) / (wide(beta) * std::f64::consts::TAU)).ln()
                / (2.0 * wide(yarn.theta).ln())
        };
        let (low, high) = (
            at(yarn.beta_fast).max(0.0),
            at(yarn.beta_slow).min(dim as f64 - 1.0),
        );
        for (i, &found) in found.iter().enumerate() {
            let ramp = ((i as f64 - low) / (high - low)).clamp(0.0, 1.0);
            let base = wide(yarn.theta).powf(-2.0 * i as f64 / dim as f64);
            let expected = base / wide(yarn.factor) * ramp + base * (1.0 - ramp);
            let error = (wide(found) - expected).abs() / expected;
            assert!(
                error < 2e-5,
                "frequency {i} of {dim}: {found:e}, not {expected:e}"
            );
        }
    }
    // The first turns once in 2 pi positions, the last of gpt-oss 32 times slower than untouched.
    let mut gpt_oss = vec![0.0; 32];
    YARN.frequencies(&mut gpt_oss);
    assert_eq!(gpt_oss[0], 1.0);
    let untouched = 150_000f32.powf(-62.0 / 64.0);
    assert!((gpt_oss[31] * 32.0 / untouched - 1.0).abs() < 1e-6);
}

#[test]
fn positions_may_repeat() {
    let cpu = Cpu::new(1).unwrap();
    let x: Vec<f32> = Rng::new(SEED).vec(2 * 3 * 4);
    let run = |positions: MatRef<'_, i32>| {
        let mut out = vec![0.0; x.len()];
        let shape = [2, 1, 3, 4];
        rope(
            &cpu,
            HeadsRef::contiguous(&x, shape).unwrap(),
            positions,
            &YARN,
            HeadsMut::contiguous(&mut out, shape).unwrap(),
            &mut vec![0.0; rope_scratch(&cpu, 4)],
        )
        .unwrap();
        out
    };
    let row = [5, 6, 7];
    assert_eq!(
        run(MatRef::repeated_row(&row, 2)),
        run(MatRef::contiguous(&[5, 6, 7, 5, 6, 7], 2, 3).unwrap())
    );
}

#[test]
fn bad_arguments() {
    let cpu = Cpu::new(1).unwrap();
    let (x, mut out) = ([0.0f32; 64], [1.0f32; 64]);
    let mut call = |dim: usize, rows: usize, n_scratch: usize| {
        let shape = [2, 1, 3, dim];
        rope(
            &cpu,
            HeadsRef::contiguous(&x, shape).unwrap(),
            MatRef::contiguous(&[0; 9], rows, 3).unwrap(),
            &YARN,
            HeadsMut::contiguous(&mut out, shape).unwrap(),
            &mut vec![0.0; n_scratch],
        )
        .map_err(|e| e.to_string())
    };
    let enough = rope_scratch(&cpu, 8);
    let is = |message: &str| Err(message.to_string());
    assert_eq!(
        call(5, 2, enough),
        is("rope: the head dimension must be even")
    );
    assert_eq!(
        call(4, 3, enough),
        is("rope: the rows of positions must be 2, found 3")
    );
    assert!(call(8, 2, enough - 1).unwrap_err().contains("scratch"));
    assert_eq!(call(8, 2, enough), Ok(()));
    assert_eq!(out[48..], [1.0; 16], "written outside");
}
