//! A text that the person and the model write in turn.

use std::process::ExitCode;

use linnet_models::{FinishReason, GenerateOptions, TextModel};

use crate::arguments::Arguments;
use crate::conversation::{self, Talk};
use crate::output::{Failure, aside, note, statistics_line, stream};
use crate::{Loaded, interrupt};

const HELP: &str = "\
Type the beginning of a text, and the model writes on from it.
An empty line lets it go on. A line that begins with a space continues the
sentence, any other begins a new line of the text.

  /reset   forget the text so far
  /help    this help
  /exit    leave (so do Ctrl-D, and Ctrl-C twice)

Ctrl-C stops the model. Up and Down walk through earlier lines, Ctrl-R searches
them. To write a line that begins with /, put a space before it.";

/// Talks until the person leaves.
pub fn run(
    loaded: Loaded,
    arguments: &Arguments,
    options: GenerateOptions,
) -> Result<ExitCode, Failure> {
    let mut text = Text {
        loaded,
        options,
        stats: arguments.stats,
        turn: 0,
        told_to_go_on: false,
    };
    note(&text.greeting(&arguments.model));
    conversation::run(&mut text)
}

/// The state of a text.
struct Text {
    loaded: Loaded,
    options: GenerateOptions,
    stats: bool,
    turn: u64,
    told_to_go_on: bool,
}

impl Text {
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
}

impl Talk for Text {
    fn help(&self) -> &'static str {
        HELP
    }

    fn reset(&mut self) {
        self.loaded.model.reset();
        aside("(the text so far is forgotten)");
    }

    fn obey(&mut self, _command: &str, _value: &str) -> bool {
        false
    }

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
