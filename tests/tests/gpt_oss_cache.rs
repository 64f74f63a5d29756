//! gpt-oss' cached entries against the stored logits: the same tokens in any
//! order of calls result in the same logits.

mod gpt_oss_support;

use gpt_oss_support::{
    DynModel, Golden, LOGIT_TOLERANCE, NUMERICS, TINY, assert_close, fixture, forward, golden,
    list, load_as, load_tiny, matrix,
};
use linnet_runtime::{Block, Dyn, Numerics};

/// Positions in the caches: more than are used, so that entries that nothing
/// wrote are there to be ignored.
const MAX_SEQ: usize = 48;

fn decode(model: &mut DynModel, tokens: &[i32], pos: usize) -> Vec<f32> {
    let tokens: Vec<&[i32]> = tokens.chunks(1).collect();
    model.decode(&matrix(&tokens), pos as i32).unwrap().to_vec()
}

fn prefill(model: &mut DynModel, rows: &[&[i32]], pos: usize) -> Vec<f32> {
    model
        .prefill(&matrix::<Dyn, Dyn>(rows), pos as i32)
        .unwrap()
        .to_vec()
}

fn decode_rows(model: &mut DynModel, tokens: &[i32], positions: &[i32]) -> Vec<f32> {
    let tokens: Vec<&[i32]> = tokens.chunks(1).collect();
    model
        .decode_rows(&matrix(&tokens), &list(positions))
        .unwrap()
        .to_vec()
}

/// Prompts into slots, padded to the longest with token 0.
fn prefill_slots(model: &mut DynModel, prompts: &[(i32, &[i32])]) -> Vec<f32> {
    let longest = prompts.iter().map(|(_, p)| p.len()).max().unwrap();
    let padded: Vec<Vec<i32>> = prompts
        .iter()
        .map(|(_, prompt)| {
            let mut padded = prompt.to_vec();
            padded.resize(longest, 0);
            padded
        })
        .collect();
    let rows: Vec<&[i32]> = padded.iter().map(Vec::as_slice).collect();
    let slots: Vec<i32> = prompts.iter().map(|(slot, _)| *slot).collect();
    let lengths: Vec<i32> = prompts.iter().map(|(_, p)| p.len() as i32).collect();
    model
        .prefill_slots(&matrix::<Dyn, Dyn>(&rows), &list(&slots), &list(&lengths))
        .unwrap()
        .to_vec()
}

/// Checks the logits of every sequence after its token `at`.
#[track_caller]
fn check_all(golden: &Golden, what: &str, logits: &[f32], at: usize) {
    for (row, found) in logits.chunks_exact(golden.vocab).enumerate() {
        let what = format!("{what}, sequence {row} after token {at}");
        assert_close(&what, found, golden.logits_at(row, at), LOGIT_TOLERANCE);
    }
}

#[test]
fn prefill_then_decode_at_every_split() {
    for name in TINY {
        let golden = golden(name);
        for (numerics, splits) in [
            (Numerics::Exact, vec![1, 8, 9, 23]),
            (Numerics::Fast, (1..=golden.length).collect()),
        ] {
            let mut model = load_tiny(name, 2, MAX_SEQ, numerics);
            for split in splits {
                model.instance_mut().reset();
                let rows = [&golden.row(0)[..split], &golden.row(1)[..split]];
                let logits = prefill(&mut model, &rows, 0);
                check_all(
                    &golden,
                    &format!("{name} {numerics} prefill"),
                    &logits,
                    split - 1,
                );
                for at in split..golden.length {
                    let tokens = [golden.row(0)[at], golden.row(1)[at]];
                    let logits = decode(&mut model, &tokens, at);
                    let what = format!("{name} {numerics} decode after {split}");
                    check_all(&golden, &what, &logits, at);
                }
            }
        }
    }
}

#[test]
fn prefill_in_parts() {
    for name in TINY {
        let golden = golden(name);
        for numerics in NUMERICS {
            for parts in [vec![5, 1, 11, 7, 16], vec![7, 2, 8, 1, 22]] {
                let mut model = load_tiny(name, 2, MAX_SEQ, numerics);
                let mut pos = 0;
                for part in parts {
                    let rows = [0, 1].map(|row| &golden.row(row)[pos..pos + part]);
                    let logits = prefill(&mut model, &rows, pos);
                    pos += part;
                    check_all(
                        &golden,
                        &format!("{name} {numerics} parts"),
                        &logits,
                        pos - 1,
                    );
                }
            }
        }
    }
}

/// Both straddle their windows (8 and 16) at different steps.
#[test]
fn decode_rows_at_different_positions() {
    for name in TINY {
        let golden = golden(name);
        for numerics in NUMERICS {
            for (first, second) in [(1, 12), (6, 2), (15, 15)] {
                let mut model = load_tiny(name, 2, MAX_SEQ, numerics);
                let prompts = [&golden.row(0)[..first], &golden.row(1)[..second]];
                prefill_slots(&mut model, &[(0, prompts[0]), (1, prompts[1])]);
                let mut at = [first, second];
                while at[0] < golden.length && at[1] < golden.length {
                    let tokens = [golden.row(0)[at[0]], golden.row(1)[at[1]]];
                    let logits = decode_rows(&mut model, &tokens, &at.map(|at| at as i32));
                    for (row, found) in logits.chunks_exact(golden.vocab).enumerate() {
                        let what = format!("{name} {numerics} decode_rows at {at:?}, row {row}");
                        let expected = golden.logits_at(row, at[row]);
                        assert_close(&what, found, expected, LOGIT_TOLERANCE);
                    }
                    at = at.map(|at| at + 1);
                }
            }
        }
    }
}

#[test]
fn an_idle_row_keeps_what_it_holds() {
    let golden = golden("tiny-gpt-oss");
    for numerics in NUMERICS {
        let mut model = load_tiny("tiny-gpt-oss", 2, MAX_SEQ, numerics);
        prefill(&mut model, &[&golden.row(0)[..20], &golden.row(1)[..20]], 0);
        for at in 20..24 {
            let logits = decode_rows(&mut model, &[golden.row(0)[at], 7], &[at as i32, -1]);
            let expected = golden.logits_at(0, at);
            assert_close(
                "the other row",
                &logits[..golden.vocab],
                expected,
                LOGIT_TOLERANCE,
            );
        }
        let logits = decode_rows(&mut model, &[3, golden.row(1)[20]], &[-1, 20]);
        let expected = golden.logits_at(1, 20);
        assert_close(
            "the idle row",
            &logits[golden.vocab..],
            expected,
            LOGIT_TOLERANCE,
        );
    }
}

#[test]
fn prefill_slots_in_any_order_and_length() {
    for name in TINY {
        let golden = golden(name);
        for numerics in NUMERICS {
            let mut model = load_tiny(name, 4, MAX_SEQ, numerics);
            let longest = golden.row(1);
            for slots in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
                let lengths = [5, 19, 1, 33];
                let prompts: Vec<(i32, &[i32])> = slots
                    .into_iter()
                    .zip(lengths.map(|n| &longest[..n]))
                    .collect();
                let logits = prefill_slots(&mut model, &prompts);
                for ((_, prompt), found) in prompts.iter().zip(logits.chunks_exact(golden.vocab)) {
                    let at = prompt.len() - 1;
                    let what = format!("{name} {numerics} slots {slots:?}, {} tokens", at + 1);
                    assert_close(&what, found, golden.logits_at(1, at), LOGIT_TOLERANCE);
                }
                // Each goes on in its row, at its own position.
                let mut tokens = [0; 4];
                let mut positions = [0; 4];
                for (slot, prompt) in &prompts {
                    tokens[*slot as usize] = longest[prompt.len()];
                    positions[*slot as usize] = prompt.len() as i32;
                }
                let logits = decode_rows(&mut model, &tokens, &positions);
                for (slot, prompt) in &prompts {
                    let found = &logits[*slot as usize * golden.vocab..][..golden.vocab];
                    let what = format!("{name} {numerics} step of slot {slot}");
                    assert_close(
                        &what,
                        found,
                        golden.logits_at(1, prompt.len()),
                        LOGIT_TOLERANCE,
                    );
                }
            }
            // What a slot that is not named holds stays.
            let prompt = &golden.row(0)[..9];
            prefill_slots(&mut model, &[(1, prompt)]);
            prefill_slots(&mut model, &[(2, &golden.row(1)[..30])]);
            let mut tokens = [0; 4];
            tokens[1] = golden.row(0)[9];
            let logits = decode_rows(&mut model, &tokens, &[-1, 9, -1, -1]);
            let expected = golden.logits_at(0, 9);
            assert_close(
                "a slot that is not named",
                &logits[golden.vocab..][..golden.vocab],
                expected,
                LOGIT_TOLERANCE,
            );
        }
    }
}

#[test]
fn the_whole_cache_can_be_filled() {
    let golden = golden("tiny-gpt-oss");
    let mut model = load_tiny("tiny-gpt-oss", 2, golden.length, Numerics::Fast);
    let logits = prefill(&mut model, &[golden.row(0), golden.row(1)], 0);
    check_all(&golden, "a full prefill", &logits, golden.length - 1);
    let at = golden.length - 1;
    let logits = decode(&mut model, &[golden.row(0)[at], golden.row(1)[at]], at);
    check_all(&golden, "the last position again", &logits, at);
}

/// 600 tokens through the cache, in chunks and token by token, where the window
/// is 8 and YaRN turns slowly.
#[test]
fn a_long_sequence_through_the_cache() {
    let folder = fixture("tiny-gpt-oss");
    let golden = Golden::read(&folder, "long_tokens", "long_logits_tail");
    let mut model: DynModel = load_as(&folder, 1, 640, Numerics::Fast, 2);
    let tokens = golden.row(0);
    for (pos, chunk) in [(0, 256), (256, 256), (512, 80)] {
        prefill(&mut model, &[&tokens[pos..pos + chunk]], pos);
    }
    for (at, token) in tokens.iter().enumerate().skip(592) {
        let logits = decode(&mut model, &[*token], at);
        let what = format!("after token {at}");
        assert_close(&what, &logits, golden.logits_at(0, at), LOGIT_TOLERANCE);
    }
}

/// The trained model, token by token, as a chat runs it.
#[test]
fn forward_and_decode_of_the_trained_model_agree() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../models/checkpoints/tales-gpt-oss");
    let golden = Golden::read(&fixture("tales-gpt-oss"), "tokens", "logits_tail");
    let mut model: DynModel = load_as(&folder, 1, 256, Numerics::Fast, 2);
    let tokens = golden.row(0);
    let whole = forward(&model, tokens);
    prefill(&mut model, &[&tokens[..50]], 0);
    for (at, token) in tokens.iter().enumerate().skip(50) {
        let logits = decode(&mut model, &[*token], at);
        let expected = &whole[at * golden.vocab..][..golden.vocab];
        assert_close(
            &format!("after token {at}"),
            &logits,
            expected,
            LOGIT_TOLERANCE,
        );
    }
}
