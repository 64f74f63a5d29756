//! JSON as Python's `json.dumps` writes it, which is what models were trained on.

use serde_json::Value;

/// Writes a value: on one line with a space after `,` and `:`, or with each
/// item on a line of its own, `indent` spaces deeper; `separators` replace
/// those between items and after keys.
pub(super) fn write(
    value: &Value,
    indent: Option<usize>,
    separators: Option<(&str, &str)>,
) -> String {
    let default = if indent.is_some() {
        (",", ": ")
    } else {
        (", ", ": ")
    };
    let (item, key) = separators.unwrap_or(default);
    let mut writer = Writer {
        out: String::new(),
        indent,
        item,
        key,
    };
    writer.value(value, 0);
    writer.out
}

struct Writer<'s> {
    out: String,
    indent: Option<usize>,
    item: &'s str,
    key: &'s str,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Array(values) => {
                let values = values.iter().map(|value| (None, value));
                self.items(('[', ']'), values, depth);
            }
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| (Some(key), value));
                self.items(('{', '}'), fields, depth);
            }
            // Strings are escaped alike, numbers written alike.
            scalar => self.out.push_str(&scalar.to_string()),
        }
    }

    fn items<'v>(
        &mut self,
        (open, close): (char, char),
        items: impl Iterator<Item = (Option<&'v String>, &'v Value)>,
        depth: usize,
    ) {
        self.out.push(open);
        let mut any = false;
        for (key, value) in items {
            if any {
                self.out.push_str(self.item);
            }
            any = true;
            self.new_line(depth + 1);
            if let Some(key) = key {
                self.out.push_str(&Value::from(key.as_str()).to_string());
                self.out.push_str(self.key);
            }
            self.value(value, depth + 1);
        }
        if any {
            self.new_line(depth);
        }
        self.out.push(close);
    }

    fn new_line(&mut self, depth: usize) {
        if let Some(indent) = self.indent {
            self.out.push('\n');
            self.out.push_str(&" ".repeat(indent * depth));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn as_python_writes_it() {
        let value = json!({"b": [1, 2.5, null, true], "a": "<é\"\n>", "e": [], "o": {}});
        assert_eq!(
            write(&value, None, None),
            r#"{"b": [1, 2.5, null, true], "a": "<é\"\n>", "e": [], "o": {}}"#
        );
        assert_eq!(
            write(&json!({"a": [1, {}], "b": 2}), Some(2), None),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": 2\n}"
        );
        assert_eq!(
            write(&json!({"a": [1, 2]}), None, Some((",", ":"))),
            r#"{"a":[1,2]}"#
        );
    }
}
