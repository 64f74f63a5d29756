//! `logits`: a model's logits for given tokens, to compare with another program's.

mod arguments;
mod compute;
mod files;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use self::arguments::Arguments;
use self::files::Tokens;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let tokens = Tokens::read(&arguments.tokens)?;
    files::check_writable(&arguments.out)?;
    let options = arguments.load_options(tokens.rows, tokens.length);
    let mut model =
        linnet_models::load_model(&arguments.model, options).map_err(|e| e.to_string())?;
    tokens.check(model.vocab(), &arguments.tokens)?;
    let logits =
        compute::logits(model.as_mut(), &tokens, arguments.entry).map_err(|e| e.to_string())?;
    files::write(&arguments.out, &logits)
}
