//! The command line of `perplexity`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use linnet_models::{FloatType, LoadOptions, Numerics};

const DETAILS: &str = "\
The text goes through the model in windows of N tokens, each STRIDE tokens after the
last. Every token but the first is scored once, by the first window that it is in:
with at least N - STRIDE tokens before it, except in the first window. A smaller
stride gives every token more to go by, and takes longer.

Bits per byte do not depend on the tokenizer, so they compare models of any kind on
one text. Perplexity, e to the nats per token, compares models of one tokenizer.

Example:
  perplexity --model openai-community/gpt2 --text book.txt --context 1024 --stride 512";

/// Judge a model by how well it predicts a text.
#[derive(Debug, Parser)]
#[command(name = "perplexity", version, after_help = DETAILS, max_term_width = 100)]
pub struct Arguments {
    /// A folder with a checkpoint, a bundled model's name, or a Hub id (owner/name)
    #[arg(long, short, value_name = "DIR|NAME|ID")]
    pub model: String,

    /// The text, in UTF-8
    #[arg(long, short, value_name = "FILE")]
    pub text: PathBuf,

    /// Tokens of a window [default: 512, or as many as the model has positions]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub context: Option<u32>,

    /// Tokens from one window to the next [default: half a window]
    #[arg(long, short, value_name = "STRIDE", value_parser = clap::value_parser!(u32).range(1..))]
    pub stride: Option<u32>,

    /// Number format of the weights and the arithmetic
    #[arg(long, value_name = "TYPE", value_enum, default_value_t = DTypeArgument::Auto)]
    pub dtype: DTypeArgument,

    /// Kernels (fast) or the operations' definitions in plain loops (exact, slow)
    #[arg(long, value_name = "HOW", value_enum, default_value_t = NumericsArgument::Fast)]
    pub numerics: NumericsArgument,

    /// Threads to compute with [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Print the result as one line of JSON
    #[arg(long)]
    pub json: bool,

    /// Use only what is on this machine
    #[arg(long)]
    pub offline: bool,
}

/// The values of `--dtype`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DTypeArgument {
    /// f32, or bf16 for large models that are published in it
    Auto,
    /// 32 bits
    F32,
    /// 16 bits, the range of f32
    Bf16,
    /// 16 bits, more precise, smaller range
    F16,
}

/// The values of `--numerics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NumericsArgument {
    /// Kernels
    Fast,
    /// The definitions in plain loops
    Exact,
}

impl Arguments {
    /// How to load the model.
    pub fn load_options(&self) -> LoadOptions {
        LoadOptions {
            dtype: match self.dtype {
                DTypeArgument::Auto => FloatType::Auto,
                DTypeArgument::F32 => FloatType::F32,
                DTypeArgument::Bf16 => FloatType::Bf16,
                DTypeArgument::F16 => FloatType::F16,
            },
            numerics: match self.numerics {
                NumericsArgument::Fast => Numerics::Fast,
                NumericsArgument::Exact => Numerics::Exact,
            },
            threads: self.threads.map(usize::from),
            max_positions: self.context.map(|context| context as usize),
            offline: self.offline,
            ..LoadOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
