//! The command line of `random-checkpoint`.

use std::path::PathBuf;

use clap::Parser;

const DETAILS: &str = "\
The folder gets config.json and the weights in the files, names and dtypes in which the
model is published. There is no tokenizer. The same seed writes the same bytes. A file has
its name only once it is complete, and config.json is written last.

Example:
  random-checkpoint --model gpt-oss-20b --out ./random-20b";

/// Write a checkpoint of a published size with random weights.
#[derive(Debug, Parser)]
#[command(name = "random-checkpoint", version, after_help = DETAILS, max_term_width = 100)]
pub struct Arguments {
    /// A published model: gpt2, gpt2-medium, gpt2-large, gpt2-xl, distilgpt2, gpt-oss-20b, ..
    #[arg(long, short, value_name = "NAME")]
    pub model: String,

    /// The folder to write; it must be empty or not there
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,

    /// What the weights depend on
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Write only this many of the model's layers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub layers: Option<u16>,

    /// Replace a checkpoint that is in the folder
    #[arg(long)]
    pub force: bool,
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
