//! `quantize`: stores a checkpoint's weights in 8 or 4 bits.

mod arguments;
mod codes;
mod convert;
mod folder;
mod report;
mod source;
mod target;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use linnet_models::{Quantisable, QuantisableMap};

use self::arguments::Arguments;
use self::folder::NewFolder;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(report) => {
            // What was written stays written, whether anybody reads the report or not.
            let _ = std::io::stdout().write_all(report.as_bytes());
            ExitCode::SUCCESS
        }
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<String, String> {
    let scheme = arguments.scheme()?;
    let model = Quantisable::open(&arguments.model, &arguments.load_options())
        .map_err(|e| e.to_string())?;
    if let Some(quantised) = model.quantised() {
        return Err(format!(
            "{} is quantised already, in {}: start from the floats",
            model.files().place(),
            quantised.format
        ));
    }
    let config = scheme.added_to(model.config())?;
    let maps = chosen(&model, &arguments.also)?;
    let folder = NewFolder::begin(&arguments.out, model.files(), arguments.force)?;
    let converted = convert::convert(&model, &maps, &scheme, folder.path())?;
    folder.add_files(model.files(), &config)?;
    folder.finish()?;
    let total: u64 = model
        .checkpoint()
        .tensors()
        .map(|tensor| tensor.bytes().len() as u64)
        .sum();
    let quantised: u64 = converted.iter().map(|one| one.before).sum();
    Ok(report::table(&converted, total - quantised))
}

/// The maps to quantise: those that do not do better in floats, and those asked for.
fn chosen<'a>(model: &'a Quantisable, also: &[String]) -> Result<Vec<&'a QuantisableMap>, String> {
    let name = |map: &'a QuantisableMap| map.path.rsplit('.').next().unwrap_or_default();
    for asked in also {
        if !model.maps().iter().any(|map| name(map) == asked) {
            let mut kept: Vec<&str> = model
                .maps()
                .iter()
                .filter(|map| map.better_in_floats)
                .map(name)
                .collect();
            kept.sort_unstable();
            kept.dedup();
            let kept = match kept.as_slice() {
                [] => "none stays in floats".to_owned(),
                kept => format!("in floats stay {}", kept.join(", ")),
            };
            return Err(format!(
                "--also {asked}: the model has no map of this name; {kept}"
            ));
        }
    }
    let maps: Vec<&QuantisableMap> = model
        .maps()
        .iter()
        .filter(|map| !map.better_in_floats || also.iter().any(|asked| asked == name(map)))
        .collect();
    match maps.is_empty() {
        true => Err(format!("{} has no maps to quantise", model.files().place())),
        false => Ok(maps),
    }
}
