//! Tools as the harmony format describes them: functions of TypeScript.

use serde_json::Value;

use super::json;
use super::message::Tool;

/// The namespace that a developer message names its tools in.
pub(super) fn namespace(tools: &[Tool]) -> String {
    let mut out = String::from("## functions\n\nnamespace functions {\n\n");
    for tool in tools {
        comment(&tool.description, &mut out);
        out.push_str(&format!("type {} = ", tool.name));
        match tool.parameters["properties"].as_object() {
            Some(properties) if !properties.is_empty() => {
                out.push_str("(_: {\n");
                fields(&tool.parameters, &mut out);
                out.push_str("}) => any;\n\n");
            }
            _ => out.push_str("() => any;\n\n"),
        }
    }
    out.push_str("} // namespace functions");
    out
}

/// The properties of an object's schema, each on a line.
fn fields(schema: &Value, out: &mut String) {
    let required = |name: &str| {
        let names = schema["required"].as_array();
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(description) = field["description"].as_str() {
            comment(description, out);
        }
        let mark = if required(name) { "" } else { "?" };
        out.push_str(&format!("{name}{mark}: {},", type_of(field)));
        match &field["default"] {
            Value::Null => {}
            Value::String(word) if field["enum"].is_array() => {
                out.push_str(&format!(" // default: {word}"));
            }
            default => {
                let default = json::write(default, None, None);
                out.push_str(&format!(" // default: {default}"));
            }
        }
        out.push('\n');
    }
}

/// The type that a schema describes.
fn type_of(schema: &Value) -> String {
    let union = |variants: Vec<String>| variants.join(" | ");
    let base = if let Some(values) = schema["enum"].as_array() {
        union(values.iter().map(Value::to_string).collect())
    } else if let Some(variants) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        union(variants.iter().map(type_of).collect())
    } else {
        match &schema["type"] {
            Value::String(name) => named(name, schema),
            Value::Array(names) => union(
                names
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|name| named(name, schema))
                    .collect(),
            ),
            _ => "any".to_owned(),
        }
    };
    if schema["nullable"] == Value::Bool(true) {
        format!("{base} | null")
    } else {
        base
    }
}

fn named(name: &str, schema: &Value) -> String {
    match name {
        "string" | "number" | "boolean" | "null" => name.to_owned(),
        "integer" => "number".to_owned(),
        "array" => {
            let item = match &schema["items"] {
                Value::Null => "any".to_owned(),
                items => type_of(items),
            };
            if item.contains(' ') {
                format!("Array<{item}>")
            } else {
                format!("{item}[]")
            }
        }
        "object" if schema["properties"].is_object() => {
            let mut out = String::from("{\n");
            fields(schema, &mut out);
            out.push('}');
            out
        }
        "object" => "object".to_owned(),
        _ => "any".to_owned(),
    }
}

fn comment(text: &str, out: &mut String) {
    for line in text.lines() {
        out.push_str(&format!("// {line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_are_functions() {
        let tools = [
            Tool {
                name: "get_location".to_owned(),
                description: "Where the person is.".to_owned(),
                parameters: Value::Null,
            },
            Tool {
                name: "get_weather".to_owned(),
                description: "The weather.\nNow.".to_owned(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "city": {"type": "string", "description": "A city."},
                        "format": {"type": "string", "enum": ["C", "F"], "default": "C"},
                        "days": {"type": "array", "items": {"type": "integer"}, "default": [1]},
                        "at": {"type": ["string", "null"]},
                        "place": {
                            "type": "object",
                            "properties": {"x": {"type": "number", "nullable": true}},
                            "required": ["x"]
                        },
                        "other": {"oneOf": [{"type": "object"}, {"type": "boolean"}]},
                        "list": {"type": "array", "items": {"type": ["string", "number"]}},
                        "rest": {}
                    },
                    "required": ["city"]
                }),
            },
        ];
        let expected = "\
## functions

namespace functions {

// Where the person is.
type get_location = () => any;

// The weather.
// Now.
type get_weather = (_: {
// A city.
city: string,
format?: \"C\" | \"F\", // default: C
days?: number[], // default: [1]
at?: string | null,
place?: {
x: number | null,
},
other?: object | boolean,
list?: Array<string | number>,
rest?: any,
}) => any;

} // namespace functions";
        assert_eq!(namespace(&tools), expected);
    }
}
