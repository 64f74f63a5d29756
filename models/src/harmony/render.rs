//! A prompt in the harmony format, for checkpoints without a chat template.

use super::message::{Message, Reasoning, ToolCall};
use super::options::ChatOptions;
use super::special::{Special, SpecialTokens};
use super::typescript;
use crate::Result;
use crate::tokenizer::Tokenizer;

/// What the published models are told to be when nobody says anything else.
const IDENTITY: &str = "You are ChatGPT, a large language model trained by OpenAI.";

/// How far the published models' knowledge goes.
const KNOWLEDGE_CUTOFF: &str = "2024-06";

/// The tokens of a conversation, up to where the model goes on.
pub(super) fn prompt(
    tokenizer: &Tokenizer,
    tokens: SpecialTokens,
    messages: &[Message],
    options: &ChatOptions,
    date: &str,
) -> Result<Vec<i32>> {
    let mut prompt = Prompt {
        tokenizer,
        tokens,
        ids: Vec::new(),
    };
    prompt.message("system", &system(options, date), Special::End)?;
    if let Some(text) = developer(options) {
        prompt.message("developer", &text, Special::End)?;
    }
    let answered = messages
        .iter()
        .rposition(|message| matches!(message, Message::Assistant(_)));
    for (i, message) in messages.iter().enumerate() {
        // What was thought before an answer is not put to the model again.
        let keeps_analysis = answered.is_none_or(|answered| i > answered);
        prompt.add(message, keeps_analysis)?;
    }
    prompt.special(Special::Start);
    prompt.text("assistant")?;
    Ok(prompt.ids)
}

fn system(options: &ChatOptions, date: &str) -> String {
    let identity = options.system.as_deref().unwrap_or(IDENTITY);
    let reasoning = options.reasoning.unwrap_or(Reasoning::Medium).as_str();
    let mut text = format!(
        "{identity}\nKnowledge cutoff: {KNOWLEDGE_CUTOFF}\nCurrent date: {date}\n\n\
         Reasoning: {reasoning}\n\n\
         # Valid channels: analysis, commentary, final. Channel must be included for every message."
    );
    if !options.tools.is_empty() {
        text.push_str("\nCalls to these tools must go to the commentary channel: 'functions'.");
    }
    text
}

fn developer(options: &ChatOptions) -> Option<String> {
    let mut sections = Vec::new();
    if let Some(text) = &options.developer {
        sections.push(format!("# Instructions\n\n{text}"));
    }
    if !options.tools.is_empty() {
        sections.push(format!(
            "# Tools\n\n{}",
            typescript::namespace(&options.tools)
        ));
    }
    (!sections.is_empty()).then(|| sections.join("\n\n"))
}

/// Tokens, message by message. Texts are encoded as text: whatever they spell
/// out, no special token comes of it.
struct Prompt<'t> {
    tokenizer: &'t Tokenizer,
    tokens: SpecialTokens,
    ids: Vec<i32>,
}

impl Prompt<'_> {
    fn add(&mut self, message: &Message, keeps_analysis: bool) -> Result<()> {
        match message {
            Message::User(text) => self.message("user", text, Special::End),
            Message::Assistant(text) => self.answer("final", text),
            Message::Call(call) => {
                if keeps_analysis && let Some(analysis) = &call.analysis {
                    self.answer("analysis", analysis)?;
                }
                self.call(call)
            }
            Message::ToolResult { name, content } => {
                self.special(Special::Start);
                self.text(&format!("functions.{name} to=assistant"))?;
                self.special(Special::Channel);
                self.text("commentary")?;
                self.body(content, Special::End)
            }
        }
    }

    fn message(&mut self, role: &str, text: &str, end: Special) -> Result<()> {
        self.special(Special::Start);
        self.text(role)?;
        self.body(text, end)
    }

    fn answer(&mut self, channel: &str, text: &str) -> Result<()> {
        self.special(Special::Start);
        self.text("assistant")?;
        self.special(Special::Channel);
        self.text(channel)?;
        self.body(text, Special::End)
    }

    fn call(&mut self, call: &ToolCall) -> Result<()> {
        self.special(Special::Start);
        self.text("assistant")?;
        self.special(Special::Channel);
        self.text(&format!("commentary to=functions.{} ", call.name))?;
        self.special(Special::Constrain);
        self.text("json")?;
        self.body(&call.arguments, Special::Call)
    }

    fn body(&mut self, text: &str, end: Special) -> Result<()> {
        self.special(Special::Message);
        self.text(text)?;
        self.special(end);
        Ok(())
    }

    fn special(&mut self, special: Special) {
        self.ids.push(self.tokens.id(special));
    }

    fn text(&mut self, text: &str) -> Result<()> {
        self.ids.extend(self.tokenizer.encode_text(text)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
