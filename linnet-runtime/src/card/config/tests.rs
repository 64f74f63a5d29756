use serde_json::json;

use super::*;
use crate::weights::testing::{CARD, MODEL, TINY_CONFIG};

fn config() -> Value {
    serde_json::from_str(TINY_CONFIG).unwrap()
}

fn with(changes: Value) -> Value {
    let mut config = config();
    for (key, value) in changes.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

fn bind(config: &Value, choices: &Choices, args: &[StaticArg]) -> Result<Bound, ConfigError> {
    CARD.bind(&MODEL, config, "config.json", choices, args)
}

/// The only problem of a config.
fn problem(config: &Value) -> String {
    let error = bind(config, &Choices::new(), &[]).expect_err("must be refused");
    assert_eq!(error.problems.len(), 1, "{error}");
    let message = error.to_string();
    message
        .strip_prefix("config.json is no config that GPT-2 can run: ")
        .unwrap()
        .to_owned()
}

#[test]
fn a_config_binds_the_generics() {
    let bound = bind(&config(), &Choices::new(), &[]).unwrap();
    assert_eq!(
        bound.values.to_string(),
        "Vocab = 5, MaxPositions = 3, H = 4, Heads = 2, Layers = 2, Batch = 1, MaxSeq = 3, T = f32"
    );
    assert_eq!(bound.ignored_keys, [] as [&str; 0]);
    assert_eq!(
        CARD.checkpoint_matching(&bound.values).unwrap().name,
        "tiny"
    );
    assert_eq!(
        CARD.checkpoint_named("openai-community/gpt2")
            .unwrap()
            .alias,
        "Gpt2"
    );
    assert!(CARD.checkpoint_named("gpt3").is_none());
}

#[test]
fn choices_set_what_is_open() {
    let choices = Choices::new().batch(7).max_seq(2).dtype("T", DType::BF16);
    let values = bind(&config(), &choices, &[]).unwrap().values;
    assert_eq!(
        (values.dim("Batch"), values.dim("MaxSeq"), values.dtype("T")),
        (Some(7), Some(2), Some(DType::BF16))
    );

    let refused =
        |choices: Choices| bind(&config(), &choices, &[]).unwrap_err().problems[0].to_string();
    assert_eq!(
        refused(Choices::new().dim("H", 8)),
        "`H` cannot be chosen; GPT-2 leaves Batch, MaxSeq, T open"
    );
    assert_eq!(
        refused(Choices::new().batch(0)),
        "Batch = 0 was chosen; expected a whole number from 1 to 65536"
    );
    assert_eq!(
        refused(Choices::new().batch(1 << 40)),
        "Batch = 1099511627776 was chosen; expected a whole number from 1 to 65536"
    );
    assert_eq!(
        refused(Choices::new().dim("T", 3)),
        "T = 3 was chosen; expected a dtype"
    );
    assert_eq!(
        refused(Choices::new().dtype("Batch", DType::F32)),
        "Batch = f32 was chosen; expected a dimension"
    );
    assert_eq!(
        refused(Choices::new().max_seq(4)),
        "the model requires `MaxSeq <= MaxPositions`, but MaxSeq is 4 (as chosen) and MaxPositions is 3 (n_positions)"
    );
}

#[test]
fn values_that_are_no_dimension_are_refused_by_name() {
    let expected = "expected a whole number from 1 to 16777216, which sets H";
    for (value, shown) in [
        (json!(0), "0"),
        (json!(-4), "-4"),
        (json!(4.0), "4.0"),
        (json!(16777217), "16777217"),
        (json!(u64::MAX), "18446744073709551615"),
        (json!(1e300), "1e+300"),
        (json!("4"), "\"4\""),
        (json!([4]), "[4]"),
        (json!(true), "true"),
    ] {
        assert_eq!(
            problem(&with(json!({"n_embd": value}))),
            format!("`n_embd` = {shown}; {expected}")
        );
    }
    let mut missing = config();
    missing.as_object_mut().unwrap().remove("n_embd");
    assert_eq!(
        problem(&missing),
        format!("`n_embd` is missing; {expected}")
    );
    assert_eq!(
        problem(&with(json!({"n_embd": null}))),
        format!("`n_embd` is missing; {expected}")
    );
    let long = "x".repeat(500);
    let message = problem(&with(json!({"n_embd": long})));
    assert!(message.len() < 200, "{message}");
}

#[test]
fn other_spellings_bind_and_must_agree() {
    let mut other = config();
    other.as_object_mut().unwrap().remove("n_embd");
    other["hidden_size"] = json!(4);
    assert_eq!(
        bind(&other, &Choices::new(), &[]).unwrap().values.dim("H"),
        Some(4)
    );
    other["n_embd"] = json!(4);
    bind(&other, &Choices::new(), &[]).unwrap();
    other["n_embd"] = json!(8);
    assert_eq!(
        problem(&other),
        "`n_embd` = 8, but `hidden_size` = 4, and both set H"
    );
}

#[test]
fn a_value_that_does_not_divide_is_named_with_its_keys() {
    assert_eq!(
        problem(&with(json!({"n_head": 3}))),
        "the model requires `H % Heads == 0`, but H is 4 (n_embd) and Heads is 3 (n_head)"
    );
}

#[test]
fn keys_that_change_the_arithmetic_are_honoured_or_refused() {
    for (change, expected) in [
        (
            json!({"layer_norm_epsilon": 1e-6}),
            "`layer_norm_epsilon` = 1e-6 is not supported; expected 0.00001 (what layer norms add to the variance)",
        ),
        (
            json!({"activation_function": "relu"}),
            "`activation_function` = \"relu\" is not supported; expected \"gelu_new\" or \"gelu_pytorch_tanh\" \
             (the activation of the feed-forward layer)",
        ),
        (
            json!({"n_inner": 17}),
            "`n_inner` = 17 is not supported; expected null or 4 * H = 16 (the width of the feed-forward layer)",
        ),
        (
            json!({"scale_attn_weights": false}),
            "`scale_attn_weights` = false is not supported; expected true \
             (whether scores are divided by the root of the head's width)",
        ),
        (
            json!({"scale_attn_weights": 1}),
            "`scale_attn_weights` = 1 is not supported; expected true \
             (whether scores are divided by the root of the head's width)",
        ),
        (
            json!({"model_type": "llama"}),
            "`model_type` = \"llama\" is not supported; expected \"gpt2\" (the architecture)",
        ),
    ] {
        assert_eq!(problem(&with(change)), expected);
    }
    let mut missing = config();
    missing.as_object_mut().unwrap().remove("model_type");
    assert_eq!(
        problem(&missing),
        "`model_type` is missing; expected \"gpt2\" (the architecture)"
    );
    for change in [
        json!({"n_inner": 16}),
        json!({"activation_function": "gelu_pytorch_tanh"}),
        json!({"layer_norm_epsilon": 0.00001}),
        json!({"scale_attn_weights": true}),
    ] {
        bind(&with(change), &Choices::new(), &[]).unwrap();
    }
}

#[test]
fn unknown_keys_are_refused_if_they_look_arithmetic() {
    let config = with(json!({"rope_scaling": {"factor": 8.0}}));
    assert_eq!(
        problem(&config),
        "`rope_scaling` = {\"factor\":8.0} is unknown and may change what the model computes; \
         if it does not, accept the key when loading or list it as harmless in the model's card"
    );
    let accepted = Choices::new().accept_key("rope_scaling");
    assert_eq!(
        bind(&config, &accepted, &[]).unwrap().ignored_keys,
        ["rope_scaling"]
    );

    let off = with(
        json!({"rope_scaling": null, "use_alibi": false, "mask": "", "layers": [], "gate": {}}),
    );
    assert_eq!(
        bind(&off, &Choices::new(), &[]).unwrap().ignored_keys,
        [] as [&str; 0]
    );
    let other = with(json!({"author": "someone", "attn_pdrop": 0.5, "eos_token_id": 3}));
    assert_eq!(
        bind(&other, &Choices::new(), &[]).unwrap().ignored_keys,
        ["author"]
    );
}

#[test]
fn every_problem_is_reported_at_once() {
    let config = with(json!({"n_embd": 0, "n_layer": "2", "n_inner": 9, "model_type": "bert"}));
    let message = bind(&config, &Choices::new().batch(0), &[])
        .unwrap_err()
        .to_string();
    let expected = "config.json is no config that GPT-2 can run: 4 problems\n  \
        `n_embd` = 0; expected a whole number from 1 to 16777216, which sets H\n  \
        `n_layer` = \"2\"; expected a whole number from 1 to 16777216, which sets Layers\n  \
        Batch = 0 was chosen; expected a whole number from 1 to 65536\n  \
        `model_type` = \"bert\" is not supported; expected \"gpt2\" (the architecture)";
    assert_eq!(message, expected);
}

#[test]
fn what_is_no_object_is_refused() {
    assert_eq!(
        problem(&json!([1])),
        "expected an object of keys and values, found [1]"
    );
}

#[test]
fn a_type_with_constants_must_agree_with_the_config() {
    let args = |h, batch| {
        let mut args = vec![StaticArg::Dim(None); 7];
        args[2] = StaticArg::Dim(Some(h));
        args[5] = StaticArg::Dim(batch);
        args.push(StaticArg::DType(DType::F16));
        args
    };
    let values = bind(&config(), &Choices::new(), &args(4, Some(9)))
        .unwrap()
        .values;
    assert_eq!(
        (values.dim("Batch"), values.dtype("T")),
        (Some(9), Some(DType::F16))
    );

    let error = bind(&config(), &Choices::new(), &args(768, None)).unwrap_err();
    assert_eq!(
        error.problems[0].to_string(),
        "the model's type has H = 768, but n_embd = 4; this is tiny: load it as `Tiny`"
    );
    let error = bind(
        &with(json!({"n_layer": 9})),
        &Choices::new(),
        &args(768, None),
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("n_embd = 4; load it as the type with `Dyn` dimensions"),
        "{error}"
    );

    let error = bind(&config(), &Choices::new().batch(2), &args(4, Some(9))).unwrap_err();
    assert_eq!(
        error.problems[0].to_string(),
        "the model's type has Batch = 9, but the choice = 2; make it Dyn, or do not choose"
    );
    bind(&config(), &Choices::new().batch(9), &args(4, Some(9))).unwrap();
}

mod damage {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn configs_with_changed_bytes_bind_or_fail(
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            let mut text = TINY_CONFIG.as_bytes().to_vec();
            for (at, value) in flips {
                let at = at.index(text.len());
                text[at] = value;
            }
            if let Ok(config) = serde_json::from_slice(&text) {
                let _ = bind(&config, &Choices::new(), &[]);
            }
        }

        #[test]
        fn any_numbers_bind_only_to_what_the_model_allows(
            h in prop::num::u64::ANY, heads in 0..9_u64, inner in prop::num::i64::ANY, batch in 0..1_usize << 20,
        ) {
            let config = with(json!({"n_embd": h, "n_head": heads, "n_inner": inner}));
            if let Ok(bound) = bind(&config, &Choices::new().batch(batch), &[]) {
                let size = |name| bound.values.dim(name).unwrap();
                prop_assert!(size("H").is_multiple_of(size("Heads")));
                prop_assert_eq!(size("H") as i64 * 4, inner);
            }
        }
    }
}

#[test]
fn every_model_may_be_stored_in_few_bits() {
    let scheme = json!({"quant_method": "linnet", "format": "int4_group", "group_size": 32});
    let bound = bind(
        &with(json!({"quantization_config": scheme})),
        &Choices::new(),
        &[],
    );
    let quantisation = bound.unwrap().quantisation.unwrap();
    assert_eq!(quantisation.format.name(), "int4_group");
    assert_eq!(quantisation.group_size, Some(32));
    let plain = bind(&config(), &Choices::new(), &[]).unwrap();
    assert_eq!(plain.quantisation, None);

    let refused = |scheme: Value| problem(&with(json!({"quantization_config": scheme})));
    assert_eq!(
        refused(json!({"quant_method": "linnet", "format": "int3"})),
        "`quantization_config.format` = \"int3\" is not supported; expected \"int8\" or \"int4\" or \
         \"int4_group\" (how the weights are stored)"
    );
    assert_eq!(
        refused(json!({"quant_method": "linnet"})),
        "`quantization_config.format` is missing; expected \"int8\" or \"int4\" or \"int4_group\" \
         (how the weights are stored)"
    );
    assert_eq!(
        refused(json!({"quant_method": "gptq", "bits": 4})),
        "`quantization_config.quant_method` = \"gptq\" is not supported; expected \"linnet\" (how \
         the weights are stored)"
    );
    // What stands beside is for the model's card to judge.
    let beside =
        json!({"quant_method": "linnet", "format": "int8", "beside": {"quant_method": "mxfp4"}});
    assert!(refused(beside).contains("= \"mxfp4\" is not supported"));
}
