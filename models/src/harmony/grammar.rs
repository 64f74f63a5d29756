//! The harmony format as a state machine over special tokens and text.
//!
//! Models depart from the format: they write words where a name belongs, begin
//! a header twice, or leave out the token between header and text. Nothing of
//! this is an error here. A text is never dropped; at worst it comes in a
//! message whose channel is not known.

use super::draft::{Draft, Reading, is_noise, is_prose, push_word};
use super::event::{Author, Channel, End, Event, Header};
use super::special::Special;

/// Text in a header that is longer than this is no header.
const LONGEST_STRAY: usize = 80;

/// The same after the name of a channel, where text is likelier.
const LONGEST_STRAY_AFTER_NAME: usize = 24;

/// Where in a turn the output is.
#[derive(Debug, Clone)]
enum State {
    /// In a header, or before one.
    Header(Draft),
    /// In a message's text.
    Body {
        header: Header,
        /// Whether `<|message|>` came before the text.
        explicit: bool,
    },
}

/// Reads special tokens and text, and says what they mean.
#[derive(Debug, Clone)]
pub(super) struct Grammar {
    state: State,
    /// Whether the turn was ended by a token.
    ended: bool,
}

impl Grammar {
    /// After a prompt that ends with `<|start|>assistant`.
    pub(super) fn new() -> Self {
        Self {
            state: State::Header(Draft::unstarted()),
            ended: false,
        }
    }

    /// After the end of a turn.
    pub(super) fn ended() -> Self {
        Self {
            ended: true,
            ..Self::new()
        }
    }

    /// Whether the turn was ended by a token.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The message whose text is being written.
    pub(super) fn open_message(&self) -> Option<&Header> {
        match &self.state {
            State::Header(_) => None,
            State::Body { header, .. } => Some(header),
        }
    }

    /// Takes in text.
    pub(super) fn text(&mut self, text: &str, events: &mut Vec<Event>) {
        if text.is_empty() {
            return;
        }
        let draft = match &mut self.state {
            State::Body { .. } => {
                events.push(Event::Text(text.to_owned()));
                return;
            }
            State::Header(draft) => draft,
        };
        draft.push(text);
        if draft.is_short() {
            return;
        }
        let Reading { header, rest } = draft.read(false);
        let stray = rest.trim();
        let named = header.channel.is_some() && is_prose(stray);
        let longest = if named {
            LONGEST_STRAY_AFTER_NAME
        } else {
            LONGEST_STRAY
        };
        if stray.len() > longest || stray.contains('\n') {
            // It is the message's text, which should not wait for an end.
            self.begin(header, false, events);
            events.push(Event::Text(rest));
        }
    }

    /// Takes in a special token.
    pub(super) fn special(&mut self, special: Special, events: &mut Vec<Event>) {
        match special {
            Special::Start => {
                self.end_message(End::Missing, events);
                self.state = State::Header(Draft::started());
            }
            Special::Channel => self.channel(events),
            Special::Constrain => {
                if let State::Header(draft) = &mut self.state {
                    draft.push_constrain();
                }
            }
            Special::Message => self.message(events),
            Special::End => self.end_message(End::End, events),
            Special::Return => self.end_turn(End::Return, events),
            Special::Call => self.end_turn(End::Call, events),
        }
    }

    /// Ends the turn with the message that is under way.
    pub(super) fn end_turn(&mut self, end: End, events: &mut Vec<Event>) {
        self.end_message(end, events);
        if !(end == End::Cut && self.ended) {
            events.push(Event::TurnEnd(end));
        }
        self.ended = true;
    }

    fn channel(&mut self, events: &mut Vec<Event>) {
        match &mut self.state {
            State::Header(draft) => {
                if draft.push_channel() {
                    return;
                }
                // A second one: the header begins again.
                let reading = draft.read(true);
                let known = self.split_off_prose(reading, events);
                self.state = State::Header(Draft::channel(known));
            }
            State::Body { header, .. } => {
                // The end of the message and the role of the next are missing.
                let author = header.author.clone();
                self.end_message(End::Missing, events);
                self.state = State::Header(Draft::channel(Header {
                    malformed: true,
                    ..Header::of(author)
                }));
            }
        }
    }

    fn message(&mut self, events: &mut Vec<Event>) {
        match &self.state {
            State::Header(draft) => {
                let reading = draft.read(true);
                let header = self.split_off_prose(reading, events);
                self.begin(header, true, events);
            }
            // What came before was taken for text; so it stays one.
            State::Body {
                header,
                explicit: false,
            } => {
                let header = header.clone();
                self.end_message(End::Missing, events);
                self.begin(header, true, events);
            }
            State::Body { explicit: true, .. } => {}
        }
    }

    /// Makes a message of words that stand in a header; other strays stay in it.
    fn split_off_prose(&mut self, reading: Reading, events: &mut Vec<Event>) -> Header {
        let Reading { mut header, rest } = reading;
        if is_prose(&rest) {
            header.malformed = true;
            events.push(Event::MessageStart(header.clone()));
            events.push(Event::Text(rest));
            events.push(Event::MessageEnd(End::Missing));
            // It is told; it need not be told again.
            header.extra.clear();
        } else if !rest.is_empty() {
            push_word(&mut header.extra, &rest);
        }
        header.malformed |= !header.extra.is_empty();
        header
    }

    fn begin(&mut self, mut header: Header, explicit: bool, events: &mut Vec<Event>) {
        let channel_is_due = header.author == Author::Assistant && header.channel.is_none();
        header.malformed |= !explicit || channel_is_due;
        events.push(Event::MessageStart(header.clone()));
        self.state = State::Body { header, explicit };
    }

    /// Ends the message that is under way, if there is one.
    fn end_message(&mut self, end: End, events: &mut Vec<Event>) {
        let between = State::Header(Draft::unstarted());
        match std::mem::replace(&mut self.state, between) {
            State::Body { .. } => events.push(Event::MessageEnd(end)),
            State::Header(draft) => end_header(&draft, end, events),
        }
    }
}

/// A header without `<|message|>`: what is not a name in it is the message.
fn end_header(draft: &Draft, end: End, events: &mut Vec<Event>) {
    let Reading { mut header, rest } = draft.read(false);
    header.malformed = true;
    let cut_name = end == End::Cut && draft.is_beginning_of_name(&rest);
    let is_text = !is_noise(&rest) && !cut_name;
    if !is_text {
        push_word(&mut header.extra, rest.trim());
    }
    let says_something = matches!(header.author, Author::Tool(_))
        || header.recipient.is_some()
        || header.content_type.is_some()
        || matches!(header.channel, Some(Channel::Other(_)))
        || !header.extra.is_empty();
    if !is_text && !says_something {
        return;
    }
    events.push(Event::MessageStart(header));
    if is_text {
        events.push(Event::Text(rest));
    }
    events.push(Event::MessageEnd(end));
}
