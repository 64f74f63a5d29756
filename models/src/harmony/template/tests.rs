use jiff::civil::date;
use jiff::tz::TimeZone;
use serde_json::json;

use super::*;

fn now() -> ZonedDateTime {
    date(2026, 3, 9)
        .at(18, 5, 0, 0)
        .to_zoned_datetime(TimeZone::UTC)
        .unwrap()
}

fn template(text: &str) -> Result<Template> {
    let source = TemplateSource {
        file: "chat_template.jinja".to_owned(),
        text: text.to_owned(),
    };
    Template::new(&source, now())
}

fn render(text: &str, context: &Value) -> String {
    template(text).unwrap().render(context).unwrap()
}

fn files(name: &str, text: &str) -> (tempfile::TempDir, CheckpointFiles) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), text).unwrap();
    let files = CheckpointFiles::Folder(folder.path().to_owned());
    (folder, files)
}

#[test]
fn blocks_leave_no_blank_lines() {
    let text = "\
{% for m in messages %}
  {% if m.role == 'user' %}
{{ m.content }};
  {% endif %}
{% endfor %}
end
";
    let context =
        json!({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]});
    assert_eq!(render(text, &context), "a;\nb;\nend");
}

#[test]
fn what_templates_use_of_python() {
    for (text, expected) in [
        (
            "{{ strftime_now('%d %B %Y, %H:%M') }}",
            "09 March 2026, 18:05",
        ),
        ("{{ value|tojson }}", r#"{"z": 1, "a": ["<&'>", null]}"#),
        (
            "{{ value|tojson(indent=1) }}",
            "{\n \"z\": 1,\n \"a\": [\n  \"<&'>\",\n  null\n ]\n}",
        ),
        (
            "{{ value|tojson(separators=(',', ':')) }}",
            r#"{"z":1,"a":["<&'>",null]}"#,
        ),
        (
            "{{ value|tojson(sort_keys=true, ensure_ascii=false) }}",
            r#"{"a": ["<&'>", null], "z": 1}"#,
        ),
        ("{% for k, v in value.items() %}{{ k }}{% endfor %}", "za"),
        ("{{ ' a b '.strip().split(' ')|length }}", "2"),
        ("{{ 'x' in value }}{{ 'z' in value }}", "FalseTrue"),
        ("{{ list[1:][0] }}{{ list[-1] }}", "23"),
        (
            "{% for i in list %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% break %}{% endfor %}",
            "2",
        ),
        (
            "{% set ns = namespace(n=0) %}{% for i in list %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}",
            "6",
        ),
        (
            "{% macro f(n) %}{% if n %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
            "321",
        ),
        (
            "{% macro f() %}{% if who is not defined %}{% set who = 'you' %}{% endif %}{{ who }}{% endmacro %}{{ f() }}",
            "you",
        ),
        (
            "{{ missing or 'none' }}{{ value.missing or 'none' }}",
            "nonenone",
        ),
    ] {
        let context = json!({"value": {"z": 1, "a": ["<&'>", null]}, "list": [1, 2, 3]});
        assert_eq!(render(text, &context), expected, "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let message = |text: &str| match template(text) {
        Ok(template) => template.render(&json!({})).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        message("\n{{ raise_exception('no user') }}"),
        "the chat template of chat_template.jinja: no user (line 2)"
    );
    for (text, part) in [
        ("{% for m in %}", "(line 1)"),
        ("{{ x|nonsense }}", "nonsense"),
        ("{{ x.y.z }}", "undefined"),
        ("{{ strftime_now('%') }}", "line 1"),
        (
            "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
            "recursion",
        ),
    ] {
        let message = message(text);
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn a_template_is_found() {
    let text = |name: &str, text: &str| {
        let (_folder, files) = files(name, text);
        TemplateSource::read(&files).map(|source| source.map(|source| source.text))
    };
    assert_eq!(
        text("chat_template.jinja", "a").unwrap().as_deref(),
        Some("a")
    );
    let config = "tokenizer_config.json";
    assert_eq!(
        text(config, r#"{"chat_template": "b"}"#)
            .unwrap()
            .as_deref(),
        Some("b")
    );
    let named = r#"{"chat_template": [
        {"name": "tool_use", "template": "c"}, {"name": "default", "template": "d"}
    ]}"#;
    assert_eq!(text(config, named).unwrap().as_deref(), Some("d"));
    assert_eq!(text(config, "{}").unwrap(), None);
    assert_eq!(text("other", "").unwrap(), None);
}

#[test]
fn the_place_of_the_system_message() {
    assert!(
        !template("{{ messages[0].content }}")
            .unwrap()
            .takes_identity()
    );
    let in_a_macro = "{% macro f() %}{{ model_identity }}{% endmacro %}{{ f() }}";
    for text in ["{{ model_identity or 'me' }}", in_a_macro] {
        assert!(template(text).unwrap().takes_identity(), "{text}");
    }
}
