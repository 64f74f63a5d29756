//! gpt-oss' packed entries: prompts side by side, in chunks, beside other rows'
//! steps. Each request gets what it gets alone.

mod gpt_oss_support;

use gpt_oss_support::{
    DynModel, LOGIT_TOLERANCE, NUMERICS, Random, TINY, assert_close, forward, golden, list,
    load_tiny, matrix,
};
use linnet_runtime::{Block, Dyn, Numerics};
use proptest::prelude::*;

const MAX_SEQ: usize = 40;

/// Tokens of several prompts side by side.
#[derive(Debug, Default, Clone)]
struct Pack {
    tokens: Vec<i32>,
    rows: Vec<i32>,
    positions: Vec<i32>,
    segments: Vec<i32>,
}

impl Pack {
    /// Adds tokens of a row from `position` on; gives the place of the last.
    fn push(&mut self, row: usize, position: usize, tokens: &[i32]) -> i32 {
        let segment = self.segments.iter().max().map_or(0, |max| (max + 1).max(0));
        for (i, &token) in tokens.iter().enumerate() {
            self.tokens.push(token);
            self.rows.push(row as i32);
            self.positions.push((position + i) as i32);
            self.segments.push(segment);
        }
        self.tokens.len() as i32 - 1
    }

    /// Adds `n` tokens of padding that name a row that may be live.
    fn pad(&mut self, n: usize, row: usize) {
        for i in 0..n {
            self.tokens.push(1);
            self.rows.push(row as i32);
            self.positions.push(i as i32);
            self.segments.push(-1);
        }
    }
}

fn prefill_packed(model: &mut DynModel, pack: &Pack, last: &[i32]) -> Vec<f32> {
    model
        .prefill_packed::<Dyn>(
            &list(&pack.tokens),
            &list(&pack.rows),
            &list(&pack.positions),
            &list(&pack.segments),
            &list(last),
        )
        .unwrap()
        .to_vec()
}

fn step_packed(
    model: &mut DynModel,
    pack: &Pack,
    last: &[i32],
    step_tokens: &[i32],
    step_positions: &[i32],
) -> Vec<f32> {
    let step_tokens: Vec<&[i32]> = step_tokens.chunks(1).collect();
    model
        .step_packed::<Dyn>(
            &list(&pack.tokens),
            &list(&pack.rows),
            &list(&pack.positions),
            &list(&pack.segments),
            &list(last),
            &matrix(&step_tokens),
            &list(step_positions),
        )
        .unwrap()
        .to_vec()
}

#[test]
fn packs_of_one_to_eight_prompts_with_empty_rows_and_padding() {
    for name in TINY {
        let golden = golden(name);
        for numerics in NUMERICS {
            let mut model = load_tiny(name, 8, MAX_SEQ, numerics);
            for prompts in 1..=8 {
                model.instance_mut().reset();
                let mut random = Random(prompts as u64);
                let mut pack = Pack::default();
                let mut last = [0; 8];
                let mut lengths = [0; 8];
                for i in 0..prompts {
                    // Rows in an order that is not that of the pack.
                    let row = (i * 3 + prompts) % 8;
                    lengths[row] = random.below(20) + 1;
                    last[row] = pack.push(row, 0, &golden.row(i % 2)[..lengths[row]]);
                    pack.pad(random.below(3), random.below(8));
                }
                let logits = prefill_packed(&mut model, &pack, &last);
                for i in 0..prompts {
                    let row = (i * 3 + prompts) % 8;
                    assert_close(
                        &format!("{name} {numerics} pack of {prompts}, row {row}"),
                        &logits[row * golden.vocab..][..golden.vocab],
                        golden.logits_at(i % 2, lengths[row] - 1),
                        LOGIT_TOLERANCE,
                    );
                }
            }
        }
    }
}

#[test]
fn a_prompt_in_chunks_beside_others() {
    for name in TINY {
        let golden = golden(name);
        for numerics in NUMERICS {
            let mut model = load_tiny(name, 3, MAX_SEQ, numerics);
            let mut at = [0; 3];
            // Row 0 in chunks that straddle the windows, row 2 joins later.
            for chunks in [[5, 0, 0], [6, 3, 0], [1, 0, 9], [12, 8, 1], [9, 1, 20]] {
                let mut pack = Pack::default();
                let mut last = [0; 3];
                for row in [2, 0, 1] {
                    if chunks[row] > 0 {
                        let tokens = &golden.row(row % 2)[at[row]..at[row] + chunks[row]];
                        last[row] = pack.push(row, at[row], tokens);
                        at[row] += chunks[row];
                    }
                }
                pack.pad(2, 0);
                let logits = prefill_packed(&mut model, &pack, &last);
                for row in 0..3 {
                    if chunks[row] > 0 {
                        assert_close(
                            &format!("{name} {numerics} chunks {chunks:?}, row {row}"),
                            &logits[row * golden.vocab..][..golden.vocab],
                            golden.logits_at(row % 2, at[row] - 1),
                            LOGIT_TOLERANCE,
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn rows_step_while_others_join() {
    for name in TINY {
        let golden = golden(name);
        for numerics in NUMERICS {
            let mut model = load_tiny(name, 3, MAX_SEQ, numerics);
            let mut pack = Pack::default();
            let last = pack.push(1, 0, &golden.row(1)[..7]);
            prefill_packed(&mut model, &pack, &[0, last, 0]);
            // Row 0 joins in chunks of 4 while row 1 steps; row 2 is empty and
            // gets a step of a token that means nothing.
            for round in 0..6 {
                let (chunk, step) = (4 * round, 7 + round);
                let mut pack = Pack::default();
                let last = pack.push(0, chunk, &golden.row(0)[chunk..chunk + 4]);
                pack.pad(1, 1);
                let logits = step_packed(
                    &mut model,
                    &pack,
                    &[last, 0, 0],
                    &[0, golden.row(1)[step], 5],
                    // Row 0's prompt is in the pack: whatever its step says is not done.
                    &[2, step as i32, round as i32],
                );
                let row = |i: usize| &logits[i * golden.vocab..][..golden.vocab];
                let what = format!("{name} {numerics} round {round}");
                let expected = golden.logits_at(0, chunk + 3);
                assert_close(
                    &format!("{what}, prompt"),
                    row(0),
                    expected,
                    LOGIT_TOLERANCE,
                );
                let expected = golden.logits_at(1, step);
                assert_close(
                    &format!("{what}, step"),
                    row(3 + 1),
                    expected,
                    LOGIT_TOLERANCE,
                );
            }
        }
    }
}

/// A request of a random schedule.
#[derive(Debug, Clone)]
struct Request {
    prompt: Vec<i32>,
    steps: usize,
    chunk: usize,
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request = (
        prop::collection::vec(0..200i32, 1..16),
        1..8usize,
        1..9usize,
    )
        .prop_map(|(prompt, steps, chunk)| Request {
            prompt,
            steps,
            chunk,
        });
    prop::collection::vec(request, 1..7)
}

/// The best token, and whether it is well ahead of the second: where it is not,
/// the order of a sum may decide.
fn best(logits: &[f32]) -> (i32, bool) {
    let mut first = 0;
    for (i, logit) in logits.iter().enumerate() {
        if *logit > logits[first] {
            first = i;
        }
    }
    let second = logits
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != first)
        .map(|(_, logit)| *logit)
        .fold(f32::NEG_INFINITY, f32::max);
    (first as i32, logits[first] - second > 1e-3)
}

/// What a request gets alone: its tokens, and for each whether it is decided.
fn alone(model: &DynModel, request: &Request) -> Vec<(i32, bool)> {
    let mut tokens = request.prompt.clone();
    let mut written = Vec::new();
    let vocab = forward(model, &tokens[..1]).len();
    for _ in 0..request.steps {
        let logits = forward(model, &tokens);
        let next = best(&logits[logits.len() - vocab..]);
        written.push(next);
        tokens.push(next.0);
    }
    written
}

/// A request in a row of the cache.
struct Running {
    request: usize,
    /// Tokens of the prompt that are in the cache.
    joined: usize,
    written: Vec<i32>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_schedules_give_each_request_what_it_gets_alone(
        requests in requests(),
        seed in any::<u64>(),
    ) {
        const ROWS: usize = 3;
        let name = TINY[seed as usize % 2];
        let mut model = load_tiny(name, ROWS, MAX_SEQ, Numerics::Fast);
        let expected: Vec<_> = requests.iter().map(|request| alone(&model, request)).collect();
        let mut random = Random(seed);
        let mut waiting: Vec<usize> = (0..requests.len()).collect();
        let mut rows: [Option<Running>; ROWS] = [const { None }; ROWS];
        let mut finished = vec![Vec::new(); requests.len()];
        while !waiting.is_empty() || rows.iter().any(Option::is_some) {
            // Some requests join rows that are free.
            for row in &mut rows {
                if row.is_none() && !waiting.is_empty() && random.below(2) == 0 {
                    let request = waiting.remove(random.below(waiting.len()));
                    *row = Some(Running { request, joined: 0, written: Vec::new() });
                }
            }
            let mut pack = Pack::default();
            let mut last = [0; ROWS];
            let mut step_tokens = [0; ROWS];
            let mut step_positions = [-1; ROWS];
            let mut joins = [false; ROWS];
            for (i, row) in rows.iter_mut().enumerate() {
                let Some(running) = row else { continue };
                let request = &requests[running.request];
                let rest = &request.prompt[running.joined..];
                if rest.is_empty() {
                    step_tokens[i] = *running.written.last().unwrap();
                    step_positions[i] = (request.prompt.len() + running.written.len() - 1) as i32;
                } else if random.below(4) > 0 {
                    let chunk = &rest[..rest.len().min(request.chunk)];
                    last[i] = pack.push(i, running.joined, chunk);
                    running.joined += chunk.len();
                    joins[i] = true;
                    pack.pad(random.below(2), random.below(ROWS));
                }
            }
            let vocab;
            let (prompts, steps) = if pack.tokens.is_empty() {
                let tokens: Vec<&[i32]> = step_tokens.chunks(1).collect();
                let logits = model
                    .decode_rows(&matrix(&tokens), &list(&step_positions))
                    .unwrap()
                    .to_vec();
                vocab = logits.len() / ROWS;
                (Vec::new(), logits)
            } else if random.below(2) == 0 {
                let mut logits =
                    step_packed(&mut model, &pack, &last, &step_tokens, &step_positions);
                vocab = logits.len() / (2 * ROWS);
                let steps = logits.split_off(ROWS * vocab);
                (logits, steps)
            } else {
                // The prompts alone: those who would step wait a round.
                step_positions = [-1; ROWS];
                let logits = prefill_packed(&mut model, &pack, &last);
                vocab = logits.len() / ROWS;
                (logits, Vec::new())
            };
            for (i, row) in rows.iter_mut().enumerate() {
                let Some(running) = row else { continue };
                let request = &requests[running.request];
                if joins[i] && running.joined == request.prompt.len() {
                    running.written.push(best(&prompts[i * vocab..][..vocab]).0);
                } else if step_positions[i] >= 0 {
                    running.written.push(best(&steps[i * vocab..][..vocab]).0);
                }
                if running.written.len() == request.steps {
                    finished[running.request] = std::mem::take(&mut running.written);
                    *row = None;
                }
            }
        }
        for (request, (found, expected)) in finished.iter().zip(&expected).enumerate() {
            for (at, (token, (alone, decided))) in found.iter().zip(expected).enumerate() {
                // From a near tie on, the two may part.
                if !decided {
                    break;
                }
                prop_assert_eq!(token, alone, "{} request {} token {}", name, request, at);
            }
            prop_assert_eq!(found.len(), requests[request].steps);
        }
    }
}
