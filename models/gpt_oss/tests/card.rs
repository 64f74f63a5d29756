//! The card of gpt-oss against the model, against the published configurations
//! and against checkpoints.

use std::path::{Path, PathBuf};

use gpt_oss::{CARD, GptOss20b, GptOss120b, GptOssDyn};
use linnet_runtime::card::{Choices, LoadOptions, load_reported};
use linnet_runtime::weights::{GenericValues, Manifest};
use linnet_runtime::{Block, DType, GenericValue, bf16};
use serde_json::{Value, json};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// `config.json` of the published checkpoint of so many layers and experts.
fn published(layers: usize, experts: usize) -> Value {
    let kinds = ["sliding_attention", "full_attention"];
    let layer_types: Vec<&str> = (0..layers).map(|i| kinds[i % 2]).collect();
    json!({
        "architectures": ["GptOssForCausalLM"],
        "attention_bias": true,
        "attention_dropout": 0.0,
        "eos_token_id": 200002,
        "experts_per_token": 4,
        "head_dim": 64,
        "hidden_act": "silu",
        "hidden_size": 2880,
        "initial_context_length": 4096,
        "initializer_range": 0.02,
        "intermediate_size": 2880,
        "layer_types": layer_types,
        "max_position_embeddings": 131072,
        "model_type": "gpt_oss",
        "num_attention_heads": 64,
        "num_experts_per_tok": 4,
        "num_hidden_layers": layers,
        "num_key_value_heads": 8,
        "num_local_experts": experts,
        "output_router_logits": false,
        "pad_token_id": 199999,
        "quantization_config": {
            "modules_to_not_convert": [
                "model.layers.*.self_attn",
                "model.layers.*.mlp.router",
                "model.embed_tokens",
                "lm_head"
            ],
            "quant_method": "mxfp4"
        },
        "rms_norm_eps": 1e-05,
        "rope_scaling": {
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "factor": 32.0,
            "original_max_position_embeddings": 4096,
            "rope_type": "yarn",
            "truncate": false
        },
        "rope_theta": 150000,
        "router_aux_loss_coef": 0.9,
        "sliding_window": 128,
        "swiglu_limit": 7.0,
        "tie_word_embeddings": false,
        "transformers_version": "4.55.0.dev0",
        "use_cache": true,
        "vocab_size": 201088
    })
}

/// The values of the generics, or every problem.
fn bind(config: &Value) -> Result<GenericValues, String> {
    CARD.bind(
        GptOssDyn::<bf16>::DESCRIPTOR,
        config,
        "config.json",
        &Choices::new(),
        &GptOssDyn::<bf16>::generic_args(),
    )
    .map(|bound| bound.values)
    .map_err(|e| e.to_string())
}

#[test]
fn the_published_configurations_are_the_known_checkpoints() {
    for (layers, experts, name) in [(24, 32, "gpt-oss-20b"), (36, 128, "gpt-oss-120b")] {
        let values = bind(&published(layers, experts)).unwrap();
        assert_eq!(CARD.checkpoint_matching(&values).unwrap().name, name);
        assert_eq!(values.dim("MaxSeq"), Some(4096));
    }
    assert_eq!(GptOss20b::<linnet_runtime::Dyn>::DESCRIPTOR.name, "Model");
    assert_eq!(GptOss120b::<linnet_runtime::Dyn>::DESCRIPTOR.name, "Model");
}

/// Two weights of an expert lie in a byte, with one scale for 32.
#[test]
fn known_checkpoints_have_the_published_number_of_parameters() {
    for known in CARD.checkpoints {
        let dims = known.dims.iter().copied();
        let dims = dims.chain([("Batch", 1), ("MaxSeq", 4096)]);
        let dims = dims.map(|(name, size)| (name, GenericValue::Dim(size)));
        let values: GenericValues = dims
            .chain([("T", GenericValue::DType(DType::BF16))])
            .collect();
        let manifest = Manifest::new(GptOssDyn::<bf16>::DESCRIPTOR, &values).unwrap();
        let dim = |name: &str| values.dim(name).unwrap() as u64;
        let blocks = dim("Layers") * dim("Experts") * 3 * dim("Inner") * dim("H") / 32;
        // The head may have a bias; the published ones have none.
        let packed = (manifest.n_parameters() - values.dim("Vocab").unwrap()) as u64;
        assert_eq!(
            packed - 17 * blocks + 32 * blocks,
            known.parameters,
            "{}",
            known.name
        );
    }
}

#[test]
fn both_spellings_of_the_frequencies_and_of_top_k() {
    let mut config = published(24, 32);
    let object = config.as_object_mut().unwrap();
    let mut rope = object.remove("rope_scaling").unwrap();
    rope["rope_theta"] = object.remove("rope_theta").unwrap();
    object.insert("rope_parameters".to_owned(), rope);
    object.remove("experts_per_token");
    object.remove("initial_context_length");
    assert_eq!(bind(&config).unwrap().dim("TopK"), Some(4));
    let object = config.as_object_mut().unwrap();
    let top_k = object.remove("num_experts_per_tok").unwrap();
    object.insert("experts_per_token".to_owned(), top_k);
    assert_eq!(bind(&config).unwrap().dim("TopK"), Some(4));
    config["num_experts_per_tok"] = json!(2);
    let message = bind(&config).unwrap_err();
    assert!(message.contains("both set TopK"), "{message}");
}

/// The message for the published configuration with one key changed.
fn changed(path: &str, value: Value) -> String {
    let mut config = published(24, 32);
    let pointer = format!("/{}", path.replace('.', "/"));
    match config.pointer_mut(&pointer) {
        Some(place) => *place = value,
        None => {
            let (object, key) = pointer.rsplit_once('/').unwrap();
            let object = config.pointer_mut(object).unwrap();
            object
                .as_object_mut()
                .unwrap()
                .insert(key.to_owned(), value);
        }
    }
    match bind(&config) {
        Ok(_) => panic!("{path} was accepted"),
        Err(message) => message,
    }
}

#[test]
fn what_is_not_computed_is_refused_by_name() {
    let full = vec!["full_attention"; 24];
    for (path, value, parts) in [
        (
            "swiglu_limit",
            json!(9.0),
            vec!["swiglu_limit", "9.0", "expected 7"],
        ),
        (
            "rope_theta",
            json!(10000.0),
            vec!["rope_theta", "10000", "expected 150000"],
        ),
        (
            "rope_scaling.rope_type",
            json!("linear"),
            vec!["rope_scaling.rope_type", "linear", "\"yarn\""],
        ),
        (
            "rope_scaling.factor",
            json!(16.0),
            vec!["rope_scaling.factor", "16", "expected 32"],
        ),
        (
            "rope_scaling.truncate",
            json!(true),
            vec!["rope_scaling.truncate", "true"],
        ),
        // A setting inside an object that is read matters even if nobody knows it.
        (
            "rope_scaling.attention_factor",
            json!(1.5),
            vec!["rope_scaling.attention_factor", "1.5"],
        ),
        (
            "quantization_config.quant_method",
            json!("gptq"),
            vec!["quantization_config.quant_method", "gptq", "mxfp4"],
        ),
        (
            "layer_types",
            json!(full),
            vec!["layer_types", "sliding_attention", "in turn", "24"],
        ),
        ("rms_norm_eps", json!(1e-6), vec!["rms_norm_eps"]),
        (
            "tie_word_embeddings",
            json!(true),
            vec!["tie_word_embeddings"],
        ),
        (
            "num_hidden_layers",
            json!(23),
            vec!["layer_types", "Layers = 23"],
        ),
        ("hidden_size", json!(2879), vec!["H % 32 == 0", "2879"]),
        (
            "num_key_value_heads",
            json!(7),
            vec!["Heads % KvHeads == 0", "7"],
        ),
        ("num_experts_per_tok", json!(33), vec!["TopK"]),
    ] {
        let message = changed(path, value);
        for part in parts {
            assert!(message.contains(part), "`{part}` is not in: {message}");
        }
    }
}

#[test]
fn layers_come_in_pairs() {
    let message = bind(&published(23, 32)).unwrap_err();
    assert!(message.contains("Layers % 2 == 0"), "{message}");
    assert!(message.contains("23"), "{message}");
}

#[test]
fn a_missing_setting_is_named() {
    let mut config = published(24, 32);
    config.as_object_mut().unwrap().remove("rope_scaling");
    let message = bind(&config).unwrap_err();
    assert!(
        message.contains("rope_parameters.rope_type or rope_scaling.rope_type"),
        "{message}"
    );
}

#[test]
fn checkpoints_load_and_experts_stay_mapped() {
    for (folder, layers) in [
        ("tests/fixtures/tiny-gpt-oss", 4),
        ("tests/fixtures/tiny-gpt-oss-sharded", 2),
        ("models/checkpoints/tales-gpt-oss", 4),
    ] {
        let folder = repository(folder);
        let loaded =
            load_reported::<GptOssDyn<bf16>>(folder.as_path(), &CARD, &LoadOptions::default())
                .unwrap();
        assert_eq!(loaded.manifest.values.dim("Layers"), Some(layers));
        assert!(loaded.ignored_keys.is_empty(), "{:?}", loaded.ignored_keys);
        assert!(loaded.known.is_none());
        assert!(loaded.summary.shared_bytes > 0);
    }
}
