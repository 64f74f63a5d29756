use half::bf16;

use super::*;
use crate::testing::{Rng, each_cpu};

const SEED: u64 = 0xa29a;

fn reference<E: Element>(row: impl Iterator<Item = E>) -> i32 {
    let row: Vec<f32> = row.map(Element::to_f32).collect();
    if let Some(i) = row.iter().position(|x| x.is_nan()) {
        return i as i32;
    }
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter().position(|x| *x == max).unwrap() as i32
}

fn check<E: Element>(cpu: &Cpu, x: &[E], shape: [usize; 2], strides: [usize; 2]) {
    let mut out = vec![-1; shape[0]];
    argmax_rows(cpu, MatRef::new(x, shape, strides).unwrap(), &mut out).unwrap();
    for (r, found) in out.iter().enumerate() {
        let expected = reference((0..shape[1]).map(|c| x[r * strides[0] + c * strides[1]]));
        assert_eq!(
            *found,
            expected,
            "{} {} row {r} of {shape:?} {strides:?}, seed {SEED}",
            cpu.isa().name(),
            E::NAME
        );
    }
}

#[test]
fn places() {
    each_cpu(|cpu| {
        let mut rng = Rng::new(SEED);
        for n in (1..=2 * crate::element::MAX_LANES + 1).chain([511, 512, 513, 1024, 1500]) {
            check::<f32>(cpu, &rng.vec(3 * n), [3, n], [n, 1]);
            check::<bf16>(cpu, &rng.vec(3 * n), [3, n], [n, 1]);
            check::<f32>(cpu, &rng.vec(3 * n), [3, n], [1, 3]);
            // Few different values: the first of equal ones.
            let equal: Vec<f32> = (0..n).map(|_| rng.below(3) as f32).collect();
            check(cpu, &equal, [1, n], [n, 1]);
            for special in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut x = equal.clone();
                x[rng.below(n)] = special;
                x[rng.below(n)] = special;
                check(cpu, &x, [1, n], [n, 1]);
            }
            check(cpu, &vec![f32::NEG_INFINITY; n], [1, n], [n, 1]);
        }
        check::<f32>(cpu, &rng.vec(200_000), [4, 50_000], [50_000, 1]);
        check::<f32>(cpu, &[], [0, 5], [5, 1]);
    });
}

#[test]
fn bad_arguments() {
    let cpu = Cpu::new(1).unwrap();
    let x = [0.0f32; 4];
    let call = |rows, cols, out: &mut [i32]| {
        argmax_rows(&cpu, MatRef::contiguous(&x, rows, cols).unwrap(), out)
            .map_err(|e| e.to_string())
    };
    assert_eq!(
        call(2, 2, &mut [0; 3]),
        Err("argmax_rows: the length of out must be 2, found 3".into())
    );
    let empty = "argmax_rows: a row without columns has no largest element";
    assert_eq!(call(2, 0, &mut [0; 2]), Err(empty.into()));
}
