//! A conversation of turns, with a model that answers.

use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use linnet_models::FinishReason;
use linnet_models::harmony::{ChatOptions, ChatSession, Reasoning};

use crate::arguments::{Analysis, Arguments, ReasoningArgument};
use crate::conversation::{self, Talk};
use crate::output::{Failure, aside, note, statistics_line};
use crate::transcript::{Shown, View};
use crate::{INTERRUPTED, Loaded, interrupt};

const HELP: &str = "\
Say something, and the model answers. An empty line lets it go on where it was
stopped.

  /reset                      begin a new conversation
  /reasoning low|medium|high  how much it thinks before it answers
  /analysis dim|hide|raw      what is shown of that
  /help                       this help
  /exit                       leave (so do Ctrl-D, and Ctrl-C twice)

Ctrl-C stops the model. Up and Down walk through earlier lines, Ctrl-R searches
them. To say something that begins with /, put a space before it.";

/// Talks until the person leaves.
pub fn run(
    mut loaded: Loaded,
    arguments: &Arguments,
    options: ChatOptions,
) -> Result<ExitCode, Failure> {
    let mut dialogue = Dialogue {
        session: loaded.model.chat(options)?,
        view: View::new(arguments.analysis),
        load_time: arguments.stats.then_some(loaded.load_time),
        told_to_go_on: false,
    };
    note(&dialogue.greeting(&arguments.model));
    conversation::run(&mut dialogue)
}

/// Answers one text.
pub fn answer(
    mut loaded: Loaded,
    prompt: &str,
    arguments: &Arguments,
    options: ChatOptions,
) -> Result<ExitCode, Failure> {
    let mut session = loaded.model.chat(options)?;
    let view = View::new(arguments.analysis);
    let shown = interrupt::stoppable(|| view.say(&mut session, Some(prompt)))?;
    let Some(shown) = shown else {
        return Ok(ExitCode::SUCCESS);
    };
    let dropped = session.model().conversation().dropped();
    if dropped > 0 {
        note(&format!(
            "note: the turn is longer than the model's {} positions; its first {dropped} tokens \
             were forgotten on the way",
            session.model().model().max_positions()
        ));
    }
    if let Some(text) = without_answer(&shown) {
        note(&format!(
            "note: {text}; --max-tokens sets how many there may be"
        ));
    }
    if arguments.stats {
        aside(&statistics_line(loaded.load_time, &shown.statistics));
    }
    Ok(match shown.reason {
        Some(FinishReason::Cancelled) => ExitCode::from(INTERRUPTED),
        _ => ExitCode::SUCCESS,
    })
}

/// Says of a turn that has nothing for the person how it ended.
fn without_answer(shown: &Shown) -> Option<String> {
    if shown.turn.answer().is_some() || shown.turn.tool_calls().next().is_some() {
        return None;
    }
    let tokens = shown.statistics.generated_tokens;
    match shown.reason {
        Some(FinishReason::MaxTokens) => Some(format!(
            "after {tokens} tokens the model is still thinking, and has not answered"
        )),
        Some(FinishReason::EndOfText(_)) => Some(format!(
            "the model ended its turn after {tokens} tokens without an answer"
        )),
        _ => None,
    }
}

impl View {
    /// Says something, or lets the model go on, and shows what it writes.
    fn say(
        self,
        session: &mut ChatSession<'_>,
        text: Option<&str>,
    ) -> Result<Option<Shown>, Failure> {
        let reply = match text {
            Some(text) => Some(session.say(text)?),
            None => session.go_on()?,
        };
        reply.map(|reply| self.show(reply)).transpose()
    }
}

/// The state of a conversation.
struct Dialogue<'m> {
    session: ChatSession<'m>,
    view: View,
    /// Given when figures are asked for.
    load_time: Option<Duration>,
    told_to_go_on: bool,
}

impl Dialogue<'_> {
    fn greeting(&self, name: &str) -> String {
        let model = self.session.model().model();
        format!(
            "{name}: {}, {:.1} million parameters, {} positions. It answers what you say; /help \
             for help.",
            model.model_type(),
            model.parameters() as f64 / 1e6,
            model.max_positions(),
        )
    }

    fn tell(&mut self, shown: &Shown, forgotten_before: (usize, usize)) {
        let forgotten = self.forgotten();
        if forgotten.0 > forgotten_before.0 {
            aside("(the conversation no longer fits; its oldest turns are forgotten)");
        } else if forgotten.1 > forgotten_before.1 {
            aside("(the turn no longer fits the model's positions; its beginning is forgotten)");
        }
        let without_answer = without_answer(shown);
        match shown.reason {
            Some(FinishReason::Cancelled) => aside("(stopped; Ctrl-C again leaves)"),
            Some(FinishReason::MaxTokens) => match without_answer {
                Some(text) => aside(&format!("({text}; Enter lets it go on)")),
                None if !self.told_to_go_on => {
                    self.told_to_go_on = true;
                    aside("(Enter lets it go on)");
                }
                None => {}
            },
            _ => {
                if let Some(text) = without_answer {
                    aside(&format!("({text})"));
                }
            }
        }
        if let Some(load_time) = self.load_time {
            aside(&statistics_line(load_time, &shown.statistics));
        }
    }

    /// Messages that the model is not told any more, and tokens that this turn dropped.
    fn forgotten(&self) -> (usize, usize) {
        let dropped = self.session.model().conversation().dropped();
        (self.session.forgotten(), dropped)
    }
}

impl Talk for Dialogue<'_> {
    fn help(&self) -> &'static str {
        HELP
    }

    fn reset(&mut self) {
        self.session.reset();
        aside("(a new conversation)");
    }

    fn obey(&mut self, command: &str, value: &str) -> bool {
        match command {
            "/reasoning" => match ReasoningArgument::from_str(value, true) {
                Ok(effort) => {
                    self.session.options_mut().reasoning = Some(Reasoning::from(effort));
                    aside(&format!(
                        "(reasoning: {})",
                        Reasoning::from(effort).as_str()
                    ));
                }
                Err(_) => note("/reasoning takes low, medium or high"),
            },
            "/analysis" => match Analysis::from_str(value, true) {
                Ok(analysis) => {
                    self.view.analysis = analysis;
                    aside(&format!("(analysis: {})", value.to_lowercase()));
                }
                Err(_) => note("/analysis takes dim, hide or raw"),
            },
            _ => return false,
        }
        true
    }

    fn answer(&mut self, text: &str) -> Result<Option<FinishReason>, Failure> {
        let text = (!text.trim().is_empty()).then_some(text.trim());
        let before = self.forgotten();
        let result = interrupt::stoppable(|| self.view.say(&mut self.session, text));
        match result {
            Ok(Some(shown)) => {
                self.tell(&shown, before);
                Ok(shown.reason)
            }
            Ok(None) => {
                aside("(the model's turn is over; say something, or /help)");
                Ok(None)
            }
            Err(Failure::BrokenPipe) => Err(Failure::BrokenPipe),
            Err(Failure::Message(message)) => {
                note(&format!("error: {message}"));
                Ok(None)
            }
        }
    }
}
