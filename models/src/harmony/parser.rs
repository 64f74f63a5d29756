//! Token ids to messages.

use super::event::{End, Event, Header};
use super::grammar::Grammar;
use super::special::{Special, SpecialTokens};
use crate::tokenizer::{TextStream, Tokenizer};

/// Reads a model's output, token by token.
///
/// It takes whatever comes: an output that departs from the format gives
/// messages whose [`Header::malformed`] is set, and never an error, and no
/// text is lost. A character that is split over tokens comes whole.
///
/// ```
/// use linnet_models::harmony::{Channel, Event, Parser};
///
/// # fn main() -> linnet_models::Result<()> {
/// let model = linnet_models::load("tales-gpt-oss", Default::default())?;
/// let tokenizer = model.tokenizer();
/// let mut parser = Parser::new(tokenizer).expect("its tokenizer has the harmony tokens");
/// let mut answer = String::new();
/// let mut answering = false;
/// for id in tokenizer.encode("<|channel|>final<|message|>There was a King.<|return|>")? {
///     for event in parser.push(tokenizer, id) {
///         match event {
///             Event::MessageStart(header) => answering = header.channel == Some(Channel::Final),
///             Event::Text(text) if answering => answer.push_str(&text),
///             _ => {}
///         }
///     }
/// }
/// assert_eq!(answer, "There was a King.");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Parser {
    tokens: SpecialTokens,
    stream: TextStream,
    grammar: Grammar,
}

impl Parser {
    /// A parser for what follows a prompt that ends with `<|start|>assistant`;
    /// `None` when the vocabulary lacks the format's special tokens.
    pub fn new(tokenizer: &Tokenizer) -> Option<Self> {
        SpecialTokens::of(tokenizer).map(Self::with_tokens)
    }

    /// The same, with the special tokens known.
    pub(super) fn with_tokens(tokens: SpecialTokens) -> Self {
        Self {
            tokens,
            stream: TextStream::new(),
            grammar: Grammar::new(),
        }
    }

    /// Takes in the next token and returns what it completes.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: i32) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(special) = self.tokens.special(id) {
            self.flush(tokenizer, &mut events);
            self.grammar.special(special, &mut events);
        } else if tokenizer.eos().contains(&id) {
            self.flush(tokenizer, &mut events);
            self.grammar.end_turn(End::EndOfText, &mut events);
        } else {
            // A token that the tokenizer cannot decode is no reason to lose the turn.
            let text = self.stream.push(tokenizer, id).unwrap_or("\u{FFFD}");
            self.grammar.text(text, &mut events);
        }
        events
    }

    /// Ends the output where it is, and returns what that completes.
    pub fn finish(&mut self, tokenizer: &Tokenizer) -> Vec<Event> {
        let mut events = Vec::new();
        self.flush(tokenizer, &mut events);
        self.grammar.end_turn(End::Cut, &mut events);
        events
    }

    /// Whether a token ends a turn.
    pub(super) fn ends_turn(&self, tokenizer: &Tokenizer, id: i32) -> bool {
        match self.tokens.special(id) {
            Some(special) => matches!(special, Special::Return | Special::Call),
            None => tokenizer.eos().contains(&id),
        }
    }

    /// Takes the turn for ended: what is under way is not part of it.
    pub(super) fn close(&mut self) {
        self.stream = TextStream::new();
        self.grammar = Grammar::ended();
    }

    /// Whether the model ended its turn.
    pub fn has_ended(&self) -> bool {
        self.grammar.has_ended()
    }

    /// The message whose text is being written, if there is one.
    pub fn open_message(&self) -> Option<&Header> {
        self.grammar.open_message()
    }

    /// Text ends at a special token, in the middle of a character too.
    fn flush(&mut self, tokenizer: &Tokenizer, events: &mut Vec<Event>) {
        let text = self.stream.finish(tokenizer).unwrap_or("\u{FFFD}");
        self.grammar.text(text, events);
    }
}

#[cfg(test)]
mod tests;
