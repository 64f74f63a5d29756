//! One text, then leave: `--prompt`, or a prompt from a pipe.

use std::io::Read;
use std::process::ExitCode;

use linnet_models::{FinishReason, GenerateOptions};

use crate::output::{Failure, aside, note, statistics_line, stream};
use crate::{INTERRUPTED, Loaded, interrupt, stdin_is_terminal};

/// The prompt, `None` when a person is to type.
pub fn prompt(argument: Option<&str>) -> Result<Option<String>, Failure> {
    match argument {
        Some("-") => read_stdin().map(Some),
        Some(text) => Ok(Some(text.to_owned())),
        None if stdin_is_terminal() => Ok(None),
        None => read_stdin().map(Some),
    }
}

/// All of standard input, without the newline that `echo` puts at its end.
fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::Message(format!("cannot read standard input: {e}")))?;
    let mut text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Failure::Message(format!(
            "standard input is not UTF-8 text: byte {at} is not part of a character"
        ))
    })?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// Writes on from `prompt`.
pub fn run(
    mut loaded: Loaded,
    prompt: &str,
    options: GenerateOptions,
    stats: bool,
) -> Result<ExitCode, Failure> {
    let written = interrupt::stoppable(|| {
        let generation = loaded.model.generate(prompt, options)?;
        stream(generation, false)
    })?;
    let dropped = loaded.model.conversation().dropped();
    if dropped > 0 {
        note(&format!(
            "note: prompt and text are longer than the model's {} positions; their first {dropped} \
             tokens were forgotten on the way",
            loaded.model.model().max_positions()
        ));
    }
    if stats {
        aside(&statistics_line(loaded.load_time, &written.statistics));
    }
    Ok(match written.reason {
        Some(FinishReason::Cancelled) => ExitCode::from(INTERRUPTED),
        _ => ExitCode::SUCCESS,
    })
}
