//! What gpt-oss' entries refuse, and what the message says. The caches keep what
//! they held.

mod gpt_oss_support;

use gpt_oss_support::{LOGIT_TOLERANCE, assert_close, golden, list, load_tiny, matrix};
use linnet_runtime::{Dyn, Numerics};

/// The message of a call of `prefill_packed` with a batch of 2 and 16 positions.
fn packed_error(
    tokens: &[i32],
    rows: &[i32],
    positions: &[i32],
    segments: &[i32],
    last: &[i32],
) -> String {
    let mut model = load_tiny("tiny-gpt-oss", 2, 16, Numerics::Fast);
    let result = model.prefill_packed::<Dyn>(
        &list(tokens),
        &list(rows),
        &list(positions),
        &list(segments),
        &list(last),
    );
    result.unwrap_err().to_string()
}

#[track_caller]
fn expect(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn a_segment_lies_in_one_row() {
    let message = packed_error(&[1, 2], &[0, 1], &[0, 1], &[4, 4], &[0, 1]);
    expect(
        &message,
        &[
            "prefill_packed",
            "packed(rows, positions, segments)",
            "segments is 4 at [0] and [1]",
            "rows is 0 and 1",
        ],
    );
}

#[test]
fn a_segment_has_consecutive_positions() {
    let message = packed_error(&[1, 2], &[0, 0], &[0, 2], &[0, 0], &[1, 0]);
    expect(
        &message,
        &[
            "positions is 0 and 2",
            "consecutive positions in ascending order",
        ],
    );
    let message = packed_error(&[1, 2], &[0, 0], &[1, 0], &[0, 0], &[1, 0]);
    expect(&message, &["positions is 1 and 0"]);
}

#[test]
fn a_row_takes_one_segment() {
    let message = packed_error(&[1, 2], &[1, 1], &[0, 1], &[0, 1], &[0, 1]);
    expect(
        &message,
        &[
            "rows is 1 at [0] of segment 0 and at [1] of segment 1",
            "one segment at a time",
        ],
    );
}

#[test]
fn values_out_of_range() {
    let message = packed_error(&[1, 320], &[0, 0], &[0, 1], &[0, 0], &[1, 0]);
    expect(&message, &["tokens is 320 at [1]", "Vocab = 320"]);
    let message = packed_error(&[1, 2], &[0, 2], &[0, 1], &[0, 1], &[1, 0]);
    expect(&message, &["rows is 2 at [1]", "Batch = 2"]);
    let message = packed_error(&[1, 2], &[0, 0], &[15, 16], &[0, 0], &[1, 0]);
    expect(&message, &["positions is 16 at [1]", "MaxSeq = 16"]);
    let message = packed_error(&[1, 2], &[0, 0], &[0, 1], &[0, 0], &[1, 2]);
    expect(&message, &["last is 2 at [1]", "P = 2"]);
    // Padding is checked too: its values must be values.
    let message = packed_error(&[1, -1], &[0, 0], &[0, 0], &[0, -1], &[0, 0]);
    expect(&message, &["tokens is -1 at [1]"]);
}

#[test]
fn an_empty_pack() {
    let message = packed_error(&[], &[], &[], &[], &[0, 0]);
    expect(&message, &["P > 0"]);
}

#[test]
fn lists_of_two_lengths() {
    let message = packed_error(&[1, 2], &[0], &[0, 1], &[0, 0], &[1, 0]);
    expect(&message, &["rows", "2", "1"]);
}

#[test]
fn steps_out_of_range() {
    let mut model = load_tiny("tiny-gpt-oss", 2, 16, Numerics::Fast);
    let mut step = |token: i32, position: i32| {
        model
            .step_packed::<Dyn>(
                &list(&[1]),
                &list(&[0]),
                &list(&[0]),
                &list(&[0]),
                &list(&[0, 0]),
                &matrix(&[&[0], &[token]]),
                &list(&[-1, position]),
            )
            .map(drop)
            .map_err(|e| e.to_string())
    };
    expect(
        &step(1, 16).unwrap_err(),
        &["step_positions is 16 at [1]", "MaxSeq = 16"],
    );
    expect(&step(1, -2).unwrap_err(), &["step_positions is -2 at [1]"]);
    expect(
        &step(320, 0).unwrap_err(),
        &["step_tokens is 320 at [1, 0]"],
    );
    step(1, -1).unwrap();
}

#[test]
fn a_refused_call_leaves_the_caches_as_they_were() {
    let golden = golden("tiny-gpt-oss");
    let mut model = load_tiny("tiny-gpt-oss", 1, 48, Numerics::Fast);
    model
        .prefill(&matrix::<Dyn, Dyn>(&[&golden.row(0)[..20]]), 0)
        .unwrap();
    let refused = model.prefill_packed::<Dyn>(
        &list(&[1, 2, 3]),
        &list(&[0, 0, 0]),
        &list(&[0, 1, 3]),
        &list(&[0, 0, 0]),
        &list(&[0]),
    );
    assert!(refused.is_err());
    let logits = model.decode(&matrix(&[&[golden.row(0)[20]]]), 20).unwrap();
    assert_close(
        "after it",
        &logits.to_vec(),
        golden.logits_at(0, 20),
        LOGIT_TOLERANCE,
    );
}
