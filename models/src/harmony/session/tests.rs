use super::*;
use crate::generation::{FinishReason, GenerateOptions};
use crate::harmony::test_support::{Calls, ScriptedModel, text_model, tokenizer};
use crate::harmony::{Channel, End, Event, Header, Tool, ToolCall};
use crate::sampling::Sampling;

const THOUGHT: &str = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";

fn options(max_tokens: usize) -> ChatOptions {
    ChatOptions {
        generate: GenerateOptions {
            sampling: Sampling::greedy(),
            max_tokens,
            ..GenerateOptions::default()
        },
        ..ChatOptions::default()
    }
}

fn scripted(replies: &[&str], max_positions: usize) -> (TextModel, Calls) {
    let model = ScriptedModel::new(replies, max_positions);
    let calls = Calls::clone(&model.calls);
    (text_model(model), calls)
}

/// What is in the cache, with the special tokens spelled out.
fn seen(session: &ChatSession<'_>) -> String {
    spell(session.model().conversation().tokens())
}

fn spell(ids: &[i32]) -> String {
    let mut text = String::new();
    for &id in ids {
        if tokenizer().is_special(id) {
            text.push_str(&tokenizer().token(id).unwrap());
        } else {
            text.push_str(&tokenizer().decode(&[id]).unwrap());
        }
    }
    text
}

#[test]
fn turns_follow_each_other() {
    let first = format!("{THOUGHT}<|channel|>final<|message|>There was a King.<|return|>");
    let second = format!("{THOUGHT}<|channel|>final<|message|>He slept.<|return|>");
    let (mut model, calls) = scripted(&[&first, &second], 400);
    let mut chat = model.chat(options(99)).unwrap();
    let turn = chat.say("Begin.").unwrap().finish().unwrap();
    assert_eq!(turn.answer().as_deref(), Some("There was a King."));
    assert_eq!(turn.analysis().as_deref(), Some("Hm."));
    assert_eq!(turn.messages.last().unwrap().end, Some(End::Return));
    let prompt = "<|start|>system<|message|>You tell fairy tales.\n\nReasoning: low<|end|>\
                  <|start|>user<|message|>Begin.<|end|><|start|>assistant";
    assert_eq!(seen(&chat), format!("{prompt}{first}"));

    calls.lock().unwrap().clear();
    let turn = chat.say("And then?").unwrap().finish().unwrap();
    assert_eq!(turn.answer().as_deref(), Some("He slept."));
    // What was thought is gone; the prompt stayed in the cache.
    let kept = format!("{prompt}<|channel|>");
    let new = "final<|message|>There was a King.<|end|>\
               <|start|>user<|message|>And then?<|end|><|start|>assistant";
    assert_eq!(seen(&chat), format!("{kept}{new}{second}"));
    let (pos, tokens) = calls.lock().unwrap()[0].clone();
    assert_eq!(pos, tokenizer().encode(&kept).unwrap().len());
    assert_eq!(spell(&tokens), new);
    assert_eq!(
        chat.messages(),
        [
            Message::User("Begin.".to_owned()),
            Message::Assistant("There was a King.".to_owned()),
            Message::User("And then?".to_owned()),
        ]
    );

    chat.reset();
    assert!(chat.messages().is_empty());
    chat.say("Begin.").unwrap().finish().unwrap();
    assert_eq!(seen(&chat), format!("{prompt}{first}"));
}

#[test]
fn events_come_as_they_are_written() {
    let reply = format!("{THOUGHT}<|channel|>final<|message|>A 🦔.<|return|>");
    let (mut model, _) = scripted(&[&reply], 200);
    let mut chat = model.chat(options(99)).unwrap();
    let mut reply = chat.say("Begin.").unwrap();
    let mut events = Vec::new();
    for event in &mut reply {
        match (events.last_mut(), event.unwrap()) {
            (Some(Event::Text(before)), Event::Text(text)) => before.push_str(&text),
            (_, event) => events.push(event),
        }
    }
    assert!(matches!(
        reply.finish_reason(),
        Some(FinishReason::EndOfText(_))
    ));
    assert!(reply.next().is_none());
    let header = |channel| {
        Event::MessageStart(Header {
            channel: Some(channel),
            ..Header::of(crate::harmony::Author::Assistant)
        })
    };
    assert_eq!(
        events,
        [
            header(Channel::Analysis),
            Event::Text("Hm.".to_owned()),
            Event::MessageEnd(End::End),
            header(Channel::Final),
            Event::Text("A 🦔.".to_owned()),
            Event::MessageEnd(End::Return),
            Event::TurnEnd(End::Return),
        ]
    );
}

#[test]
fn tools_are_called_and_give_results() {
    let call = format!(
        "{THOUGHT}<|channel|>commentary to=functions.look <|constrain|>json\
         <|message|>{{\"at\": \"lake\"}}<|call|>"
    );
    let (mut model, _) = scripted(&[&call], 600);
    let mut chat = model
        .chat(ChatOptions {
            tools: vec![Tool {
                name: "look".to_owned(),
                description: "Looks.".to_owned(),
                parameters: serde_json::Value::Null,
            }],
            ..options(99)
        })
        .unwrap();
    let turn = chat.say("Look.").unwrap().finish().unwrap();
    assert_eq!(turn.answer(), None);
    let calls: Vec<(&str, &str)> = turn
        .tool_calls()
        .map(|call| (call.header.tool().unwrap(), call.text.as_str()))
        .collect();
    assert_eq!(calls, [("functions.look", "{\"at\": \"lake\"}")]);
    chat.add(Message::ToolResult {
        name: "look".to_owned(),
        content: "Water.".to_owned(),
    });
    assert_eq!(
        chat.messages()[1],
        Message::Call(ToolCall {
            name: "look".to_owned(),
            arguments: "{\"at\": \"lake\"}".to_owned(),
            analysis: Some("Hm.".to_owned()),
        })
    );
}

#[test]
fn a_turn_that_is_cut_goes_on() {
    let reply = format!("{THOUGHT}<|channel|>final<|message|>There was a King.<|return|>");
    let tokens = tokenizer().encode(&reply).unwrap();
    for cut in 0..tokens.len() {
        let (mut model, _) = scripted(&[&reply], 200);
        let mut chat = model.chat(options(cut)).unwrap();
        assert!(chat.go_on().unwrap().is_none());
        let mut first = chat.say("Begin.").unwrap();
        let before: Vec<Event> = (&mut first).map(Result::unwrap).collect();
        assert_eq!(first.finish_reason(), Some(FinishReason::MaxTokens));
        assert_eq!(before.last(), Some(&Event::TurnEnd(End::Cut)), "{cut}");
        chat.options_mut().generate.max_tokens = 99;
        let rest = chat.go_on().unwrap().unwrap();
        let turn = rest.finish().unwrap();
        assert_eq!(turn.answer().as_deref(), Some("There was a King."), "{cut}");
        assert_eq!(turn.analysis().as_deref(), Some("Hm."), "{cut}");
        assert_eq!(turn.messages.len(), 2, "{cut}");
        assert!(chat.go_on().unwrap().is_none());
    }
    // What goes on is told again, so that a display knows where it is.
    let (mut model, _) = scripted(&[&reply], 200);
    let cut = tokens.len() - 3;
    let mut chat = model.chat(options(cut)).unwrap();
    chat.say("Begin.").unwrap().finish().unwrap();
    let first = chat.go_on().unwrap().unwrap().next().unwrap().unwrap();
    assert!(
        matches!(&first, Event::MessageStart(header) if header.channel == Some(Channel::Final)),
        "{first:?}"
    );
}

#[test]
fn a_reply_that_is_dropped_goes_on() {
    let reply = format!("{THOUGHT}<|channel|>final<|message|>There was a King.<|return|>");
    let steps = tokenizer().encode(&reply).unwrap().len();
    for dropped in 0..=steps {
        let (mut model, _) = scripted(&[&reply], 200);
        let mut chat = model.chat(options(99)).unwrap();
        let mut first = chat.say("Begin.").unwrap();
        for _ in 0..dropped {
            first.next_step().unwrap().unwrap();
        }
        drop(first);
        let rest = chat.go_on().unwrap();
        assert_eq!(rest.is_some(), dropped < steps);
        if let Some(rest) = rest {
            let turn = rest.finish().unwrap();
            assert_eq!(
                turn.answer().as_deref(),
                Some("There was a King."),
                "{dropped}"
            );
        }
        chat.add(Message::User("And?".to_owned()));
        assert_eq!(
            chat.messages()[1],
            Message::Assistant("There was a King.".to_owned())
        );
    }
}

#[test]
fn a_cut_turn_leaves_what_it_said() {
    let reply = format!("{THOUGHT}<|channel|>final<|message|>There was a King.<|return|>");
    let tokens = tokenizer().encode(&reply).unwrap();
    let (mut model, _) = scripted(&[&reply], 200);
    let mut chat = model.chat(options(tokens.len() - 3)).unwrap();
    chat.say("Begin.").unwrap().finish().unwrap();
    chat.add(Message::User("Go on.".to_owned()));
    match &chat.messages()[1] {
        Message::Assistant(text) => assert!("There was a King.".starts_with(text.as_str())),
        other => panic!("{other:?}"),
    }
    // Nothing but thoughts is nothing.
    let (mut model, _) = scripted(&[&reply], 200);
    let mut chat = model.chat(options(4)).unwrap();
    chat.say("Begin.").unwrap().finish().unwrap();
    chat.add(Message::User("Go on.".to_owned()));
    assert_eq!(chat.messages().len(), 2);
}

#[test]
fn a_model_does_not_speak_for_the_person() {
    let reply = "<|channel|>final<|message|>Once.<|end|><|start|>user<|message|>And then?<|end|>";
    let (mut model, _) = scripted(&[reply], 200);
    let mut chat = model.chat(options(99)).unwrap();
    let mut reply = chat.say("Begin.").unwrap();
    let events: Vec<Event> = (&mut reply).map(Result::unwrap).collect();
    assert_eq!(events.last(), Some(&Event::TurnEnd(End::EndOfText)));
    assert!(matches!(
        reply.finish_reason(),
        Some(FinishReason::EndOfText(_))
    ));
    let turn = reply.turn();
    assert_eq!(turn.messages.len(), 1);
    assert_eq!(turn.messages[0].end, Some(End::End));
    assert_eq!(turn.answer().as_deref(), Some("Once."));
}

#[test]
fn malformed_turns_are_turns() {
    for (reply, answer) in [
        (
            "<|channel|>?? <|channel|>final<|message|>Once.<|return|>",
            Some("Once."),
        ),
        ("Once.<|return|>", Some("Once.")),
        ("<|channel|>final Once.<|return|>", Some("Once.")),
        ("<|channel|>analysis", None),
        ("<|return|>", None),
    ] {
        let (mut model, _) = scripted(&[reply], 200);
        let mut chat = model
            .chat(options(tokenizer().encode(reply).unwrap().len()))
            .unwrap();
        let turn = chat.say("Begin.").unwrap().finish().unwrap();
        assert_eq!(turn.answer().as_deref(), answer, "{reply}");
    }
}

#[test]
fn a_stop_string_ends_the_answer_and_not_the_thought() {
    let reply = "<|channel|>analysis<|message|>A King. Hm.<|end|><|start|>assistant\
                 <|channel|>final<|message|>There was a King. He slept.<|return|>";
    let (mut model, _) = scripted(&[reply], 200);
    let mut chat_options = options(99);
    chat_options.generate.stop = vec!["King.".to_owned()];
    let mut chat = model.chat(chat_options).unwrap();
    let mut reply = chat.say("Begin.").unwrap();
    let events: Vec<Event> = (&mut reply).map(Result::unwrap).collect();
    assert_eq!(reply.finish_reason(), Some(FinishReason::StopString));
    assert_eq!(events.last(), Some(&Event::TurnEnd(End::Cut)));
    let turn = reply.turn();
    assert_eq!(turn.analysis().as_deref(), Some("A King. Hm."));
    assert_eq!(turn.messages[1].text, "There was a ");
    assert!(chat.go_on().unwrap().is_none());
}

#[test]
fn the_oldest_turns_make_room() {
    let reply = "<|channel|>final<|message|>There was a King, and he had a daughter.<|return|>";
    let (mut model, _) = scripted(&[reply], 140);
    let mut chat = model.chat(options(30)).unwrap();
    for turn in 0..12 {
        let said = format!("This is turn {turn} of them.");
        chat.say(&said).unwrap().finish().unwrap();
        let seen = seen(&chat);
        // The system message stays, and what was said last.
        assert!(
            seen.starts_with("<|start|>system<|message|>You tell fairy tales."),
            "{seen}"
        );
        assert!(seen.contains(&said), "{seen}");
        assert_eq!(chat.model().conversation().dropped(), 0);
    }
    assert_eq!(chat.messages().len(), 23);
    assert!(
        chat.forgotten() > 10 && chat.forgotten() % 2 == 0,
        "{}",
        chat.forgotten()
    );
}

#[test]
fn options_are_checked() {
    let (mut model, _) = scripted(&["<|return|>"], 200);
    let mut wrong = options(9);
    wrong.generate.sampling.temperature = -1.0;
    assert!(model.chat(wrong.clone()).is_err());
    let mut chat = model.chat(options(9)).unwrap();
    *chat.options_mut() = wrong;
    assert!(chat.say("Begin.").is_err());
    assert!(chat.messages().is_empty());
}
