//! The bars of `quantize` and `perplexity` in a pseudo-terminal.
#![cfg(unix)]

mod support;

use std::io::Read;

use pty_process::blocking::{Command, open};
use support::{fixture, tales};

/// Everything that a program shows in a terminal until it ends.
fn shown(program: &str, arguments: &[&str]) -> String {
    let (pty, pts) = open().unwrap();
    pty.resize(pty_process::Size::new(24, 100)).unwrap();
    let command = Command::new(program)
        .args(arguments)
        .env("TERM", "xterm-256color")
        .env_remove("LINNET_CPU");
    let mut child = command.spawn(pts).unwrap();
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    // The other side is gone: an error on Linux, an end elsewhere.
    while let Ok(n) = (&pty).read(&mut buffer)
        && n > 0
    {
        text.extend(&buffer[..n]);
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(child.wait().unwrap().success(), "{text}");
    text
}

/// What is left where a person reads: the last line of each place.
fn last_part<'a>(text: &'a str, begins: &str) -> &'a str {
    let at = text.rfind(begins).unwrap_or_else(|| panic!("{text:?}"));
    &text[at..]
}

#[test]
fn perplexity_shows_how_far_it_is() {
    let (model, text) = (tales(), fixture("tales-heldout.txt"));
    let text = shown(
        env!("CARGO_BIN_EXE_perplexity"),
        &[
            "--model",
            model.to_str().unwrap(),
            "--text",
            text.to_str().unwrap(),
            "--context",
            "64",
            "--stride",
            "63",
        ],
    );
    assert!(text.contains(" tokens, perplexity "), "{text:?}");
    let result = last_part(&text, "perplexity      ");
    assert!(result.contains("bits per byte"), "{result:?}");
    assert!(
        !result.contains("tokens, perplexity"),
        "the bar is gone: {result:?}"
    );
}

#[test]
fn quantize_shows_how_far_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (tales(), folder.path().join("out"));
    let arguments = [
        "--model",
        model.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    let text = shown(
        env!("CARGO_BIN_EXE_quantize"),
        &[&arguments[..], &["--format", "int8"]].concat(),
    );
    assert!(text.contains("B/s"), "{text:?}");
    let result = last_part(&text, "all that is quantised");
    assert!(result.contains("The checkpoint: "), "{result:?}");
    assert!(!result.contains("B/s"), "the bar is gone: {result:?}");
}
