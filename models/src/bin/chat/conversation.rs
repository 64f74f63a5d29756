//! The conversation at a terminal.

use std::io::{ErrorKind, IsTerminal};
use std::process::ExitCode;

use linnet_models::{FinishReason, GenerateOptions, TextModel};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Behavior, Config, Editor};

use crate::arguments::Arguments;
use crate::history::History;
use crate::output::{Failure, aside, note, statistics_line, stream};
use crate::{Loaded, interrupt};

const PROMPT: &str = "> ";

const HELP: &str = "\
Type the beginning of a text, and the model writes on from it.
An empty line lets it go on. A line that begins with a space continues the
sentence, any other begins a new line of the text.

  /reset   forget the text so far
  /help    this help
  /exit    leave (so do Ctrl-D, and Ctrl-C twice)

Ctrl-C stops the model. Up and Down walk through earlier lines, Ctrl-R searches
them. To write a line that begins with /, put a space before it.";

/// What to do after a line.
#[derive(Debug, PartialEq, Eq)]
enum Command<'a> {
    Help,
    Reset,
    Exit,
    Unknown(&'a str),
    Text(&'a str),
}

/// Talks until the person leaves.
pub fn run(
    loaded: Loaded,
    arguments: &Arguments,
    mut options: GenerateOptions,
) -> Result<ExitCode, Failure> {
    options.cancellation = interrupt::cancellation().clone();
    let mut editor = editor()?;
    let mut history = History::load(&mut editor);
    let mut talk = Talk {
        loaded,
        options,
        stats: arguments.stats,
        turn: 0,
        told_to_go_on: false,
    };
    note(&talk.greeting(&arguments.model));
    let mut interrupted = false;
    loop {
        match interrupt::editing(|| editor.readline(PROMPT)) {
            Ok(line) => {
                history.add(&mut editor, &line);
                interrupted = match command(&line) {
                    Command::Exit => return Ok(ExitCode::SUCCESS),
                    Command::Text(text) => talk.answer(text)? == Some(FinishReason::Cancelled),
                    other => {
                        talk.obey(&other);
                        false
                    }
                };
            }
            Err(ReadlineError::Interrupted) if interrupted => return Ok(ExitCode::SUCCESS),
            Err(ReadlineError::Interrupted) => {
                interrupted = true;
                aside("(Ctrl-C again leaves)");
            }
            Err(ReadlineError::Eof) => return Ok(ExitCode::SUCCESS),
            Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
                interrupted = false;
                note("that was not UTF-8 text; the line is dropped");
            }
            Err(error) => {
                return Err(Failure::Message(format!(
                    "cannot read the terminal: {error}"
                )));
            }
        }
    }
}

fn editor() -> Result<Editor<(), FileHistory>, Failure> {
    let behavior = if std::io::stdout().is_terminal() {
        Behavior::Stdio
    } else {
        // The text goes to a file or pipe, the editor to the terminal.
        Behavior::PreferTerm
    };
    let create = || {
        let config = Config::builder()
            .max_history_size(1000)?
            .history_ignore_dups(true)?
            .bracketed_paste(true)
            .behavior(behavior)
            .build();
        Editor::with_config(config)
    };
    create().map_err(|e: ReadlineError| Failure::Message(format!("cannot use the terminal: {e}")))
}

fn command(line: &str) -> Command<'_> {
    match line.trim_end() {
        "/help" | "/?" => Command::Help,
        "/reset" => Command::Reset,
        "/exit" | "/quit" => Command::Exit,
        other if other.starts_with('/') => Command::Unknown(other),
        _ => Command::Text(line),
    }
}

/// The state of a conversation.
struct Talk {
    loaded: Loaded,
    options: GenerateOptions,
    stats: bool,
    turn: u64,
    told_to_go_on: bool,
}

impl Talk {
    fn greeting(&self, name: &str) -> String {
        let model = self.loaded.model.model();
        format!(
            "{name}: {}, {:.1} million parameters, {} positions. It writes on from what you type; \
             /help for help.",
            model.model_type(),
            model.parameters() as f64 / 1e6,
            model.max_positions(),
        )
    }

    fn obey(&mut self, command: &Command<'_>) {
        match command {
            Command::Help => note(HELP),
            Command::Reset => {
                self.loaded.model.reset();
                aside("(the text so far is forgotten)");
            }
            Command::Unknown(name) => {
                let word = name.split_whitespace().next().unwrap_or(name);
                let shown: String = word.chars().take(40).collect();
                note(&format!("there is no command {shown}; /help lists them"));
            }
            Command::Exit | Command::Text(_) => {}
        }
    }

    /// Adds the person's words and lets the model write.
    ///
    /// A problem with one answer is told and does not end the conversation.
    fn answer(&mut self, text: &str) -> Result<Option<FinishReason>, Failure> {
        let mut options = self.options.clone();
        // Each turn has random numbers of its own, all of them fixed by the seed.
        options.sampling.seed = options
            .sampling
            .seed
            .map(|seed| seed.wrapping_add(self.turn));
        self.turn += 1;
        let model = &mut self.loaded.model;
        let text = joined(model, text);
        let dropped_before = model.conversation().dropped();
        let result = interrupt::stoppable(|| stream(model.resume(&text, options)?, true));
        let written = match result {
            Ok(written) => written,
            Err(Failure::BrokenPipe) => return Err(Failure::BrokenPipe),
            Err(Failure::Message(message)) => {
                note(&format!("error: {message}"));
                return Ok(None);
            }
        };
        if model.conversation().dropped() > dropped_before {
            aside(&format!(
                "(the text no longer fits the model's {} positions; its beginning is forgotten)",
                model.model().max_positions()
            ));
        }
        match written.reason {
            Some(FinishReason::Cancelled) => aside("(stopped; Ctrl-C again leaves)"),
            Some(FinishReason::MaxTokens) if !self.told_to_go_on => {
                self.told_to_go_on = true;
                aside("(Enter lets it go on)");
            }
            Some(FinishReason::EndOfText(_)) => aside("(the end)"),
            _ => {}
        }
        if self.stats {
            aside(&statistics_line(self.loaded.load_time, &written.statistics));
        }
        Ok(written.reason)
    }
}

/// A new line of the text, unless the person continues the sentence.
fn joined(model: &TextModel, text: &str) -> String {
    let begins = model.conversation().tokens().is_empty();
    if begins || text.is_empty() || text.starts_with(char::is_whitespace) {
        text.to_owned()
    } else {
        format!("\n{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands() {
        assert_eq!(command("/reset "), Command::Reset);
        assert_eq!(command("/exit"), Command::Exit);
        assert_eq!(command("/quit"), Command::Exit);
        assert_eq!(command("/help"), Command::Help);
        assert_eq!(command("/what now"), Command::Unknown("/what now"));
        assert_eq!(command(" /reset"), Command::Text(" /reset"));
        assert_eq!(command(""), Command::Text(""));
    }
}
