use super::*;
use crate::testing::{Rng, assert_close, each_cpu};

const SEED: u64 = 0x3a73;

/// As for `linear`: (K + 1) roundoffs of f32 times the sum of magnitudes, here at most K.
fn bound(k: usize) -> f64 {
    f32::UNIT_ROUNDOFF * (k + 1) as f64 * k as f64 + 1e-30
}

#[test]
fn any_strides() {
    each_cpu(|cpu| {
        for (m, k, n) in [
            (1, 1, 1),
            (3, 5, 2),
            (1, 40, 17),
            (17, 1, 33),
            (30, 70, 20),
            (33, 300, 19),
            (0, 3, 2),
            (2, 0, 3),
            (2, 3, 0),
        ] {
            for transposes in 0..8 {
                let order = |bit: usize, [r, c]: [usize; 2]| {
                    if transposes >> bit & 1 == 0 {
                        [c, 1]
                    } else {
                        [1, r]
                    }
                };
                let (a_strides, b_strides, c_strides) =
                    (order(0, [m, k]), order(1, [k, n]), order(2, [m, n]));
                let mut rng = Rng::new(SEED);
                let (a, b): (Vec<f32>, Vec<f32>) = (rng.vec(m * k), rng.vec(k * n));
                let mut c = vec![0.0f32; m * n];
                let mut scratch = vec![f32::NAN; matmul_scratch(cpu, m, k, n)];
                matmul(
                    cpu,
                    MatRef::new(&a, [m, k], a_strides).unwrap(),
                    MatRef::new(&b, [k, n], b_strides).unwrap(),
                    MatMut::new(&mut c, [m, n], c_strides).unwrap(),
                    &mut scratch,
                )
                .unwrap();
                let mut expected = vec![0.0f64; m * n];
                for i in 0..m {
                    for j in 0..n {
                        expected[i * c_strides[0] + j * c_strides[1]] = (0..k)
                            .map(|l| {
                                f64::from(a[i * a_strides[0] + l * a_strides[1]])
                                    * f64::from(b[l * b_strides[0] + j * b_strides[1]])
                            })
                            .sum();
                    }
                }
                let what = format!(
                    "matmul {} {m} x {k} x {n}, transposes {transposes:03b}, seed {SEED}",
                    cpu.isa().name()
                );
                assert_close(&what, &c, &expected, |_| bound(k));
            }
        }
        let error = matmul(
            cpu,
            MatRef::contiguous(&[0.0f32; 6], 2, 3).unwrap(),
            MatRef::contiguous(&[0.0f32; 6], 2, 3).unwrap(),
            MatMut::contiguous(&mut [0.0f32; 6], 2, 3).unwrap(),
            &mut [],
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            "matmul: the rows of b must be 3, found 2"
        );
    });
}
