//! `random-checkpoint` as a program: what it writes is read by `logits`, and mistakes are said.

mod support;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use support::{failure, program, run, stdout};

fn random_checkpoint(out: &Path, flags: &[&str]) -> Output {
    let mut command = program(env!("CARGO_BIN_EXE_random-checkpoint"));
    command.arg("--out").arg(out).args(flags);
    run(&mut command, b"")
}

#[test]
fn another_program_computes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    let flags = ["--model", "distilgpt2", "--layers", "1", "--seed", "7"];
    let said = stdout(&random_checkpoint(&model, &flags));
    assert!(said.contains("46473216 parameters"), "{said}");
    assert!(said.contains("1 file"), "{said}");

    let (tokens, out) = (folder.path().join("in"), folder.path().join("out"));
    let ids: Vec<u8> = [5i32, 50_256, 0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let view = TensorView::new(Dtype::I32, vec![1, 3], &ids).unwrap();
    let metadata = None::<HashMap<String, String>>;
    safetensors::serialize_to_file([("tokens", view)], metadata, &tokens).unwrap();
    let mut logits = program(env!("CARGO_BIN_EXE_logits"));
    logits
        .arg("--model")
        .arg(&model)
        .arg("--tokens")
        .arg(&tokens);
    stdout(&run(logits.arg("--out").arg(&out), b""));
    let bytes = fs::read(&out).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let logits = file.tensor("logits").unwrap();
    assert_eq!(logits.shape(), [1, 3, 50_257]);
    let (words, _) = logits.data().as_chunks();
    let values: Vec<f32> = words.iter().map(|&b| f32::from_le_bytes(b)).collect();
    assert!(values.iter().all(|x| x.is_finite()));
    assert!(values.iter().any(|x| *x != values[0]));

    // A second one does not replace it unasked.
    let config = fs::read(model.join("config.json")).unwrap();
    let said = failure(&random_checkpoint(&model, &["--model", "gpt-oss-20b"]));
    assert!(
        said.contains("is not empty") && said.contains("--force"),
        "{said}"
    );
    assert!(fs::read(model.join("config.json")).unwrap() == config);
}

#[test]
fn mistakes_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new");
    let said = failure(&random_checkpoint(&out, &["--model", "gpt-4"]));
    assert!(
        said.contains("gpt-4") && said.contains("gpt-oss-120b"),
        "{said}"
    );
    let said = failure(&random_checkpoint(
        &out,
        &["--model", "gpt-oss-20b", "--layers", "3"],
    ));
    assert!(said.contains("come in pairs"), "{said}");
    assert!(!out.exists());
}
