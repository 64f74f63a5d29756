use super::*;
use crate::testing::{Rng, each_cpu};

const SEED: u64 = 0xc0b1;

#[test]
fn random_shapes_and_orders() {
    each_cpu(|cpu| {
        let mut rng = Rng::new(SEED);
        for case in 0..300 {
            let rank = rng.below(6);
            let shape: Vec<usize> = (0..rank)
                .map(|_| {
                    if rng.below(12) == 0 {
                        0
                    } else {
                        1 + rng.below(7)
                    }
                })
                .collect();
            let mut strides = || {
                // A random order of axes, with a random gap each.
                let mut order: Vec<usize> = (0..rank).collect();
                for i in (1..rank).rev() {
                    order.swap(i, rng.below(i + 1));
                }
                let mut strides = vec![0; rank];
                let mut step = 1 + rng.below(2);
                for axis in order {
                    strides[axis] = step;
                    step = step * shape[axis].max(1) + rng.below(2);
                }
                strides
            };
            let (mut from, to) = (strides(), strides());
            if rank > 0 && case % 5 == 0 {
                from[case % rank] = 0;
            }
            let x: Vec<u32> = (0..extent(&shape, &from).unwrap() as u32)
                .map(|i| i + 1)
                .collect();
            let mut out = vec![0u32; extent(&shape, &to).unwrap()];
            copy_strided(cpu, &shape, &x, &from, &mut out, &to).unwrap();
            let mut expected = vec![0u32; out.len()];
            for flat in 0..shape.iter().product() {
                let (mut rest, mut a, mut b) = (flat, 0, 0);
                for axis in (0..rank).rev() {
                    a += rest % shape[axis] * from[axis];
                    b += rest % shape[axis] * to[axis];
                    rest /= shape[axis];
                }
                expected[b] = x[a];
            }
            assert_eq!(
                out, expected,
                "case {case}: {shape:?} {from:?} {to:?}, seed {SEED}"
            );
        }
    });
}

#[test]
fn large_transposes() {
    each_cpu(|cpu| {
        let (rows, cols) = (301, 203);
        let x: Vec<u16> = (0..rows * cols).map(|i| i as u16).collect();
        let mut out = vec![0u16; rows * cols];
        copy_strided(cpu, &[cols, rows], &x, &[1, cols], &mut out, &[rows, 1]).unwrap();
        for r in 0..rows {
            for c in 0..cols {
                assert_eq!(out[c * rows + r], x[r * cols + c]);
            }
        }
        let mut back = vec![0u16; rows * cols];
        copy_strided(cpu, &[rows, cols], &out, &[1, rows], &mut back, &[cols, 1]).unwrap();
        assert_eq!(back, x);
        copy_strided(cpu, &[rows * cols], &x, &[1], &mut out, &[1]).unwrap();
        assert_eq!(out, x);
    });
}

#[test]
fn bad_arguments() {
    let cpu = Cpu::new(1).unwrap();
    let x = [0u8; 10];
    let mut out = [0u8; 10];
    let mut call = |shape: &[usize], from: &[usize], to: &[usize]| {
        copy_strided(&cpu, shape, &x, from, &mut out, to).map_err(|e| e.to_string())
    };
    let is = |message: &str| Err(message.to_string());
    assert_eq!(call(&[2, 5], &[5, 1], &[1, 2]), Ok(()));
    assert_eq!(
        call(&[2, 5], &[5], &[1, 2]),
        is("copy_strided: the number of strides of x must be 2, found 1")
    );
    assert_eq!(
        call(&[3, 5], &[5, 1], &[5, 1]),
        is("copy_strided: x reaches element 15 of a slice that has 10")
    );
    assert_eq!(
        call(&[3, 5], &[0, 1], &[5, 1]),
        is("copy_strided: out reaches element 15 of a slice that has 10")
    );
    let aliased = is(
        "copy_strided: the strides of out name an element more than once, so it cannot be written to",
    );
    assert_eq!(call(&[2, 5], &[5, 1], &[0, 1]), aliased);
    assert_eq!(
        call(&[1; 9], &[1; 9], &[1; 9]),
        is("copy_strided: a tensor has at most 8 axes")
    );
}
