use half::bf16;

use super::*;
use crate::testing::{Rng, each_cpu};

const SEED: u64 = 0xb1a2;

fn reference(op: BinaryOp, a: f32, b: f32) -> f32 {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
    }
}

/// One rounding in f32 and one to the type: the same bits as the reference, which does the same.
fn check<E: Element>(cpu: &Cpu, op: BinaryOp, [rows, cols]: [usize; 2], strides: [[usize; 2]; 3]) {
    let mut rng = Rng::new(SEED);
    let room = |s: [usize; 2]| crate::view::extent(&[rows, cols], &s).unwrap();
    let a: Vec<E> = rng.vec(1 + room(strides[0]));
    let b: Vec<E> = rng.vec(1 + room(strides[1]));
    let mut out = vec![E::from_f32(7.0); 1 + room(strides[2])];
    binary(
        cpu,
        op,
        MatRef::new(&a[1..], [rows, cols], strides[0]).unwrap(),
        MatRef::new(&b[1..], [rows, cols], strides[1]).unwrap(),
        MatMut::new(&mut out[1..], [rows, cols], strides[2]).unwrap(),
    )
    .unwrap();
    let mut in_place = (strides[0] == strides[2]).then(|| a.clone());
    if let Some(x) = &mut in_place {
        let x = MatMut::new(&mut x[1..], [rows, cols], strides[0]).unwrap();
        binary_in_place(
            cpu,
            op,
            x,
            MatRef::new(&b[1..], [rows, cols], strides[1]).unwrap(),
        )
        .unwrap();
    }
    for r in 0..rows {
        for c in 0..cols {
            let at = |s: [usize; 2]| 1 + r * s[0] + c * s[1];
            let expected = E::from_f32(reference(
                op,
                a[at(strides[0])].to_f32(),
                b[at(strides[1])].to_f32(),
            ));
            let found = out[at(strides[2])];
            let what = format!(
                "{op:?} {} {} {rows} x {cols} {strides:?}, seed {SEED}",
                cpu.isa().name(),
                E::NAME
            );
            assert!(
                found == expected,
                "{what}: ({r}, {c}) is {found:?}, expected {expected:?}"
            );
            if let Some(x) = &in_place {
                assert!(x[at(strides[0])] == expected, "{what}: in place ({r}, {c})");
            }
        }
    }
    assert!(out[0] == E::from_f32(7.0), "written outside");
}

#[test]
fn shapes_and_broadcasts() {
    each_cpu(|cpu| {
        for op in BinaryOp::ALL {
            for cols in 0..=2 * crate::element::MAX_LANES + 1 {
                for rows in [0, 1, 3] {
                    let plain = [cols, 1];
                    for b in [plain, [0, 1], [1, 0], [0, 0], [cols + 1, 1]] {
                        check::<f32>(cpu, op, [rows, cols], [plain, b, plain]);
                        check::<bf16>(cpu, op, [rows, cols], [plain, b, plain]);
                    }
                }
            }
            check::<f32>(cpu, op, [7, 21], [[1, 7], [21, 1], [42, 2]]);
            check::<f32>(cpu, op, [300, 301], [[301, 1], [0, 1], [301, 1]]);
            check::<f32>(cpu, op, [1, 100_003], [[100_003, 1], [0, 1], [100_003, 1]]);
        }
    });
}

#[test]
fn special_values() {
    each_cpu(|cpu| {
        let values = [
            0.0,
            -0.0,
            1e-45,
            1e38,
            -3e38,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            1.0,
        ];
        let n = values.len();
        let a: Vec<f32> = values.iter().flat_map(|&a| [a; 9]).collect();
        for op in BinaryOp::ALL {
            let mut out = vec![0.0f32; n * n];
            let (a, b) = (
                MatRef::contiguous(&a, n, n).unwrap(),
                MatRef::repeated_row(&values, n),
            );
            binary(cpu, op, a, b, MatMut::contiguous(&mut out, n, n).unwrap()).unwrap();
            for (i, out) in out.iter().enumerate() {
                let expected = reference(op, values[i / n], values[i % n]);
                assert!(
                    out.to_bits() == expected.to_bits() || (out.is_nan() && expected.is_nan()),
                    "{op:?} {i}"
                );
            }
        }
        let mut out = vec![0.0f32; 4];
        let out = MatMut::contiguous(&mut out, 2, 2).unwrap();
        let error = binary_in_place(
            cpu,
            BinaryOp::Add,
            out,
            MatRef::contiguous(&values, 3, 2).unwrap(),
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            "binary_in_place: the rows of b must be 2, found 3"
        );
    });
}
