//! gpt-oss' `forward` against the logits that transformers computes in f32.

mod gpt_oss_support;

use std::path::Path;

use gpt_oss::Model;
use gpt_oss_support::{
    DynModel, Golden, LOGIT_TOLERANCE, NUMERICS, TINY, assert_close, fixture, forward, golden,
    load_as, load_tiny,
};
use linnet_runtime::{Const, Dyn, Numerics, Tensor, bf16};

type TinyModel = Model<
    Const<320>,
    Const<64>,
    Const<8>,
    Const<2>,
    Const<16>,
    Const<96>,
    Const<8>,
    Const<2>,
    Const<4>,
    Const<8>,
    Const<2>,
    Const<64>,
    f32,
>;

#[test]
fn both_small_checkpoints() {
    for name in TINY {
        let golden = golden(name);
        for numerics in NUMERICS {
            let model = load_tiny(name, 1, 8, numerics);
            let tokens = Tensor::<(Dyn, Dyn), i32>::from_slice(
                &[golden.rows, golden.length],
                &golden.tokens,
            )
            .unwrap();
            let logits = model.forward(&tokens).unwrap().to_vec();
            let what = format!("{name} {numerics}");
            assert_close(&what, &logits, &golden.logits, LOGIT_TOLERANCE);

            let last = model.next_token(&tokens).unwrap().to_vec();
            for (row, found) in last.chunks_exact(golden.vocab).enumerate() {
                let expected = golden.logits_at(row, golden.length - 1);
                assert_close(
                    &format!("{what} next_token"),
                    found,
                    expected,
                    LOGIT_TOLERANCE,
                );
            }
        }
    }
}

#[test]
fn dimensions_known_to_the_compiler() {
    let golden = golden("tiny-gpt-oss");
    let model: TinyModel = load_as(&fixture("tiny-gpt-oss"), 2, 64, Numerics::Fast, 2);
    let tokens =
        Tensor::<(Const<2>, Const<40>), i32>::from_slice(&[2, 40], &golden.tokens).unwrap();
    let logits = model.forward(&tokens).unwrap();
    assert_eq!(logits.shape(), [2, 40, 320]);
    assert_close(
        "constant",
        &logits.to_vec(),
        &golden.logits,
        LOGIT_TOLERANCE,
    );
}

#[test]
fn six_hundred_tokens_far_past_the_window() {
    let folder = fixture("tiny-gpt-oss");
    let golden = Golden::read(&folder, "long_tokens", "long_logits_tail");
    assert_eq!((golden.length, golden.tail), (600, 8));
    for numerics in NUMERICS {
        let model = load_tiny("tiny-gpt-oss", 1, 8, numerics);
        let logits = forward(&model, &golden.tokens);
        let tail = &logits[(golden.length - golden.tail) * golden.vocab..];
        assert_close(
            &format!("{numerics}"),
            tail,
            &golden.logits,
            LOGIT_TOLERANCE,
        );
    }
}

#[test]
fn the_trained_model() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/checkpoints/tales-gpt-oss");
    let golden = Golden::read(&fixture("tales-gpt-oss"), "tokens", "logits_tail");
    for numerics in NUMERICS {
        let model: DynModel = load_as(&folder, 1, 8, numerics, 2);
        let logits = forward(&model, &golden.tokens);
        let tail = &logits[(golden.length - golden.tail) * golden.vocab..];
        assert_close(
            &format!("{numerics}"),
            tail,
            &golden.logits,
            LOGIT_TOLERANCE,
        );
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let golden = golden("tiny-gpt-oss");
    for numerics in NUMERICS {
        let run = |threads| {
            let model: DynModel = load_as(&fixture("tiny-gpt-oss"), 1, 8, numerics, threads);
            let logits = forward(&model, golden.row(0));
            logits.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(2), "{numerics}");
    }
}

/// In bf16 the best token is the reference's wherever the reference is sure of
/// it (its first two logits at least 0.05 apart), and logits differ by less than
/// 0.02 on average.
#[test]
fn bf16_chooses_the_same_tokens() {
    for name in TINY {
        let golden = golden(name);
        for numerics in NUMERICS {
            let model: DynModel<bf16> = load_as(&fixture(name), 1, 8, numerics, 2);
            let (mut difference, mut sure) = (0.0f64, 0);
            for row in 0..golden.rows {
                let logits = forward(&model, golden.row(row));
                for (at, found) in logits.chunks_exact(golden.vocab).enumerate() {
                    let expected = golden.logits_at(row, at);
                    let pairs = found.iter().zip(expected);
                    difference += pairs.map(|(a, b)| f64::from((a - b).abs())).sum::<f64>();
                    let (best, gap) = best(expected);
                    if gap >= 0.05 {
                        sure += 1;
                        assert_eq!(
                            self::best(found).0,
                            best,
                            "{name} {numerics}, sequence {row} after token {at}, gap {gap}"
                        );
                    }
                }
            }
            let mean = difference / golden.logits.len() as f64;
            assert!(mean < 0.02, "{name} {numerics}: off by {mean} on average");
            assert!(sure > golden.length, "{name}: {sure} sure positions");
        }
    }
}

/// The largest logit's token, and its distance to the second.
fn best(logits: &[f32]) -> (usize, f32) {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    (order[0], logits[order[0]] - logits[order[1]])
}
