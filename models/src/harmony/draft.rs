//! A header as far as it has been written.
//!
//! Well-formed, a header is `role [to=recipient] <|channel|> name
//! [to=recipient] [[<|constrain|>] type]`, closed by `<|message|>`. Models
//! depart from this in many ways, so a draft is read as what it most likely
//! means, and whatever has no place in a header is handed on as text.

use super::event::{Author, Channel, Header};

/// Text types that models name without `<|constrain|>`.
const CONTENT_TYPES: [&str; 6] = ["json", "code", "text", "python", "xml", "yaml"];

/// Where in a header a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Role,
    Channel,
    Constrain,
}

/// A header in the making.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// Whether `<|start|>` began it, so that a role has to follow.
    started: bool,
    /// What earlier parts of a doubled header said.
    known: Header,
    parts: Vec<(Place, String)>,
}

/// A draft, read.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) header: Header,
    /// What is not part of a header.
    pub(super) rest: String,
}

impl Draft {
    /// A header of the model's that the prompt began, or that nothing began.
    pub(super) fn unstarted() -> Self {
        Self {
            started: false,
            known: Header::of(Author::Assistant),
            parts: vec![(Place::Role, String::new())],
        }
    }

    /// A header after `<|start|>`.
    pub(super) fn started() -> Self {
        Self {
            started: true,
            ..Self::unstarted()
        }
    }

    /// A header that begins with `<|channel|>`; `known` is what is certain of it.
    pub(super) fn channel(known: Header) -> Self {
        Self {
            started: false,
            known,
            parts: vec![(Place::Channel, String::new())],
        }
    }

    /// Adds text.
    pub(super) fn push(&mut self, text: &str) {
        if let Some((_, part)) = self.parts.last_mut() {
            part.push_str(text);
        }
    }

    /// Takes in `<|channel|>`; false when there is one already.
    pub(super) fn push_channel(&mut self) -> bool {
        let first = self.parts.iter().all(|(place, _)| *place == Place::Role);
        if first {
            self.parts.push((Place::Channel, String::new()));
        }
        first
    }

    /// Takes in `<|constrain|>`.
    pub(super) fn push_constrain(&mut self) {
        self.parts.push((Place::Constrain, String::new()));
    }

    /// Whether it is too short for anything but a header.
    pub(super) fn is_short(&self) -> bool {
        self.parts.iter().all(|(_, text)| text.len() < 24)
    }

    /// Whether all that is no header yet is the beginning of a name.
    pub(super) fn is_beginning_of_name(&self, rest: &str) -> bool {
        let names: &[&str] = match self.parts.last() {
            Some((Place::Channel, _)) => &["analysis", "commentary", "final", "to="],
            Some((Place::Constrain, _)) => &CONTENT_TYPES,
            _ => &["assistant", "user", "system", "developer", "to="],
        };
        let word = rest.trim();
        !word.is_empty() && names.iter().any(|name| name.starts_with(word))
    }

    /// Reads the draft. `closed` says that `<|message|>` or another
    /// `<|channel|>` follows, so that a single word is a name; otherwise the
    /// header has no end, and text that follows its names is the message's.
    pub(super) fn read(&self, closed: bool) -> Reading {
        let mut header = self.known.clone();
        let mut rest = String::new();
        for (i, (place, text)) in self.parts.iter().enumerate() {
            let closed = closed || i + 1 < self.parts.len();
            let left = match place {
                Place::Role => read_role(text, self.started, closed, &mut header),
                Place::Channel => read_channel(text, closed, &mut header),
                Place::Constrain => read_constrain(text, closed, &mut header),
            };
            if !rest.is_empty() && !left.is_empty() {
                rest.push(' ');
            }
            rest.push_str(left);
        }
        if closed {
            rest.truncate(rest.trim_end().len());
        }
        Reading { header, rest }
    }
}

/// Whether a text is words, and not a name or a slip of the pen.
pub(super) fn is_prose(text: &str) -> bool {
    let words = text
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphabetic))
        .count();
    words > 1 || text.trim().chars().count() > 24
}

/// Whether a text is only what models put around names by mistake.
pub(super) fn is_noise(text: &str) -> bool {
    text.chars().all(is_noise_char)
}

fn is_noise_char(c: char) -> bool {
    c.is_whitespace() || "?!.,:;*-–—".contains(c)
}

/// Reads `[role] [to=recipient] [channel]` and returns what is left.
fn read_role<'t>(text: &'t str, started: bool, closed: bool, header: &mut Header) -> &'t str {
    let text = text.trim_start();
    let mut read = header.clone();
    let (author, after) = take_role(text);
    let found = author.is_some();
    read.author = author.unwrap_or(read.author);
    let left = read_names(after, &mut read);
    if !found && started && closed {
        let (tool, after) = take_word(left);
        if !tool.is_empty() && read_names(after, &mut read).is_empty() {
            read.author = Author::Tool(tool.to_owned());
            *header = read;
            return "";
        }
    }
    // Without `<|start|>` it may as well be a text that begins with such a word.
    if started || left.is_empty() || text.starts_with("to=") {
        *header = read;
        return left;
    }
    text
}

/// Reads `name [to=recipient] [type]` and returns what is left.
fn read_channel<'t>(text: &'t str, closed: bool, header: &mut Header) -> &'t str {
    // The last of several channels counts; what was taken for one is kept.
    if let Some(Channel::Other(name)) = header.channel.take_if(|c| matches!(c, Channel::Other(_))) {
        push_word(&mut header.extra, &name);
    }
    let before = header.channel.take();
    // A slip of the pen before the name.
    let name = text.trim_start_matches(is_noise_char);
    let text = if name.len() < text.len() && take_channel(name).is_some() {
        push_word(&mut header.extra, text[..text.len() - name.len()].trim());
        name
    } else {
        text
    };
    let left = read_names(text, header);
    if header.channel.is_none() {
        header.channel = before;
    }
    let (word, after) = take_word(left);
    if word.is_empty() {
        return left;
    }
    let after = after.trim_start();
    let for_a_tool = header.recipient.is_some();
    let names_follow = after.is_empty() || after.starts_with("to=");
    let json_follows = after.starts_with(['{', '[', '"']);
    let is_type = (closed || for_a_tool) && names_follow || for_a_tool && json_follows;
    if is_type && CONTENT_TYPES.contains(&word) {
        set_content_type(word, header);
        return read_names(after, header);
    }
    if closed && after.is_empty() && header.channel.is_none() {
        header.channel = Some(Channel::Other(word.to_owned()));
        return "";
    }
    left
}

/// Reads `type [to=recipient]` and returns what is left.
fn read_constrain<'t>(text: &'t str, closed: bool, header: &mut Header) -> &'t str {
    let left = read_names(text, header);
    let (word, after) = take_word(left);
    let after = after.trim_start();
    let ends = closed && after.is_empty()
        || after.starts_with("to=")
        || header.recipient.is_some() && after.starts_with(['{', '[', '"']);
    if !word.is_empty() && (ends || CONTENT_TYPES.contains(&word)) {
        set_content_type(word, header);
        return read_names(after, header);
    }
    left
}

fn set_content_type(word: &str, header: &mut Header) {
    let before = header.content_type.replace(word.to_owned());
    keep(before, header);
}

/// Keeps a name that another one takes the place of.
fn keep(before: Option<String>, header: &mut Header) {
    if let Some(before) = before {
        push_word(&mut header.extra, &before);
    }
}

/// Reads recipients and one channel's name, in any order.
fn read_names<'t>(text: &'t str, header: &mut Header) -> &'t str {
    let mut text = text.trim_start();
    loop {
        if let Some(after) = text.strip_prefix("to=") {
            let (name, after) = take_word(after);
            if !name.is_empty() {
                let before = header.recipient.replace(name.to_owned());
                keep(before, header);
            }
            text = after.trim_start();
            continue;
        }
        match take_channel(text) {
            Some((channel, after)) if header.channel.is_none() => {
                header.channel = Some(channel);
                text = after.trim_start();
            }
            _ => return text,
        }
    }
}

/// A channel's name at the beginning, and what follows it.
fn take_channel(text: &str) -> Option<(Channel, &str)> {
    let names = [
        ("analysis", Channel::Analysis),
        ("commentary", Channel::Commentary),
        ("final", Channel::Final),
    ];
    names.into_iter().find_map(|(name, channel)| {
        let head = text.get(..name.len())?;
        let after = &text[name.len()..];
        // Not `finally`, nor `final_answer`.
        let goes_on = after.starts_with(|c: char| c.is_lowercase() || c == '_' || c.is_numeric());
        (head.eq_ignore_ascii_case(name) && !goes_on).then_some((channel, after))
    })
}

/// A role at the beginning, and what follows it.
fn take_role(text: &str) -> (Option<Author>, &str) {
    let roles = [
        ("assistant", Author::Assistant),
        ("user", Author::User),
        ("system", Author::System),
        ("developer", Author::Developer),
    ];
    for (name, author) in roles {
        if let Some(after) = text.strip_prefix(name)
            && (!after.starts_with(is_name_char) || take_channel(after).is_some())
        {
            return (Some(author), after);
        }
    }
    (None, text)
}

/// The longest beginning that can be a name, and what follows it.
fn take_word(text: &str) -> (&str, &str) {
    let end = text.find(|c| !is_name_char(c)).unwrap_or(text.len());
    text.split_at(end)
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.-/".contains(c)
}

/// Adds a word after a space.
pub(super) fn push_word(text: &mut String, word: &str) {
    if !text.is_empty() && !word.is_empty() {
        text.push(' ');
    }
    text.push_str(word);
}
