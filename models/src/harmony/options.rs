//! How a conversation is held.

use super::message::{Reasoning, Tool};
use crate::generation::GenerateOptions;

/// How a conversation is held.
#[derive(Debug, Clone)]
pub struct ChatOptions {
    /// How much the model thinks; `None` leaves it to the checkpoint.
    pub reasoning: Option<Reasoning>,
    /// The system message: who the model is; `None` leaves it to the checkpoint.
    pub system: Option<String>,
    /// The developer message: instructions for the whole conversation.
    pub developer: Option<String>,
    /// Tools that the model may call.
    pub tools: Vec<Tool>,
    /// Tools that the model was trained with, by the names that its template
    /// has for them: `browser`, `python`.
    pub builtin_tools: Vec<String>,
    /// How each turn is written.
    pub generate: GenerateOptions,
}

impl Default for ChatOptions {
    fn default() -> Self {
        Self {
            reasoning: None,
            system: None,
            developer: None,
            tools: Vec::new(),
            builtin_tools: Vec::new(),
            generate: GenerateOptions {
                // The reasoning comes on top of the answer.
                max_tokens: 2048,
                ..GenerateOptions::default()
            },
        }
    }
}
