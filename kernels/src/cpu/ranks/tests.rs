use half::{bf16, f16};

use super::*;
use crate::testing::{Rng, each_cpu};

const SEED: u64 = 0x4a4c;

fn check<E: Element>(cpu: &Cpu, x: &[E], [rows, n]: [usize; 2], transposed: bool) {
    let strides = if transposed { [1, rows] } else { [n, 1] };
    let mut out = vec![-7i32; rows * n];
    descending_ranks(
        cpu,
        MatRef::new(x, [rows, n], strides).unwrap(),
        MatMut::new(&mut out, [rows, n], strides).unwrap(),
    )
    .unwrap();
    for r in 0..rows {
        let at = |e: usize| r * strides[0] + e * strides[1];
        let value = |e: usize| x[at(e)].to_f32();
        for e in 0..n {
            let larger = |&o: &usize| value(o) > value(e) || value(o) == value(e) && o < e;
            let expected = (0..n).filter(larger).count();
            assert_eq!(
                out[at(e)],
                expected as i32,
                "{} {}: rank of ({r}, {e}) of {rows} x {n}, transposed {transposed}, seed {SEED}",
                cpu.isa().name(),
                E::NAME
            );
        }
    }
}

#[test]
fn lengths_and_types() {
    each_cpu(|cpu| {
        let mut rng = Rng::new(SEED);
        for n in (0..=67).chain([96, 127, 128, 129, 300]) {
            for rows in [0, 1, 3] {
                for transposed in [false, true] {
                    let x: Vec<f32> = rng.vec(rows * n);
                    check(cpu, &x, [rows, n], transposed);
                    // Few different values: many are equal.
                    let few: Vec<bf16> = (0..rows * n)
                        .map(|_| bf16::from_f32(rng.below(5) as f32))
                        .collect();
                    check(cpu, &few, [rows, n], transposed);
                    check::<f16>(cpu, &rng.vec(rows * n), [rows, n], transposed);
                }
            }
        }
        check::<f32>(cpu, &rng.vec(2000 * 32), [2000, 32], false);
    });
}

#[test]
fn special_values() {
    each_cpu(|cpu| {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        let row = [
            0.0, -0.0, inf, -inf, nan, 1e-40, -1e-40, inf, 3e38, nan, -inf, 1.0,
        ];
        for n in [5, 12, 40] {
            let x: Vec<f32> = row.iter().copied().cycle().take(n).collect();
            check(cpu, &x, [1, n], false);
            let equal = vec![2.5f32; n];
            check(cpu, &equal, [1, n], false);
        }
    });
}

#[test]
fn bad_arguments() {
    let cpu = Cpu::new(1).unwrap();
    let (x, mut out) = ([0.0f32; 12], [0i32; 12]);
    let mut call = |rows: usize, n: usize| {
        descending_ranks(
            &cpu,
            MatRef::contiguous(&x, 3, 4).unwrap(),
            MatMut::contiguous(&mut out, rows, n).unwrap(),
        )
        .map_err(|e| e.to_string())
    };
    assert_eq!(call(3, 4), Ok(()));
    let is = |message: &str| Err(message.to_string());
    assert_eq!(
        call(2, 4),
        is("descending_ranks: the rows of out must be 3, found 2")
    );
    assert_eq!(
        call(3, 3),
        is("descending_ranks: the columns of out must be 4, found 3")
    );
}
