//! What a harmony output consists of.

/// Who wrote a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Author {
    /// The model.
    Assistant,
    /// The person.
    User,
    /// The instance that sets the frame.
    System,
    /// The developer of the application.
    Developer,
    /// A tool, by its name, e.g. `functions.get_weather`.
    Tool(String),
}

/// What a message of the model is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Channel {
    /// The model's reasoning, not meant to be shown as an answer.
    Analysis,
    /// Calls of tools, and words to the person about them.
    Commentary,
    /// The answer.
    Final,
    /// A name that the format does not have, as the model wrote it.
    Other(String),
}

/// What is known of a message before its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Who wrote it.
    pub author: Author,
    /// Its channel; `None` when the header names none.
    pub channel: Option<Channel>,
    /// Whom it is for, e.g. `functions.get_weather`; `None` for the person.
    pub recipient: Option<String>,
    /// The type of its text, e.g. `json`.
    pub content_type: Option<String>,
    /// What else the header says. Empty in a well-formed one.
    pub extra: String,
    /// Whether the header departs from the format.
    pub malformed: bool,
}

impl Header {
    /// A header that says nothing but who writes.
    pub(super) fn of(author: Author) -> Self {
        Self {
            author,
            channel: None,
            recipient: None,
            content_type: None,
            extra: String::new(),
            malformed: false,
        }
    }

    /// The name of the tool that the message calls, `None` when it calls none.
    pub fn tool(&self) -> Option<&str> {
        match self.recipient.as_deref() {
            None | Some("assistant" | "user" | "all") => None,
            tool => tool,
        }
    }
}

/// How a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// With `<|end|>`.
    End,
    /// With `<|return|>`, which also ends the turn.
    Return,
    /// With `<|call|>`, which also ends the turn.
    Call,
    /// With another token that ends a text, which also ends the turn.
    EndOfText,
    /// Without an end: another message begins.
    Missing,
    /// Without an end: the output stops.
    Cut,
}

/// What the parser finds in a model's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A message begins.
    MessageStart(Header),
    /// Text of the message that began last; never empty.
    Text(String),
    /// The message is over.
    MessageEnd(End),
    /// The turn is over, by the model's own token or because the output stops.
    /// Should the output go on nevertheless, more messages follow.
    TurnEnd(End),
}
