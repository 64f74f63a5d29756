//! From messages to the tokens of a prompt.

use std::collections::HashSet;

use jiff::ZonedDateTime;
use serde_json::{Map, Value, json};

use super::message::{Message, Tool};
use super::options::ChatOptions;
use super::render;
use super::shield::Shield;
use super::special::SpecialTokens;
use super::template::{Template, TemplateSource};
use crate::checkpoint_files::CheckpointFiles;
use crate::tokenizer::Tokenizer;
use crate::{Error, Result};

/// How a checkpoint wants conversations.
#[derive(Debug, Clone)]
pub(crate) struct ChatFormat {
    tokens: SpecialTokens,
    template: Option<TemplateSource>,
    /// The system message that the checkpoint was trained with.
    system: Option<String>,
    /// `bos_token` and `eos_token`, which templates may spell out.
    named_tokens: Map<String, Value>,
}

impl ChatFormat {
    /// The format of a checkpoint; `None` when its vocabulary is not harmony's.
    pub(crate) fn read(files: &CheckpointFiles, tokenizer: &Tokenizer) -> Result<Option<Self>> {
        let Some(tokens) = SpecialTokens::of(tokenizer) else {
            return Ok(None);
        };
        let system = match files {
            CheckpointFiles::Bundled(bundled) => bundled.system().map(str::to_owned),
            CheckpointFiles::Folder(_) => None,
        };
        let named = [
            ("bos_token", tokenizer.bos()),
            ("eos_token", tokenizer.eos().first().copied()),
        ];
        let named_tokens = named
            .into_iter()
            .filter_map(|(name, id)| Some((name.to_owned(), tokenizer.token(id?)?.into())))
            .collect();
        Ok(Some(Self {
            tokens,
            template: TemplateSource::read(files)?,
            system,
            named_tokens,
        }))
    }

    /// The format's special tokens in the checkpoint's vocabulary.
    pub(super) fn tokens(&self) -> SpecialTokens {
        self.tokens
    }

    /// Gets ready to write prompts; `now` is the present in all of them.
    pub(super) fn prepare(&self, now: ZonedDateTime) -> Result<Prompter> {
        let template = match &self.template {
            Some(source) => Some((
                Template::new(source, now.clone())?,
                source.text().to_owned(),
            )),
            None => None,
        };
        Ok(Prompter {
            format: self.clone(),
            template,
            date: now.strftime("%Y-%m-%d").to_string(),
        })
    }
}

/// Writes prompts.
pub(super) struct Prompter {
    format: ChatFormat,
    /// The template, and its text.
    template: Option<(Template, String)>,
    date: String,
}

impl Prompter {
    /// The tokens of a conversation, up to where the model goes on.
    pub(super) fn prompt(
        &self,
        tokenizer: &Tokenizer,
        messages: &[Message],
        options: &ChatOptions,
    ) -> Result<Vec<i32>> {
        let Some((template, text)) = &self.template else {
            return render::prompt(tokenizer, self.format.tokens, messages, options, &self.date);
        };
        let context = self.context(template.takes_identity(), messages, options);
        let mut used: HashSet<char> = text.chars().collect();
        characters(&context, &mut used);
        let shield = Shield::new(tokenizer, &used).ok_or_else(|| {
            Error::Other("the messages use every character that there is".to_owned())
        })?;
        let context: Map<String, Value> = context
            .into_iter()
            .map(|(name, value)| {
                // These are the checkpoint's own words.
                let trusted = self.format.named_tokens.contains_key(&name);
                let value = if trusted { value } else { shield.json(&value) };
                (name, value)
            })
            .collect();
        let rendered = template.render(&Value::Object(context))?;
        shield.encode(&rendered)
    }

    /// The variables of the template.
    fn context(
        &self,
        takes_identity: bool,
        messages: &[Message],
        options: &ChatOptions,
    ) -> Map<String, Value> {
        let mut context = self.format.named_tokens.clone();
        let mut first = Vec::new();
        let system = options.system.as_ref().or(self.format.system.as_ref());
        if let Some(text) = system {
            if takes_identity {
                context.insert("model_identity".to_owned(), text.as_str().into());
            } else {
                first.push(json!({"role": "system", "content": text}));
            }
        }
        if let Some(text) = &options.developer {
            first.push(json!({"role": "developer", "content": text}));
        }
        first.extend(messages.iter().map(message_value));
        context.insert("messages".to_owned(), first.into());
        context.insert("add_generation_prompt".to_owned(), true.into());
        let tools: Vec<Value> = options.tools.iter().map(tool_value).collect();
        if !tools.is_empty() {
            context.insert("tools".to_owned(), tools.into());
        }
        if !options.builtin_tools.is_empty() {
            let names = options.builtin_tools.clone();
            context.insert("builtin_tools".to_owned(), names.into());
        }
        if let Some(reasoning) = options.reasoning {
            context.insert("reasoning_effort".to_owned(), reasoning.as_str().into());
        }
        context
    }
}

fn message_value(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Assistant(text) => json!({"role": "assistant", "content": text}),
        Message::Call(call) => {
            // Templates write the arguments as JSON themselves.
            let arguments = serde_json::from_str(&call.arguments)
                .unwrap_or_else(|_| Value::from(call.arguments.as_str()));
            let function = json!({"name": call.name, "arguments": arguments});
            let mut value = json!({
                "role": "assistant",
                "tool_calls": [{"type": "function", "function": function}],
            });
            if let Some(analysis) = &call.analysis {
                value["thinking"] = analysis.as_str().into();
            }
            value
        }
        Message::ToolResult { name, content } => {
            json!({"role": "tool", "name": name, "content": content})
        }
    }
}

fn tool_value(tool: &Tool) -> Value {
    let mut function = json!({"name": tool.name, "description": tool.description});
    if !tool.parameters.is_null() {
        function["parameters"] = tool.parameters.clone();
    }
    json!({"type": "function", "function": function})
}

/// All characters of all texts in a JSON object.
fn characters(fields: &Map<String, Value>, used: &mut HashSet<char>) {
    fn add(value: &Value, used: &mut HashSet<char>) {
        match value {
            Value::String(text) => used.extend(text.chars()),
            Value::Array(values) => values.iter().for_each(|value| add(value, used)),
            Value::Object(fields) => characters(fields, used),
            _ => {}
        }
    }
    for (key, value) in fields {
        used.extend(key.chars());
        add(value, used);
    }
}

#[cfg(test)]
mod tests;
