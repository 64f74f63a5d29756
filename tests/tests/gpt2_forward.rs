//! GPT-2's `forward` against the logits that transformers computes, with
//! dimensions known to the compiler and not, in both numerics, on one and two
//! threads.

mod gpt2_support;

use gpt2::model::Model;
use gpt2_support::{Checkpoint, DynModel, LENGTH, LOGIT_TOLERANCE, NUMERICS, ROWS, assert_close};
use linnet_runtime::{Const, Dyn, Numerics, Tensor};

type TinyModel =
    Model<Const<257>, Const<64>, Const<48>, Const<4>, Const<3>, Const<2>, Const<64>, f32>;
type HubModel =
    Model<Const<131>, Const<48>, Const<40>, Const<5>, Const<2>, Const<2>, Const<48>, f32>;

#[test]
fn the_plain_reference_agrees_with_the_stored_logits() {
    for checkpoint in Checkpoint::all() {
        for row in 0..ROWS {
            let logits = checkpoint.reference.run(checkpoint.row(row)).logits;
            let logits: Vec<f32> = logits.iter().map(|v| *v as f32).collect();
            let expected = &checkpoint.logits[row * logits.len()..][..logits.len()];
            let what = format!("{} sequence {row}", checkpoint.name);
            assert_close(&what, &logits, expected, LOGIT_TOLERANCE);
        }
    }
}

/// Checks `forward` in every setting, and that a repeat gives the same bits.
macro_rules! check_forward {
    ($model:ty, $checkpoint:expr, $max_seq:expr) => {
        for numerics in NUMERICS {
            for threads in [1, 2] {
                let model: $model = $checkpoint.load(2, $max_seq, numerics, threads);
                let tokens = Tensor::<(Const<ROWS>, Dyn), i32>::from_slice(
                    &[ROWS, LENGTH],
                    &$checkpoint.tokens,
                )
                .unwrap();
                let logits = model.forward(&tokens).unwrap();
                let what = format!("{} {numerics}, {threads} threads", $checkpoint.name);
                assert_eq!(
                    logits.shape(),
                    [ROWS, LENGTH, $checkpoint.reference.vocab],
                    "{what}"
                );
                assert_close(
                    &what,
                    &logits.to_vec(),
                    &$checkpoint.logits,
                    LOGIT_TOLERANCE,
                );
                let again = model.forward(&tokens).unwrap();
                assert_eq!(
                    bits(&logits.to_vec()),
                    bits(&again.to_vec()),
                    "{what}: a repeat differs"
                );
            }
        }
    };
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn forward_of_tiny_gpt2_with_constant_dimensions() {
    let checkpoint = Checkpoint::read("tiny-gpt2");
    check_forward!(TinyModel, checkpoint, 64);
}

#[test]
fn forward_of_tiny_gpt2_with_dynamic_dimensions() {
    let checkpoint = Checkpoint::read("tiny-gpt2");
    check_forward!(DynModel, checkpoint, 64);
}

#[test]
fn forward_of_tiny_gpt2_hub_with_constant_dimensions() {
    let checkpoint = Checkpoint::read("tiny-gpt2-hub");
    check_forward!(HubModel, checkpoint, 48);
}

#[test]
fn forward_of_tiny_gpt2_hub_with_dynamic_dimensions() {
    let checkpoint = Checkpoint::read("tiny-gpt2-hub");
    check_forward!(DynModel, checkpoint, 48);
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    for checkpoint in Checkpoint::all() {
        for numerics in NUMERICS {
            let tokens =
                Tensor::<(Dyn, Dyn), i32>::from_slice(&[ROWS, LENGTH], &checkpoint.tokens).unwrap();
            let run = |threads| {
                let model: DynModel = checkpoint.load(1, 32, numerics, threads);
                bits(&model.forward(&tokens).unwrap().to_vec())
            };
            assert_eq!(run(1), run(2), "{} {numerics}", checkpoint.name);
        }
    }
}

#[test]
fn forward_of_every_length_up_to_all_positions() {
    let checkpoint = Checkpoint::read("tiny-gpt2-hub");
    let model: DynModel = checkpoint.load(1, 8, Numerics::Fast, 2);
    for length in 1..=checkpoint.reference.positions {
        let sequence = checkpoint.sequence(length as u64, length);
        let tokens = Tensor::<(Const<1>, Dyn), i32>::from_slice(&[1, length], &sequence).unwrap();
        let logits = model.forward(&tokens).unwrap();
        let expected = checkpoint.reference.run(&sequence).logits;
        assert_close(
            &format!("length {length}"),
            &logits.to_vec(),
            &expected,
            LOGIT_TOLERANCE,
        );
    }
}
