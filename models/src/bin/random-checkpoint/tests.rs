use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use linnet_models::{LoadOptions, load_model};
use linnet_runtime::DType;
use safetensors::{Dtype, SafeTensors};

use crate::error::Error;
use crate::layout::Layout;
use crate::published::Published;
use crate::values::{Kind, Values};
use crate::write;

/// gpt-oss-20b with everything but its structure small: 3 files.
fn small_gpt_oss() -> Published {
    let mut model = Published::named("gpt-oss-20b").unwrap();
    for (name, size) in [
        ("Vocab", 100),
        ("H", 64),
        ("Heads", 4),
        ("KvHeads", 2),
        ("HeadDim", 8),
        ("Inner", 32),
        ("Experts", 5),
        ("TopK", 2),
        ("Layers", 4),
        ("Window", 3),
    ] {
        model.set_dim(name, size);
    }
    model
}

/// distilgpt2 with small sizes.
fn small_gpt2() -> Published {
    let mut model = Published::named("distilgpt2").unwrap();
    for (name, size) in [
        ("Vocab", 90),
        ("MaxPositions", 32),
        ("H", 16),
        ("Heads", 2),
        ("Layers", 2),
    ] {
        model.set_dim(name, size);
    }
    model
}

fn write(model: &Published, folder: &Path, seed: u64, force: bool) -> Result<(), Error> {
    write::checkpoint(model, &Layout::new(model).unwrap(), folder, seed, force)
}

/// The names of the files in a folder with their contents.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    };
    entries.map(read).collect()
}

#[test]
fn every_published_model_has_its_parameters_and_files() {
    for model in Published::all() {
        let name = model.known.name;
        let layout = Layout::new(&model).unwrap();
        assert_eq!(layout.n_parameters, model.known.parameters, "{name}");
        assert_eq!(layout.files.len(), model.n_files(), "{name}");
        let largest = layout.files.iter().map(|f| f.n_bytes()).max().unwrap();
        let even = layout.n_bytes() / layout.files.len() as u64;
        assert!(largest <= even + even / 3, "{name}: {largest} of {even}");
    }
    // Names and sizes that are known from elsewhere.
    let layout = Layout::new(&Published::named("openai/gpt-oss-20b").unwrap()).unwrap();
    assert_eq!(layout.n_bytes(), 13_761_264_768);
    let n_tensors = layout
        .files
        .iter()
        .map(|file| file.tensors.len())
        .sum::<usize>();
    assert_eq!(n_tensors, 24 * 19 + 3);
    assert_eq!(layout.files[0].name, "model-00000-of-00002.safetensors");
    assert_eq!(layout.files[2].name, "model-00002-of-00002.safetensors");
    let find = |name: &str| {
        let mut tensors = layout.files.iter().flat_map(|file| &file.tensors);
        let tensor = tensors.find(|tensor| tensor.name == name);
        tensor.map(|tensor| (tensor.dtype, tensor.shape.clone(), tensor.kind))
    };
    for (name, expected) in [
        (
            "lm_head.weight",
            (DType::BF16, vec![201_088, 2880], Kind::Normal),
        ),
        ("model.norm.weight", (DType::BF16, vec![2880], Kind::Ones)),
        (
            "model.layers.23.self_attn.sinks",
            (DType::BF16, vec![64], Kind::Normal),
        ),
        (
            "model.layers.1.mlp.experts.gate_up_proj_blocks",
            (DType::U8, vec![32, 5760, 90, 16], Kind::Codes),
        ),
        (
            "model.layers.0.mlp.experts.down_proj_scales",
            (DType::U8, vec![32, 2880, 90], Kind::Scales),
        ),
    ] {
        assert_eq!(find(name), Some(expected), "{name}");
    }
}

#[test]
fn a_model_of_several_files_loads_and_computes() {
    let folder = tempfile::tempdir().unwrap();
    write(&small_gpt_oss(), folder.path(), 3, false).unwrap();
    let names: Vec<String> = contents(folder.path()).into_keys().collect();
    assert_eq!(
        names,
        [
            "config.json",
            "model-00000-of-00002.safetensors",
            "model-00001-of-00002.safetensors",
            "model-00002-of-00002.safetensors",
            "model.safetensors.index.json",
        ]
    );
    assert_logits(folder.path(), 100);
}

#[test]
fn a_model_of_one_file_loads_and_computes() {
    let folder = tempfile::tempdir().unwrap();
    // A folder that is not there is made.
    let folder = folder.path().join("a/b");
    write(&small_gpt2(), &folder, 3, false).unwrap();
    let names: Vec<String> = contents(&folder).into_keys().collect();
    assert_eq!(names, ["config.json", "model.safetensors"]);
    let bytes = fs::read(folder.join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(
        file.tensor("transformer.wte.weight").unwrap().dtype(),
        Dtype::F32
    );
    assert_logits(&folder, 90);
}

/// Loads the checkpoint and looks at what it computes for some tokens.
#[track_caller]
fn assert_logits(folder: &Path, vocab: usize) {
    let options = LoadOptions {
        max_positions: Some(16),
        ..LoadOptions::default()
    };
    let mut model = load_model(folder.display().to_string(), options).unwrap();
    assert_eq!(model.vocab(), vocab);
    for pos in 0..8usize {
        let logits = model.decode(&[pos as i32 * 7], pos).unwrap();
        let row = logits.row(0);
        assert_eq!(row.len(), vocab);
        assert!(row.iter().all(|x| x.is_finite()), "{row:?}");
        assert!(row.iter().any(|x| *x != row[0]), "{row:?}");
    }
}

#[test]
fn the_seed_decides_the_bytes() {
    let folders = [0, 1, 2].map(|_| tempfile::tempdir().unwrap());
    for (folder, seed) in folders.iter().zip([5, 5, 6]) {
        write(&small_gpt_oss(), folder.path(), seed, false).unwrap();
    }
    let [a, b, c] = folders.each_ref().map(|folder| contents(folder.path()));
    assert!(a == b);
    assert_eq!(a["config.json"], c["config.json"]);
    for i in 0..3 {
        let name = format!("model-0000{i}-of-00002.safetensors");
        assert!(a[&name] != c[&name], "{name}");
    }
}

#[test]
fn nothing_is_replaced_without_being_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    let error = write(&small_gpt2(), folder.path(), 0, false).unwrap_err();
    assert!(error.to_string().contains("--force"), "{error}");
    assert_eq!(contents(folder.path()).len(), 1);

    // What belongs to a checkpoint goes, the rest stays.
    write(&small_gpt_oss(), folder.path(), 0, true).unwrap();
    fs::write(folder.path().join("old.safetensors.partial"), "half").unwrap();
    write(&small_gpt2(), folder.path(), 0, true).unwrap();
    let names: Vec<String> = contents(folder.path()).into_keys().collect();
    assert_eq!(names, ["config.json", "model.safetensors", "notes.txt"]);
    assert_eq!(fs::read(&notes).unwrap(), b"mine");

    let error = write(&small_gpt2(), &notes, 0, true).unwrap_err();
    assert!(matches!(error, Error::NotAFolder(_)), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = small_gpt_oss();
    // A petabyte of experts.
    model.set_dim("Experts", 1 << 38);
    let error = write(&model, &folder.path().join("new"), 0, false).unwrap_err();
    assert!(error.to_string().contains("are free at"), "{error}");
    assert!(contents(folder.path()).is_empty());
}

#[test]
fn what_cannot_be_written_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // A folder where a file should be.
    let taken = folder.path().join("model-00001-of-00002.safetensors");
    fs::create_dir_all(taken.join("inside")).unwrap();
    let error = write(&small_gpt_oss(), folder.path(), 0, true).unwrap_err();
    assert!(error.to_string().contains("rename"), "{error}");
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
    names.sort();
    // The file before it is whole; without config.json the folder is no checkpoint.
    assert_eq!(
        names,
        [
            "model-00000-of-00002.safetensors",
            "model-00001-of-00002.safetensors"
        ]
    );
}

#[test]
fn layers_and_names_are_checked() {
    let message = |name: &str, layers: usize| {
        let result = Published::named(name).and_then(|mut model| {
            model.set_layers(layers)?;
            Ok(model.dim("Layers"))
        });
        result.map_err(|error| error.to_string())
    };
    assert_eq!(message("gpt-oss-20b", 2), Ok(2));
    assert_eq!(message("gpt2", 3), Ok(3));
    let is = |text: &str| Err(text.to_owned());
    assert_eq!(
        message("gpt-oss-20b", 3),
        is("gpt-oss-20b cannot have 3 layers: they come in pairs")
    );
    assert_eq!(
        message("gpt2", 13),
        is("gpt2 cannot have 13 layers: as published it has 12")
    );
    let unknown = message("gpt3", 1).unwrap_err();
    assert!(
        unknown.contains("gpt2-medium, ") && unknown.contains("gpt-oss-120b"),
        "{unknown}"
    );
}

#[test]
fn values_are_distributed_as_they_should_be() {
    const N: usize = 1 << 18;
    let make = |kind, dtype: DType, name: &str| {
        let mut bytes = vec![0; N * dtype.size()];
        Values::new(1, name, kind, dtype).fill(&mut bytes);
        bytes
    };
    let f32s = |bytes: &[u8]| -> Vec<f64> {
        let (words, _) = bytes.as_chunks();
        words
            .iter()
            .map(|&b| f32::from_le_bytes(b).into())
            .collect()
    };
    let bf16s = |bytes: &[u8]| -> Vec<f64> {
        let (words, _) = bytes.as_chunks();
        let wide = |&b: &[u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16);
        words.iter().map(|b| wide(b).into()).collect()
    };
    for values in [
        f32s(&make(Kind::Normal, DType::F32, "a")),
        bf16s(&make(Kind::Normal, DType::BF16, "a")),
    ] {
        let mean = values.iter().sum::<f64>() / N as f64;
        let square = values.iter().map(|x| x * x).sum::<f64>() / N as f64;
        assert!(mean.abs() < 2e-4, "mean {mean}");
        assert!(
            (square.sqrt() - 0.02).abs() < 5e-4,
            "deviation {}",
            square.sqrt()
        );
        let outside = values.iter().filter(|x| x.abs() > 0.04).count() as f64 / N as f64;
        assert!(
            (outside - 0.0455).abs() < 5e-3,
            "beyond two deviations: {outside}"
        );
        assert!(values.iter().all(|x| x.abs() < 0.1));
    }
    assert!(
        f32s(&make(Kind::Ones, DType::F32, "a"))
            .iter()
            .all(|x| *x == 1.0)
    );
    assert!(
        bf16s(&make(Kind::Ones, DType::BF16, "a"))
            .iter()
            .all(|x| *x == 1.0)
    );

    let mut scales = [0usize; 256];
    let mut codes = [0usize; 16];
    for byte in make(Kind::Scales, DType::U8, "a") {
        scales[usize::from(byte)] += 1;
    }
    for byte in make(Kind::Codes, DType::U8, "a") {
        codes[usize::from(byte & 15)] += 1;
        codes[usize::from(byte >> 4)] += 1;
    }
    assert_eq!(scales[120..125].iter().sum::<usize>(), N);
    assert!(
        scales[120..125].iter().all(|n| n.abs_diff(N / 5) < N / 50),
        "{scales:?}"
    );
    assert!(
        codes.iter().all(|n| n.abs_diff(N / 8) < N / 80),
        "{codes:?}"
    );
    // Tensors differ.
    let normal = |name| make(Kind::Normal, DType::BF16, name);
    assert!(normal("a") == normal("a") && normal("a") != normal("b"));
}
