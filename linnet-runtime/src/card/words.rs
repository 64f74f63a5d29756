//! Whether an unknown key of a config may change what a model computes.

/// Words that occur in keys that change a model's arithmetic.
const ARITHMETIC: &[&str] = &[
    "act",
    "alibi",
    "alpha",
    "attention",
    "attn",
    "beta",
    "bias",
    "bidirectional",
    "block",
    "cap",
    "causal",
    "chunk",
    "clip",
    "conv",
    "cross",
    "decoder",
    "depth",
    "dim",
    "embd",
    "embed",
    "encoder",
    "eps",
    "expert",
    "factor",
    "ffn",
    "gate",
    "geglu",
    "gelu",
    "glu",
    "group",
    "head",
    "hidden",
    "inner",
    "interleave",
    "intermediate",
    "kernel",
    "kv",
    "layer",
    "length",
    "limit",
    "logit",
    "logits",
    "lora",
    "mamba",
    "mask",
    "mlp",
    "moe",
    "mult",
    "multiplier",
    "norm",
    "parallel",
    "partial",
    "pe",
    "pos",
    "position",
    "postnorm",
    "precision",
    "prenorm",
    "qk",
    "qkv",
    "quant",
    "quantization",
    "rank",
    "relu",
    "residual",
    "rms",
    "rmsnorm",
    "rope",
    "rotary",
    "router",
    "scale",
    "scaling",
    "sigmoid",
    "silu",
    "sink",
    "size",
    "sliding",
    "softcap",
    "softmax",
    "sparse",
    "ssm",
    "state",
    "stride",
    "swiglu",
    "swish",
    "tanh",
    "temperature",
    "theta",
    "tie",
    "tied",
    "upcast",
    "vocab",
    "width",
    "window",
    "yarn",
];

/// Whether one of the key's words, or a word's beginning, is one that models
/// use for settings of their arithmetic. Words end at `_`, `.`, `-` and
/// before capitals.
pub(super) fn looks_arithmetic(key: &str) -> bool {
    words(key).iter().any(|word| {
        ARITHMETIC
            .iter()
            .any(|known| word == known || (known.len() >= 4 && word.starts_with(known)))
    })
}

fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in key.chars() {
        let starts = c.is_uppercase() && after_lower;
        after_lower = c.is_lowercase();
        if !c.is_alphanumeric() || starts {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether `key` is `pattern`, where a `*` at an end of the pattern stands for
/// any characters.
pub(super) fn matches(pattern: &str, key: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(_), Some(_)) => key.contains(pattern.trim_matches('*')),
        (Some(end), None) => key.ends_with(end),
        (None, Some(start)) => key.starts_with(start),
        (None, None) => key == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_may_change_the_arithmetic() {
        for key in [
            "rope_scaling",
            "attn_logit_softcapping",
            "num_kv_heads",
            "hiddenAct",
            "sliding_window",
            "use_alibi",
            "rms_norm_eps",
            "embedding_multiplier",
            "quantization_config",
            "scaleEmbeddings",
            "qk_layernorm",
            "pos_encoding",
        ] {
            assert!(looks_arithmetic(key), "{key}");
        }
        for key in [
            "author",
            "license",
            "_name_or_path",
            "created_at",
            "tags",
            "actor",
            "finetuned_by",
            "cached",
        ] {
            assert!(!looks_arithmetic(key), "{key}");
        }
    }

    #[test]
    fn patterns_match_at_their_ends() {
        assert!(matches("summary_*", "summary_type") && !matches("summary_*", "a_summary_type"));
        assert!(matches("*_pdrop", "attn_pdrop") && !matches("*_pdrop", "attn_pdrop_x"));
        assert!(matches("*_token_*", "eos_token_id") && !matches("*_token_*", "eos_id"));
        assert!(matches("use_cache", "use_cache") && !matches("use_cache", "use_cache2"));
    }
}
