//! What GPT-2's entries say about input that they cannot compute with, and
//! that they leave the caches as they were.

mod gpt2_support;

use gpt2_support::{Checkpoint, DynModel, list, matrix};
use linnet_runtime::{Block, Dyn, Numerics, Result};

/// A model of 2 rows and 16 positions whose caches hold something, and the
/// first of its caches.
fn model() -> (DynModel, Vec<f32>) {
    let checkpoint = Checkpoint::read("tiny-gpt2");
    let mut model: DynModel = checkpoint.load(2, 16, Numerics::Fast, 1);
    let rows = [&checkpoint.row(0)[..4], &checkpoint.row(1)[..4]];
    model.prefill(&matrix::<Dyn, Dyn>(&rows), 0).unwrap();
    let cache = cache(&model);
    (model, cache)
}

fn cache(model: &DynModel) -> Vec<f32> {
    let cache = model.instance().state("blocks.0.attn.cache_k").unwrap();
    cache.as_slice::<f32>().unwrap().to_vec()
}

/// Runs one call that must fail with `message`, and checks that the caches
/// hold what they held.
#[track_caller]
fn check<T>(call: impl FnOnce(&mut DynModel) -> Result<T>, message: &str) {
    let (mut model, before) = model();
    match call(&mut model) {
        Ok(_) => panic!("the call must fail with: {message}"),
        Err(error) => assert_eq!(error.to_string(), message),
    }
    assert_eq!(
        cache(&model),
        before,
        "a call that failed wrote to the caches"
    );
}

#[test]
fn token_past_the_vocabulary() {
    check(
        |model| model.forward(&matrix::<Dyn, Dyn>(&[&[1, 2, 257]])),
        "`gpt2::model::Model::forward`: tokens is 257 at [0, 2]: must be < Vocab = 257 (requires `tokens < Vocab`)",
    );
    check(
        |model| model.prefill(&matrix::<Dyn, Dyn>(&[&[1, 2], &[3, 9999]]), 4),
        "`gpt2::model::Model::prefill`: tokens is 9999 at [1, 1]: must be < Vocab = 257 (requires `tokens < Vocab`)",
    );
    check(
        |model| model.decode(&matrix(&[&[1], &[300]]), 4),
        "`gpt2::model::Model::decode`: token is 300 at [1, 0]: must be < Vocab = 257 (requires `token < Vocab`)",
    );
    check(
        |model| model.decode_rows(&matrix(&[&[257], &[0]]), &list(&[4, 4])),
        "`gpt2::model::Model::decode_rows`: tokens is 257 at [0, 0]: must be < Vocab = 257 (requires `tokens < Vocab`)",
    );
    check(
        |model| {
            model.prefill_slots(
                &matrix::<Dyn, Dyn>(&[&[1, i32::MAX]]),
                &list(&[0]),
                &list(&[2]),
            )
        },
        "`gpt2::model::Model::prefill_slots`: tokens is 2147483647 at [0, 1]: must be < Vocab = 257 (requires `tokens < Vocab`)",
    );
}

#[test]
fn negative_token() {
    check(
        |model| model.forward(&matrix::<Dyn, Dyn>(&[&[1, -1, 2]])),
        "`gpt2::model::Model::forward`: tokens is -1 at [0, 1]: must be >= 0 (requires `0 <= tokens`)",
    );
    check(
        |model| model.decode(&matrix(&[&[i32::MIN], &[0]]), 4),
        "`gpt2::model::Model::decode`: token is -2147483648 at [0, 0]: must be >= 0 (requires `0 <= token`)",
    );
}

#[test]
fn position_at_or_past_the_end() {
    for pos in [16, 17, i32::MAX] {
        check(
            |model| model.decode(&matrix(&[&[1], &[1]]), pos),
            &format!(
                "`gpt2::model::Model::decode` requires `pos < MaxSeq`, but pos is {pos} and MaxSeq is 16"
            ),
        );
    }
    check(
        |model| model.prefill(&matrix::<Dyn, Dyn>(&[&[1, 2], &[3, 4]]), 15),
        "`gpt2::model::Model::prefill` requires `pos + S <= MaxSeq`, but pos is 15 and S is 2 and MaxSeq is 16",
    );
    check(
        |model| model.prefill(&matrix::<Dyn, Dyn>(&[&[1, 2], &[3, 4]]), i32::MAX),
        "`gpt2::model::Model::prefill` requires `pos + S <= MaxSeq`, but pos is 2147483647 and S is 2 and MaxSeq is 16",
    );
    check(
        |model| model.decode_rows(&matrix(&[&[1], &[1]]), &list(&[3, 16])),
        "`gpt2::model::Model::decode_rows`: positions is 16 at [1]: must be < MaxSeq = 16 (requires `positions < MaxSeq`)",
    );
}

#[test]
fn negative_position() {
    check(
        |model| model.decode(&matrix(&[&[1], &[1]]), -1),
        "`gpt2::model::Model::decode` requires `0 <= pos`, but pos is -1",
    );
    check(
        |model| model.prefill(&matrix::<Dyn, Dyn>(&[&[1], &[2]]), i32::MIN),
        "`gpt2::model::Model::prefill` requires `0 <= pos`, but pos is -2147483648",
    );
    check(
        |model| model.decode_rows(&matrix(&[&[1], &[1]]), &list(&[-5, 0])),
        "`gpt2::model::Model::decode_rows`: positions is -5 at [0]: must be >= 0 (requires `0 <= positions`)",
    );
}

#[test]
fn slot_out_of_range() {
    check(
        |model| model.prefill_slots(&matrix::<Dyn, Dyn>(&[&[1, 2]]), &list(&[2]), &list(&[2])),
        "`gpt2::model::Model::prefill_slots`: slots is 2 at [0]: must be < Batch = 2 (requires `slots < Batch`)",
    );
    check(
        |model| model.prefill_slots(&matrix::<Dyn, Dyn>(&[&[1, 2]]), &list(&[-1]), &list(&[2])),
        "`gpt2::model::Model::prefill_slots`: slots is -1 at [0]: must be >= 0 (requires `0 <= slots`)",
    );
}

#[test]
fn slot_given_twice() {
    check(
        |model| {
            model.prefill_slots(
                &matrix::<Dyn, Dyn>(&[&[1, 2], &[3, 4]]),
                &list(&[1, 1]),
                &list(&[2, 1]),
            )
        },
        "`gpt2::model::Model::prefill_slots`: slots is 1 at both [0] and [1]: must be distinct (requires `distinct(slots)`)",
    );
}

#[test]
fn length_of_zero_or_past_the_prompt() {
    check(
        |model| model.prefill_slots(&matrix::<Dyn, Dyn>(&[&[1, 2]]), &list(&[1]), &list(&[0])),
        "`gpt2::model::Model::prefill_slots`: lengths is 0 at [0]: must be >= 1 (requires `1 <= lengths`)",
    );
    check(
        |model| {
            model.prefill_slots(
                &matrix::<Dyn, Dyn>(&[&[1, 2], &[3, 4]]),
                &list(&[1, 0]),
                &list(&[2, 3]),
            )
        },
        "`gpt2::model::Model::prefill_slots`: lengths is 3 at [1]: must be <= S = 2 (requires `lengths <= S`)",
    );
}

#[test]
fn empty_prompt() {
    check(
        |model| model.forward(&matrix::<Dyn, Dyn>(&[&[]])),
        "`gpt2::model::Model::forward` requires `S > 0`, but S is 0",
    );
    check(
        |model| model.prefill(&matrix::<Dyn, Dyn>(&[&[], &[]]), 4),
        "`gpt2::model::Model::prefill` requires `S > 0`, but S is 0",
    );
    check(
        |model| model.prefill_slots(&matrix::<Dyn, Dyn>(&[&[]]), &list(&[0]), &list(&[0])),
        "`gpt2::model::Model::prefill_slots` requires `S > 0`, but S is 0",
    );
}

#[test]
fn prompt_longer_than_the_positions() {
    let long = [0; 65];
    check(
        |model| model.forward(&matrix::<Dyn, Dyn>(&[&long])),
        "`gpt2::model::Model::forward` requires `S <= MaxPositions`, but S is 65 and MaxPositions is 64",
    );
    check(
        |model| {
            model.prefill_slots(
                &matrix::<Dyn, Dyn>(&[&long[..17]]),
                &list(&[0]),
                &list(&[1]),
            )
        },
        "`gpt2::model::Model::prefill_slots` requires `S <= MaxSeq`, but S is 17 and MaxSeq is 16",
    );
}

#[test]
fn wrong_batch() {
    check(
        |model| model.prefill(&matrix::<Dyn, Dyn>(&[&[1, 2], &[3, 4], &[5, 6]]), 4),
        "`gpt2::model::Model::prefill`: argument `tokens` must be Tensor[Batch, S; i32], found Tensor[3, 2; i32] (with Batch = 2, S = 2)",
    );
    check(
        |model| model.decode(&matrix(&[&[1]]), 4),
        "`gpt2::model::Model::decode`: argument `token` must be Tensor[Batch, 1; i32], found Tensor[1, 1; i32] (with Batch = 2)",
    );
    check(
        |model| model.decode_rows(&matrix(&[&[1], &[2]]), &list(&[4])),
        "`gpt2::model::Model::decode_rows`: argument `positions` must be Tensor[Batch; i32], found Tensor[1; i32] (with Batch = 2)",
    );
}

#[test]
fn one_slot_too_few() {
    check(
        |model| {
            model.prefill_slots(
                &matrix::<Dyn, Dyn>(&[&[1], &[2]]),
                &list(&[0]),
                &list(&[1, 1]),
            )
        },
        "`gpt2::model::Model::prefill_slots`: argument `slots` must be Tensor[M; i32], found Tensor[1; i32] (with M = 2 from `tokens`)",
    );
}

#[test]
fn more_positions_in_the_cache_than_in_the_model() {
    let checkpoint = Checkpoint::read("tiny-gpt2");
    let device = linnet_runtime::Device::cpu_with_threads(1).unwrap();
    let error = linnet_runtime::Instance::new(
        DynModel::DESCRIPTOR,
        &checkpoint.generics(1, 65),
        checkpoint.parameters(),
        &device,
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`Model` requires `MaxSeq <= MaxPositions`, but MaxSeq is 65 and MaxPositions is 64"
    );
}

#[test]
fn the_model_works_on_after_an_error() {
    let (mut model, _) = model();
    let good = |model: &mut DynModel| model.decode(&matrix(&[&[1], &[2]]), 4).unwrap().to_vec();
    let expected = good(&mut model);
    assert!(model.decode(&matrix(&[&[1], &[2]]), 16).is_err());
    assert!(model.decode(&matrix(&[&[1], &[999]]), 4).is_err());
    assert_eq!(good(&mut model), expected);
}
