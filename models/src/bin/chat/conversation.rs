//! The conversation at a terminal: lines from the person, and what is done with them.

use std::io::{ErrorKind, IsTerminal};
use std::process::ExitCode;

use linnet_models::FinishReason;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Behavior, Config, Editor};

use crate::history::History;
use crate::interrupt;
use crate::output::{Failure, aside, note};

const PROMPT: &str = "> ";

/// What to do after a line.
#[derive(Debug, PartialEq, Eq)]
enum Command<'a> {
    Help,
    Reset,
    Exit,
    /// One that not every conversation has.
    Other(&'a str),
    Text(&'a str),
}

/// What a line is told to.
pub trait Talk {
    /// The text of `/help`.
    fn help(&self) -> &'static str;

    /// Forgets what was said.
    fn reset(&mut self);

    /// Obeys a command of its own; false when it has no such command.
    fn obey(&mut self, command: &str, value: &str) -> bool;

    /// Adds the person's words and lets the model write.
    ///
    /// A problem with one answer is told and does not end the conversation.
    fn answer(&mut self, text: &str) -> Result<Option<FinishReason>, Failure>;
}

/// Talks until the person leaves.
pub fn run(talk: &mut dyn Talk) -> Result<ExitCode, Failure> {
    let mut editor = editor()?;
    let mut history = History::load(&mut editor);
    let mut interrupted = false;
    loop {
        match interrupt::editing(|| editor.readline(PROMPT)) {
            Ok(line) => {
                history.add(&mut editor, &line);
                interrupted = match command(&line) {
                    Command::Exit => return Ok(ExitCode::SUCCESS),
                    Command::Text(text) => talk.answer(text)? == Some(FinishReason::Cancelled),
                    other => {
                        obey(talk, &other);
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

fn obey(talk: &mut dyn Talk, command: &Command<'_>) {
    match command {
        Command::Help => note(talk.help()),
        Command::Reset => talk.reset(),
        Command::Other(line) => {
            let (word, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            if !talk.obey(word, value.trim()) {
                let shown: String = word.chars().take(40).collect();
                note(&format!("there is no command {shown}; /help lists them"));
            }
        }
        Command::Exit | Command::Text(_) => {}
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
        other if other.starts_with('/') => Command::Other(other),
        _ => Command::Text(line),
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
        assert_eq!(command("/what now"), Command::Other("/what now"));
        assert_eq!(command(" /reset"), Command::Text(" /reset"));
        assert_eq!(command(""), Command::Text(""));
    }
}
