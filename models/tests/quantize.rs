//! `quantize`: what it writes runs like the floats it came from, as `perplexity`
//! and `logits` tell, and what cannot be quantised is refused with a reason.

mod support;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

use linnet_runtime::{bf16, f16};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};
use support::{failure, fixture, program, run, stdout, tales};

/// A tensor as a file has it.
#[derive(Debug, Clone, PartialEq)]
struct Stored {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

type Tensors = BTreeMap<String, Stored>;

fn quantize(model: &Path, out: &Path, flags: &[&str]) -> Output {
    let mut command = program(env!("CARGO_BIN_EXE_quantize"));
    command.arg("--model").arg(model).arg("--out").arg(out);
    run(command.args(flags), b"")
}

/// The tensors of a folder with one file.
fn tensors(folder: &Path) -> Tensors {
    let bytes = std::fs::read(folder.join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let stored = file.iter().map(|(name, view)| {
        let stored = Stored {
            dtype: view.dtype(),
            shape: view.shape().to_vec(),
            bytes: view.data().to_vec(),
        };
        (name.to_owned(), stored)
    });
    stored.collect()
}

fn write_tensors(folder: &Path, tensors: &Tensors) {
    let views = tensors.iter().map(|(name, stored)| {
        let view = TensorView::new(stored.dtype, stored.shape.clone(), &stored.bytes).unwrap();
        (name.as_str(), view)
    });
    safetensors::serialize_to_file(views, None, &folder.join("model.safetensors")).unwrap();
}

/// A copy of a checkpoint with other tensors and another config.
fn copy(
    from: &Path,
    to: &Path,
    change: impl FnOnce(&mut Tensors),
    change_config: impl FnOnce(&mut Value),
) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if path.is_file() && name != "model.safetensors" && name != "config.json" {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
    let mut all = tensors(from);
    change(&mut all);
    write_tensors(to, &all);
    let mut config = config(from);
    change_config(&mut config);
    std::fs::write(to.join("config.json"), config.to_string()).unwrap();
}

fn config(folder: &Path) -> Value {
    let text = std::fs::read(folder.join("config.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn floats(stored: &Stored) -> Vec<f32> {
    let halves = |value: fn([u8; 2]) -> f32| {
        let (words, _) = stored.bytes.as_chunks();
        words.iter().map(|&word| value(word)).collect()
    };
    match stored.dtype {
        Dtype::F16 => halves(|word| f16::from_le_bytes(word).to_f32()),
        Dtype::BF16 => halves(|word| bf16::from_le_bytes(word).to_f32()),
        _ => {
            let (words, _) = stored.bytes.as_chunks();
            words.iter().map(|&word| f32::from_le_bytes(word)).collect()
        }
    }
}

fn nibble(byte: u8, column: usize) -> u8 {
    if column.is_multiple_of(2) {
        byte & 15
    } else {
        byte >> 4
    }
}

/// The float weights, `[Out, In]`, that a quantised map stands for.
fn dequantised(all: &Tensors, stem: &str, inputs: usize) -> Vec<f32> {
    let weight = &all[&format!("{stem}.weight")];
    let scale = floats(&all[&format!("{stem}.scale")]);
    let outputs = weight.shape[0];
    let at = |n: usize| -> f32 {
        let (o, i) = (n / inputs, n % inputs);
        match (weight.dtype, weight.shape.as_slice()) {
            (Dtype::U8, &[_, groups, half]) => {
                let g = o * groups + i / (2 * half);
                let zero = all[&format!("{stem}.zero")].bytes[g];
                let code = nibble(weight.bytes[n / 2], i);
                (f32::from(code) - f32::from(zero)) * scale[g]
            }
            (_, &[_, columns]) if columns == inputs => f32::from(weight.bytes[n] as i8) * scale[o],
            _ => {
                let code = nibble(weight.bytes[n / 2], i);
                let signed = i32::from(code) - if code < 8 { 0 } else { 16 };
                signed as f32 * scale[o]
            }
        }
    };
    (0..outputs * inputs).map(at).collect()
}

/// The same checkpoint with every quantised map of a GPT-2 as the floats it stands for.
fn rounded_floats(from: &Path, to: &Path) {
    let change = |all: &mut Tensors| {
        let stems: Vec<String> = all
            .keys()
            .filter_map(|name| name.strip_suffix(".scale"))
            .map(str::to_owned)
            .collect();
        assert!(!stems.is_empty());
        for stem in stems {
            let weight = &all[&format!("{stem}.weight")];
            let outputs = weight.shape[0];
            let per_byte = match (weight.dtype, weight.shape.len()) {
                (Dtype::U8, _) => 2,
                // A row of bytes is as long as the float row, or half of it.
                _ if config(from)["quantization_config"]["format"] == "int4" => 2,
                _ => 1,
            };
            let inputs = weight.bytes.len() / outputs * per_byte;
            let rows = dequantised(all, &stem, inputs);
            let transposed = (0..inputs).flat_map(|i| (0..outputs).map(move |o| (o, i)));
            let bytes = transposed.flat_map(|(o, i)| rows[o * inputs + i].to_le_bytes());
            let stored = Stored {
                dtype: Dtype::F32,
                shape: vec![inputs, outputs],
                bytes: bytes.collect(),
            };
            all.insert(format!("{stem}.weight"), stored);
            for member in ["scale", "zero"] {
                all.remove(&format!("{stem}.{member}"));
            }
        }
    };
    copy(from, to, change, |config| {
        config
            .as_object_mut()
            .unwrap()
            .remove("quantization_config");
    });
}

fn perplexity(model: &Path, flags: &[&str]) -> f64 {
    let mut command = program(env!("CARGO_BIN_EXE_perplexity"));
    let text = fixture("tales-heldout.txt");
    command.arg("--model").arg(model).arg("--text").arg(text);
    command.args(["--json", "--context", "256", "--stride", "192"]);
    let result: Value = serde_json::from_str(&stdout(&run(command.args(flags), b""))).unwrap();
    result["perplexity"].as_f64().unwrap()
}

#[test]
fn tales_keep_their_perplexity() {
    let folder = tempfile::tempdir().unwrap();
    let float = perplexity(&tales(), &[]);
    for (format, flags) in [
        ("int8", &[][..]),
        ("int4", &[]),
        ("int4-group", &["--group-size", "32"]),
    ] {
        let out = folder.path().join(format);
        stdout(&quantize(
            &tales(),
            &out,
            &[&["--format", format], flags].concat(),
        ));
        let quantised = perplexity(&out, &[]);
        let rounded = folder.path().join(format!("{format}-rounded"));
        rounded_floats(&out, &rounded);
        let of_floats = perplexity(&rounded, &[]);
        let relative = |to: f64| (quantised / to - 1.0).abs();
        println!("{format}: {quantised}, as floats {of_floats}, before {float}");
        assert!(
            relative(of_floats) < 0.005,
            "{format}: {quantised}, as floats {of_floats}"
        );
        let limit = match format {
            "int8" => 0.01,
            // What 4 bits cost is for the documentation; here, that it is no ruin.
            _ => 0.25,
        };
        assert!(
            relative(float) < limit,
            "{format}: {quantised}, before {float}"
        );
    }
}

fn logits(model: &Path, tokens: &Path, flags: &[&str]) -> Vec<f32> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.safetensors");
    let mut command = program(env!("CARGO_BIN_EXE_logits"));
    command
        .arg("--model")
        .arg(model)
        .arg("--tokens")
        .arg(tokens);
    command.arg("--out").arg(&out).args(flags);
    stdout(&run(&mut command, b""));
    let bytes = std::fs::read(&out).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let view = file.tensor("logits").unwrap();
    let (words, _) = view.data().as_chunks();
    words.iter().map(|&word| f32::from_le_bytes(word)).collect()
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let differences = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, |largest, x| {
        if x > largest || x.is_nan() {
            x
        } else {
            largest
        }
    })
}

/// Kernels and definitions of one model in f32, of logits up to 10.
const EXACT_TOLERANCE: f32 = 2e-4;

#[test]
fn every_entry_of_a_quantised_model_agrees_with_its_definition() {
    let folder = tempfile::tempdir().unwrap();
    for (model, entries) in [
        (
            "tiny-gpt2-hub",
            &[
                "forward",
                "prefill",
                "decode",
                "decode_rows",
                "prefill_slots",
            ][..],
        ),
        ("tiny-gpt-oss", &["forward", "prefill", "decode"]),
    ] {
        let golden = fixture(model).join("golden.safetensors");
        for (format, flags) in [
            ("int8", &[][..]),
            ("int4", &[]),
            ("int4-group", &["--group-size", "8"]),
        ] {
            let out = folder.path().join(format!("{model}-{format}"));
            stdout(&quantize(
                &fixture(model),
                &out,
                &[&["--format", format], flags].concat(),
            ));
            let exact = logits(&out, &golden, &["--numerics", "exact", "--dtype", "f32"]);
            for entry in entries {
                let fast = logits(&out, &golden, &["--entry", entry, "--dtype", "f32"]);
                let difference = largest_difference(&fast, &exact);
                assert!(
                    difference < EXACT_TOLERANCE,
                    "{model} {format} {entry}: {difference}"
                );
            }
            if format == "int8" {
                let float = logits(&fixture(model), &golden, &["--dtype", "f32"]);
                let vocab = config(&out)["vocab_size"].as_u64().unwrap() as usize;
                let rows = exact.chunks(vocab).zip(float.chunks(vocab));
                let mut differences: Vec<f32> =
                    rows.map(|(a, b)| largest_difference(a, b)).collect();
                differences.sort_by(f32::total_cmp);
                // Where two experts are nearly as good, a router takes the other one.
                let middle = differences[differences.len() / 2];
                assert!(middle > 0.0 && middle < 0.2, "{model}: {differences:?}");
            }
        }
    }
}

#[test]
fn what_is_not_quantised_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/folder");
    let report = stdout(&quantize(
        &tales(),
        &out,
        &["--format", "int4-group", "--group-size", "32"],
    ));
    let (before, after) = (tensors(&tales()), tensors(&out));
    let mut quantised = 0;
    for (name, stored) in &after {
        match before.get(name) {
            Some(old) if old == stored => {}
            Some(_) => quantised += 1,
            None => assert!(
                name.ends_with(".scale") || name.ends_with(".zero"),
                "{name}"
            ),
        }
    }
    assert_eq!(quantised, 4 * 6);
    assert_eq!(after.len(), before.len() + 2 * quantised);
    let qkv = |member: &str| {
        let name = after
            .keys()
            .find(|name| name.ends_with(&format!("h.0.attn.c_attn.{member}")));
        let stored = &after[name.unwrap()];
        (stored.dtype, stored.shape.clone())
    };
    assert_eq!(qkv("weight"), (Dtype::U8, vec![576, 6, 16]));
    assert_eq!(
        qkv("scale"),
        (Dtype::F16, vec![576, 6]),
        "the checkpoint's float type"
    );
    assert_eq!(qkv("zero"), (Dtype::U8, vec![576, 6]));
    assert_eq!(qkv("bias").1, [576]);
    for name in [
        "tokenizer.json",
        "tokenizer_config.json",
        "generation_config.json",
    ] {
        let read = |folder: &Path| std::fs::read(folder.join(name)).unwrap();
        assert_eq!(read(&out), read(&tales()), "{name}");
    }
    let mut new = config(&out);
    let scheme = json!({"quant_method": "linnet", "format": "int4_group", "group_size": 32});
    assert_eq!(new["quantization_config"], scheme);
    new.as_object_mut().unwrap().remove("quantization_config");
    assert_eq!(new, config(&tales()));
    let left = std::fs::read_dir(folder.path().join("new"))
        .unwrap()
        .count();
    assert_eq!(left, 1, "something temporary is left");

    // The report has a line for each map, with its bytes and its error.
    let line = report
        .lines()
        .find(|line| line.contains("h.0.attn.c_attn.weight"))
        .unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let bytes_before = (576 * 192 * 2).to_string();
    let bytes_after = (576 * 192 / 2 + 576 * 6 * 3).to_string();
    assert_eq!(
        words[1..6],
        ["576", "x", "192", &*bytes_before, &*bytes_after],
        "{report}"
    );
    let error: f64 = words[6].strip_suffix('%').unwrap().parse().unwrap();
    assert!((1.0..15.0).contains(&error), "{line}");
    assert!(words[7].parse::<f64>().unwrap() > 0.0);
    assert_eq!(
        report.lines().filter(|line| line.contains(" x ")).count(),
        1 + quantised
    );
    assert!(report.contains("all that is quantised"), "{report}");
}

#[test]
fn gpt_oss_keeps_its_router_and_its_head() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, head) = (folder.path().join("plain"), folder.path().join("head"));
    let model = fixture("tiny-gpt-oss");
    stdout(&quantize(&model, &plain, &["--format", "int8"]));
    stdout(&quantize(
        &model,
        &head,
        &["--format", "int8", "--also", "lm_head"],
    ));
    let (before, plain_tensors, head_tensors) = (tensors(&model), tensors(&plain), tensors(&head));
    for name in before.keys() {
        let is_projection = name.contains("self_attn.") && name.ends_with("_proj.weight");
        assert_eq!(plain_tensors[name] != before[name], is_projection, "{name}");
    }
    assert_eq!(head_tensors["lm_head.weight"].dtype, Dtype::I8);
    assert_eq!(head_tensors["lm_head.scale"].shape, [320]);
    let scheme = &config(&plain)["quantization_config"];
    assert_eq!(scheme["format"], "int8");
    assert_eq!(
        scheme["beside"],
        config(&model)["quantization_config"],
        "the experts'"
    );
    let golden = model.join("golden.safetensors");
    let flags = ["--dtype", "f32"];
    let difference = largest_difference(
        &logits(&head, &golden, &flags),
        &logits(&plain, &golden, &flags),
    );
    assert!(difference > 0.0 && difference < 0.2, "{difference}");
}

#[track_caller]
fn refuses(output: &Output, expected: &[&str]) {
    let message = failure(output);
    for expected in expected {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_cannot_be_quantised_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let out = place("out");
    let tiny = fixture("tiny-gpt2");
    let groups = ["--format", "int4-group", "--group-size", "32"];
    refuses(
        &quantize(&tiny, &out, &groups),
        &[
            "have 48 weights, which do not divide into groups of 32",
            "a --group-size that divides all rows is 16",
        ],
    );
    refuses(
        &quantize(&tiny, &out, &["--format", "int8", "--group-size", "16"]),
        &["--group-size is for --format int4-group"],
    );
    refuses(
        &quantize(
            &tiny,
            &out,
            &["--format", "int4-group", "--group-size", "15"],
        ),
        &["--group-size is 15, but two weights share a byte"],
    );
    refuses(
        &quantize(&tiny, &out, &["--format", "int8", "--also", "wte"]),
        &["--also wte: the model has no map of this name; none stays in floats"],
    );
    refuses(
        &quantize(
            &fixture("tiny-gpt-oss"),
            &out,
            &["--format", "int8", "--also", "head"],
        ),
        &["in floats stay lm_head, router"],
    );
    assert!(!out.exists(), "nothing is left of what failed");

    // A weight that is no number, by its place in the tensor.
    let broken = place("broken");
    let damage = |all: &mut Tensors| {
        let name = all
            .keys()
            .find(|name| name.ends_with("h.1.mlp.c_fc.weight"))
            .unwrap()
            .clone();
        let weight = all.get_mut(&name).unwrap();
        let at = (7 * weight.shape[1] + 100) * 4;
        assert_eq!(weight.dtype, Dtype::F32);
        weight.bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    };
    copy(&tiny, &broken, damage, |_| {});
    refuses(
        &quantize(&broken, &out, &["--format", "int8"]),
        &["h.1.mlp.c_fc.weight: the weight at [7, 100], NaN, is not finite"],
    );
    assert!(!out.exists());

    // A checkpoint that is none.
    let missing = place("missing");
    let lose = |all: &mut Tensors| all.retain(|name, _| !name.ends_with("wpe.weight"));
    copy(&tiny, &missing, lose, |_| {});
    refuses(
        &quantize(&missing, &out, &["--format", "int8"]),
        &["missing: `wpe.weight`"],
    );

    stdout(&quantize(&tiny, &out, &["--format", "int8"]));
    refuses(
        &quantize(&out, &place("again"), &["--format", "int4"]),
        &["is quantised already, in int8: start from the floats"],
    );
    refuses(
        &quantize(&tiny, &out, &["--format", "int4"]),
        &["is not empty: give another --out, or --force"],
    );
    // With --force the old checkpoint goes, whatever its files are named.
    std::fs::write(out.join("model-00001-of-00002.safetensors"), "old").unwrap();
    std::fs::write(out.join("notes.txt"), "mine").unwrap();
    stdout(&quantize(&tiny, &out, &["--format", "int4", "--force"]));
    assert_eq!(config(&out)["quantization_config"]["format"], "int4");
    assert!(!out.join("model-00001-of-00002.safetensors").exists());
    assert!(out.join("notes.txt").exists());
    let itself = place("itself");
    copy(&tiny, &itself, |_| {}, |_| {});
    refuses(
        &quantize(&itself, &itself, &["--format", "int8", "--force"]),
        &["--out is the folder of the model itself"],
    );
    let file = place("file");
    std::fs::write(&file, "").unwrap();
    refuses(
        &quantize(&tiny, &file, &["--format", "int8"]),
        &["it is a file"],
    );
}

#[test]
fn a_damaged_quantised_checkpoint_is_refused_when_it_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good");
    let tiny = fixture("tiny-gpt2");
    stdout(&quantize(
        &tiny,
        &good,
        &["--format", "int4-group", "--group-size", "16"],
    ));
    let golden = tiny.join("golden.safetensors");
    let check =
        |name: &str, change: &dyn Fn(&mut Tensors), config: &dyn Fn(&mut Value), expected: &str| {
            let bad: PathBuf = folder.path().join(name);
            copy(&good, &bad, change, config);
            let mut command = program(env!("CARGO_BIN_EXE_logits"));
            command
                .arg("--model")
                .arg(&bad)
                .arg("--tokens")
                .arg(&golden);
            command
                .arg("--out")
                .arg(folder.path().join("out.safetensors"));
            let message = failure(&run(&mut command, b""));
            assert!(message.contains(expected), "{name}: {message}");
        };
    let scale = |all: &Tensors| -> String {
        all.keys()
            .find(|name| name.ends_with("h.0.attn.c_attn.scale"))
            .unwrap()
            .clone()
    };
    check(
        "no-scale",
        &|all| {
            all.remove(&scale(all));
        },
        &|_| {},
        "missing: `h.0.attn.c_attn.scale` (for `blocks.0.attn.qkv.scale: ",
    );
    check(
        "infinite-scale",
        &|all| {
            let name = scale(all);
            all.get_mut(&name).unwrap().bytes[..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
        },
        &|_| {},
        "element 0 is inf, but a scale is finite",
    );
    check(
        "other-group",
        &|_| {},
        &|config| config["quantization_config"]["group_size"] = json!(24),
        "expected [144, 2, 12] (for `blocks.0.attn.qkv.weight: Tensor[3 * H, H / Group, Group / 2; u8]`",
    );
    check(
        "undivided-group",
        &|_| {},
        &|config| config["quantization_config"]["group_size"] = json!(32),
        "a row of 48 weights does not divide into 32s",
    );
    check(
        "other-format",
        &|_| {},
        &|config| {
            config["quantization_config"] = json!({"quant_method": "linnet", "format": "int2"})
        },
        "`quantization_config.format` = \"int2\" is not supported",
    );
    check(
        "other-method",
        &|_| {},
        &|config| config["quantization_config"]["quant_method"] = json!("awq"),
        "`quantization_config.quant_method` = \"awq\" is not supported; expected \"linnet\"",
    );
    check(
        "no-config",
        &|_| {},
        &|config| {
            config
                .as_object_mut()
                .unwrap()
                .remove("quantization_config");
        },
        "h.0.attn.c_attn.weight` is U8, expected F32, F16, BF16 or F64",
    );
}

#[test]
fn help_says_what_stays_as_it_is() {
    let text = stdout(&run(
        program(env!("CARGO_BIN_EXE_quantize")).arg("--help"),
        b"",
    ));
    for word in ["int8", "int4-group", "--group-size", "--force", "lm_head"] {
        assert!(Cow::from(&text).contains(word), "{text}");
    }
}
