//! The harmony format, in which gpt-oss models hold conversations.
//!
//! A message is a header and a text: `<|start|>assistant<|channel|>final
//! <|message|>There was a King.<|return|>`. The model reasons in the
//! *analysis* channel, calls tools in *commentary*, and answers in *final*.
//! [`Parser`] reads what a model writes, and [`ChatSession`] holds a
//! conversation with it.

mod draft;
mod event;
mod format;
mod grammar;
mod json;
mod message;
mod options;
mod parser;
mod render;
mod reply;
mod session;
mod shield;
mod special;
mod template;
mod turn;
mod typescript;

#[cfg(test)]
mod test_support;

pub use event::{Author, Channel, End, Event, Header};
pub(crate) use format::ChatFormat;
pub use message::{Message, Reasoning, Tool, ToolCall};
pub use options::ChatOptions;
pub use parser::Parser;
pub use reply::{Reply, Step};
pub use session::ChatSession;
pub use special::{Special, SpecialTokens};
pub use turn::{Turn, TurnMessage};
