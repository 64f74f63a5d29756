//! GPT-2's cached entries against `forward`: the same tokens in any order of
//! calls result in the same logits.

mod gpt2_support;

use gpt2_support::{
    Checkpoint, DynModel, LENGTH, LOGIT_TOLERANCE, NUMERICS, ROWS, assert_close, list, matrix,
};
use linnet_runtime::{Block, Dyn, ErasedTensor, Numerics, Tensor};

/// Positions in the caches of the models here: more than are used, so that
/// entries that nothing wrote are there to be ignored.
const MAX_SEQ: usize = 32;

fn decode(model: &mut DynModel, tokens: &[i32], pos: usize) -> Vec<f32> {
    let tokens: Vec<&[i32]> = tokens.chunks(1).collect();
    model.decode(&matrix(&tokens), pos as i32).unwrap().to_vec()
}

fn decode_rows(model: &mut DynModel, tokens: &[i32], positions: &[usize]) -> Vec<f32> {
    let tokens: Vec<&[i32]> = tokens.chunks(1).collect();
    let positions: Vec<i32> = positions.iter().map(|p| *p as i32).collect();
    model
        .decode_rows(&matrix(&tokens), &list(&positions))
        .unwrap()
        .to_vec()
}

fn prefill(model: &mut DynModel, rows: &[&[i32]], pos: usize) -> Vec<f32> {
    model
        .prefill(&matrix::<Dyn, Dyn>(rows), pos as i32)
        .unwrap()
        .to_vec()
}

/// Prompts into slots, padded to the longest with token 0.
fn prefill_slots(model: &mut DynModel, prompts: &[(usize, &[i32])]) -> Vec<f32> {
    let longest = prompts
        .iter()
        .map(|(_, prompt)| prompt.len())
        .max()
        .unwrap();
    let padded: Vec<Vec<i32>> = prompts
        .iter()
        .map(|(_, prompt)| {
            let mut padded = prompt.to_vec();
            padded.resize(longest, 0);
            padded
        })
        .collect();
    let rows: Vec<&[i32]> = padded.iter().map(Vec::as_slice).collect();
    let slots: Vec<i32> = prompts.iter().map(|(slot, _)| *slot as i32).collect();
    let lengths: Vec<i32> = prompts
        .iter()
        .map(|(_, prompt)| prompt.len() as i32)
        .collect();
    model
        .prefill_slots(&matrix::<Dyn, Dyn>(&rows), &list(&slots), &list(&lengths))
        .unwrap()
        .to_vec()
}

/// Checks the logits of every sequence after its token `at`.
#[track_caller]
fn check_all(checkpoint: &Checkpoint, what: &str, logits: &[f32], at: usize) {
    for (row, found) in logits.chunks_exact(checkpoint.reference.vocab).enumerate() {
        let what = format!(
            "{} {what}, sequence {row} after token {at}",
            checkpoint.name
        );
        assert_close(&what, found, checkpoint.logits_at(row, at), LOGIT_TOLERANCE);
    }
}

fn column(checkpoint: &Checkpoint, at: usize) -> [i32; ROWS] {
    [checkpoint.row(0)[at], checkpoint.row(1)[at]]
}

#[test]
fn prefill_then_decode_at_every_split() {
    for checkpoint in Checkpoint::all() {
        for numerics in NUMERICS {
            let mut model: DynModel = checkpoint.load(ROWS, MAX_SEQ, numerics, 2);
            for split in 1..=LENGTH {
                model.instance_mut().reset();
                let rows = [&checkpoint.row(0)[..split], &checkpoint.row(1)[..split]];
                let logits = prefill(&mut model, &rows, 0);
                check_all(
                    &checkpoint,
                    &format!("{numerics} prefill of {split}"),
                    &logits,
                    split - 1,
                );
                for at in split..LENGTH {
                    let logits = decode(&mut model, &column(&checkpoint, at), at);
                    check_all(
                        &checkpoint,
                        &format!("{numerics} decode after {split}"),
                        &logits,
                        at,
                    );
                }
            }
        }
    }
}

#[test]
fn decode_from_the_first_token() {
    for checkpoint in Checkpoint::all() {
        let mut model: DynModel = checkpoint.load(ROWS, MAX_SEQ, Numerics::Fast, 1);
        for at in 0..LENGTH {
            let logits = decode(&mut model, &column(&checkpoint, at), at);
            check_all(&checkpoint, "decode", &logits, at);
        }
    }
}

#[test]
fn prefill_in_parts() {
    for checkpoint in Checkpoint::all() {
        for numerics in NUMERICS {
            let mut model: DynModel = checkpoint.load(ROWS, MAX_SEQ, numerics, 2);
            let mut pos = 0;
            for part in [5, 1, 11, 7] {
                let rows = [0, 1].map(|row| &checkpoint.row(row)[pos..pos + part]);
                let logits = prefill(&mut model, &rows, pos);
                pos += part;
                check_all(
                    &checkpoint,
                    &format!("{numerics} prefill in parts"),
                    &logits,
                    pos - 1,
                );
            }
        }
    }
}

#[test]
fn the_whole_cache_can_be_filled() {
    let checkpoint = Checkpoint::read("tiny-gpt2-hub");
    let mut model: DynModel = checkpoint.load(ROWS, LENGTH, Numerics::Fast, 2);
    let rows = [checkpoint.row(0), checkpoint.row(1)];
    let logits = prefill(&mut model, &rows, 0);
    check_all(&checkpoint, "a full prefill", &logits, LENGTH - 1);
    let logits = decode(&mut model, &column(&checkpoint, LENGTH - 1), LENGTH - 1);
    check_all(&checkpoint, "the last position again", &logits, LENGTH - 1);
}

#[test]
fn going_back_overwrites_what_follows() {
    let checkpoint = Checkpoint::read("tiny-gpt2");
    let mut model: DynModel = checkpoint.load(ROWS, MAX_SEQ, Numerics::Fast, 2);
    let other = checkpoint.sequence(7, LENGTH);
    prefill(&mut model, &[&other, &other], 0);
    let rows = [&checkpoint.row(0)[..3], &checkpoint.row(1)[..3]];
    let logits = prefill(&mut model, &rows, 0);
    check_all(&checkpoint, "a second prompt", &logits, 2);
    let logits = decode(&mut model, &column(&checkpoint, 3), 3);
    check_all(&checkpoint, "decode after a second prompt", &logits, 3);
}

#[test]
fn decode_rows_at_different_positions() {
    for checkpoint in Checkpoint::all() {
        for numerics in NUMERICS {
            for (first, second) in [(1, 12), (9, 2), (4, 4)] {
                let mut model: DynModel = checkpoint.load(ROWS, MAX_SEQ, numerics, 2);
                let prompts = [&checkpoint.row(0)[..first], &checkpoint.row(1)[..second]];
                prefill_slots(&mut model, &[(0, prompts[0]), (1, prompts[1])]);
                let mut at = [first, second];
                while at[0] < LENGTH && at[1] < LENGTH {
                    let tokens = [checkpoint.row(0)[at[0]], checkpoint.row(1)[at[1]]];
                    let logits = decode_rows(&mut model, &tokens, &at);
                    for (row, found) in logits.chunks_exact(checkpoint.reference.vocab).enumerate()
                    {
                        let what = format!(
                            "{} {numerics} decode_rows at {at:?}, row {row}",
                            checkpoint.name
                        );
                        let expected = checkpoint.logits_at(row, at[row]);
                        assert_close(&what, found, expected, LOGIT_TOLERANCE);
                    }
                    at = at.map(|at| at + 1);
                }
            }
        }
    }
}

#[test]
fn prefill_slots_in_any_order_and_length() {
    for checkpoint in Checkpoint::all() {
        let vocab = checkpoint.reference.vocab;
        for numerics in NUMERICS {
            let mut model: DynModel = checkpoint.load(4, MAX_SEQ, numerics, 2);
            for slots in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
                let sequences: Vec<Vec<i32>> = [5, 9, 1, 13]
                    .iter()
                    .zip(slots)
                    .map(|(n, slot)| checkpoint.sequence(slot as u64, n + 2))
                    .collect();
                let prompts: Vec<(usize, &[i32])> = slots
                    .into_iter()
                    .zip(&sequences)
                    .map(|(slot, sequence)| (slot, &sequence[..sequence.len() - 2]))
                    .collect();
                let logits = prefill_slots(&mut model, &prompts);
                let expected: Vec<Vec<f64>> = sequences
                    .iter()
                    .map(|sequence| checkpoint.reference.run(sequence).logits)
                    .collect();
                let name = format!("{} {numerics} slots {slots:?}", checkpoint.name);
                for (m, (slot, prompt)) in prompts.iter().enumerate() {
                    let found = &logits[m * vocab..][..vocab];
                    let expected = &expected[m][(prompt.len() - 1) * vocab..][..vocab];
                    assert_close(
                        &format!("{name}: slot {slot}"),
                        found,
                        expected,
                        LOGIT_TOLERANCE,
                    );
                }
                // Two more tokens in each row show that each cache row holds its own prompt.
                for more in 0..2 {
                    let mut tokens = [0; 4];
                    let mut positions = [0; 4];
                    for (slot, sequence) in slots.into_iter().zip(&sequences) {
                        positions[slot] = sequence.len() - 2 + more;
                        tokens[slot] = sequence[positions[slot]];
                    }
                    let logits = decode_rows(&mut model, &tokens, &positions);
                    for (m, slot) in slots.into_iter().enumerate() {
                        let found = &logits[slot * vocab..][..vocab];
                        let expected = &expected[m][positions[slot] * vocab..][..vocab];
                        let what = format!("{name}: slot {slot}, {more} tokens later");
                        assert_close(&what, found, expected, LOGIT_TOLERANCE);
                    }
                }
            }
        }
    }
}

#[test]
fn a_slot_is_reused_after_a_longer_prompt() {
    for checkpoint in Checkpoint::all() {
        let vocab = checkpoint.reference.vocab;
        for numerics in NUMERICS {
            let mut model: DynModel = checkpoint.load(2, MAX_SEQ, numerics, 2);
            let other = checkpoint.sequence(1, LENGTH);
            prefill_slots(&mut model, &[(1, checkpoint.row(1)), (0, &other)]);
            let mut logits = prefill_slots(&mut model, &[(0, &checkpoint.row(0)[..3])]);
            for at in 3..LENGTH {
                let what = format!(
                    "{} {numerics} reused slot after {at} tokens",
                    checkpoint.name
                );
                let expected = checkpoint.logits_at(0, at - 1);
                assert_close(&what, &logits[..vocab], expected, LOGIT_TOLERANCE);
                let tokens = [checkpoint.row(0)[at], checkpoint.row(1)[LENGTH - 1]];
                logits = decode_rows(&mut model, &tokens, &[at, LENGTH - 1]);
            }
        }
    }
}

fn caches(checkpoint: &Checkpoint, model: &DynModel) -> Vec<ErasedTensor> {
    let mut caches = Vec::new();
    for layer in 0..checkpoint.reference.layers {
        for cache in ["cache_k", "cache_v"] {
            let path = format!("blocks.{layer}.attn.{cache}");
            caches.push(model.instance().state(&path).unwrap());
        }
    }
    caches
}

#[test]
fn rows_without_a_request_are_left_alone() {
    for checkpoint in Checkpoint::all() {
        for numerics in NUMERICS {
            let mut model: DynModel = checkpoint.load(3, MAX_SEQ, numerics, 2);
            let before = checkpoint.sequence(3, 20);
            prefill_slots(&mut model, &[(0, &before), (1, &before), (2, &before)]);
            let old = caches(&checkpoint, &model);
            prefill_slots(&mut model, &[(1, &checkpoint.row(0)[..6])]);
            for (old, new) in old.iter().zip(caches(&checkpoint, &model)) {
                let row = old.len() / 3;
                let (old, new) = (
                    old.as_slice::<f32>().unwrap(),
                    new.as_slice::<f32>().unwrap(),
                );
                let what = format!("{} {numerics}", checkpoint.name);
                assert_eq!(old[..row], new[..row], "{what}: row 0");
                assert_ne!(old[row..2 * row], new[row..2 * row], "{what}: row 1");
                assert_eq!(old[2 * row..], new[2 * row..], "{what}: row 2");
            }
        }
    }
}

#[test]
fn no_sequences_are_no_logits() {
    let checkpoint = Checkpoint::read("tiny-gpt2");
    let vocab = checkpoint.reference.vocab;
    for numerics in NUMERICS {
        let mut model: DynModel = checkpoint.load(2, MAX_SEQ, numerics, 1);
        prefill(&mut model, &[&[1, 2], &[3, 4]], 0);
        let before = caches(&checkpoint, &model);
        let tokens = Tensor::<(Dyn, Dyn), i32>::from_slice(&[0, 3], &[]).unwrap();
        assert_eq!(model.forward(&tokens).unwrap().shape(), [0, 3, vocab]);
        let logits = model
            .prefill_slots(&tokens, &list(&[]), &list(&[]))
            .unwrap();
        assert_eq!(logits.shape(), [0, vocab]);
        assert_eq!(caches(&checkpoint, &model), before);
    }
}

#[test]
fn reset_empties_the_caches() {
    let checkpoint = Checkpoint::read("tiny-gpt2");
    let mut model: DynModel = checkpoint.load(1, MAX_SEQ, Numerics::Fast, 1);
    prefill(&mut model, &[checkpoint.row(0)], 0);
    assert!(
        caches(&checkpoint, &model)[0]
            .as_slice::<f32>()
            .unwrap()
            .iter()
            .any(|v| *v != 0.0)
    );
    model.instance_mut().reset();
    for cache in caches(&checkpoint, &model) {
        assert!(cache.as_slice::<f32>().unwrap().iter().all(|v| *v == 0.0));
    }
}
