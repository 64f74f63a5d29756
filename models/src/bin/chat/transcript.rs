//! A turn of a conversation on standard output, as it is written.

use std::io::IsTerminal;

use linnet_models::harmony::{Author, Channel, Event, Header, Reply, Turn};
use linnet_models::{FinishReason, Statistics, TextStream};

use crate::arguments::Analysis;
use crate::output::{Failure, dim, may_colour, note, print};

/// What is shown of a turn, and how.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub analysis: Analysis,
    /// Whether a person reads it; otherwise it is the answer alone.
    is_terminal: bool,
    colour: bool,
}

/// A turn that was shown.
pub struct Shown {
    pub turn: Turn,
    pub reason: Option<FinishReason>,
    pub statistics: Statistics,
}

/// How a message is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Dim,
    Hidden,
}

impl View {
    /// The view of this program's standard output.
    pub fn new(analysis: Option<Analysis>) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        Self {
            analysis: analysis.unwrap_or(Analysis::Dim),
            is_terminal,
            colour: is_terminal && may_colour(),
        }
    }

    /// Shows a turn while it is written.
    pub fn show(self, mut reply: Reply<'_>) -> Result<Shown, Failure> {
        let mut pen = Pen::default();
        let mut result = if self.analysis == Analysis::Raw {
            raw(&mut reply, &mut pen)
        } else {
            self.messages(&mut reply, &mut pen)
        };
        let turn = reply.turn();
        if self.analysis != Analysis::Raw && !self.is_terminal {
            result = result.and_then(|()| self.rest(&turn, &mut pen));
        }
        pen.end_line()?;
        result.map(|()| Shown {
            turn,
            reason: reply.finish_reason(),
            statistics: reply.statistics(),
        })
    }

    fn messages(self, reply: &mut Reply<'_>, pen: &mut Pen) -> Result<(), Failure> {
        let mut style = Style::Hidden;
        let mut closing = "";
        for event in reply {
            match event? {
                Event::MessageStart(header) => {
                    style = self.style(&header);
                    let (opening, end) = self.frame(&header, style);
                    closing = end;
                    if style != Style::Hidden {
                        pen.end_line()?;
                        if self.is_terminal && header.extra.contains(char::is_alphanumeric) {
                            pen.write(&self.styled(&format!("({})", header.extra), Style::Dim))?;
                            pen.end_line()?;
                        }
                        if !opening.is_empty() {
                            pen.write(&self.styled(&opening, style))?;
                        }
                        pen.begin_text();
                    }
                }
                Event::Text(text) if style != Style::Hidden => {
                    let text = pen.trim(&text);
                    if !text.is_empty() {
                        let text = self.styled(text, style);
                        pen.write(&text)?;
                    }
                }
                Event::MessageEnd(_) if style != Style::Hidden => {
                    if !closing.is_empty() {
                        pen.write(&self.styled(closing, style))?;
                    }
                    pen.end_line()?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What is not shown as it comes where nobody watches: an answer outside
    /// of the final channel, which is known for one only at the end, and calls.
    fn rest(self, turn: &Turn, pen: &mut Pen) -> Result<(), Failure> {
        if pen.is_blank()
            && let Some(answer) = turn.answer()
        {
            pen.write(&answer)?;
        }
        for call in turn.tool_calls() {
            let tool = call.header.tool().unwrap_or_default();
            note(&format!("the model calls {tool} with {}", call.text));
        }
        Ok(())
    }

    fn style(self, header: &Header) -> Style {
        if !self.is_terminal {
            return if is_final(header) {
                Style::Plain
            } else {
                Style::Hidden
            };
        }
        let thinks = header.channel == Some(Channel::Analysis) && header.tool().is_none();
        match &header.author {
            Author::Assistant if !thinks => Style::Plain,
            _ if self.analysis == Analysis::Hide => Style::Hidden,
            _ => Style::Dim,
        }
    }

    /// What stands before and after the text of a message.
    fn frame(self, header: &Header, style: Style) -> (String, &'static str) {
        match (&header.author, header.tool()) {
            (Author::Assistant, Some(tool)) => (format!("[calls {tool} with "), "]"),
            (Author::Assistant, None) if style == Style::Dim && !self.colour => {
                ("(".to_owned(), ")")
            }
            (Author::Assistant, None) => (String::new(), ""),
            (Author::Tool(name), _) => (format!("[{name}: "), "]"),
            (other, _) => (format!("[{other:?}: ").to_lowercase(), "]"),
        }
    }

    fn styled(self, text: &str, style: Style) -> String {
        if style == Style::Dim && self.colour {
            dim(text)
        } else {
            text.to_owned()
        }
    }
}

fn is_final(header: &Header) -> bool {
    header.author == Author::Assistant
        && header.tool().is_none()
        && header.channel == Some(Channel::Final)
}

/// Everything as the model writes it.
fn raw(reply: &mut Reply<'_>, pen: &mut Pen) -> Result<(), Failure> {
    let mut stream = TextStream::new();
    while let Some(step) = reply.next_step()? {
        let Some(token) = step.token else { continue };
        let tokenizer = reply.tokenizer();
        if tokenizer.is_special(token) {
            pen.write(stream.finish(tokenizer)?)?;
            pen.write(&tokenizer.token(token).unwrap_or_default())?;
        } else {
            pen.write(stream.push(tokenizer, token)?)?;
        }
    }
    pen.write(stream.finish(reply.tokenizer())?)
}

/// Where on the line the output is.
#[derive(Default)]
struct Pen {
    wrote: bool,
    in_line: bool,
    /// Whether the text of a message has not begun: spaces before it are not shown.
    before_text: bool,
}

impl Pen {
    fn write(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        self.wrote = true;
        self.in_line = !text.ends_with(['\n']);
        print(text)
    }

    fn end_line(&mut self) -> Result<(), Failure> {
        if self.in_line {
            self.write("\n")?;
        }
        Ok(())
    }

    fn begin_text(&mut self) {
        self.before_text = true;
    }

    fn trim<'t>(&mut self, text: &'t str) -> &'t str {
        if !self.before_text {
            return text;
        }
        let text = text.trim_start();
        self.before_text = text.is_empty();
        text
    }

    fn is_blank(&self) -> bool {
        !self.wrote
    }
}
