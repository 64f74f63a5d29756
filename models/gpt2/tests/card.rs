//! The card of GPT-2 against the model and against checkpoints.

use std::path::{Path, PathBuf};

use gpt2::{CARD, Gpt2, Gpt2Dyn, Model};
use linnet_runtime::card::{Choices, LoadOptions, load, load_reported, read_config};
use linnet_runtime::weights::{GenericValues, Manifest};
use linnet_runtime::{Block, Const, DType, GenericValue, bf16, f16};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

#[test]
fn known_checkpoints_have_the_published_number_of_parameters() {
    let names: Vec<&str> = CARD.checkpoints.iter().map(|known| known.name).collect();
    assert_eq!(
        names,
        ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "distilgpt2"]
    );
    for known in CARD.checkpoints {
        let dims = known
            .dims
            .iter()
            .copied()
            .chain([("Batch", 1), ("MaxSeq", 1024)]);
        let dims = dims.map(|(name, size)| (name, GenericValue::Dim(size)));
        let values: GenericValues = dims
            .chain([("T", GenericValue::DType(DType::F32))])
            .collect();
        let manifest = Manifest::new(Gpt2Dyn::<f32>::DESCRIPTOR, &values).unwrap();
        assert_eq!(
            manifest.n_parameters() as u64,
            known.parameters,
            "{}",
            known.name
        );
        assert_eq!(CARD.checkpoint_matching(&values).unwrap().name, known.name);
    }
}

#[test]
fn the_bound_types_have_the_published_dimensions() {
    let args = Gpt2::<Const<3>>::generic_args();
    let sizes: Vec<String> = args.iter().map(|arg| format!("{arg:?}")).collect();
    assert_eq!(
        sizes.join(" "),
        "Dim(Some(50257)) Dim(Some(1024)) Dim(Some(768)) Dim(Some(12)) Dim(Some(12)) Dim(Some(3)) Dim(Some(1024)) DType(F32)"
    );
}

#[test]
fn checkpoints_load_with_and_without_prefix() {
    for (folder, layers, ignored) in [
        ("tests/fixtures/tiny-gpt2", 3, 0),
        ("tests/fixtures/tiny-gpt2-hub", 2, 0),
        ("models/checkpoints/tales-gpt2", 6, 0),
    ] {
        let folder = repository(folder);
        let loaded =
            load_reported::<Gpt2Dyn<f32>>(folder.as_path(), &CARD, &LoadOptions::default())
                .unwrap();
        assert_eq!(loaded.manifest.values.dim("Layers"), Some(layers));
        assert_eq!(
            loaded.ignored_keys.len(),
            ignored,
            "{:?}",
            loaded.ignored_keys
        );
        assert!(loaded.known.is_none());
        let half = load_reported::<Gpt2Dyn<bf16>>(folder.as_path(), &CARD, &LoadOptions::default())
            .unwrap();
        assert_eq!(half.summary.shared_bytes, 0);
    }
}

#[test]
fn the_tales_model_is_mapped_in_its_own_dtype() {
    let folder = repository("models/checkpoints/tales-gpt2");
    let loaded =
        load_reported::<Gpt2Dyn<f16>>(folder.as_path(), &CARD, &LoadOptions::default()).unwrap();
    assert_eq!(loaded.manifest.n_parameters(), 3_554_304);
    assert_eq!(loaded.summary.owned_bytes, 0);
    assert_eq!(loaded.summary.shared_bytes, 2 * 3_554_304);
}

#[test]
fn constant_dimensions_must_be_those_of_the_config() {
    type Tiny<MaxPositions> =
        Model<Const<257>, MaxPositions, Const<48>, Const<4>, Const<3>, Const<2>, Const<9>, f32>;
    let folder = repository("tests/fixtures/tiny-gpt2");
    load::<Tiny<Const<64>>>(folder.as_path(), &CARD, &LoadOptions::default()).unwrap();
    let error = load::<Tiny<Const<65>>>(folder.as_path(), &CARD, &LoadOptions::default())
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("the model's type has MaxPositions = 65, but n_positions = 64"),
        "{error}"
    );
    let error = load::<Gpt2>(folder.as_path(), &CARD, &LoadOptions::default())
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("5 problems") && error.contains("has Vocab = 50257, but vocab_size = 257"),
        "{error}"
    );
}

#[test]
fn caches_fit_the_positions() {
    let folder = repository("tests/fixtures/tiny-gpt2");
    let options = |positions| LoadOptions {
        choices: Choices::new().max_seq(positions),
        ..LoadOptions::default()
    };
    load::<Gpt2Dyn<f32>>(folder.as_path(), &CARD, &options(64)).unwrap();
    let error = load::<Gpt2Dyn<f32>>(folder.as_path(), &CARD, &options(65))
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("MaxSeq is 65 (as chosen) and MaxPositions is 64 (n_positions)"),
        "{error}"
    );
}

/// Configs as the Hub publishes them, with the keys that they really have.
#[test]
fn published_configs_bind_without_notes() {
    let gpt2 = r#"{"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
        "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12,
        "n_layer": 12, "n_positions": 1024, "n_special": 0, "predict_special_tokens": true, "resid_pdrop": 0.1,
        "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
        "summary_type": "cls_index", "summary_use_proj": true, "vocab_size": 50257,
        "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
        "_num_labels": 1, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}"#;
    let folder = std::env::temp_dir().join(format!("linnet-gpt2-card-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), gpt2).unwrap();
    let (origin, config) = read_config(&folder, CARD.name).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    type Published = Gpt2;
    let bound = CARD
        .bind(
            Published::DESCRIPTOR,
            &config,
            &origin,
            &Choices::new(),
            &Published::generic_args(),
        )
        .unwrap();
    assert_eq!(bound.ignored_keys, [] as [&str; 0]);
    assert_eq!(
        CARD.checkpoint_matching(&bound.values).unwrap().name,
        "gpt2"
    );
}
