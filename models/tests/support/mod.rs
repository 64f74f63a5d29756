//! Running the real programs.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A program with nothing of this machine's settings in its way.
pub fn program(path: &str) -> Command {
    let mut command = Command::new(path);
    for name in [
        "HF_HOME",
        "HF_HUB_CACHE",
        "HUGGINGFACE_HUB_CACHE",
        "HF_ENDPOINT",
        "HF_TOKEN",
        "HF_HUB_OFFLINE",
        "TRANSFORMERS_OFFLINE",
        "NO_COLOR",
        "LINNET_CPU",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs `chat` with these arguments and this on standard input.
pub fn chat(arguments: &[&str], input: &[u8]) -> Output {
    run(program(env!("CARGO_BIN_EXE_chat")).args(arguments), input)
}

/// Runs a program to its end.
pub fn run(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The program may end without reading everything.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// Standard output of a run that succeeded.
#[track_caller]
pub fn stdout(output: &Output) -> String {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(
        output.status.success(),
        "{:?}\n{}{}",
        output.status,
        text,
        stderr(output)
    );
    text
}

/// Standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Standard error of a run that failed as it should.
#[track_caller]
pub fn failure(output: &Output) -> String {
    assert!(
        !output.status.success(),
        "it succeeded: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(
        output.status.code().is_some(),
        "it crashed: {:?}",
        output.status
    );
    let message = stderr(output);
    assert!(!message.contains("panicked"), "{message}");
    message
}

/// One of the small checkpoints in the workspace's tests.
pub fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/fixtures")
        .join(name)
}

/// The folder of the files of tales-gpt2.
pub fn tales() -> PathBuf {
    bundled("tales-gpt2")
}

/// The folder of a bundled model's files.
pub fn bundled(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("checkpoints")
        .join(name)
}
