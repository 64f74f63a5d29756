//! How models are published: what their cards leave open.

use linnet_runtime::card::{Card, Known};
use linnet_runtime::descriptor::BlockDescriptor;
use linnet_runtime::weights::GenericValues;
use linnet_runtime::{Block, DType, GenericValue};
use serde_json::{Map, Value, json};

use crate::error::Error;

/// A published model, perhaps with other sizes.
#[derive(Debug, Clone)]
pub struct Published {
    /// Its card.
    pub card: &'static Card,
    /// Its root block.
    pub block: &'static BlockDescriptor,
    /// What the card says of this size.
    pub known: &'static Known,
    /// The sizes, those of the card at first.
    pub dims: Vec<(&'static str, usize)>,
    family: Family,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Gpt2,
    GptOss,
}

impl Published {
    /// All sizes of all models.
    pub fn all() -> impl Iterator<Item = Self> {
        let gpt2 = (
            Family::Gpt2,
            &gpt2::CARD,
            <gpt2::Gpt2Dyn<f32> as Block>::DESCRIPTOR,
        );
        let gpt_oss = (
            Family::GptOss,
            &gpt_oss::CARD,
            <gpt_oss::GptOssDyn<f32> as Block>::DESCRIPTOR,
        );
        [gpt2, gpt_oss]
            .into_iter()
            .flat_map(|(family, card, block)| {
                card.checkpoints.iter().map(move |known| Self {
                    card,
                    block,
                    known,
                    dims: known.dims.to_vec(),
                    family,
                })
            })
    }

    /// The model of this name, or of this repository.
    pub fn named(name: &str) -> Result<Self, Error> {
        Self::all()
            .find(|model| [model.known.name, model.known.repository].contains(&name))
            .ok_or_else(|| Error::UnknownModel {
                found: name.to_owned(),
                known: Self::all()
                    .map(|m| m.known.name)
                    .collect::<Vec<_>>()
                    .join(", "),
            })
    }

    /// A size by its name in the card.
    pub fn dim(&self, name: &str) -> usize {
        let found = self.dims.iter().find(|(known, _)| *known == name);
        found.map_or(0, |&(_, size)| size)
    }

    /// Changes a size.
    pub fn set_dim(&mut self, name: &str, size: usize) {
        for dim in &mut self.dims {
            if dim.0 == name {
                dim.1 = size;
            }
        }
    }

    /// Shortens the model.
    pub fn set_layers(&mut self, layers: usize) -> Result<(), Error> {
        let reason = if layers > self.dim("Layers") {
            format!("as published it has {}", self.dim("Layers"))
        } else if self.family == Family::GptOss && !layers.is_multiple_of(2) {
            "they come in pairs".to_owned()
        } else {
            self.set_dim("Layers", layers);
            return Ok(());
        };
        Err(Error::Layers {
            model: self.known.name,
            layers,
            reason,
        })
    }

    /// The values of the model's generics. Those that only states depend on are 1.
    pub fn values(&self) -> GenericValues {
        let mut values = GenericValues::new();
        for generic in self.block.generics {
            let dim = self.dims.iter().find(|(name, _)| *name == generic.name);
            let value = match dim {
                Some(&(_, size)) => GenericValue::Dim(size),
                None if generic.name == "T" => GenericValue::DType(self.dtype()),
                None => GenericValue::Dim(1),
            };
            values.set(generic.name, value);
        }
        values
    }

    /// The dtype of the tensors that are not quantised.
    fn dtype(&self) -> DType {
        match self.family {
            Family::Gpt2 => DType::F32,
            Family::GptOss => DType::BF16,
        }
    }

    /// What is written before a tensor's name in the card.
    pub fn prefix(&self, name: &str) -> &'static str {
        match self.family {
            Family::GptOss if !name.starts_with("lm_head.") => "model.",
            Family::Gpt2 if self.known.name == "distilgpt2" => "transformer.",
            _ => "",
        }
    }

    /// Whether the published model has this tensor, where its blocks leave that open.
    pub fn has_optional(&self, name: &str) -> bool {
        // The other affine maps of gpt-oss have biases; GPT-2 leaves nothing open.
        name != "lm_head.bias"
    }

    /// The number of files that hold the weights.
    pub fn n_files(&self) -> usize {
        match self.known.name {
            "gpt-oss-20b" => 3,
            "gpt-oss-120b" => 15,
            _ => 1,
        }
    }

    /// The name of one of `n` files: numbered from 0 up to the number that is also the last part
    /// of their names, as gpt-oss has them.
    pub fn file_name(&self, i: usize, n: usize) -> String {
        match n {
            0 | 1 => "model.safetensors".to_owned(),
            n => format!("model-{i:05}-of-{:05}.safetensors", n - 1),
        }
    }

    /// The contents of `config.json`, with the keys of the published one.
    pub fn config(&self) -> Value {
        match self.family {
            Family::Gpt2 => self.gpt2_config(),
            Family::GptOss => self.gpt_oss_config(),
        }
    }

    fn gpt2_config(&self) -> Value {
        json!({
            "activation_function": "gelu_new",
            "architectures": ["GPT2LMHeadModel"],
            "attn_pdrop": 0.1,
            "bos_token_id": self.dim("Vocab") - 1,
            "embd_pdrop": 0.1,
            "eos_token_id": self.dim("Vocab") - 1,
            "initializer_range": 0.02,
            "layer_norm_epsilon": 1e-5,
            "model_type": "gpt2",
            "n_ctx": self.dim("MaxPositions"),
            "n_embd": self.dim("H"),
            "n_head": self.dim("Heads"),
            "n_layer": self.dim("Layers"),
            "n_positions": self.dim("MaxPositions"),
            "resid_pdrop": 0.1,
            "summary_activation": null,
            "summary_first_dropout": 0.1,
            "summary_proj_to_labels": true,
            "summary_type": "cls_index",
            "summary_use_proj": true,
            "vocab_size": self.dim("Vocab"),
        })
    }

    fn gpt_oss_config(&self) -> Value {
        let layer_types: Vec<&str> = ["sliding_attention", "full_attention"]
            .into_iter()
            .cycle()
            .take(self.dim("Layers"))
            .collect();
        let mut config = Map::new();
        for (key, value) in [
            ("architectures", json!(["GptOssForCausalLM"])),
            ("attention_bias", json!(true)),
            ("attention_dropout", json!(0.0)),
            ("experts_per_token", json!(self.dim("TopK"))),
            ("head_dim", json!(self.dim("HeadDim"))),
            ("hidden_act", json!("silu")),
            ("hidden_size", json!(self.dim("H"))),
            ("initial_context_length", json!(4096)),
            ("initializer_range", json!(0.02)),
            ("intermediate_size", json!(self.dim("Inner"))),
            ("layer_types", json!(layer_types)),
            ("max_position_embeddings", json!(131_072)),
            ("model_type", json!("gpt_oss")),
            ("num_attention_heads", json!(self.dim("Heads"))),
            ("num_experts_per_tok", json!(self.dim("TopK"))),
            ("num_hidden_layers", json!(self.dim("Layers"))),
            ("num_key_value_heads", json!(self.dim("KvHeads"))),
            ("num_local_experts", json!(self.dim("Experts"))),
            ("output_router_logits", json!(false)),
            (
                "quantization_config",
                json!({
                    "modules_to_not_convert": [
                        "model.layers.*.self_attn",
                        "model.layers.*.mlp.router",
                        "model.embed_tokens",
                        "lm_head",
                    ],
                    "quant_method": "mxfp4",
                }),
            ),
            ("rms_norm_eps", json!(1e-5)),
            (
                "rope_scaling",
                json!({
                    "beta_fast": 32.0,
                    "beta_slow": 1.0,
                    "factor": 32.0,
                    "original_max_position_embeddings": 4096,
                    "rope_type": "yarn",
                    "truncate": false,
                }),
            ),
            ("rope_theta", json!(150_000)),
            ("router_aux_loss_coef", json!(0.9)),
            ("sliding_window", json!(self.dim("Window"))),
            ("swiglu_limit", json!(7.0)),
            ("tie_word_embeddings", json!(false)),
            ("use_cache", json!(true)),
            ("vocab_size", json!(self.dim("Vocab"))),
        ] {
            config.insert(key.to_owned(), value);
        }
        // Ids of the published vocabulary.
        for (key, id) in [("eos_token_id", 200_002), ("pad_token_id", 199_999)] {
            if id < self.dim("Vocab") {
                config.insert(key.to_owned(), json!(id));
            }
        }
        Value::Object(config)
    }
}
