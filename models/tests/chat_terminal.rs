//! `chat` in a terminal, as a person uses it.
#![cfg(unix)]

mod terminal;

use std::time::Duration;

use terminal::Terminal;

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";

#[test]
fn a_conversation() {
    let mut chat = Terminal::start(&["--seed", "3", "--max-tokens", "60"]);
    chat.expect("tales-gpt2: gpt2, 3.6 million parameters, 512 positions");
    chat.prompt();
    chat.send("Once upon a time there was\r");
    let first = chat.prompt();
    // It streams: the text came in many pieces.
    assert!(
        chat.reads_since_prompt() > 3,
        "{} reads: {first}",
        chat.reads_since_prompt()
    );
    assert!(first.split_whitespace().count() > 20, "{first}");
    assert!(first.contains("(Enter lets it go on)"), "{first}");

    // An empty line goes on.
    chat.send("\r");
    assert!(chat.prompt().split_whitespace().count() > 10);

    chat.send("/help\r");
    assert!(chat.prompt().contains("/reset   forget the text so far"));
    chat.send("/nonsense now\r");
    assert!(
        chat.prompt()
            .contains("there is no command /nonsense; /help lists them")
    );

    // After a reset the same seed does not matter: the turn's own number does,
    // and the text begins anew.
    chat.send("/reset\r");
    assert!(chat.prompt().contains("the text so far is forgotten"));
    chat.send("The old witch\r");
    assert!(chat.prompt().split_whitespace().count() > 10);

    // Up walks through the history.
    chat.send("\x1b[A\x1b[A\r");
    assert!(chat.prompt().contains("the text so far is forgotten"));

    chat.send("/exit\r");
    assert_eq!(chat.wait(), Some(0));
    let history = std::fs::read_to_string(chat.data().join("linnet/chat_history")).unwrap();
    for line in ["Once upon a time there was", "/help", "The old witch"] {
        assert!(history.contains(line), "{history}");
    }
}

#[test]
fn emoji_and_other_scripts_are_pasted() {
    let mut chat = Terminal::start(&["--max-tokens", "5"]);
    chat.prompt();
    // A bracketed paste, of two lines, with characters of several code points.
    chat.send("\x1b[200~A 🦔 and a 👩‍👩‍👧‍👦\nmet 物語 e\u{301}\x1b[201~");
    chat.send("\r");
    let text = chat.prompt();
    assert!(!text.contains("error"), "{text}");
    // The same as keys, and half a character.
    chat.send("🦔🦔🦔\r");
    chat.prompt();
    chat.send_bytes(b"half \xF0\x9F");
    chat.send("\r");
    assert!(
        chat.prompt()
            .contains("that was not UTF-8 text; the line is dropped")
    );
    chat.send("whole\r");
    chat.prompt();
    chat.send(CTRL_D);
    assert_eq!(chat.wait(), Some(0));
}

#[test]
fn a_line_of_100_kilobytes() {
    let line = "Then the King said: ".repeat(5000);
    let mut chat = Terminal::start(&["--max-tokens", "5"]);
    chat.prompt();
    chat.send(&format!("\x1b[200~{line}\x1b[201~\r"));
    let text = chat.prompt();
    assert!(
        text.contains("the text no longer fits the model's 512 positions"),
        "{}",
        tail(&text)
    );
    chat.send("And then\r");
    assert!(!chat.prompt().contains("error"));
    chat.send(CTRL_D);
    assert_eq!(chat.wait(), Some(0));
}

/// The end of a long text, for messages.
fn tail(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    chars[chars.len().saturating_sub(500)..].iter().collect()
}

#[test]
fn ctrl_c_stops_an_answer_and_twice_leaves() {
    // The most probable text repeats itself without an end.
    let mut chat = Terminal::start(&["--greedy", "--max-tokens", "1000000"]);
    chat.prompt();
    chat.send("Once upon a time\r");
    chat.entered();
    // Some words are there, and more would come.
    chat.expect(" ");
    chat.send(CTRL_C);
    let text = chat.prompt();
    assert!(
        text.contains("(stopped; Ctrl-C again leaves)"),
        "{}",
        tail(&text)
    );
    // It goes on as before.
    chat.send("The end was\r");
    chat.entered();
    chat.expect(" ");
    chat.send(CTRL_C);
    chat.prompt();
    chat.send(CTRL_C);
    assert_eq!(chat.wait(), Some(0));
}

#[test]
fn ctrl_c_stops_a_prompt_on_its_way() {
    // Exact numerics take a while for the chunks of a long prompt.
    let mut chat = Terminal::start(&["--numerics", "exact", "--threads", "1"]);
    chat.prompt();
    let line = "Then the King said: ".repeat(60);
    chat.send(&format!("\x1b[200~{line}\x1b[201~\r"));
    chat.entered();
    chat.send(CTRL_C);
    let text = chat.prompt();
    // Nothing was written: it was stopped within the prompt. The terminal shows ^C.
    let before = text.split("(stopped").next().unwrap_or_default();
    assert_eq!(before.replace("^C", "").trim(), "", "{}", tail(&text));
    assert!(
        text.contains("(stopped; Ctrl-C again leaves)"),
        "{}",
        tail(&text)
    );
    chat.send(CTRL_D);
    assert_eq!(chat.wait(), Some(0));
}

#[test]
fn ctrl_c_twice_leaves_without_waiting() {
    let mut chat = Terminal::start(&["--numerics", "exact", "--threads", "1"]);
    chat.prompt();
    let line = "Then the King said: ".repeat(300);
    chat.send(&format!("\x1b[200~{line}\x1b[201~\r"));
    chat.entered();
    chat.send(CTRL_C);
    std::thread::sleep(Duration::from_millis(20));
    chat.send(CTRL_C);
    // At once in the middle of a chunk, or from the line that follows it.
    assert!(matches!(chat.wait(), Some(130 | 0)));
}

#[test]
fn ctrl_c_twice_at_the_prompt_leaves() {
    let mut chat = Terminal::start(&[]);
    chat.prompt();
    chat.send("something");
    chat.send(CTRL_C);
    assert!(chat.prompt().contains("(Ctrl-C again leaves)"));
    // Anything in between starts the count again.
    chat.send("/help\r");
    chat.prompt();
    chat.send(CTRL_C);
    chat.prompt();
    chat.send(CTRL_C);
    assert_eq!(chat.wait(), Some(0));
}

#[test]
fn a_history_that_cannot_be_kept_is_a_warning() {
    let mut chat = Terminal::start_with(&["--max-tokens", "3"], |command| {
        command.env("XDG_DATA_HOME", "/dev/null")
    });
    let text = chat.prompt();
    assert!(
        text.contains("warning: no history is kept: cannot create the folder"),
        "{text}"
    );
    chat.send("Once\r");
    assert!(!chat.prompt().contains("error"));
    chat.send(CTRL_D);
    assert_eq!(chat.wait(), Some(0));
}
