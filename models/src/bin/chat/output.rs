//! Text to standard output, everything else to standard error.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use linnet_models::{FinishReason, Generation, Statistics, peak_memory_bytes};

/// Why the program ends early.
#[derive(Debug)]
pub enum Failure {
    /// Nobody reads standard output any more.
    BrokenPipe,
    /// What to tell the person.
    Message(String),
}

impl From<linnet_models::Error> for Failure {
    fn from(error: linnet_models::Error) -> Self {
        Self::Message(error.to_string())
    }
}

/// A failure to write to standard output.
fn output_failure(error: std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        Failure::BrokenPipe
    } else {
        Failure::Message(format!("cannot write to standard output: {error}"))
    }
}

/// Writes to standard output and shows it at once.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(output_failure)
}

/// A line on standard error. It is lost where that is closed.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A line on standard error that is less important than the text.
pub fn aside(text: &str) {
    if std::io::stderr().is_terminal() && may_colour() {
        note(&dim(text));
    } else {
        note(text);
    }
}

/// Whether a person at a terminal wants colours.
pub fn may_colour() -> bool {
    std::env::var_os("NO_COLOR").is_none() && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// Text in a dim colour.
pub fn dim(text: &str) -> String {
    format!("\x1b[2m{text}\x1b[0m")
}

/// How a text ended.
pub struct Written {
    pub reason: Option<FinishReason>,
    pub statistics: Statistics,
}

/// Writes a text as it comes, and a newline if it does not end with one.
///
/// With `trim` it begins without the spaces that joined it to the words before.
pub fn stream(mut generation: Generation<'_>, trim: bool) -> Result<Written, Failure> {
    let mut last = None;
    let mut result = Ok(());
    loop {
        let piece = match generation.next_piece() {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(error) => {
                result = Err(error.into());
                break;
            }
        };
        let piece = if trim && last.is_none() {
            piece.trim_start_matches(' ')
        } else {
            piece
        };
        if !piece.is_empty() {
            print(piece)?;
            last = piece.chars().next_back();
        }
    }
    if last.is_some_and(|c| c != '\n') {
        print("\n")?;
    }
    result.map(|()| Written {
        reason: generation.finish_reason(),
        statistics: generation.statistics(),
    })
}

/// The line that `--stats` asks for.
pub fn statistics_line(load_time: Duration, statistics: &Statistics) -> String {
    let seconds = |time: Duration| time.as_secs_f64();
    let mut line = format!(
        "[load {:.2} s; prompt {} tokens; first token after {:.3} s ({:.0} tokens/s); {} tokens in \
         {:.2} s",
        seconds(load_time),
        statistics.prompt_tokens,
        seconds(statistics.time_to_first_token),
        statistics.prompt_tokens_per_second(),
        statistics.generated_tokens,
        seconds(statistics.time_to_first_token + statistics.generation_time),
    );
    if statistics.generated_tokens > 1 {
        line.push_str(&format!(
            " ({:.1} tokens/s)",
            statistics.tokens_per_second()
        ));
    }
    if let Some(bytes) = peak_memory_bytes() {
        line.push_str(&format!("; peak memory {:.0} MB", bytes as f64 / 1e6));
    }
    line.push(']');
    line
}
