use half::{bf16, f16};

use super::tests::bound;
use super::*;
use crate::isa::Isa;
use crate::testing::{Rng, assert_close, each_cpu};

const SEED: u64 = 0x9ac4;

#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    kv_heads: usize,
    group: usize,
    dim: usize,
    cache_rows: usize,
    capacity: usize,
    /// (cache row, position) of each token.
    tokens: &'a [(i32, i32)],
    window: Option<usize>,
    sinks: bool,
    /// Gaps between rows.
    gap: usize,
}

const PLAIN: Case<'_> = Case {
    kv_heads: 2,
    group: 2,
    dim: 16,
    cache_rows: 4,
    capacity: 40,
    tokens: &[],
    window: None,
    sinks: true,
    gap: 0,
};

/// The tokens of a cache row at `from..to`.
fn run(row: i32, from: i32, to: i32) -> Vec<(i32, i32)> {
    (from..to).map(|pos| (row, pos)).collect()
}

fn check<E: Element>(cpu: &Cpu, case: &Case<'_>) -> Vec<E> {
    let Case {
        kv_heads,
        group,
        dim,
        cache_rows,
        capacity,
        tokens,
        gap,
        ..
    } = *case;
    let (heads, n) = (kv_heads * group, tokens.len());
    let mut rng = Rng::new(SEED);
    let q_shape = [1, heads, n, dim];
    let k_shape = [cache_rows, kv_heads, capacity, dim];
    // q and out are [1, P, H, D] in memory.
    let step = dim + gap;
    let q_strides = [n * heads * step, step, heads * step];
    let k_strides = [kv_heads * capacity * step, capacity * step, step];
    let q: Vec<E> = rng.vec(n * heads * step);
    let mut k: Vec<E> = rng.vec(cache_rows * kv_heads * capacity * step);
    let mut v: Vec<E> = rng.vec(k.len());
    let sinks: Vec<E> = rng.vec(heads);
    let scale = 1.0 / (dim as f32).sqrt();
    let visible = |(_, pos): (i32, i32)| {
        let last = (pos + 1) as usize;
        (case.window.map_or(0, |w| last.saturating_sub(w)), last)
    };
    // What nobody sees is NaN: reading it would show.
    for c in 0..cache_rows {
        for m in 0..capacity {
            let seen = tokens.iter().any(|&token| {
                let (first, last) = visible(token);
                token.0 as usize == c && (first..last).contains(&m)
            });
            for h in 0..kv_heads {
                let at = c * k_strides[0] + h * k_strides[1] + m * k_strides[2];
                if !seen {
                    k[at..at + dim].fill(E::from_f32(f32::NAN));
                    v[at..at + dim].fill(E::from_f32(f32::NAN));
                }
            }
        }
    }
    let (rows, positions): (Vec<i32>, Vec<i32>) = tokens.iter().copied().unzip();
    let mut out = vec![E::from_f32(7.0); q.len()];
    let mut scratch = vec![f32::NAN; packed_attention_scratch(cpu, q_shape, kv_heads)];
    packed_attention(
        cpu,
        HeadsRef::new(&q, q_shape, q_strides).unwrap(),
        HeadsRef::new(&k, k_shape, k_strides).unwrap(),
        HeadsRef::new(&v, k_shape, k_strides).unwrap(),
        PackedArgs {
            scale,
            rows: &rows,
            positions: &positions,
            window: case.window,
            sinks: case.sinks.then_some(&sinks),
        },
        HeadsMut::new(&mut out, q_shape, q_strides).unwrap(),
        &mut scratch,
    )
    .unwrap();

    let (mut found, mut expected) = (vec![], vec![]);
    let mut touched = vec![false; out.len()];
    for (p, &token) in tokens.iter().enumerate() {
        for (h, &sink) in sinks.iter().enumerate() {
            let at = h * q_strides[1] + p * q_strides[2];
            let (first, last) = visible(token);
            let cache = |m: usize| {
                token.0 as usize * k_strides[0] + h / group * k_strides[1] + m * k_strides[2]
            };
            let f = |x: E| f64::from(x.to_f32());
            let weights: Vec<f64> = (first..last)
                .map(|m| {
                    let score: f64 = (0..dim).map(|d| f(q[at + d]) * f(k[cache(m) + d])).sum();
                    (score * f64::from(scale)).exp()
                })
                .collect();
            let mut total: f64 = weights.iter().sum();
            if case.sinks {
                total += f(sink).exp();
            }
            for d in 0..dim {
                let sum: f64 = (weights.iter().zip(first..last))
                    .map(|(w, m)| w * f(v[cache(m) + d]))
                    .sum();
                expected.push(if first < last { sum / total } else { 0.0 });
                found.push(out[at + d]);
                touched[at + d] = true;
            }
        }
    }
    let what = format!(
        "packed attention {} {} {case:?}, {} threads, seed {SEED}",
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
fn prompts_and_single_tokens() {
    each_cpu(|cpu| {
        let steps = [(2, 17), (0, 39), (3, 0), (1, -1)];
        let idle = [(0, -1); 70];
        let packs = [
            vec![],
            steps.to_vec(),
            run(1, 0, 40),
            run(3, 7, 8),
            // Steps of some rows, then prompts of others, then padding.
            [&steps[..2], &run(1, 0, 13), &run(3, 5, 30), &idle[..3]].concat(),
            [&idle[..], &run(2, 0, 1)].concat(),
            // Two runs of one row, and the same token twice.
            [run(0, 20, 25), run(0, 3, 9), run(0, 8, 9)].concat(),
        ];
        for tokens in &packs {
            for window in [None, Some(1), Some(6), Some(1000)] {
                for (group, gap) in [(1, 0), (2, 3), (8, 0), (9, 1)] {
                    let case = Case {
                        tokens,
                        window,
                        group,
                        gap,
                        sinks: group != 2,
                        ..PLAIN
                    };
                    check::<f32>(cpu, &case);
                }
            }
        }
    });
}

#[test]
fn sizes() {
    each_cpu(|cpu| {
        let tokens = [run(2, 0, 21), vec![(0, 39), (1, 12)]].concat();
        for dim in [1, 2, 7, 8, 9, 12, 33, 64, 80] {
            for group in [1, 3, 5, 8, 16, 17, 70] {
                let case = Case {
                    tokens: &tokens,
                    dim,
                    group,
                    ..PLAIN
                };
                check::<f32>(cpu, &case);
            }
        }
        // Windows whose edge lies inside of blocks of keys, far into a cache.
        let tokens = [run(0, 250, 330), vec![(1, 399), (2, 128), (3, 127)]].concat();
        for window in [100, 128, 129] {
            let case = Case {
                tokens: &tokens,
                dim: 64,
                group: 8,
                capacity: 400,
                window: Some(window),
                ..PLAIN
            };
            check::<f32>(cpu, &case);
        }
    });
}

#[test]
fn types() {
    each_cpu(|cpu| {
        let tokens = [run(1, 3, 20), vec![(0, 30), (2, -1), (3, 2)]].concat();
        for dim in [64, 13] {
            for group in [2, 8] {
                let case = Case {
                    tokens: &tokens,
                    dim,
                    group,
                    gap: 2,
                    ..PLAIN
                };
                check::<f16>(cpu, &case);
                check::<bf16>(cpu, &case);
            }
        }
    });
}

#[test]
fn threads_do_not_matter() {
    let tokens = [run(1, 0, 90), vec![(0, 130), (2, -1)], run(3, 100, 150)].concat();
    let case = Case {
        tokens: &tokens,
        capacity: 150,
        window: Some(70),
        ..PLAIN
    };
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

/// One key far above the others takes all the weight, unless the sink is above it.
#[test]
fn extreme_scores() {
    each_cpu(|cpu| {
        for group in [1, 8] {
            let (heads, keys) = (group, 100);
            let shape = [1, heads, 1, 2];
            let q = vec![1.0f32; 2 * heads];
            let v: Vec<f32> = (0..keys).flat_map(|m| [m as f32, 1.0]).collect();
            let attend = |k: &[f32], sink: f32| {
                let sinks = vec![sink; heads];
                let mut out = vec![5.0f32; 2 * heads];
                let mut scratch = vec![0.0; packed_attention_scratch(cpu, shape, 1)];
                packed_attention(
                    cpu,
                    HeadsRef::contiguous(&q, shape).unwrap(),
                    HeadsRef::contiguous(k, [1, 1, keys, 2]).unwrap(),
                    HeadsRef::contiguous(&v, [1, 1, keys, 2]).unwrap(),
                    PackedArgs {
                        scale: 1.0,
                        rows: &[0],
                        positions: &[keys as i32 - 1],
                        window: None,
                        sinks: Some(&sinks),
                    },
                    HeadsMut::contiguous(&mut out, shape).unwrap(),
                    &mut scratch,
                )
                .unwrap();
                out
            };
            for at in [0, 63, 70, 99] {
                let mut k = vec![-1e30f32; 2 * keys];
                k[2 * at..2 * at + 2].fill(1e30);
                let all = |out: &[f32], x: f32, y: f32| out.chunks(2).all(|o| o == [x, y]);
                assert!(all(&attend(&k, 1e30), at as f32, 1.0), "key {at}");
                assert!(all(&attend(&k, 3e38), 0.0, 0.0), "the sink, key {at}");
                k.fill(f32::NEG_INFINITY);
                assert!(all(&attend(&k, 0.0), 0.0, 0.0), "the sink alone");
                k[2 * at] = f32::NAN;
                assert!(attend(&k, 0.0).iter().all(|o| o.is_nan()), "key {at}");
            }
        }
    });
}

#[test]
fn bad_arguments() {
    let cpu = Cpu::new(1).unwrap();
    let data = vec![0.0f32; 4096];
    let mut out = vec![0.0f32; 4096];
    let (q, k) = ([1, 4, 3, 8], [2, 2, 10, 8]);
    let mut scratch = vec![0.0f32; packed_attention_scratch(&cpu, q, 2)];
    let mut call =
        |q: [usize; 4], rows: &[i32], positions: &[i32], window, sinks: &[f32], short| {
            let n = scratch.len() - short;
            packed_attention(
                &cpu,
                HeadsRef::contiguous(&data, q).unwrap(),
                HeadsRef::contiguous(&data, k).unwrap(),
                HeadsRef::contiguous(&data, k).unwrap(),
                PackedArgs {
                    scale: 1.0,
                    rows,
                    positions,
                    window,
                    sinks: Some(sinks),
                },
                HeadsMut::contiguous(&mut out, q).unwrap(),
                &mut scratch[..n],
            )
            .map_err(|e| e.to_string())
        };
    let (rows, positions, sinks) = ([0, 1, 1], [0, 9, -1], [0.0; 4]);
    assert_eq!(call(q, &rows, &positions, None, &sinks, 0), Ok(()));
    for (result, message) in [
        (
            call(q, &[0, 1, 2], &positions, None, &sinks, 0),
            "packed_attention: rows[2] is 2, which is not in 0..2",
        ),
        (
            call(q, &[0, -1, 1], &positions, None, &sinks, 0),
            "packed_attention: rows[1] is -1, which is not in 0..2",
        ),
        (
            call(q, &rows, &[0, 10, 1], None, &sinks, 0),
            "packed_attention: pos[1] is 10, which is not in 0..10",
        ),
        (
            call(q, &rows, &[0, 1, -2], None, &sinks, 0),
            "packed_attention: pos[2] is -2, which is not in 0..10",
        ),
        (
            call(q, &rows[..2], &positions, None, &sinks, 0),
            "packed_attention: the length of rows must be 3, found 2",
        ),
        (
            call(q, &rows, &positions[..2], None, &sinks, 0),
            "packed_attention: the number of positions must be 3, found 2",
        ),
        (
            call(q, &rows, &positions, Some(0), &sinks, 0),
            "packed_attention: a window must be at least 1",
        ),
        (
            call(q, &rows, &positions, None, &sinks[..3], 0),
            "packed_attention: the length of sinks must be 4, found 3",
        ),
        (
            call([1, 3, 3, 8], &rows, &positions, None, &sinks[..3], 0),
            "packed_attention: the heads of q must be a multiple of those of k",
        ),
        (
            call([2, 4, 3, 8], &rows, &positions, None, &sinks, 0),
            "packed_attention: the batch of q must be 1, found 2",
        ),
    ] {
        assert_eq!(result, Err(message.to_string()));
    }
    let short = call(q, &rows, &positions, None, &sinks, 1).unwrap_err();
    assert!(short.contains("scratch"), "{short}");
}
