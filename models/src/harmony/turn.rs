//! What a model said in one turn.

use super::event::{Author, Channel, End, Event, Header};

/// A message of a model's turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnMessage {
    /// What is known of it besides its text.
    pub header: Header,
    /// Its text.
    pub text: String,
    /// How it ended; `None` while it is being written.
    pub end: Option<End>,
}

/// The messages of a model's turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// All of them, in the order in which they were written.
    pub messages: Vec<TurnMessage>,
}

impl Turn {
    /// Adds what the parser found.
    pub fn add(&mut self, event: &Event) {
        match event {
            Event::MessageStart(header) => self.messages.push(TurnMessage {
                header: header.clone(),
                text: String::new(),
                end: None,
            }),
            Event::Text(text) => {
                if let Some(message) = self.messages.last_mut() {
                    message.text.push_str(text);
                }
            }
            Event::MessageEnd(end) => {
                if let Some(message) = self.messages.last_mut() {
                    message.end = Some(*end);
                }
            }
            Event::TurnEnd(_) => {}
        }
    }

    /// The answer: what the final channel says. Where the model did not use
    /// that channel, it is what it said in none, or else in commentary.
    /// `None` when it said nothing that is meant for the person.
    pub fn answer(&self) -> Option<String> {
        self.text_of(|channel| channel == Some(&Channel::Final))
            .or_else(|| self.text_of(|channel| matches!(channel, None | Some(Channel::Other(_)))))
            .or_else(|| self.text_of(|channel| channel == Some(&Channel::Commentary)))
    }

    /// The reasoning: what the analysis channel says to nobody else.
    pub fn analysis(&self) -> Option<String> {
        self.text_of(|channel| channel == Some(&Channel::Analysis))
    }

    /// The messages that call a tool, but for one that is cut.
    pub fn tool_calls(&self) -> impl Iterator<Item = &TurnMessage> {
        self.messages.iter().filter(|message| {
            message.header.author == Author::Assistant
                && message.header.tool().is_some()
                && !matches!(message.end, None | Some(End::Cut))
        })
    }

    /// The texts to the person in some channels, each on lines of its own.
    fn text_of(&self, is_wanted: impl Fn(Option<&Channel>) -> bool) -> Option<String> {
        let texts: Vec<&str> = self
            .messages
            .iter()
            .filter(|message| {
                message.header.author == Author::Assistant
                    && message.header.tool().is_none()
                    && is_wanted(message.header.channel.as_ref())
            })
            .map(|message| message.text.trim())
            .filter(|text| !text.is_empty())
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }
}
