//! `logits`: every entry writes the same numbers, and says what is wrong with its input.

mod support;

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use support::{failure, fixture, program, run, stderr, stdout};

const ENTRIES: [&str; 5] = [
    "forward",
    "prefill",
    "decode",
    "decode_rows",
    "prefill_slots",
];

/// The entries that gpt-oss has beside them.
const GPT_OSS_ENTRIES: [&str; 3] = ["next_token", "prefill_packed", "step_packed"];

/// The stored logits are f32 of another order of summation, of magnitude 1 to 10.
const TOLERANCE: f32 = 1e-4;

fn logits(model: &Path, tokens: &Path, out: &Path, flags: &[&str]) -> std::process::Output {
    let mut command = program(env!("CARGO_BIN_EXE_logits"));
    command
        .arg("--model")
        .arg(model)
        .arg("--tokens")
        .arg(tokens)
        .arg("--out")
        .arg(out)
        .args(flags);
    run(&mut command, b"")
}

fn read(path: &Path, name: &str) -> (Vec<usize>, Vec<f32>) {
    let bytes = std::fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensor = file.tensor(name).unwrap();
    assert_eq!(tensor.dtype(), Dtype::F32);
    let (values, _) = tensor.data().as_chunks();
    (
        tensor.shape().to_vec(),
        values.iter().map(|&b| f32::from_le_bytes(b)).collect(),
    )
}

fn write(path: &Path, name: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) {
    let view = TensorView::new(dtype, shape.to_vec(), bytes).unwrap();
    safetensors::serialize_to_file([(name, view)], None::<HashMap<String, String>>, path).unwrap();
}

fn write_i32(path: &Path, shape: &[usize], ids: &[i32]) {
    let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    write(path, "tokens", Dtype::I32, shape, &bytes);
}

#[track_caller]
fn assert_close(what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let difference = |i: &usize| (found[*i] - expected[*i]).abs();
    let worst = (0..found.len())
        .max_by(|a, b| difference(a).total_cmp(&difference(b)))
        .unwrap();
    assert!(
        difference(&worst) <= tolerance,
        "{what}: {} at {worst}, expected {}",
        found[worst],
        expected[worst]
    );
}

#[test]
fn every_entry_of_gpt_oss_agrees_with_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    for model in ["tiny-gpt-oss", "tiny-gpt-oss-sharded"] {
        let golden = fixture(model).join("golden.safetensors");
        let (shape, expected) = read(&golden, "logits");
        for entry in ENTRIES.into_iter().chain(GPT_OSS_ENTRIES) {
            let out = folder.path().join("out.safetensors");
            let output = logits(&fixture(model), &golden, &out, &["--entry", entry]);
            assert!(output.status.success(), "{}", stderr(&output));
            let (found_shape, found) = read(&out, "logits");
            assert_eq!(found_shape, shape);
            assert_close(&format!("{model} {entry}"), &found, &expected, 2e-4);
        }
    }
}

#[test]
fn an_entry_that_the_model_has_not() {
    let folder = tempfile::tempdir().unwrap();
    let golden = fixture("tiny-gpt2").join("golden.safetensors");
    let out = folder.path().join("out.safetensors");
    let output = logits(
        &fixture("tiny-gpt2"),
        &golden,
        &out,
        &["--entry", "step_packed"],
    );
    let message = failure(&output);
    assert!(
        message.contains("gpt2 has no entry step_packed"),
        "{message}"
    );
    assert!(!out.exists());
}

#[test]
fn every_entry_agrees_with_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    for model in ["tiny-gpt2", "tiny-gpt2-hub"] {
        let golden = fixture(model).join("golden.safetensors");
        let (shape, expected) = read(&golden, "logits");
        for entry in ENTRIES {
            let out = folder.path().join("out.safetensors");
            stdout(&logits(&fixture(model), &golden, &out, &["--entry", entry]));
            let (found_shape, found) = read(&out, "logits");
            assert_eq!(found_shape, shape);
            assert_close(&format!("{model} {entry}"), &found, &expected, TOLERANCE);
        }
    }
}

#[test]
fn numerics_threads_and_token_types() {
    let folder = tempfile::tempdir().unwrap();
    let model = fixture("tiny-gpt2");
    let golden = model.join("golden.safetensors");
    let out = folder.path().join("out.safetensors");
    let bytes = std::fs::read(&golden).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tokens = file.tensor("tokens").unwrap();
    let (values, _) = tokens.data().as_chunks();
    let ids: Vec<i32> = values.iter().map(|&b| i32::from_le_bytes(b)).collect();
    let (_, expected) = read(&golden, "logits");

    let wide: Vec<u8> = ids
        .iter()
        .flat_map(|&id| i64::from(id).to_le_bytes())
        .collect();
    let tokens_i64 = folder.path().join("tokens.safetensors");
    write(&tokens_i64, "tokens", Dtype::I64, tokens.shape(), &wide);
    for flags in [
        &[][..],
        &["--numerics", "exact"],
        &["--threads", "1"],
        &["--threads", "2"],
    ] {
        stdout(&logits(&model, &tokens_i64, &out, flags));
        assert_close(
            &format!("{flags:?}"),
            &read(&out, "logits").1,
            &expected,
            TOLERANCE,
        );
    }
    for dtype in ["bf16", "f16"] {
        stdout(&logits(&model, &golden, &out, &["--dtype", dtype]));
        // Three layers in bf16: eight bits of logits of magnitude 1 to 10.
        assert_close(dtype, &read(&out, "logits").1, &expected, 0.25);
    }
}

#[test]
fn the_result_has_a_new_files_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens.safetensors");
    let out = folder.path().join("out.safetensors");
    write_i32(&tokens, &[1, 1], &[5]);
    std::fs::write(&out, "old").unwrap();
    stdout(&logits(&fixture("tiny-gpt2"), &tokens, &out, &[]));
    assert_eq!(read(&out, "logits").0, [1, 1, 257]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&out), mode(&tokens));
    }
    let names = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(names, 2, "something temporary is left");
}

#[test]
fn tokens_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens.safetensors");
    let out = folder.path().join("out.safetensors");
    let message = || {
        let output = logits(&fixture("tiny-gpt2"), &tokens, &out, &[]);
        assert!(!out.exists());
        failure(&output)
    };
    let check = |expected: &str| {
        let message = message();
        assert!(message.contains(expected), "{message}");
    };
    check("cannot read ");
    std::fs::write(&tokens, "no tensors here").unwrap();
    check("is not a safetensors file");
    write(&tokens, "ids", Dtype::I32, &[1, 1], &[0; 4]);
    check("has no tensor `tokens`; it has [\"ids\"]");
    write(&tokens, "tokens", Dtype::F32, &[1, 1], &[0; 4]);
    check("has dtype F32, expected I32 or I64");
    write_i32(&tokens, &[3], &[1, 2, 3]);
    check("has shape [3], expected [B, S]");
    write_i32(&tokens, &[2, 0], &[]);
    check("has shape [2, 0], expected at least one");
    write_i32(&tokens, &[2, 2], &[1, 2, 257, 0]);
    check("has id 257 at [1, 0], but the vocabulary is 0 to 256");
    write_i32(&tokens, &[1, 2], &[1, -1]);
    check("has id -1 at [0, 1]");
    write(
        &tokens,
        "tokens",
        Dtype::I64,
        &[1, 1],
        &(1i64 << 40).to_le_bytes(),
    );
    check("has id 1099511627776 at element 0");
    write_i32(&tokens, &[1, 65], &[1; 65]);
    check("room for 65 positions is asked for, but the model has 64 positions");
}

#[test]
fn results_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens.safetensors");
    write_i32(&tokens, &[1, 1], &[5]);
    let model = fixture("tiny-gpt2");
    let nowhere = folder.path().join("none/out.safetensors");
    let message = failure(&logits(&model, &tokens, &nowhere, &[]));
    assert!(message.contains("cannot write in "), "{message}");
    let message = failure(&logits(&model, &tokens, folder.path(), &[]));
    assert!(message.contains("it is a folder"), "{message}");
    let none = folder.path().join("none");
    let message = failure(&logits(&none, &tokens, &folder.path().join("out"), &[]));
    assert!(message.contains("no model "), "{message}");
}

#[test]
fn help_describes_the_entries() {
    let output = run(program(env!("CARGO_BIN_EXE_logits")).arg("--help"), b"");
    let text = stdout(&output);
    for entry in ENTRIES {
        assert!(text.contains(entry), "{text}");
    }
    assert_eq!(stderr(&output), "");
}
