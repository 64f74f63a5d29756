use super::*;
use crate::weights::testing::{CARD, Model, TINY_CONFIG, safetensors, tiny_entries};

fn folder(config: &str, weights: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("config.json"), config).unwrap();
    fs::write(folder.path().join("model.safetensors"), weights).unwrap();
    folder
}

fn loaded<const H: usize>(folder: &Path) -> Result<Loaded<Model<H>>> {
    load_reported(folder, &CARD, &LoadOptions::default())
}

#[test]
fn a_folder_loads() {
    let folder = folder(TINY_CONFIG, &safetensors(&tiny_entries("transformer."), 0));
    let loaded = loaded::<0>(folder.path()).unwrap();
    assert_eq!(loaded.known.unwrap().name, "tiny");
    assert_eq!(loaded.manifest.values.dim("MaxSeq"), Some(3));
    assert_eq!(
        loaded.manifest.n_parameters() as u64,
        loaded.known.unwrap().parameters
    );
    assert_eq!(loaded.model.instance().generics().len(), 8);
    let file = folder.path().join("model.safetensors");
    load::<Model<4>>(file.as_path(), &CARD, &LoadOptions::default()).unwrap();
}

#[test]
fn an_embedded_checkpoint_loads() {
    let weights = safetensors(&tiny_entries(""), 0).leak();
    let source = Source::Embedded {
        name: "tiny",
        config: TINY_CONFIG,
        weights,
    };
    load::<Model<0>>(source, &CARD, &LoadOptions::default()).unwrap();
    let source = Source::Embedded {
        name: "tiny",
        config: "{",
        weights,
    };
    let error = load::<Model<0>>(source, &CARD, &LoadOptions::default())
        .err()
        .unwrap();
    assert!(
        error.to_string().starts_with(
            "the config of tiny is no config that GPT-2 can run: it is not valid JSON"
        )
    );
}

#[test]
fn a_type_of_another_size_is_refused_before_the_weights_are_read() {
    let folder = folder(TINY_CONFIG, b"no weights");
    let error = loaded::<768>(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("the model's type has H = 768, but n_embd = 4"),
        "{error}"
    );
}

#[test]
fn configs_that_cannot_be_read_are_named() {
    let error = |folder: &Path| loaded::<0>(folder).unwrap_err().to_string();
    let empty = tempfile::tempdir().unwrap();
    let path = empty.path().join("config.json");
    let shown = path.display().to_string();
    assert!(error(empty.path()).starts_with(&format!("{shown}: ")));
    fs::create_dir(&path).unwrap();
    assert_eq!(
        error(empty.path()),
        format!("{shown}: expected a file of at most 16777216 bytes")
    );

    for text in ["", "{\"n_embd\": }", "\u{feff}{}", "{\"n_embd\": 1e999}"] {
        let folder = folder(text, b"");
        let message = error(folder.path());
        assert!(
            message.contains("is no config that GPT-2 can run: it is not valid JSON: "),
            "{message}"
        );
    }
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    assert!(error(folder(&deep, b"").path()).contains("recursion limit exceeded"));
}

#[test]
fn weights_that_do_not_fit_are_reported() {
    let mut entries = tiny_entries("");
    entries.pop();
    let folder = folder(TINY_CONFIG, &safetensors(&entries, 0));
    let error = loaded::<0>(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("does not fit Model<Vocab = 5, ") && error.contains("missing: `wpe.weight`"),
        "{error}"
    );
}
