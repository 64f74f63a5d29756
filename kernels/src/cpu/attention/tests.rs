use half::{bf16, f16};

use super::*;
use crate::isa::Isa;
use crate::testing::{Rng, assert_close, each_cpu};

const SEED: u64 = 0xa77e;

/// Scores are sums of D products (D + 2 roundoffs of their magnitudes, here at most 1 each times
/// the scale); a score's error is a relative error of its weight, and of the result twice (weight
/// and total); exp adds 2, the weighted sums one for each block of keys and key. All relative to
/// the largest value, which is at most 1.
pub(super) fn bound<E: Element>(dim: usize, keys: usize, scale: f32) -> f64 {
    let score = (dim + 2) as f64 * dim as f64 * f64::from(scale.abs());
    f32::UNIT_ROUNDOFF * (2.0 * score + 2.0 * 2.0 + 2.0 * keys as f64) + E::UNIT_ROUNDOFF
}

#[derive(Clone, Copy, Debug)]
struct Case {
    batch: usize,
    kv_heads: usize,
    group: usize,
    length: usize,
    dim: usize,
    cache_rows: usize,
    capacity: usize,
    positions: &'static [i32],
    rows: Option<&'static [i32]>,
    window: Option<usize>,
    full: Option<usize>,
    sinks: bool,
    /// Gaps between rows, and heads inside of positions.
    strided: bool,
}

const PLAIN: Case = Case {
    batch: 1,
    kv_heads: 2,
    group: 1,
    length: 1,
    dim: 16,
    cache_rows: 1,
    capacity: 40,
    positions: &[20],
    rows: None,
    window: None,
    full: None,
    sinks: false,
    strided: false,
};

fn check<E: Element>(cpu: &Cpu, case: &Case) -> Vec<E> {
    let Case {
        batch,
        kv_heads,
        group,
        length,
        dim,
        cache_rows,
        capacity,
        ..
    } = *case;
    let heads = kv_heads * group;
    let mut rng = Rng::new(SEED);
    let q_shape = [batch, heads, length, dim];
    let k_shape = [cache_rows, kv_heads, capacity, dim];
    // q and out: [B, S, H, D] with a gap when strided, else [B, H, S, D].
    let q_strides = if case.strided {
        [length * heads * (dim + 3), dim + 3, heads * (dim + 3)]
    } else {
        [heads * length * dim, length * dim, dim]
    };
    let k_gap = if case.strided { dim + 1 } else { dim };
    let k_strides = [kv_heads * capacity * k_gap, capacity * k_gap, k_gap];
    let size = |shape: [usize; 4], s: [usize; 3]| {
        crate::view::extent(&shape, &[s[0], s[1], s[2], 1]).unwrap()
    };
    let q: Vec<E> = rng.vec(size(q_shape, q_strides));
    let mut k: Vec<E> = rng.vec(size(k_shape, k_strides));
    let mut v: Vec<E> = rng.vec(size(k_shape, k_strides));
    let sinks: Vec<E> = rng.vec(heads);
    let scale = 1.0 / (dim as f32).sqrt();
    let visible = |b: usize, s: usize| match case.full {
        Some(keys) => (0, keys),
        None => {
            let last = (case.positions[b % case.positions.len()] as usize) + s + 1;
            (case.window.map_or(0, |w| last.saturating_sub(w)), last)
        }
    };
    let row = |b: usize| case.rows.map_or(b, |rows| rows[b] as usize);
    // What nobody sees is NaN: reading it would show.
    let mut seen = vec![false; cache_rows * capacity];
    for b in 0..batch {
        for s in 0..length {
            let (first, last) = visible(b, s);
            seen[row(b) * capacity + first..row(b) * capacity + last].fill(true);
        }
    }
    for c in 0..cache_rows {
        for h in 0..kv_heads {
            for m in 0..capacity {
                if !seen[c * capacity + m] {
                    let at = c * k_strides[0] + h * k_strides[1] + m * k_strides[2];
                    k[at..at + dim].fill(E::from_f32(f32::NAN));
                    v[at..at + dim].fill(E::from_f32(f32::NAN));
                }
            }
        }
    }

    let mut out = vec![E::from_f32(7.0); q.len()];
    let mut scratch = vec![f32::NAN; attention_scratch(cpu, q_shape, kv_heads)];
    let positions = if case.positions.len() == 1 {
        Positions::All(case.positions[0])
    } else {
        Positions::Each(case.positions)
    };
    let mask = match case.full {
        Some(keys) => Mask::Full { keys },
        None => Mask::Causal {
            positions,
            window: case.window,
        },
    };
    attention(
        cpu,
        HeadsRef::new(&q, q_shape, q_strides).unwrap(),
        HeadsRef::new(&k, k_shape, k_strides).unwrap(),
        HeadsRef::new(&v, k_shape, k_strides).unwrap(),
        AttentionArgs {
            scale,
            mask,
            rows: case.rows,
            sinks: case.sinks.then_some(&sinks),
        },
        HeadsMut::new(&mut out, q_shape, q_strides).unwrap(),
        &mut scratch,
    )
    .unwrap();

    let (mut found, mut expected) = (vec![], vec![]);
    let mut touched = vec![false; out.len()];
    for b in 0..batch {
        for (h, &sink) in sinks.iter().enumerate() {
            for s in 0..length {
                let at = b * q_strides[0] + h * q_strides[1] + s * q_strides[2];
                let (first, last) = visible(b, s);
                let cache =
                    |m: usize| row(b) * k_strides[0] + h / group * k_strides[1] + m * k_strides[2];
                let f = |x: E| f64::from(x.to_f32());
                let scores: Vec<f64> = (first..last)
                    .map(|m| {
                        (0..dim)
                            .map(|d| f(q[at + d]) * f(k[cache(m) + d]))
                            .sum::<f64>()
                            * f64::from(scale)
                    })
                    .collect();
                let mut total: f64 = scores.iter().map(|x| x.exp()).sum();
                if case.sinks {
                    total += f(sink).exp();
                }
                for d in 0..dim {
                    let sum: f64 = scores
                        .iter()
                        .zip(first..last)
                        .map(|(x, m)| x.exp() * f(v[cache(m) + d]))
                        .sum();
                    expected.push(if first < last { sum / total } else { 0.0 });
                    found.push(out[at + d]);
                    touched[at + d] = true;
                }
            }
        }
    }
    let what = format!(
        "attention {} {} {case:?}, {} threads, seed {SEED}",
        cpu.isa().name(),
        E::NAME,
        cpu.threads()
    );
    assert_close(&what, &found, &expected, |_| {
        bound::<E>(dim, capacity, scale)
    });
    for (i, (touched, &out)) in touched.iter().zip(&out).enumerate() {
        assert!(
            *touched || out == E::from_f32(7.0),
            "{what}: element {i} is outside and was written"
        );
    }
    found
}

#[test]
fn one_query() {
    each_cpu(|cpu| {
        for dim in [1, 2, 7, 8, 9, 16, 31, 32, 33, 64, 80, 128] {
            check::<f32>(cpu, &Case { dim, ..PLAIN });
        }
        for position in [&[0][..], &[1], &[39]] {
            check::<f32>(
                cpu,
                &Case {
                    positions: position,
                    ..PLAIN
                },
            );
        }
        check::<f32>(
            cpu,
            &Case {
                capacity: 500,
                positions: &[400],
                ..PLAIN
            },
        );
        for group in [2, 3, 4, 5, 8, 9, 70] {
            check::<f32>(cpu, &Case { group, ..PLAIN });
        }
    });
}

#[test]
fn blocks_of_queries() {
    each_cpu(|cpu| {
        for length in [2, 3, 4, 5, 6, 7, 15, 16, 17, 40] {
            check::<f32>(
                cpu,
                &Case {
                    length,
                    positions: &[0],
                    ..PLAIN
                },
            );
        }
        for dim in [1, 5, 12, 64, 65] {
            check::<f32>(
                cpu,
                &Case {
                    dim,
                    length: 10,
                    positions: &[3],
                    ..PLAIN
                },
            );
        }
        let long = Case {
            length: 150,
            capacity: 300,
            positions: &[100],
            ..PLAIN
        };
        check::<f32>(cpu, &long);
        check::<f32>(cpu, &Case { group: 3, ..long });
        check::<f32>(
            cpu,
            &Case {
                window: Some(17),
                sinks: true,
                ..long
            },
        );
        check::<f32>(
            cpu,
            &Case {
                full: Some(300),
                ..long
            },
        );
        check::<f32>(
            cpu,
            &Case {
                full: Some(1),
                ..long
            },
        );
        check::<f32>(
            cpu,
            &Case {
                full: Some(0),
                ..long
            },
        );
    });
}

#[test]
fn windows_and_sinks_and_rows() {
    each_cpu(|cpu| {
        let base = Case {
            batch: 3,
            cache_rows: 4,
            positions: &[30, 0, 7],
            rows: Some(&[2, 0, 3]),
            sinks: true,
            ..PLAIN
        };
        for window in [None, Some(1), Some(2), Some(8), Some(100)] {
            for (length, group) in [(1, 1), (1, 8), (9, 1), (5, 2)] {
                for strided in [false, true] {
                    check::<f32>(
                        cpu,
                        &Case {
                            window,
                            length,
                            group,
                            strided,
                            ..base
                        },
                    );
                }
            }
        }
        // The tokens of one sequence as batch entries that share a cache row.
        check::<f32>(
            cpu,
            &Case {
                rows: Some(&[1, 1, 1]),
                positions: &[4, 5, 6],
                ..base
            },
        );
        check::<f32>(
            cpu,
            &Case {
                batch: 0,
                positions: &[0],
                rows: None,
                cache_rows: 0,
                ..PLAIN
            },
        );
    });
}

#[test]
fn types() {
    each_cpu(|cpu| {
        for (length, dim) in [(1, 64), (1, 13), (20, 64), (20, 13)] {
            let case = Case {
                length,
                dim,
                group: 2,
                sinks: true,
                strided: true,
                ..PLAIN
            };
            check::<f16>(cpu, &case);
            check::<bf16>(cpu, &case);
        }
    });
}

#[test]
fn threads_do_not_matter() {
    for case in [
        Case {
            batch: 2,
            kv_heads: 5,
            cache_rows: 2,
            capacity: 300,
            positions: &[250],
            ..PLAIN
        },
        Case {
            kv_heads: 3,
            length: 200,
            capacity: 300,
            positions: &[60],
            window: Some(90),
            ..PLAIN
        },
    ] {
        let mut first: Vec<(Isa, Vec<u32>)> = vec![];
        each_cpu(|cpu| {
            let found: Vec<u32> = check::<f32>(cpu, &case)
                .iter()
                .map(|x| x.to_bits())
                .collect();
            match first.iter().find(|(isa, _)| *isa == cpu.isa()) {
                Some((_, other)) => assert_eq!(other, &found, "threads change the result"),
                None => first.push((cpu.isa(), found)),
            }
        });
    }
}

#[test]
fn extreme_scores() {
    each_cpu(|cpu| {
        for length in [1, 6] {
            let shape = [1, 1, length, 2];
            let keys = 100;
            let run = |k: &[f32], v: &[f32]| {
                let q = vec![1.0f32; 2 * length];
                let mut out = vec![0.0f32; 2 * length];
                let mut scratch = vec![0.0; attention_scratch(cpu, shape, 1)];
                attention(
                    cpu,
                    HeadsRef::contiguous(&q, shape).unwrap(),
                    HeadsRef::contiguous(k, [1, 1, keys, 2]).unwrap(),
                    HeadsRef::contiguous(v, [1, 1, keys, 2]).unwrap(),
                    AttentionArgs {
                        scale: 1.0,
                        mask: Mask::Full { keys },
                        rows: None,
                        sinks: None,
                    },
                    HeadsMut::contiguous(&mut out, shape).unwrap(),
                    &mut scratch,
                )
                .unwrap();
                out
            };
            let v: Vec<f32> = (0..keys).flat_map(|m| [m as f32, 1.0]).collect();
            // One key far above the others takes all the weight, wherever it is.
            for at in [0, 63, 70, 99] {
                let mut k = vec![-1e30f32; 2 * keys];
                k[2 * at..2 * at + 2].fill(1e30);
                assert!(
                    run(&k, &v).chunks(2).all(|o| o == [at as f32, 1.0]),
                    "key {at}"
                );
                // Keys at minus infinity have no weight.
                k.fill(f32::NEG_INFINITY);
                k[2 * at..2 * at + 2].fill(-3e5);
                assert!(
                    run(&k, &v).chunks(2).all(|o| o == [at as f32, 1.0]),
                    "key {at}"
                );
                k[2 * at] = f32::NAN;
                assert!(run(&k, &v).iter().all(|o| o.is_nan()), "key {at}");
            }
        }
    });
}

#[test]
fn bad_arguments() {
    let cpu = Cpu::new(1).unwrap();
    let data = vec![0.0f32; 4096];
    let mut out = vec![0.0f32; 4096];
    let mut scratch = vec![0.0f32; 100_000];
    let mut call = |q: [usize; 4], k: [usize; 4], mask: Mask<'_>, rows: Option<&[i32]>| {
        attention(
            &cpu,
            HeadsRef::contiguous(&data, q).unwrap(),
            HeadsRef::contiguous(&data, k).unwrap(),
            HeadsRef::contiguous(&data, k).unwrap(),
            AttentionArgs {
                scale: 1.0,
                mask,
                rows,
                sinks: None,
            },
            HeadsMut::contiguous(&mut out, q).unwrap(),
            &mut scratch,
        )
        .map_err(|e| e.to_string())
    };
    let at = |pos| Mask::Causal {
        positions: Positions::All(pos),
        window: None,
    };
    let (q, k) = ([2, 4, 3, 8], [2, 2, 10, 8]);
    assert_eq!(call(q, k, at(7), None), Ok(()));
    let is = |message: &str| Err(message.to_string());
    assert_eq!(
        call(q, k, at(8), None),
        is("attention: pos[0] is 8, which is not in 0..8")
    );
    assert_eq!(
        call(q, k, at(-1), None),
        is("attention: pos[0] is -1, which is not in 0..8")
    );
    let each = Mask::Causal {
        positions: Positions::Each(&[0, 9]),
        window: None,
    };
    assert_eq!(
        call(q, k, each, None),
        is("attention: pos[1] is 9, which is not in 0..8")
    );
    let each = Mask::Causal {
        positions: Positions::Each(&[0]),
        window: None,
    };
    assert_eq!(
        call(q, k, each, None),
        is("attention: the number of positions must be 2, found 1")
    );
    let none = Mask::Causal {
        positions: Positions::All(0),
        window: Some(0),
    };
    assert_eq!(
        call(q, k, none, None),
        is("attention: a window must be at least 1")
    );
    assert_eq!(
        call(q, k, Mask::Full { keys: 11 }, None),
        is("attention: the keys reaches element 11 of a slice that has 10")
    );
    assert_eq!(
        call(q, k, at(0), Some(&[0, 2])),
        is("attention: rows[1] is 2, which is not in 0..2")
    );
    assert_eq!(
        call(q, [1, 2, 10, 8], at(0), None),
        is("attention: the batch of the cache must be 2, found 1")
    );
    assert_eq!(
        call(q, [2, 3, 10, 8], at(0), None),
        is("attention: the heads of q must be a multiple of those of k")
    );
    assert_eq!(
        call(q, [2, 0, 10, 8], at(0), None),
        is("attention: the heads of q must be a multiple of those of k")
    );
    assert_eq!(
        call(q, [2, 2, 10, 7], at(0), None),
        is("attention: the head dimension of k must be 8, found 7")
    );
}
