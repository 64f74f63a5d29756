//! `random-checkpoint`: a checkpoint of a published size with random weights, to time programs
//! with and to try them on.
//!
//! [`published`] says how a model is published, [`layout`] lists its tensors and files,
//! [`values`] makes their bytes, [`write`](mod@write) puts them into a folder.

mod arguments;
mod error;
mod layout;
mod published;
#[cfg(test)]
mod tests;
mod values;
mod write;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use indicatif::HumanBytes;

use self::arguments::Arguments;
use self::error::Error;
use self::layout::Layout;
use self::published::Published;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Error> {
    let mut model = Published::named(&arguments.model)?;
    if let Some(layers) = arguments.layers {
        model.set_layers(usize::from(layers))?;
    }
    let layout = Layout::new(&model)?;
    write::checkpoint(
        &model,
        &layout,
        &arguments.out,
        arguments.seed,
        arguments.force,
    )?;
    let line = format!(
        "{}: {} parameters, {} in {}",
        arguments.out.display(),
        layout.n_parameters,
        HumanBytes(layout.n_bytes()),
        match layout.files.len() {
            1 => "1 file".to_owned(),
            n => format!("{n} files"),
        }
    );
    // Nobody may be listening any more; the checkpoint is there all the same.
    let _ = writeln!(std::io::stdout(), "{line}");
    Ok(())
}
