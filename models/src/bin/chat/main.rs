//! `chat`: a person and a language model write a text together, or talk in turns.

mod arguments;
mod continuation;
mod conversation;
mod dialogue;
mod history;
mod interrupt;
mod one_shot;
mod output;
mod transcript;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use linnet_models::TextModel;

use self::arguments::Arguments;
use self::output::{Failure, note};

/// The exit status of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// A loaded model and how long that took.
struct Loaded {
    model: TextModel,
    load_time: Duration,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(code) => code,
        // Whoever read the text has read enough.
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            note(&format!("error: {message}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    // A mistake in the flags is told before anything is loaded.
    let mut options = arguments.generate_options();
    options.check()?;
    let mut chat_options = arguments.chat_options();
    interrupt::install()?;
    options.cancellation = interrupt::cancellation().clone();
    chat_options.generate.cancellation = interrupt::cancellation().clone();
    let prompt = one_shot::prompt(arguments.prompt.as_deref())?;

    let started = Instant::now();
    let model = linnet_models::load(&arguments.model, arguments.load_options())?;
    let loaded = Loaded {
        model,
        load_time: started.elapsed(),
    };
    let in_turns = loaded.model.holds_conversations();
    if let Some(flag) = arguments.conversation_flag()
        && !in_turns
    {
        return Err(Failure::Message(format!(
            "{flag} is for models that answer in turns, such as tales-gpt-oss; {} writes on from \
             a text",
            arguments.model
        )));
    }
    match prompt {
        Some(prompt) if in_turns => dialogue::answer(loaded, &prompt, arguments, chat_options),
        Some(prompt) => one_shot::run(loaded, &prompt, options, arguments.stats),
        None if in_turns => dialogue::run(loaded, arguments, chat_options),
        None => continuation::run(loaded, arguments, options),
    }
}

/// Whether a person sits at standard input.
fn stdin_is_terminal() -> bool {
    std::io::stdin().is_terminal()
}
