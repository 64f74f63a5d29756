//! `chat` without a terminal: `--prompt`, pipes, and the messages of what is wrong.

mod support;

use std::io::Read;
use std::process::Stdio;

use support::{chat, failure, fixture, program, run, stderr, stdout, tales};

const BEGINNING: &str = "Once upon a time there was a King";

fn greedy(n: &'static str) -> Vec<&'static str> {
    vec!["--prompt", BEGINNING, "--greedy", "--max-tokens", n]
}

#[test]
fn a_prompt_is_continued_and_nothing_else_is_printed() {
    let output = chat(&greedy("40"), b"");
    let text = stdout(&output);
    assert_eq!(stderr(&output), "");
    assert!(text.ends_with('\n'));
    // Words of a fairy tale, at least a sentence's worth.
    assert!(text.split_whitespace().count() > 15, "{text}");
    let words = [
        "the", "and", "a", "he", "was", "to", "his", "who", "had", "of",
    ];
    let known = text
        .split_whitespace()
        .filter(|word| words.contains(word))
        .count();
    assert!(known >= 5, "{text}");
    assert_eq!(stdout(&chat(&greedy("40"), b"")), text);
}

#[test]
fn a_pipe_is_a_prompt() {
    let expected = stdout(&chat(&greedy("12"), b""));
    let line = format!("{BEGINNING}\n");
    let flags = ["--greedy", "--max-tokens", "12"];
    assert_eq!(stdout(&chat(&flags, line.as_bytes())), expected);
    let dash = [&flags[..], &["--prompt", "-"]].concat();
    assert_eq!(stdout(&chat(&dash, line.as_bytes())), expected);
}

#[test]
fn a_seed_repeats_the_text() {
    let text = |seed: &'static str| {
        stdout(&chat(
            &["--prompt", BEGINNING, "--max-tokens", "20", "--seed", seed],
            b"",
        ))
    };
    assert_eq!(text("7"), text("7"));
    assert_ne!(text("7"), text("8"));
}

#[test]
fn threads_and_numerics_choose_the_same_words() {
    let expected = stdout(&chat(&greedy("8"), b""));
    for flags in [
        &["--threads", "1"][..],
        &["--threads", "2"],
        &["--numerics", "exact"],
    ] {
        let arguments = [&greedy("8")[..], flags].concat();
        assert_eq!(stdout(&chat(&arguments, b"")), expected, "{flags:?}");
    }
    for dtype in ["f32", "bf16", "f16"] {
        let arguments = [&greedy("8")[..], &["--dtype", dtype]].concat();
        assert!(stdout(&chat(&arguments, b"")).len() > 10, "{dtype}");
    }
}

#[test]
fn statistics_are_on_standard_error() {
    let quiet = stdout(&chat(&greedy("10"), b""));
    let output = chat(&[&greedy("10")[..], &["--stats"]].concat(), b"");
    assert_eq!(stdout(&output), quiet);
    let line = stderr(&output);
    for part in [
        "[load ",
        "first token after ",
        "10 tokens in ",
        " tokens/s)",
        "peak memory ",
    ] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn a_stop_string_ends_the_text() {
    let whole = stdout(&chat(&greedy("40"), b""));
    let word = whole.split_whitespace().nth(6).unwrap();
    let text = stdout(&chat(&[&greedy("40")[..], &["--stop", word]].concat(), b""));
    assert_eq!(
        text.trim_end(),
        whole[..whole.find(word).unwrap()].trim_end()
    );
    assert!(!text.contains(word));
}

#[test]
fn an_empty_prompt_begins_a_tale() {
    for arguments in [&["--prompt", ""][..], &[]] {
        let arguments = [arguments, &["--greedy", "--max-tokens", "10"]].concat();
        assert!(stdout(&chat(&arguments, b"")).trim().len() > 10);
    }
}

#[test]
fn more_text_than_positions() {
    let arguments = [
        "--greedy",
        "--max-tokens",
        "600",
        "--context",
        "64",
        "--prompt",
        BEGINNING,
    ];
    let output = chat(&arguments, b"");
    assert!(stdout(&output).split_whitespace().count() > 100);
    assert!(
        stderr(&output).contains("longer than the model's 64 positions"),
        "{}",
        stderr(&output)
    );

    let long = "The King rode out to the forest. ".repeat(3000);
    let output = chat(&["--greedy", "--max-tokens", "5"], long.as_bytes());
    assert!(stdout(&output).trim().len() > 3);
    assert!(
        stderr(&output).contains("were forgotten on the way"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_reader_that_has_enough_ends_it_quietly() {
    let mut child = program(env!("CARGO_BIN_EXE_chat"))
        .args(["--prompt", BEGINNING, "--max-tokens", "100000"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 20]).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(0), "")
    );
}

#[test]
fn a_folder_is_a_model() {
    let expected = stdout(&chat(&greedy("12"), b""));
    let folder = tales();
    let arguments = [&greedy("12")[..], &["--model", folder.to_str().unwrap()]].concat();
    assert_eq!(stdout(&chat(&arguments, b"")), expected);
}

#[test]
fn flags_out_of_range_are_refused() {
    let cases: [(&[&str], &str); 12] = [
        (
            &["--temperature", "-1"],
            "the temperature is -1, but must be 0",
        ),
        (&["--temperature", "nan"], "the temperature is NaN"),
        (
            &["--top-p", "0"],
            "top-p is 0, but must be above 0 and at most 1",
        ),
        (&["--top-p", "1.5"], "top-p is 1.5"),
        (&["--min-p", "2"], "min-p is 2, but must be from 0 to 1"),
        (
            &["--repetition-penalty", "0.5"],
            "the repetition penalty is 0.5, but must be at least 1",
        ),
        (&["--stop", ""], "a stop string is empty"),
        (&["--threads", "0"], "0 is not in 1..=65535"),
        (&["--context", "0"], "0 is not in 1.."),
        (&["--top-k", "-3"], "unexpected argument '-3'"),
        (
            &["--dtype", "int8"],
            "possible values: auto, f32, bf16, f16",
        ),
        (&["--greedy", "--temperature", "1"], "cannot be used with"),
    ];
    for (flags, expected) in cases {
        let message = failure(&chat(&[&["--prompt", "x"], flags].concat(), b""));
        assert!(message.contains(expected), "{flags:?}: {message}");
    }
}

#[test]
fn models_that_are_not_there() {
    let message = |model: &str| failure(&chat(&["--prompt", "x", "--model", model], b""));
    let text = message("no-such-model");
    assert!(text.contains("no model \"no-such-model\""), "{text}");
    assert!(text.contains("tales-gpt2"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let text = message(folder.path().to_str().unwrap());
    assert!(text.contains("it has no config.json"), "{text}");
    let text = message(tales().join("config.json").to_str().unwrap());
    assert!(text.contains("is a file"), "{text}");
    let text = message("./not/a/folder");
    assert!(text.contains("no model \"./not/a/folder\""), "{text}");
}

#[test]
fn a_checkpoint_without_a_tokenizer_says_so() {
    let folder = fixture("tiny-gpt2");
    let message = failure(&chat(
        &["--prompt", "x", "--model", folder.to_str().unwrap()],
        b"",
    ));
    assert!(message.contains("no tokenizer in "), "{message}");
    assert!(
        message.contains("neither tokenizer.json nor vocab.json with merges.txt"),
        "{message}"
    );
}

#[test]
fn a_tokenizer_of_another_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["config.json", "model.safetensors"] {
        std::fs::copy(fixture("tiny-gpt2").join(name), folder.path().join(name)).unwrap();
    }
    std::fs::copy(
        tales().join("tokenizer.json"),
        folder.path().join("tokenizer.json"),
    )
    .unwrap();
    let model = folder.path().to_str().unwrap();
    let message = failure(&chat(&["--prompt", "x", "--model", model], b""));
    assert!(
        message.contains("ids up to 4095, the model only has embeddings for 0 to 256"),
        "{message}"
    );
}

#[test]
fn nan_in_the_weights_is_reported_when_sampling() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["config.json", "tokenizer.json"] {
        std::fs::copy(tales().join(name), folder.path().join(name)).unwrap();
    }
    let mut bytes = std::fs::read(tales().join("model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let name = file
        .names()
        .into_iter()
        .find(|name| name.ends_with("ln_f.bias"))
        .unwrap();
    let tensor = file.tensor(name).unwrap();
    assert_eq!(tensor.dtype(), safetensors::Dtype::F16);
    let at = tensor.data().as_ptr().addr() - bytes.as_ptr().addr();
    bytes[at..at + 2].copy_from_slice(&0x7e00u16.to_le_bytes());
    std::fs::write(folder.path().join("model.safetensors"), bytes).unwrap();
    let model = folder.path().to_str().unwrap();
    for flags in [&["--greedy"][..], &[]] {
        let message = failure(&chat(
            &[&["--prompt", "x", "--model", model], flags].concat(),
            b"",
        ));
        assert!(message.contains("4096 of 4096 logits are NaN"), "{message}");
        assert!(message.contains("the weights hold NaN"), "{message}");
    }
}

#[test]
fn another_architecture_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("config.json"),
        r#"{"model_type": "llama"}"#,
    )
    .unwrap();
    let model = folder.path().to_str().unwrap();
    let message = failure(&chat(&["--prompt", "x", "--model", model], b""));
    assert!(
        message.contains("model_type is \"llama\", which is not supported"),
        "{message}"
    );
    std::fs::write(folder.path().join("config.json"), "{}").unwrap();
    let message = failure(&chat(&["--prompt", "x", "--model", model], b""));
    assert!(message.contains("it has no model_type"), "{message}");
}

#[test]
fn offline_says_what_is_needed() {
    let cache = tempfile::tempdir().unwrap();
    let run_offline = |flag: &str, variable: &str| {
        let mut command = program(env!("CARGO_BIN_EXE_chat"));
        command.args(["--prompt", "x", "--model", "openai-community/gpt2"]);
        command.env("HF_HOME", cache.path());
        if !flag.is_empty() {
            command.arg(flag);
        }
        if !variable.is_empty() {
            command.env(variable, "1");
        }
        failure(&run(&mut command, b""))
    };
    for (flag, variable) in [("--offline", ""), ("", "HF_HUB_OFFLINE")] {
        let message = run_offline(flag, variable);
        for part in [
            "openai-community/gpt2 is not complete in the cache",
            "it lacks config.json, model.safetensors",
            "hf download openai-community/gpt2",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }
}

#[test]
fn input_that_is_no_text() {
    let message = failure(&chat(&[], b"Once \xFF upon"));
    assert!(
        message.contains("standard input is not UTF-8 text: byte 5"),
        "{message}"
    );
}

#[test]
fn help_has_examples() {
    let text = stdout(&chat(&["--help"], b""));
    for part in [
        "Examples:",
        "--prompt",
        "HF_HUB_OFFLINE",
        "Sampling:",
        "openai-community/gpt2",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(stdout(&chat(&["--version"], b"")).starts_with("chat "));
}
