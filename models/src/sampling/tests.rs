use super::*;

fn draws(options: Sampling, logits: &[f32], context: &[i32], n: usize) -> Vec<usize> {
    let mut sampler = Sampler::new(options).unwrap();
    let mut counts = vec![0; logits.len()];
    for _ in 0..n {
        counts[sampler.sample(logits, context).unwrap() as usize] += 1;
    }
    counts
}

/// Only the temperature, and that at 1.
fn plain(seed: u64) -> Sampling {
    Sampling {
        temperature: 1.0,
        top_p: 1.0,
        seed: Some(seed),
        ..Sampling::default()
    }
}

#[test]
fn greedy_takes_the_largest_and_of_equal_ones_the_first() {
    let mut sampler = Sampler::new(Sampling::greedy()).unwrap();
    assert_eq!(sampler.sample(&[0.0, 3.0, -1.0, 3.0], &[]).unwrap(), 1);
    assert_eq!(
        sampler
            .sample(&[f32::NEG_INFINITY, -1e30, -2e30], &[])
            .unwrap(),
        1
    );
    assert_eq!(sampler.sample(&[f32::MAX, f32::MIN], &[]).unwrap(), 0);
}

#[test]
fn frequencies_follow_the_softmax() {
    // Probabilities 1/2, 1/4, 1/8, 1/8.
    let logits = [0.0, -1.0, -2.0, -2.0].map(|x: f32| x * std::f32::consts::LN_2);
    let n = 40_000;
    let counts = draws(plain(7), &logits, &[], n);
    for (count, p) in counts.iter().zip([0.5, 0.25, 0.125, 0.125]) {
        // Five standard deviations of a binomial count.
        let tolerance = 5.0 * (n as f64 * p * (1.0 - p)).sqrt();
        assert!(
            (*count as f64 - n as f64 * p).abs() < tolerance,
            "{counts:?}"
        );
    }
}

#[test]
fn temperature_sharpens() {
    let logits = [1.0, 0.0];
    let warm = draws(plain(1), &logits, &[], 2000)[1];
    let cold = draws(
        Sampling {
            temperature: 0.2,
            ..plain(1)
        },
        &logits,
        &[],
        2000,
    )[1];
    // Probabilities of the second: 0.269 and 0.0067.
    assert!(warm > 400 && cold < 60, "{warm} {cold}");
}

#[test]
fn a_tiny_temperature_is_greedy() {
    let counts = draws(
        Sampling {
            temperature: 1e-38,
            ..plain(1)
        },
        &[1.0, 2.0, 1.5],
        &[],
        100,
    );
    assert_eq!(counts, [0, 100, 0]);
}

#[test]
fn top_k_keeps_k() {
    let logits = [0.0, 0.3, 0.1, 0.2, 0.3];
    let kept = |k| {
        let counts = draws(
            Sampling {
                top_k: k,
                ..plain(3)
            },
            &logits,
            &[],
            3000,
        );
        counts
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .map(|(i, _)| i)
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(1), [1]);
    assert_eq!(kept(2), [1, 4]);
    assert_eq!(kept(3), [1, 3, 4]);
    assert_eq!(kept(5), [0, 1, 2, 3, 4]);
    assert_eq!(kept(99), [0, 1, 2, 3, 4]);
}

#[test]
fn top_p_keeps_the_fewest_that_reach_it() {
    // 0.5, 0.25, 0.125, 0.125
    let logits = [-2.0, 0.0, -1.0, -2.0].map(|x: f32| x * std::f32::consts::LN_2);
    let kept = |p| {
        let counts = draws(
            Sampling {
                top_p: p,
                ..plain(4)
            },
            &logits,
            &[],
            3000,
        );
        counts
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .map(|(i, _)| i)
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(0.01), [1]);
    assert_eq!(kept(0.49), [1]);
    assert_eq!(kept(0.51), [1, 2]);
    assert_eq!(kept(0.76), [0, 1, 2]);
    assert_eq!(kept(0.99), [0, 1, 2, 3]);
}

#[test]
fn top_p_over_a_large_flat_vocabulary() {
    // More than the part that is sorted first.
    let logits = vec![0.0; 10_000];
    let mut sampler = Sampler::new(Sampling {
        top_p: 0.25,
        ..plain(5)
    })
    .unwrap();
    let drawn: Vec<i32> = (0..500)
        .map(|_| sampler.sample(&logits, &[]).unwrap())
        .collect();
    assert!(
        drawn.iter().all(|&id| id < 2500),
        "{}",
        drawn.iter().max().unwrap()
    );
    assert!(drawn.iter().any(|&id| id > 2000));
}

#[test]
fn min_p_is_relative_to_the_best() {
    // 1, 1/2, 1/4 of the best.
    let logits = [0.0, -1.0, -2.0].map(|x: f32| x * std::f32::consts::LN_2);
    let counts = draws(
        Sampling {
            min_p: 0.3,
            ..plain(6)
        },
        &logits,
        &[],
        3000,
    );
    assert!(
        counts[0] > 0 && counts[1] > 0 && counts[2] == 0,
        "{counts:?}"
    );
    let counts = draws(
        Sampling {
            min_p: 1.0,
            ..plain(6)
        },
        &logits,
        &[],
        100,
    );
    assert_eq!(counts, [100, 0, 0]);
}

#[test]
fn repetition_penalty_counts_a_token_once() {
    let penalty = Sampling {
        repetition_penalty: 2.0,
        ..Sampling::greedy()
    };
    let mut sampler = Sampler::new(penalty).unwrap();
    // 4 / 2 = 2 is still above 1.5, however often it came.
    assert_eq!(sampler.sample(&[4.0, 1.5], &[0, 0, 0]).unwrap(), 0);
    assert_eq!(sampler.sample(&[4.0, 2.5], &[0]).unwrap(), 1);
    // Negative ones are multiplied: -1 becomes -2.
    assert_eq!(sampler.sample(&[-1.0, -1.5], &[0]).unwrap(), 1);
    // Ids that are not in the vocabulary are passed over.
    assert_eq!(sampler.sample(&[4.0, 2.5], &[-1, 2, i32::MAX]).unwrap(), 0);
    // A larger vocabulary comes later.
    assert_eq!(sampler.sample(&[1.0, 4.0, 2.5], &[1]).unwrap(), 2);
}

#[test]
fn a_seed_repeats_and_no_seed_does_not() {
    let logits = vec![0.0; 1000];
    let run = |seed| {
        let mut sampler = Sampler::new(Sampling { seed, ..plain(0) }).unwrap();
        (0..20)
            .map(|_| sampler.sample(&logits, &[]).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(run(Some(1)), run(Some(1)));
    assert_ne!(run(Some(1)), run(Some(2)));
    assert_ne!(run(None), run(None));
}

#[test]
fn what_is_not_a_number_is_refused() {
    let mut sampler = Sampler::new(plain(1)).unwrap();
    let message = sampler
        .sample(&[0.0, f32::NAN, f32::NAN], &[])
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with("2 of 3 logits are NaN (the first for token 1): the weights hold NaN"),
        "{message}"
    );
    let infinite = sampler.sample(&[0.0, f32::INFINITY], &[]).unwrap_err();
    assert!(
        infinite.to_string().contains("some are infinite"),
        "{infinite}"
    );
    let none = sampler.sample(&[f32::NEG_INFINITY; 2], &[]).unwrap_err();
    assert!(
        none.to_string().contains("all are minus infinity"),
        "{none}"
    );
    assert!(sampler.sample(&[], &[]).is_err());
}

#[test]
fn tokens_of_no_probability_are_never_drawn() {
    let logits = [f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY];
    assert_eq!(draws(plain(2), &logits, &[], 500), [0, 500, 0]);
}

#[test]
fn options_out_of_range_are_named() {
    let message = |options: Sampling| options.check().unwrap_err().to_string();
    let base = Sampling::default;
    assert_eq!(
        message(Sampling {
            temperature: -1.0,
            ..base()
        }),
        "the temperature is -1, but must be 0 (always the most probable token) or more"
    );
    assert_eq!(
        message(Sampling {
            top_p: 0.0,
            ..base()
        }),
        "top-p is 0, but must be above 0 and at most 1"
    );
    assert_eq!(
        message(Sampling {
            min_p: 1.5,
            ..base()
        }),
        "min-p is 1.5, but must be from 0 to 1"
    );
    assert_eq!(
        message(Sampling {
            repetition_penalty: 0.5,
            ..base()
        }),
        "the repetition penalty is 0.5, but must be at least 1 (1 switches it off)"
    );
    for nan in [
        Sampling {
            temperature: f32::NAN,
            ..base()
        },
        Sampling {
            top_p: f32::NAN,
            ..base()
        },
        Sampling {
            min_p: f32::NAN,
            ..base()
        },
        Sampling {
            repetition_penalty: f32::INFINITY,
            ..base()
        },
    ] {
        assert!(nan.check().is_err(), "{nan:?}");
    }
    base().check().unwrap();
    Sampling::greedy().check().unwrap();
}
