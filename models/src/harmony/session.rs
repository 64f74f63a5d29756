//! A conversation with a model.

use jiff::ZonedDateTime;

use super::format::{ChatFormat, Prompter};
use super::message::{self, Message};
use super::options::ChatOptions;
use super::parser::Parser;
use super::reply::Reply;
use super::special::Special;
use super::turn::Turn;
use crate::Result;
use crate::generation::Tokens;
use crate::text_model::TextModel;
use crate::tokenizer::Tokenizer;

/// A conversation with a model that speaks harmony.
///
/// Each turn is put to the model with all that was said before; what of it the
/// model's cache holds already does not go through the model again. When the
/// conversation no longer fits the model's positions, its oldest turns are
/// left out.
///
/// ```
/// use linnet_models::harmony::{ChatOptions, Reasoning};
///
/// # fn main() -> linnet_models::Result<()> {
/// let mut model = linnet_models::load("tales-gpt-oss", Default::default())?;
/// let options = ChatOptions { reasoning: Some(Reasoning::Low), ..Default::default() };
/// let mut chat = model.chat(options)?;
/// let answer = chat.say("Once upon a time there was a King.")?.finish()?.answer();
/// println!("{}", answer.unwrap_or_default());
/// // The model sees the first turn too.
/// let answer = chat.say("He had three daughters.")?.finish()?.answer();
/// println!("{}", answer.unwrap_or_default());
/// # Ok(())
/// # }
/// ```
///
/// A [`Reply`] is also an iterator over [`Event`](super::Event)s, for programs
/// that show the text while it is written.
pub struct ChatSession<'m> {
    model: &'m mut TextModel,
    format: ChatFormat,
    prompter: Prompter,
    options: ChatOptions,
    messages: Vec<Message>,
    turn: Option<OpenTurn>,
    /// How many turns the model had.
    turns: u64,
    forgotten: usize,
}

/// A turn of the model that may go on.
pub(super) struct OpenTurn {
    pub(super) parser: Parser,
    pub(super) turn: Turn,
    /// Whether the output stopped, or was not asked for any more.
    pub(super) is_cut: bool,
}

impl OpenTurn {
    /// The turn as it is, should it not go on.
    pub(super) fn so_far(&self, tokenizer: &Tokenizer) -> Turn {
        let mut turn = self.turn.clone();
        for event in self.parser.clone().finish(tokenizer) {
            turn.add(&event);
        }
        turn
    }
}

impl<'m> ChatSession<'m> {
    /// Begins a conversation.
    pub(crate) fn new(
        model: &'m mut TextModel,
        format: ChatFormat,
        options: ChatOptions,
    ) -> Result<Self> {
        options.generate.check()?;
        // A conversation has one date, so that its beginning stays in the cache.
        let prompter = format.prepare(ZonedDateTime::now())?;
        Ok(Self {
            model,
            format,
            prompter,
            options,
            messages: Vec::new(),
            turn: None,
            turns: 0,
            forgotten: 0,
        })
    }

    /// Says something and lets the model answer.
    ///
    /// # Errors
    ///
    /// As [`ChatSession::reply`]. What was said is then not part of the conversation.
    pub fn say(&mut self, text: &str) -> Result<Reply<'_>> {
        self.options.generate.check()?;
        self.close_turn();
        self.messages.push(Message::User(text.to_owned()));
        let prompt = self.prompt().inspect_err(|_| {
            self.messages.pop();
        })?;
        self.begin(&prompt)
    }

    /// Lets the model say something to the messages that there are, for
    /// instance after [`ChatSession::add`] of a tool's result.
    ///
    /// # Errors
    ///
    /// [`Error::ChatTemplate`](crate::Error::ChatTemplate) when the checkpoint's template refuses the
    /// messages, [`Error::InvalidOption`](crate::Error::InvalidOption) for options out of their range, and
    /// what the tokenizer reports.
    pub fn reply(&mut self) -> Result<Reply<'_>> {
        self.close_turn();
        let prompt = self.prompt()?;
        self.begin(&prompt)
    }

    /// Lets the model go on with a turn that was cut by its length or from
    /// outside, or whose reply was dropped; `None` when there is no such turn.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) for options out of their range.
    pub fn go_on(&mut self) -> Result<Option<Reply<'_>>> {
        match &self.turn {
            Some(turn) if turn.is_cut && !turn.parser.has_ended() => self.start(None).map(Some),
            _ => Ok(None),
        }
    }

    /// Adds a message without letting the model answer.
    pub fn add(&mut self, message: Message) {
        self.close_turn();
        self.messages.push(message);
    }

    /// The messages so far, without those of a turn that may go on. What the
    /// model thought is not among them.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// How many of the oldest messages the model does not see any more.
    pub fn forgotten(&self) -> usize {
        self.forgotten
    }

    /// The options, which may change between turns.
    pub fn options_mut(&mut self) -> &mut ChatOptions {
        &mut self.options
    }

    /// The model.
    pub fn model(&self) -> &TextModel {
        self.model
    }

    /// Forgets all messages.
    pub fn reset(&mut self) {
        self.messages.clear();
        self.turn = None;
        self.forgotten = 0;
    }

    /// Makes messages of the last turn.
    fn close_turn(&mut self) {
        if let Some(open) = self.turn.take() {
            let turn = open.so_far(self.model.tokenizer());
            self.messages.extend(message::kept(&turn));
        }
    }

    /// The tokens of the conversation. Where they leave the model no room, the
    /// oldest turns are left out.
    fn prompt(&mut self) -> Result<Vec<i32>> {
        let positions = self.model.model().max_positions();
        let answer = self.options.generate.max_tokens.min(positions / 2);
        loop {
            let messages = &self.messages[self.forgotten..];
            let prompt = self
                .prompter
                .prompt(self.model.tokenizer(), messages, &self.options)?;
            // The next turn that can be the first one is the person's.
            let next = messages
                .iter()
                .skip(1)
                .position(|message| matches!(message, Message::User(_)));
            match next {
                Some(next) if prompt.len() + answer > positions => self.forgotten += next + 1,
                _ => return Ok(prompt),
            }
        }
    }

    fn begin(&mut self, prompt: &[i32]) -> Result<Reply<'_>> {
        self.turn = None;
        self.start(Some(prompt))
    }

    /// Writes after a prompt, or on from where the last turn stopped.
    fn start(&mut self, prompt: Option<&[i32]>) -> Result<Reply<'_>> {
        let mut options = self.options.generate.clone();
        // Each turn has random numbers of its own, all of them fixed by the seed.
        let seed = options.sampling.seed;
        options.sampling.seed = seed.map(|seed| seed.wrapping_add(self.turns));
        if !options.ignore_eos {
            let ends = [Special::Return, Special::Call].map(|end| self.format.tokens().id(end));
            options.stop_tokens.extend(ends);
        }
        if let Some(prompt) = prompt {
            self.model.replace_tokens(prompt);
        }
        let stop = options.stop.clone();
        let tokens = Tokens::new(self.model, &[], options)?;
        self.turns += 1;
        let special = self.format.tokens();
        let open = self.turn.get_or_insert_with(|| OpenTurn {
            parser: Parser::with_tokens(special),
            turn: Turn::default(),
            is_cut: false,
        });
        Reply::new(tokens, open, &stop)
    }
}

impl std::fmt::Debug for ChatSession<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatSession")
            .field("model", &self.model)
            .field("options", &self.options)
            .field("messages", &self.messages)
            .field("forgotten", &self.forgotten)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
