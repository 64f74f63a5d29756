//! A checkpoint's own chat template.
//!
//! It is a Jinja template in the dialect that the Hub's library reads: blocks
//! do not leave blank lines, strings have Python's methods, and there are
//! `raise_exception`, `strftime_now` and a `tojson` that writes as Python does.

use jiff::ZonedDateTime;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde, Value as JinjaValue};
use minijinja::{Environment, ErrorKind};
use serde_json::Value;

use super::json;
use crate::checkpoint_files::CheckpointFiles;
use crate::{Error, Result};

const NAME: &str = "chat_template";

/// The text of a template, and where it is from.
#[derive(Debug, Clone)]
pub(super) struct TemplateSource {
    file: String,
    text: String,
}

impl TemplateSource {
    /// `chat_template.jinja`, else `chat_template` in `tokenizer_config.json`.
    pub(super) fn read(files: &CheckpointFiles) -> Result<Option<Self>> {
        let name = "chat_template.jinja";
        if let Some(bytes) = files.read(name)? {
            let file = files.name_of(name);
            let text = String::from_utf8(bytes.into_owned()).map_err(|e| Error::ChatTemplate {
                message: format!("is not UTF-8: {e}"),
                file: file.clone(),
            })?;
            return Ok(Some(Self { file, text }));
        }
        let name = "tokenizer_config.json";
        let config = files.read_json(name)?.unwrap_or_default();
        let text = match &config[NAME] {
            Value::String(text) => Some(text),
            // Several by name, of which one is the usual one.
            Value::Array(named) => named
                .iter()
                .find(|entry| entry["name"] == "default")
                .and_then(|entry| match &entry["template"] {
                    Value::String(text) => Some(text),
                    _ => None,
                }),
            _ => None,
        };
        Ok(text.map(|text| Self {
            file: files.name_of(name),
            text: text.clone(),
        }))
    }

    /// Its text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// A template that is ready to render.
pub(super) struct Template {
    environment: Environment<'static>,
    file: String,
    /// Whether it has a place for a system message of its own.
    takes_identity: bool,
}

impl Template {
    /// Prepares a template; `now` is what it takes for the present.
    pub(super) fn new(source: &TemplateSource, now: ZonedDateTime) -> Result<Self> {
        let mut environment = Environment::new();
        environment.set_syntax(
            SyntaxConfig::builder()
                .trim_blocks(true)
                .lstrip_blocks(true)
                .build()
                .map_err(|e| failed(&source.file, &e))?,
        );
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", to_json);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", move |format: String| {
            jiff::fmt::strtime::format(&format, &now)
                .map_err(|e| minijinja::Error::new(ErrorKind::InvalidOperation, e.to_string()))
        });
        environment
            .add_template_owned(NAME, source.text.clone())
            .map_err(|e| failed(&source.file, &e))?;
        let takes_identity = environment
            .get_template(NAME)
            .map_err(|e| failed(&source.file, &e))?
            .undeclared_variables(false)
            .contains("model_identity");
        Ok(Self {
            environment,
            file: source.file.clone(),
            takes_identity,
        })
    }

    /// Whether it writes the system message itself and takes `model_identity`
    /// for it. The first message is the developer's then.
    pub(super) fn takes_identity(&self) -> bool {
        self.takes_identity
    }

    /// Renders a context.
    pub(super) fn render(&self, context: &Value) -> Result<String> {
        self.environment
            .get_template(NAME)
            .and_then(|template| template.render(JinjaValue::from(Serde(context))))
            .map_err(|e| failed(&self.file, &e))
    }
}

fn failed(file: &str, error: &minijinja::Error) -> Error {
    let place = error
        .line()
        .map(|line| format!(" (line {line})"))
        .unwrap_or_default();
    let what = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned);
    Error::ChatTemplate {
        file: file.to_owned(),
        message: format!("{what}{place}"),
    }
}

fn raise_exception(message: String) -> std::result::Result<String, minijinja::Error> {
    Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
}

/// `json.dumps` with the arguments that templates use.
fn to_json(value: JinjaValue, options: Kwargs) -> std::result::Result<String, minijinja::Error> {
    let invalid = |e: serde_json::Error| {
        minijinja::Error::new(ErrorKind::BadSerialization, format!("as JSON: {e}"))
    };
    let mut value = serde_json::to_value(&value).map_err(invalid)?;
    let indent: Option<usize> = options.get("indent")?;
    if options.get::<Option<bool>>("sort_keys")? == Some(true) {
        value.sort_all_objects();
    }
    // Of no use for prompts, but templates may name them.
    let _: Option<bool> = options.get("ensure_ascii")?;
    let separators: Option<Vec<String>> = options.get("separators")?;
    options.assert_all_used()?;
    let separators = separators.as_deref().and_then(|pair| match pair {
        [item, key] => Some((item.as_str(), key.as_str())),
        _ => None,
    });
    Ok(json::write(&value, indent, separators))
}

#[cfg(test)]
mod tests;
