//! The command line of `chat`.

use clap::{Parser, ValueEnum};
use linnet_models::harmony::{ChatOptions, Reasoning};
use linnet_models::{FloatType, GenerateOptions, LoadOptions, Numerics, Sampling};

const EXAMPLES: &str = "\
Examples:
  chat                                     talk to the bundled model
  chat --prompt 'Once upon a time'         one text, then leave
  echo 'Once upon a time' | chat           the same, from a pipe
  chat --model ./my-gpt2 --dtype bf16      a checkpoint in a folder
  chat --model openai-community/gpt2       one from the Hugging Face Hub
  chat --model tales-gpt-oss               a bundled model that answers in turns
  chat --greedy --max-tokens 50 --stats    the most probable text, and its speed

The Hub's usual variables apply: HF_HOME, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN,
HF_HUB_OFFLINE. In a conversation, /help lists the commands and keys.";

/// Small models repeat themselves without it.
const REPETITION_PENALTY: f32 = 1.1;

/// The most tokens of a text that the model writes on.
const MAX_TOKENS: usize = 200;

/// The most tokens of a turn, which the model ends itself.
const MAX_TOKENS_OF_A_TURN: usize = 2048;

/// Let a language model write on from your words, or answer them.
///
/// With no arguments it is a conversation with the bundled tales-gpt2, which
/// tells fairy tales: type the beginning of one. Models that hold conversations
/// (gpt-oss) answer in turns.
#[derive(Debug, Parser)]
#[command(name = "chat", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Arguments {
    /// A folder with a checkpoint, a bundled model's name, or a Hub id (owner/name)
    #[arg(long, short, value_name = "DIR|NAME|ID", default_value = "tales-gpt2")]
    pub model: String,

    /// Continue or answer this text once and leave; `-` reads it from standard input
    #[arg(long, short, value_name = "TEXT")]
    pub prompt: Option<String>,

    /// The most tokens to write at a time [default: 200, and 2048 for a turn of a conversation]
    #[arg(long, short = 'n', value_name = "N")]
    pub max_tokens: Option<usize>,

    /// Number format of the weights and the arithmetic
    #[arg(long, value_name = "TYPE", value_enum, default_value_t = DTypeArgument::Auto)]
    pub dtype: DTypeArgument,

    /// Threads to compute with [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Room for this many tokens of context [default: the model's own limit; 4096 where that is
    /// far more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub context: Option<u32>,

    /// Kernels (fast) or the operations' definitions in plain loops (exact, slow)
    #[arg(long, value_name = "HOW", value_enum, default_value_t = NumericsArgument::Fast)]
    pub numerics: NumericsArgument,

    /// Always take the most probable token; the same as --temperature 0
    #[arg(long, conflicts_with = "temperature", help_heading = "Sampling")]
    pub greedy: bool,

    /// Below 1 more probable words, above 1 more surprising ones; 0 is --greedy
    #[arg(
        long,
        value_name = "T",
        allow_negative_numbers = true,
        help_heading = "Sampling"
    )]
    pub temperature: Option<f32>,

    /// Choose among the K most probable tokens; 0 is all
    #[arg(long, value_name = "K", default_value_t = 0, help_heading = "Sampling")]
    pub top_k: usize,

    /// Choose among the most probable tokens that together have probability P; 1 is all
    #[arg(
        long,
        value_name = "P",
        allow_negative_numbers = true,
        default_value_t = 0.95,
        help_heading = "Sampling"
    )]
    pub top_p: f32,

    /// Leave out tokens less probable than P times the most probable one; 0 is none
    #[arg(
        long,
        value_name = "P",
        allow_negative_numbers = true,
        default_value_t = 0.0,
        help_heading = "Sampling"
    )]
    pub min_p: f32,

    /// Make tokens that came already less probable; 1 is off [default: 1.1, and 1 with --greedy
    /// or in turns]
    #[arg(
        long,
        value_name = "R",
        allow_negative_numbers = true,
        help_heading = "Sampling"
    )]
    pub repetition_penalty: Option<f32>,

    /// Fix the random choices, so that the same command writes the same text
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub seed: Option<u64>,

    /// End the text before this string; may be given several times; \n and \t are understood
    #[arg(long, value_name = "TEXT", help_heading = "Sampling")]
    pub stop: Vec<String>,

    /// How much the model thinks before it answers [default: what the checkpoint says]
    #[arg(
        long,
        value_name = "EFFORT",
        value_enum,
        help_heading = "Conversations (gpt-oss)"
    )]
    pub reasoning: Option<ReasoningArgument>,

    /// The system message: who the model is
    #[arg(long, value_name = "TEXT", help_heading = "Conversations (gpt-oss)")]
    pub system: Option<String>,

    /// The developer message: instructions for the whole conversation
    #[arg(long, value_name = "TEXT", help_heading = "Conversations (gpt-oss)")]
    pub developer: Option<String>,

    /// What is shown of the model's thoughts [default: dim; in a pipe the answer alone]
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        help_heading = "Conversations (gpt-oss)"
    )]
    pub analysis: Option<Analysis>,

    /// After each text, say how fast it was and how much memory it took
    #[arg(long)]
    pub stats: bool,

    /// Use only what is on this machine
    #[arg(long)]
    pub offline: bool,

    /// Branch, tag or commit of a Hub repository
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub revision: String,
}

/// The values of `--dtype`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DTypeArgument {
    /// f32, but bf16 for large models that are published in it
    Auto,
    /// 32 bits
    F32,
    /// 16 bits, the range of f32
    Bf16,
    /// 16 bits, more precise, smaller range
    F16,
}

impl From<DTypeArgument> for FloatType {
    fn from(argument: DTypeArgument) -> Self {
        match argument {
            DTypeArgument::Auto => Self::Auto,
            DTypeArgument::F32 => Self::F32,
            DTypeArgument::Bf16 => Self::Bf16,
            DTypeArgument::F16 => Self::F16,
        }
    }
}

/// The values of `--numerics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NumericsArgument {
    /// Kernels
    Fast,
    /// The definitions in plain loops
    Exact,
}

impl From<NumericsArgument> for Numerics {
    fn from(argument: NumericsArgument) -> Self {
        match argument {
            NumericsArgument::Fast => Self::Fast,
            NumericsArgument::Exact => Self::Exact,
        }
    }
}

/// The values of `--reasoning`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReasoningArgument {
    /// Little
    Low,
    /// Some
    Medium,
    /// Much
    High,
}

impl From<ReasoningArgument> for Reasoning {
    fn from(argument: ReasoningArgument) -> Self {
        match argument {
            ReasoningArgument::Low => Self::Low,
            ReasoningArgument::Medium => Self::Medium,
            ReasoningArgument::High => Self::High,
        }
    }
}

/// The values of `--analysis`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Analysis {
    /// The thoughts in a dim colour before the answer
    Dim,
    /// The answer alone
    Hide,
    /// Everything as the model writes it, with its special tokens
    Raw,
}

impl Arguments {
    /// How to load the model.
    pub fn load_options(&self) -> LoadOptions {
        LoadOptions {
            dtype: self.dtype.into(),
            threads: self.threads.map(usize::from),
            max_positions: self.context.map(|n| n as usize),
            numerics: self.numerics.into(),
            offline: self.offline,
            revision: self.revision.clone(),
            ..LoadOptions::default()
        }
    }

    /// The flag that asks for something of a conversation, if one does.
    pub fn conversation_flag(&self) -> Option<&'static str> {
        [
            (self.reasoning.is_some(), "--reasoning"),
            (self.system.is_some(), "--system"),
            (self.developer.is_some(), "--developer"),
            (self.analysis.is_some(), "--analysis"),
        ]
        .into_iter()
        .find_map(|(is_given, flag)| is_given.then_some(flag))
    }

    /// How to hold a conversation, but for the cancellation.
    pub fn chat_options(&self) -> ChatOptions {
        let mut generate = self.generate_options();
        generate.max_tokens = self.max_tokens.unwrap_or(MAX_TOKENS_OF_A_TURN);
        // It would make the format's own tokens less probable, turn by turn.
        generate.sampling.repetition_penalty = self.repetition_penalty.unwrap_or(1.0);
        ChatOptions {
            reasoning: self.reasoning.map(Reasoning::from),
            system: self.system.clone(),
            developer: self.developer.clone(),
            generate,
            ..ChatOptions::default()
        }
    }

    /// How to write on, but for the cancellation.
    pub fn generate_options(&self) -> GenerateOptions {
        let greedy = self.greedy || self.temperature == Some(0.0);
        let temperature = if greedy { Some(0.0) } else { self.temperature };
        let penalty = if greedy { 1.0 } else { REPETITION_PENALTY };
        GenerateOptions {
            sampling: Sampling {
                repetition_penalty: self.repetition_penalty.unwrap_or(penalty),
                temperature: temperature.unwrap_or(Sampling::default().temperature),
                top_k: self.top_k,
                top_p: self.top_p,
                min_p: self.min_p,
                seed: self.seed,
            },
            max_tokens: self.max_tokens.unwrap_or(MAX_TOKENS),
            stop: self.stop.iter().map(|text| unescape(text)).collect(),
            ..GenerateOptions::default()
        }
    }
}

/// `\n`, `\t` and `\\` as the characters they stand for; other backslashes stay.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('\\') => out.push('\\'),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape(r"a\nb\t\\n\x\"), "a\nb\t\\n\\x\\");
    }

    #[test]
    fn greedy_is_temperature_zero() {
        let options = |line: &[&str]| {
            Arguments::try_parse_from([&["chat"], line].concat())
                .unwrap()
                .generate_options()
        };
        for greedy in [&["--greedy"][..], &["--temperature", "0"]] {
            let sampling = options(greedy).sampling;
            assert_eq!(
                (sampling.temperature, sampling.repetition_penalty),
                (0.0, 1.0)
            );
        }
        assert_eq!(options(&[]).sampling.repetition_penalty, REPETITION_PENALTY);
        assert_eq!(options(&[]).sampling.temperature, 0.8);
        assert_eq!(options(&["--temperature", "-1"]).sampling.temperature, -1.0);
    }
}
