//! A turn of the model in the making.

use std::collections::VecDeque;

use super::event::{Author, Channel, End, Event, Header};
use super::session::OpenTurn;
use super::turn::Turn;
use crate::Result;
use crate::generation::{FinishReason, Statistics, Tokens};
use crate::stop::StopStrings;
use crate::tokenizer::Tokenizer;

/// A turn of the model in the making; an iterator over its events.
///
/// Dropping it early is fine: what was said until then is part of the
/// conversation.
pub struct Reply<'a> {
    tokens: Tokens<'a>,
    open: &'a mut OpenTurn,
    /// Watches the answer, where there are strings to watch for.
    stops: Option<StopStrings>,
    /// Whether the message under way is one that `stops` watches.
    watching: bool,
    /// Tells again which message goes on.
    resumed: Option<Event>,
    is_over: bool,
    queue: VecDeque<Event>,
}

/// A token of a turn, and what it completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The token; `None` at the end of the turn.
    pub token: Option<i32>,
    /// What is certain with it.
    pub events: Vec<Event>,
}

impl<'a> Reply<'a> {
    pub(super) fn new(tokens: Tokens<'a>, open: &'a mut OpenTurn, stop: &[String]) -> Result<Self> {
        let stops = match stop {
            [] => None,
            stop => Some(StopStrings::new(stop)?),
        };
        open.is_cut = true;
        let message = open.parser.open_message().cloned();
        Ok(Self {
            tokens,
            stops,
            watching: message.as_ref().is_some_and(is_answer),
            resumed: message.map(Event::MessageStart),
            open,
            is_over: false,
            queue: VecDeque::new(),
        })
    }

    /// The next token with its events, `None` when the turn is over.
    ///
    /// # Errors
    ///
    /// As [`Generation::next_piece`](crate::Generation::next_piece). The turn
    /// is over after an error.
    pub fn next_step(&mut self) -> Result<Option<Step>> {
        if self.is_over {
            return Ok(None);
        }
        let mut events: Vec<Event> = self.resumed.take().into_iter().collect();
        let token = match self.tokens.next_token() {
            Ok(token) => token,
            Err(error) => {
                self.is_over = true;
                return Err(error);
            }
        };
        match token {
            Some(token) if !self.is_foreign_end(token) => {
                let found = self.open.parser.push(self.tokens.tokenizer(), token);
                self.accept(found, token, &mut events);
            }
            _ => {
                self.is_over = true;
                self.end(&mut events);
            }
        }
        Ok(Some(Step { token, events }))
    }

    /// Lets the model write to the end of its turn, and returns all of the turn.
    ///
    /// # Errors
    ///
    /// As [`Reply::next_step`].
    pub fn finish(mut self) -> Result<Turn> {
        while self.next_step()?.is_some() {}
        Ok(self.turn())
    }

    /// The turn so far.
    pub fn turn(&self) -> Turn {
        self.open.so_far(self.tokens.tokenizer())
    }

    /// The tokenizer of the model, for the tokens of the steps.
    pub fn tokenizer(&self) -> &Tokenizer {
        self.tokens.tokenizer()
    }

    /// Why the turn ended, `None` while it goes on.
    pub fn finish_reason(&self) -> Option<FinishReason> {
        self.tokens.finish_reason()
    }

    /// The times so far.
    pub fn statistics(&self) -> Statistics {
        self.tokens.statistics()
    }

    /// Whether a token ends the turn that is no end to the format: one that the
    /// caller named.
    fn is_foreign_end(&self, token: i32) -> bool {
        self.tokens.finish_reason() == Some(FinishReason::EndOfText(token))
            && !self.open.parser.ends_turn(self.tokens.tokenizer(), token)
    }

    /// Adds the events of a token to the turn, and to what is told of it.
    fn accept(&mut self, found: Vec<Event>, token: i32, events: &mut Vec<Event>) {
        for event in found {
            match event {
                Event::MessageStart(header) => {
                    if is_of_another(&header) {
                        // The model would go on with the part of the person.
                        self.tokens.finish(FinishReason::EndOfText(token));
                        self.open.parser.close();
                        self.tell(Event::TurnEnd(End::EndOfText), events);
                        return;
                    }
                    self.watching = is_answer(&header);
                    self.tell(Event::MessageStart(header), events);
                }
                Event::Text(text) => {
                    if self.watch(text, events) {
                        self.tokens.finish(FinishReason::StopString);
                        self.open.parser.close();
                        self.tell(Event::MessageEnd(End::Cut), events);
                        self.tell(Event::TurnEnd(End::Cut), events);
                        return;
                    }
                }
                Event::MessageEnd(end) => {
                    self.release(events);
                    self.tell(Event::MessageEnd(end), events);
                }
                Event::TurnEnd(end) => self.tell(Event::TurnEnd(end), events),
            }
        }
    }

    /// Tells text as far as no stop string can be in it; whether one came.
    fn watch(&mut self, text: String, events: &mut Vec<Event>) -> bool {
        let Some(stops) = self.stops.as_mut().filter(|_| self.watching) else {
            self.tell(Event::Text(text), events);
            return false;
        };
        let watched = stops.push(&text);
        let (text, stopped) = (watched.text.to_owned(), watched.stopped);
        if !text.is_empty() {
            self.tell(Event::Text(text), events);
        }
        stopped
    }

    /// Tells what was held back.
    fn release(&mut self, events: &mut Vec<Event>) {
        let held = self.stops.as_mut().map(|stops| stops.finish().to_owned());
        if let Some(text) = held.filter(|text| !text.is_empty()) {
            self.tell(Event::Text(text), events);
        }
    }

    fn tell(&mut self, event: Event, events: &mut Vec<Event>) {
        self.open.turn.add(&event);
        events.push(event);
    }

    /// Ends the turn where the output is. The parser stays as it is, so that
    /// the turn can go on.
    fn end(&mut self, events: &mut Vec<Event>) {
        self.release(events);
        self.open.is_cut = matches!(
            self.tokens.finish_reason(),
            Some(FinishReason::MaxTokens | FinishReason::Cancelled)
        );
        events.extend(self.open.parser.clone().finish(self.tokens.tokenizer()));
    }
}

impl Iterator for Reply<'_> {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(Ok(event));
            }
            match self.next_step() {
                Ok(Some(step)) => self.queue.extend(step.events),
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl std::fmt::Debug for Reply<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply")
            .field("turn", &self.open.turn)
            .field("finish_reason", &self.finish_reason())
            .finish_non_exhaustive()
    }
}

/// Whether a message is, or may be, the answer.
fn is_answer(header: &Header) -> bool {
    header.tool().is_none()
        && !matches!(
            header.channel,
            Some(Channel::Analysis | Channel::Commentary)
        )
}

/// Whether a message is written in the name of somebody whose part it is not.
fn is_of_another(header: &Header) -> bool {
    matches!(
        header.author,
        Author::User | Author::System | Author::Developer
    )
}
