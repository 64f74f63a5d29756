use proptest::prelude::*;

use super::*;
use crate::harmony::test_support::tokenizer;
use crate::harmony::{Author, Channel, Special, Turn, TurnMessage};

fn ids(text: &str) -> Vec<i32> {
    tokenizer().encode(text).unwrap()
}

/// The events of some tokens, without the end of the output.
fn push_all(parser: &mut Parser, ids: &[i32]) -> Vec<Event> {
    ids.iter()
        .flat_map(|&id| parser.push(tokenizer(), id))
        .collect()
}

fn parse(ids: &[i32]) -> Vec<Event> {
    let mut parser = Parser::new(tokenizer()).unwrap();
    let mut events = push_all(&mut parser, ids);
    events.extend(parser.finish(tokenizer()));
    events
}

fn turn(events: &[Event]) -> Turn {
    let mut turn = Turn::default();
    for event in events {
        turn.add(event);
    }
    turn
}

/// A message as `channel >recipient :type ~extra| text |end`, with `(author)`
/// where it is not the model and `!` where the header is malformed.
fn show(message: &TurnMessage) -> String {
    let header = &message.header;
    let mut line = match &header.author {
        Author::Assistant => String::new(),
        Author::Tool(name) => format!("({name})"),
        other => format!("({other:?})").to_lowercase(),
    };
    line.push_str(match &header.channel {
        None => "none",
        Some(Channel::Analysis) => "analysis",
        Some(Channel::Commentary) => "commentary",
        Some(Channel::Final) => "final",
        Some(Channel::Other(name)) => name,
    });
    for (mark, part) in [(" >", &header.recipient), (" :", &header.content_type)] {
        if let Some(part) = part {
            line.push_str(mark);
            line.push_str(part);
        }
    }
    if !header.extra.is_empty() {
        line.push_str(" ~");
        line.push_str(&header.extra);
    }
    if header.malformed {
        line.push('!');
    }
    let end = match message.end {
        None => "open",
        Some(End::End) => "end",
        Some(End::Return) => "return",
        Some(End::Call) => "call",
        Some(End::EndOfText) => "eot",
        Some(End::Missing) => "missing",
        Some(End::Cut) => "cut",
    };
    format!("{line}| {} |{end}", message.text)
}

/// Checks the messages of an output, and that each way to cut the output in
/// two calls gives the same.
#[track_caller]
fn check(output: &str, expected: &[&str]) {
    let ids = ids(output);
    let events = parse(&ids);
    let shown: Vec<String> = turn(&events).messages.iter().map(show).collect();
    assert_eq!(shown, expected, "{output}");
    check_order(&events);
    for at in 0..=ids.len() {
        let mut parser = Parser::new(tokenizer()).unwrap();
        let mut parts = push_all(&mut parser, &ids[..at]);
        // A copy that ends here says what there is so far.
        check_order(&[parts.clone(), parser.clone().finish(tokenizer())].concat());
        parts.extend(push_all(&mut parser, &ids[at..]));
        parts.extend(parser.finish(tokenizer()));
        assert_eq!(parts, events, "{output} at {at}");
    }
}

/// Checks that messages begin before they end, one after the other, and that
/// the turn ends.
#[track_caller]
fn check_order(events: &[Event]) {
    let mut open = false;
    let mut ended = false;
    for event in events {
        match event {
            Event::MessageStart(_) => {
                assert!(!open, "{events:?}");
                open = true;
            }
            Event::Text(text) => assert!(open && !text.is_empty(), "{events:?}"),
            Event::MessageEnd(_) => {
                assert!(open, "{events:?}");
                open = false;
            }
            Event::TurnEnd(_) => {
                assert!(!open, "{events:?}");
                ended = true;
            }
        }
    }
    assert!(ended && !open, "{events:?}");
}

#[test]
fn well_formed_outputs() {
    check(
        "<|channel|>final<|message|>There was a King.<|return|>",
        &["final| There was a King. |return"],
    );
    check(
        "<|channel|>analysis<|message|>A tale is due.<|end|>\
         <|start|>assistant<|channel|>final<|message|>There was a King.\n\nHe slept.<|return|>",
        &[
            "analysis| A tale is due. |end",
            "final| There was a King.\n\nHe slept. |return",
        ],
    );
    check("", &[]);
    check("<|return|>", &[]);
    check(
        "<|channel|>final<|message|><|return|>",
        &["final|  |return"],
    );
    // Another token that ends a text.
    check(
        "<|channel|>final<|message|>The end<|endoftext|>",
        &["final| The end |eot"],
    );
}

#[test]
fn calls_of_tools() {
    let arguments = r#"{"city": "Paris", "days": [1, 2]}"#;
    for header in [
        "<|channel|>commentary to=functions.weather <|constrain|>json",
        " to=functions.weather<|channel|>commentary <|constrain|>json",
        "<|channel|>commentary to=functions.weather json",
        " to=functions.weather<|channel|>commentary json",
        "<|channel|>commentary to=functions.weather<|constrain|> json ",
    ] {
        check(
            &format!("{header}<|message|>{arguments}<|call|>"),
            &[&format!(
                "commentary >functions.weather :json| {arguments} |call"
            )],
        );
    }
    check(
        "<|channel|>analysis to=python code<|message|>print(1)<|call|>",
        &["analysis >python :code| print(1) |call"],
    );
    check(
        "<|channel|>commentary<|message|>I look it up.<|end|>\
         <|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>",
        &[
            "commentary| I look it up. |end",
            "commentary >functions.f| {} |call",
        ],
    );
    // A tool's answer that the model made up.
    check(
        "<|channel|>commentary to=functions.f<|message|>{}<|end|>\
         <|start|>functions.f to=assistant<|channel|>commentary<|message|>3<|end|>",
        &[
            "commentary >functions.f| {} |end",
            "(functions.f)commentary >assistant| 3 |end",
        ],
    );
}

#[test]
fn words_after_channel() {
    // No header at all, then a right one.
    for (words, shown) in [
        ("??", "none ~??!|  |end"),
        ("?", "none ~?!|  |end"),
        ("commentary?", "commentary ~?!|  |end"),
        ("commentary 2?", "commentary!| 2? |end"),
        ("commentary?commentary?", "commentary!| ?commentary? |end"),
        ("I should tell a tale", "none!| I should tell a tale |end"),
        ("analysis I should tell", "analysis!| I should tell |end"),
        ("??\n\nWell", "none!| ??\n\nWell |end"),
    ] {
        check(
            &format!(
                "<|channel|>{words}<|end|><|start|>assistant\
                 <|channel|>final<|message|>Once.<|return|>"
            ),
            &[shown, "final| Once. |return"],
        );
    }
    // With `<|message|>`, so that it stands where names do.
    for (words, shown) in [
        ("??", &["none ~??!| Once. |return"][..]),
        ("commentary?", &["commentary ~?!| Once. |return"]),
        ("final 2?", &["final ~2?!| Once. |return"]),
        ("final?final?", &["final ~?final?!| Once. |return"]),
        ("––commentary", &["commentary ~––!| Once. |return"]),
        ("?final?", &["final ~? ?!| Once. |return"]),
        ("bash", &["bash| Once. |return"]),
        ("Final", &["final| Once. |return"]),
        (" final \n", &["final| Once. |return"]),
        (
            "I should tell a tale",
            &[
                "none!| I should tell a tale |missing",
                "none!| Once. |return",
            ],
        ),
    ] {
        check(
            &format!("<|channel|>{words}<|message|>Once.<|return|>"),
            shown,
        );
    }
}

#[test]
fn doubled_headers() {
    check(
        "<|channel|>commentary to=assistant<|channel|>commentary?<|end|>\
         <|start|>assistant<|channel|>analysis<|message|>Well.<|return|>",
        &[
            "commentary >assistant ~?!|  |end",
            "analysis| Well. |return",
        ],
    );
    check(
        "<|channel|>final<|channel|>final<|message|>Once.<|return|>",
        &["final| Once. |return"],
    );
    check(
        "<|channel|>bash<|channel|>commentary to=functions.f<|message|>{}<|call|>",
        &["commentary >functions.f ~bash!| {} |call"],
    );
    check(
        "<|channel|>analysis I think of a King<|channel|>final<|message|>Once.<|return|>",
        &[
            "analysis!| I think of a King |missing",
            "final!| Once. |return",
        ],
    );
    check(
        "<|channel|>analysis<|message|>Well.<|end|><|start|>assistant<|start|>assistant\
         <|channel|>final<|message|>Once.<|return|>",
        &["analysis| Well. |end", "final| Once. |return"],
    );
    check(
        "<|channel|>final<|message|><|message|>Once<|message|> more.<|return|>",
        &["final| Once more. |return"],
    );
    check(
        "assistant<|channel|>final<|message|>Once.<|return|>",
        &["final| Once. |return"],
    );
}

#[test]
fn a_missing_message_token() {
    check(
        "<|channel|>final {\"answer\": 4}<|return|>",
        &["final!| {\"answer\": 4} |return"],
    );
    check(
        "<|channel|>analysis<|message|>Well.<|end|><|start|>assistant<|channel|>final\
         There was a King.<|return|>",
        &["analysis| Well. |end", "final!| There was a King. |return"],
    );
    check(
        "<|channel|>finally he came home<|return|>",
        &["none!| finally he came home |return"],
    );
    check(
        "<|channel|>commentary to=functions.f <|constrain|>json{\"a\": 1}<|call|>",
        &["commentary >functions.f :json!| {\"a\": 1} |call"],
    );
    check(
        "<|channel|>commentary to=functions.f json {\"a\": 1}<|call|>",
        &["commentary >functions.f :json!| {\"a\": 1} |call"],
    );
    check(
        "<|channel|>commentary to=functions.f<|call|>",
        &["commentary >functions.f!|  |call"],
    );
    // A long text is shown before it ends.
    let text = "There was a King, and he had a daughter as fair as the day. ".repeat(9);
    let long = format!("<|channel|>final {text}<|return|>");
    check(&long, &[&format!("final!| {text} |return")]);
    let ids = ids(&long);
    let mut parser = Parser::new(tokenizer()).unwrap();
    let events = push_all(&mut parser, &ids[..ids.len() / 2]);
    assert!(turn(&events).messages[0].text.len() > 200, "{events:?}");
    // The token comes after all.
    check(
        &format!("<|channel|>final {text}<|message|>Once.<|return|>"),
        &[&format!("final!| {text} |missing"), "final!| Once. |return"],
    );
}

#[test]
fn no_header_at_all() {
    check(
        "There was a King.<|return|>",
        &["none!| There was a King. |return"],
    );
    check(
        "user names are short<|return|>",
        &["none!| user names are short |return"],
    );
    check("final words<|return|>", &["none!| final words |return"]);
    check(
        "<|channel|>analysis<|message|>Well.<|end|>{\"country\": \"France\"}<|return|>",
        &[
            "analysis| Well. |end",
            "none!| {\"country\": \"France\"} |return",
        ],
    );
    check("<|message|>Once.<|return|>", &["none!| Once. |return"]);
    check(
        "<|start|>assistant<|message|>Once.<|return|>",
        &["none!| Once. |return"],
    );
}

#[test]
fn a_missing_start_or_end() {
    let expected = &["analysis| Well. |missing", "final!| Once. |return"];
    check(
        "<|channel|>analysis<|message|>Well.<|channel|>final<|message|>Once.<|return|>",
        expected,
    );
    check(
        "<|channel|>analysis<|message|>Well.<|start|>assistant\
         <|channel|>final<|message|>Once.<|return|>",
        &["analysis| Well. |missing", "final| Once. |return"],
    );
    for start in ["", "assistant", "<|start|>", "\n<|start|>assistant"] {
        check(
            &format!(
                "<|channel|>analysis<|message|>Well.<|end|>{start}\
                 <|channel|>final<|message|>Once.<|return|>"
            ),
            &["analysis| Well. |end", "final| Once. |return"],
        );
    }
    check("<|channel|>final<|message|>Once", &["final| Once |cut"]);
}

#[test]
fn roles_that_are_none() {
    for header in ["final", "assistantfinal", "assistant final"] {
        check(
            &format!("<|end|><|start|>{header}<|message|>Once.<|return|>"),
            &["final| Once. |return"],
        );
    }
    check(
        "<|channel|>final<|message|>Once.<|end|><|start|>user<|message|>And?<|end|>",
        &["final| Once. |end", "(user)none| And? |end"],
    );
    check(
        "<|start|>assistant Once there was<|end|>",
        &["none!| Once there was |end"],
    );
    check(
        "<|channel|>commentary <|constrain|>commentary to=functions.f<|message|>{}<|call|>",
        &["commentary >functions.f :commentary| {} |call"],
    );
    check(
        "<|channel|>commentary <|constrain|>We have to look<|end|>",
        &["commentary!| We have to look |end"],
    );
    check(
        "<|channel|>commentary json to=functions.f<|message|>{}<|call|>",
        &["commentary >functions.f :json| {} |call"],
    );
}

#[test]
fn text_after_the_end() {
    check(
        "<|channel|>final<|message|>Once.<|return|> And more.",
        &["final| Once. |return", "none!| And more. |cut"],
    );
    check(
        "<|channel|>final<|message|>Once.<|return|>\
         <|start|>assistant<|channel|>final<|message|>Twice.<|return|>",
        &["final| Once. |return", "final| Twice. |return"],
    );
}

#[test]
fn an_output_that_is_cut_in_a_header() {
    for (output, expected) in [
        ("<|channel|>", &[][..]),
        ("<|channel|>anal", &["none ~anal!|  |cut"]),
        ("<|channel|>final", &[]),
        ("<|channel|>commentary to=", &[]),
        (
            "<|channel|>commentary to=funct",
            &["commentary >funct!|  |cut"],
        ),
        (
            "<|channel|>commentary to=f <|constrain|>js",
            &["commentary >f ~js!|  |cut"],
        ),
        ("<|channel|>I think t", &["none!| I think t |cut"]),
        (
            "<|channel|>analysis<|message|>Well.<|end|><|start|>",
            &["analysis| Well. |end"],
        ),
        (
            "<|channel|>analysis<|message|>Well.<|end|><|start|>assist",
            &["analysis| Well. |end", "none ~assist!|  |cut"],
        ),
        ("<|channel|>I should", &["none!| I should |cut"]),
        ("<|channel|>final There", &["final!| There |cut"]),
    ] {
        check(output, expected);
    }
}

#[test]
fn characters_that_are_split_over_tokens() {
    // The vocabulary has no token for these; each is several.
    let text = "🦔 and 物語 👩‍👩‍👧‍👦";
    assert!(ids("🦔").len() > 1);
    check(
        &format!("<|channel|>final<|message|>{text}<|return|>"),
        &[&format!("final| {text} |return")],
    );
    check(
        &format!("<|channel|>final {text}<|return|>"),
        &[&format!("final!| {text} |return")],
    );
    // A character that a special token cuts.
    let mut cut = ids("<|channel|>final<|message|>🦔");
    cut.pop();
    cut.extend(ids("<|return|>"));
    let shown: Vec<String> = turn(&parse(&cut)).messages.iter().map(show).collect();
    assert_eq!(shown, ["final| \u{FFFD} |return"]);
}

#[test]
fn answers() {
    let answer = |output: &str| turn(&parse(&ids(output))).answer();
    let said = |text: &str| Some(text.to_owned());
    assert_eq!(
        answer("<|channel|>??<|message|>Hm.<|end|><|channel|>final<|message|>Once.<|return|>"),
        said("Once.")
    );
    assert_eq!(
        answer("<|channel|>??<|message|>Once.<|return|>"),
        said("Once.")
    );
    assert_eq!(answer("Once.<|return|>"), said("Once."));
    assert_eq!(answer("<|channel|>analysis<|message|>Hm.<|return|>"), None);
    assert_eq!(
        answer("<|channel|>commentary to=functions.f<|message|>{}<|call|>"),
        None
    );
    assert_eq!(
        answer("<|channel|>commentary<|message|>I look.<|end|>"),
        said("I look.")
    );
    let both = turn(&parse(&ids("<|channel|>analysis<|message|>Hm.<|end|>\
         <|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>")));
    assert_eq!(both.analysis(), said("Hm."));
    let calls: Vec<&str> = both.tool_calls().map(|call| call.text.as_str()).collect();
    assert_eq!(calls, ["{}"]);
}

/// What of an output must come out again: its text but for spaces.
fn letters(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// All that the events say, but for spaces.
fn told(events: &[Event]) -> String {
    let mut all = String::new();
    for message in turn(events).messages {
        let header = message.header;
        match header.author {
            Author::Assistant => {}
            Author::Tool(name) => all.push_str(&name),
            other => all.push_str(&format!("{other:?}").to_lowercase()),
        }
        match header.channel {
            None => {}
            Some(Channel::Other(name)) => all.push_str(&name),
            Some(other) => all.push_str(&format!("{other:?}").to_lowercase()),
        }
        all.push_str(&header.extra);
        for part in [header.recipient, header.content_type]
            .into_iter()
            .flatten()
        {
            all.push_str(&part);
        }
        all.push_str(&message.text);
    }
    letters(&all)
}

/// Names of the format, which a header may take in without saying so.
const NAMES: [&str; 9] = [
    "assistant",
    "user",
    "system",
    "developer",
    "analysis",
    "commentary",
    "final",
    "to=",
    "json",
];

/// Words that no name of the format is part of.
const WORDS: [&str; 8] = [
    " King",
    " 🦔",
    "??",
    " 42",
    "\n\nOnce",
    " \"quoted\"",
    " {\"a\": 1}",
    " there",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => proptest::sample::select(&Special::ALL[..]).prop_map(|s| s.text().to_owned()),
        2 => proptest::sample::select(&NAMES[..]).prop_map(str::to_owned),
        2 => proptest::sample::select(&NAMES[..]).prop_map(|name| format!(" {name}")),
        3 => proptest::sample::select(&WORDS[..]).prop_map(str::to_owned),
        1 => Just("<|endoftext|>".to_owned()),
        1 => Just(" to=functions.f".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any soup of tokens is read, in order, and its words are all there.
    #[test]
    fn no_word_is_lost(pieces in proptest::collection::vec(piece(), 0..24)) {
        let output = pieces.concat();
        let events = parse(&ids(&output));
        check_order(&events);
        let told = told(&events);
        for word in WORDS {
            let word = letters(word);
            let due = pieces.iter().filter(|piece| letters(piece) == word).count();
            prop_assert!(
                told.matches(word.as_str()).count() >= due,
                "{word:?} of {output:?} is not in {told:?}: {events:?}"
            );
        }
    }

    /// Any tokens at all.
    #[test]
    fn any_tokens_are_read(ids in proptest::collection::vec(-2i32..4105, 0..60)) {
        check_order(&parse(&ids));
    }

    /// A text in a message comes out as it is, whatever it is.
    #[test]
    fn a_text_comes_out_as_it_is(text in "\\PC{0,60}") {
        let mut output = ids("<|channel|>final<|message|>");
        output.extend(tokenizer().encode_text(&text).unwrap());
        output.extend(ids("<|return|>"));
        let events = parse(&output);
        let told: String = turn(&events).messages.iter().map(|m| m.text.clone()).collect();
        prop_assert_eq!(told, text);
    }
}
