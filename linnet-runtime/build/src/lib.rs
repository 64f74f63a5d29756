//! What a linnet model crate's build script calls.
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), linnet_build::Error> {
//!     linnet_build::model("model.toml")
//! }
//! ```
//!
//! The card, `model.toml`, says what the source of a model does not: names,
//! licence and links, which key of `config.json` sets which generic, which
//! settings the model computes, what checkpoints call the tensors, and the
//! published checkpoints with their sizes. [`model`] checks the card against
//! the source, proves the model's requirements on the numbers of every known
//! checkpoint, and writes `card.rs`, which the crate includes with
//! `linnet_runtime::include_card!()`.
//!
//! # The card
//!
//! ```toml
//! name = "GPT-2"
//! summary = "A decoder-only language model."
//! licence = "MIT"
//! model = "model::Model"       # the path of the block from the crate's root
//! dyn_type = "Gpt2Dyn"         # the alias with dimensions known at load
//!
//! [links]
//! "The paper" = "https://example.org/paper.pdf"
//!
//! [generics]                   # every generic of the block, each in one of three forms
//! H = { config = ["n_embd", "hidden_size"] }   # a key of config.json and other spellings
//! HeadDim = { config = "head_dim", default = "H / Heads", max = 4096 }
//! Batch = { chosen = "1" }     # open to whoever loads, with a default
//! T = { dtype = true }         # the type says it
//!
//! [[config]]                   # a key that changes what is computed
//! key = "n_inner"
//! any_of = [{ null = true }, { dim = "4 * H" }, 3072, 1e-5, "text", true]
//! optional = true              # without it the key must be there
//! about = "the width of the feed-forward layer"
//!
//! [[config]]
//! key = ["rope.theta", "rope_theta"]   # spellings; a dot leads into an object
//! any_of = [10000.0]
//! about = "the base of the frequencies"
//!
//! [[config]]
//! key = "layer_types"
//! any_of = [{ cycle = ["window", "full"], length = "Layers" }]  # a list that repeats these
//! about = "which layers have a window"
//!
//! # harmless = ["use_cache", "summary_*"]  at the top level: keys that change nothing
//!
//! [names]
//! prefixes = ["transformer."]          # before every name in some checkpoints
//! ignore = ["h.{i}.attn.bias"]         # stored, but no parameters
//!
//! [tensors]                    # member = stored; what is not listed is stored under its own path
//! wte = "wte.weight"
//! "blocks.{i}.attn.qkv.*" = "h.{i}.attn.c_attn.*"
//! "pairs.{i}.full.*" = "layers.{2 * i + 1}.*"
//!
//! [tied]                       # second name = first name: stored twice, the bytes must agree
//! "lm_head.weight" = "wte.weight"
//!
//! [[checkpoint]]
//! name = "gpt2"
//! type = "Gpt2"                # the name of its type alias
//! repository = "openai-community/gpt2"
//! parameters = 124439808
//! dims = { H = 768 }           # every generic that the config sets
//! ```

mod card;
mod dim;
mod emit;
mod error;
mod pattern;
mod prove;
mod raw;
mod source;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

pub use error::Error;

use card::Card;
use source::Source;

/// Checks the card of a model crate and writes `card.rs` into `OUT_DIR`. `card`
/// is the card's path from the crate's root.
///
/// # Errors
///
/// When the card or the source cannot be read, when they do not fit each other,
/// or when a known checkpoint breaks a requirement of the model. The message
/// names the line of the card.
pub fn model(card: impl AsRef<Path>) -> Result<(), Error> {
    let root = variable("CARGO_MANIFEST_DIR")?;
    let out = variable("OUT_DIR")?.join("card.rs");
    let generated = generate(&root, card.as_ref())?;
    println!("cargo::rerun-if-changed={}", root.join("src").display());
    for input in &generated.inputs {
        println!("cargo::rerun-if-changed={}", input.display());
    }
    write_if_changed(&out, &generated.code)
}

/// What [`model`] makes, without cargo around it.
#[derive(Debug)]
struct Generated {
    /// The text of `card.rs`.
    code: String,
    /// The files that it depends on.
    inputs: Vec<PathBuf>,
}

fn generate(root: &Path, card: &Path) -> Result<Generated, Error> {
    let path = root.join(card);
    let file = card.display().to_string();
    let text =
        fs::read_to_string(&path).map_err(|e| Error::new(&file, format!("cannot be read: {e}")))?;
    let card = Card::parse(&file, &text)?;
    let source = Source::read(&root.join("src"))?;
    let model = prove::prove(&file, &card, &source)?;
    let code = emit::emit(&card, model);
    let mut inputs = vec![path];
    inputs.extend(source.files);
    Ok(Generated { code, inputs })
}

/// Leaves a file that is as it should be untouched, so that nothing is rebuilt.
fn write_if_changed(path: &Path, text: &str) -> Result<(), Error> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(path, text).map_err(|e| Error::new(path.display(), format!("cannot be written: {e}")))
}

fn variable(name: &str) -> Result<PathBuf, Error> {
    match env::var_os(name) {
        Some(value) => Ok(value.into()),
        None => Err(Error::new(
            name,
            "is not set; call `linnet_build::model` from a build script",
        )),
    }
}

#[cfg(test)]
mod tests;
