//! `perplexity`: the figures against logits taken one by one, and what it refuses.

mod support;

use std::path::Path;
use std::process::Output;

use linnet_models::LoadOptions;
use serde_json::Value;
use support::{failure, fixture, program, run, stderr, stdout, tales};

fn perplexity(model: &Path, text: &Path, flags: &[&str]) -> Output {
    let mut command = program(env!("CARGO_BIN_EXE_perplexity"));
    command.arg("--model").arg(model).arg("--text").arg(text);
    run(command.args(flags), b"")
}

fn json(model: &Path, text: &Path, flags: &[&str]) -> Value {
    let output = perplexity(model, text, &[&["--json"], flags].concat());
    assert_eq!(
        stderr(&output),
        "",
        "there is no bar where there is no terminal"
    );
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// A beginning of the held-out tales, on a boundary of words.
fn beginning(n_bytes: usize) -> String {
    let text = std::fs::read_to_string(fixture("tales-heldout.txt")).unwrap();
    let end = text[..n_bytes].rfind(' ').unwrap();
    text[..end].to_owned()
}

/// The nats at every token but the first, each from all that comes before it
/// from `from(token)` on.
fn nats_by_hand(tokens: &[i32], from: impl Fn(usize) -> usize) -> f64 {
    let mut model = linnet_models::load_model("tales-gpt2", LoadOptions::default()).unwrap();
    let mut sum = 0.0;
    for at in 1..tokens.len() {
        let logits = model.prefill(&tokens[from(at)..at], 0).unwrap();
        let row = logits.row(0);
        let total: f64 = row.iter().map(|&x| f64::from(x).exp()).sum();
        sum += total.ln() - f64::from(row[tokens[at] as usize]);
    }
    sum
}

#[test]
fn the_figures_are_those_of_the_logits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.txt");
    let text = beginning(400);
    std::fs::write(&path, &text).unwrap();
    let model = linnet_models::load("tales-gpt2", LoadOptions::default()).unwrap();
    let tokens = model.tokenizer().encode(&text).unwrap();
    let n = tokens.len() - 1;
    let first = model.tokenizer().decode(&tokens[..1]).unwrap();
    assert!(text.starts_with(&first));

    // One window; windows of 32, where the tokens from 17 on are scored in the
    // second half of one; and windows without context kept.
    let window = |at: usize| if at < 32 { 0 } else { (at - 32) / 16 * 16 + 16 };
    let narrow = |at: usize| if at < 8 { 0 } else { at - 7 };
    for (flags, from) in [
        (&[][..], (&|_: usize| 0_usize) as &dyn Fn(usize) -> usize),
        (&["--context", "32"], &window),
        (&["--context", "32", "--stride", "16"], &window),
        (&["--context", "8", "--stride", "1"], &narrow),
    ] {
        let result = json(&tales(), &path, flags);
        let nats = nats_by_hand(&tokens, from);
        let close = |name: &str, expected: f64| {
            let found = result[name].as_f64().unwrap();
            // Sums of f32 logits in two orders.
            let error = (found / expected - 1.0).abs();
            assert!(
                error < 1e-5,
                "{flags:?} {name}: {found}, expected {expected}"
            );
        };
        assert_eq!(result["tokens"], n);
        assert_eq!(result["bytes"], text.len() - first.len());
        close("nats_per_token", nats / n as f64);
        close("perplexity", (nats / n as f64).exp());
        let bytes = (text.len() - first.len()) as f64;
        close("bits_per_byte", nats / std::f64::consts::LN_2 / bytes);
    }
}

#[test]
fn the_defaults_are_told_and_more_context_helps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.txt");
    std::fs::write(&path, beginning(6000)).unwrap();
    let long = json(&tales(), &path, &[]);
    assert_eq!(
        (&long["context"], &long["stride"]),
        (&512.into(), &256.into())
    );
    let short = json(&tales(), &path, &["--context", "16", "--threads", "1"]);
    assert_eq!(
        (&short["context"], &short["stride"]),
        (&16.into(), &8.into())
    );
    let of = |result: &Value| result["bits_per_byte"].as_f64().unwrap();
    assert!(of(&long) < of(&short));
    assert!(long["seconds"].as_f64().unwrap() > 0.0);
    let halves = json(&tales(), &path, &["--dtype", "bf16"]);
    assert!((of(&halves) / of(&long) - 1.0).abs() < 0.01);

    let text = stdout(&perplexity(&tales(), &path, &[]));
    let shown = format!(
        "perplexity      {:.4}\n",
        long["perplexity"].as_f64().unwrap()
    );
    assert!(text.starts_with(&shown), "{text}{shown}");
    assert!(
        text.contains("windows         512 tokens, one every 256\n"),
        "{text}"
    );
}

#[test]
fn gpt_oss_is_judged_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.txt");
    std::fs::write(&path, beginning(500)).unwrap();
    let result = json(Path::new("tales-gpt-oss"), &path, &["--context", "64"]);
    let bits = result["bits_per_byte"].as_f64().unwrap();
    // It has read such tales; random bytes would be 8 bits.
    assert!((1.0..4.0).contains(&bits), "{result}");
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.txt");
    let check = |content: &[u8], flags: &[&str], expected: &str| {
        std::fs::write(&path, content).unwrap();
        let message = failure(&perplexity(&tales(), &path, flags));
        assert!(message.contains(expected), "{message}");
    };
    check(b"", &[], "text.txt is empty");
    check(
        b"a",
        &[],
        "the text has 1 token, and the first is not predicted by anything",
    );
    check(
        b"so it was\xff\xfe",
        &[],
        "is not UTF-8: byte 9 begins no character",
    );
    check(
        b"once upon a time",
        &["--context", "513"],
        "room for 513 positions is asked for, but the model has 512 positions",
    );
    check(
        b"once upon a time",
        &["--context", "8", "--stride", "8"],
        "--stride is 8, but must be below the 8",
    );
    check(
        b"once upon a time",
        &["--stride", "600"],
        "must be below the 512 tokens of a window",
    );
    for flags in [["--context", "1"], ["--stride", "0"], ["--threads", "0"]] {
        check(b"once upon a time", &flags, "invalid value");
    }
    std::fs::remove_file(&path).unwrap();
    let message = failure(&perplexity(&tales(), &path, &[]));
    assert!(message.contains("cannot read "), "{message}");
    std::fs::write(&path, "once upon a time").unwrap();
    let message = failure(&perplexity(&fixture("tiny-gpt2"), &path, &[]));
    assert!(message.contains("no tokenizer in "), "{message}");
}
