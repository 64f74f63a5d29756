//! The command line of `logits`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use linnet_models::{FloatType, LoadOptions, Numerics};

const DETAILS: &str = "\
IN holds a tensor `tokens` [B, S] of i32 or i64. OUT gets a tensor `logits`
[B, S, Vocab] of f32: at [b, s] the logits after tokens[b, 0..=s]. It replaces an
older file only when it is complete.

Every entry runs the same tokens in its own way, so all outputs should agree:
  forward        whole sequences at once, without the cache
  prefill        every beginning of the sequences, lengths 1 to S
  decode         token by token
  decode_rows    token by token, each row at another position
  prefill_slots  every beginning, rows of different lengths in changing slots
and of gpt-oss alone:
  next_token      every beginning, without the cache
  prefill_packed  every beginning, all rows side by side with padding between
  step_packed     rows 0, 2, .. packed, rows 1, 3, .. token by token beside them

Example:
  logits --model ./my-gpt2 --tokens in.safetensors --out out.safetensors --entry decode";

/// Write a model's logits for given tokens, to compare with another program's.
#[derive(Debug, Parser)]
#[command(name = "logits", version, after_help = DETAILS, max_term_width = 100)]
pub struct Arguments {
    /// A folder with a checkpoint, a bundled model's name, or a Hub id (owner/name)
    #[arg(long, short, value_name = "DIR|NAME|ID")]
    pub model: String,

    /// The safetensors file with `tokens`
    #[arg(long, short, value_name = "IN")]
    pub tokens: PathBuf,

    /// The safetensors file to write
    #[arg(long, short, value_name = "OUT")]
    pub out: PathBuf,

    /// Which of the model's entries computes them
    #[arg(long, short, value_enum, default_value_t = Entry::Forward)]
    pub entry: Entry,

    /// Kernels (fast) or the operations' definitions in plain loops (exact, slow)
    #[arg(long, value_name = "HOW", value_enum, default_value_t = NumericsArgument::Fast)]
    pub numerics: NumericsArgument,

    /// Number format of the weights and the arithmetic
    #[arg(long, value_name = "TYPE", value_enum, default_value_t = DTypeArgument::Auto)]
    pub dtype: DTypeArgument,

    /// Threads to compute with [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Use only what is on this machine
    #[arg(long)]
    pub offline: bool,
}

/// The values of `--entry`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Entry {
    /// Whole sequences at once
    Forward,
    /// Every beginning of the sequences
    Prefill,
    /// Token by token
    Decode,
    /// Rows at different positions
    DecodeRows,
    /// Rows of different lengths in changing slots
    PrefillSlots,
    /// Every beginning, without the cache (gpt-oss)
    NextToken,
    /// Every beginning, rows side by side (gpt-oss)
    PrefillPacked,
    /// Rows side by side, and others token by token beside them (gpt-oss)
    StepPacked,
}

/// The values of `--dtype`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DTypeArgument {
    /// f32, but bf16 for a large gpt-oss
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
    /// How to load the model for `rows` sequences of `length` tokens.
    pub fn load_options(&self, rows: usize, length: usize) -> LoadOptions {
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
            batch: rows,
            max_positions: Some(length),
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
