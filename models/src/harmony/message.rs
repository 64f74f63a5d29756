//! What a conversation consists of, as it is put to the model.

use serde_json::Value;

use super::turn::Turn;

/// A message of a conversation. What stands before all of them, the system
/// and developer messages, is in [`ChatOptions`](super::ChatOptions).
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What the person says.
    User(String),
    /// What the model answered.
    Assistant(String),
    /// A tool that the model called.
    Call(ToolCall),
    /// What a tool gave back.
    ToolResult {
        /// The tool's name, as the call has it.
        name: String,
        /// Its result.
        content: String,
    },
}

/// The model's wish that a tool be run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool's name, without `functions.`.
    pub name: String,
    /// Its arguments, usually JSON.
    pub arguments: String,
    /// What the model thought before; it is put to the model again until it answers.
    pub analysis: Option<String>,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its parameters as a JSON schema of an object; `Value::Null` for none.
    pub parameters: Value,
}

/// How much the model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reasoning {
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

impl Reasoning {
    /// The word for it in a prompt.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The messages that a turn of the model leaves in the conversation: its calls
/// of tools and its answer. What it thought is not kept, as the format has it.
pub(super) fn kept(turn: &Turn) -> Vec<Message> {
    let mut analysis = turn.analysis();
    let calls = turn.tool_calls().map(|call| {
        let name = call.header.tool().unwrap_or_default();
        Message::Call(ToolCall {
            name: name.strip_prefix("functions.").unwrap_or(name).to_owned(),
            arguments: call.text.clone(),
            analysis: analysis.take(),
        })
    });
    let mut messages: Vec<Message> = calls.collect();
    let called = !messages.is_empty();
    if let Some(answer) = turn.answer() {
        // Words in commentary that announce a call come before it.
        let at = if called { 0 } else { messages.len() };
        messages.insert(at, Message::Assistant(answer));
    }
    messages
}
