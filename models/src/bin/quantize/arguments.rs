//! The command line of `quantize`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use linnet_models::LoadOptions;
use linnet_runtime::quant::{Format, Scheme};

const DETAILS: &str = "\
Formats:
  int8        8 bits a weight, a scale for each row
  int4        4 bits a weight, a scale for each row
  int4-group  4 bits a weight, a scale and a zero point for each group of a row

What is quantised are the weights of the affine maps: of gpt2 all of them, of
gpt-oss the projections of the attention. Embeddings, norms and biases stay as
they are, and so do gpt-oss' experts, which are in MXFP4 already, its router and
its lm_head. `--also lm_head` quantises the head too, which saves the most of what
a token reads after the experts, and costs accuracy.

DIR gets model.safetensors (shards with an index, where that is larger than 5 GB),
config.json and the tokenizer's files, and loads like the checkpoint it is made from.

Example:
  quantize --model openai-community/gpt2 --out gpt2-int4 --format int4-group --group-size 32
  perplexity --model gpt2-int4 --text book.txt";

/// Store a checkpoint's weights in 8 or 4 bits, and report the error of each.
#[derive(Debug, Parser)]
#[command(name = "quantize", version, after_help = DETAILS, max_term_width = 100)]
pub struct Arguments {
    /// A folder with a checkpoint, a bundled model's name, or a Hub id (owner/name)
    #[arg(long, short, value_name = "DIR|NAME|ID")]
    pub model: String,

    /// The folder to write
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,

    /// How the weights are stored
    #[arg(long, short, value_enum)]
    pub format: FormatArgument,

    /// Weights that share a scale and a zero point, for int4-group [default: 128]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1 << 20))]
    pub group_size: Option<u32>,

    /// Quantise maps of this name too, which stay in floats otherwise
    #[arg(long, value_name = "NAME")]
    pub also: Vec<String>,

    /// Replace a checkpoint that is in DIR already
    #[arg(long)]
    pub force: bool,

    /// Use only what is on this machine
    #[arg(long)]
    pub offline: bool,
}

/// The values of `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArgument {
    /// 8 bits, a scale for each row
    Int8,
    /// 4 bits, a scale for each row
    Int4,
    /// 4 bits, a scale and a zero point for each group
    #[value(alias = "int4_group")]
    Int4Group,
}

/// The group size that `--group-size` has without saying.
const DEFAULT_GROUP_SIZE: u32 = 128;

impl Arguments {
    /// How the weights are to be stored.
    pub fn scheme(&self) -> Result<Scheme, String> {
        let format = match self.format {
            FormatArgument::Int8 => Format::Int8,
            FormatArgument::Int4 => Format::Int4,
            FormatArgument::Int4Group => Format::Int4Group,
        };
        let group_size = match (format, self.group_size) {
            (Format::Int4Group, size) => {
                let size = size.unwrap_or(DEFAULT_GROUP_SIZE);
                if size % 2 != 0 {
                    return Err(format!(
                        "--group-size is {size}, but two weights share a byte: give an even number"
                    ));
                }
                Some(size as usize)
            }
            (_, Some(_)) => {
                return Err(format!(
                    "--group-size is for --format int4-group; {format} has one scale for each row"
                ));
            }
            (_, None) => None,
        };
        Ok(Scheme { format, group_size })
    }

    /// How to find the model.
    pub fn load_options(&self) -> LoadOptions {
        LoadOptions {
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

    #[test]
    fn group_sizes_are_for_groups() {
        let scheme = |flags: &[&str]| {
            let arguments = ["quantize", "--model", "m", "--out", "o", "--format"];
            Arguments::parse_from(arguments.iter().chain(flags)).scheme()
        };
        assert_eq!(scheme(&["int8"]).unwrap().group_size, None);
        assert_eq!(scheme(&["int4-group"]).unwrap().group_size, Some(128));
        let groups = scheme(&["int4_group", "--group-size", "32"]).unwrap();
        assert_eq!(groups.group_size, Some(32));
        assert!(scheme(&["int4-group", "--group-size", "33"]).is_err());
        assert!(scheme(&["int4", "--group-size", "32"]).is_err());
    }
}
