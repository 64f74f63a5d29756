//! A turn of a conversation on standard output, as it is written.

use std::io::IsTerminal;

use linnet_models::harmony::{Author, Channel, Event, Header, Reply, Turn};
use linnet_models::{FinishReason, Result as ModelResult, Statistics, TextStream};

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
        let mut write = print;
        let mut pen = Pen::new(&mut write);
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

    fn messages(
        self,
        events: &mut dyn Iterator<Item = ModelResult<Event>>,
        pen: &mut Pen<'_>,
    ) -> Result<(), Failure> {
        let mut style = Style::Hidden;
        let mut closing = "";
        for event in events {
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
                    let text = pen.trimmed(&text);
                    pen.write(&self.styled(&text, style))?;
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
    fn rest(self, turn: &Turn, pen: &mut Pen<'_>) -> Result<(), Failure> {
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
        if style == Style::Dim && self.colour && !text.is_empty() {
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
fn raw(reply: &mut Reply<'_>, pen: &mut Pen<'_>) -> Result<(), Failure> {
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

/// What writes, and where on the line it is.
struct Pen<'w> {
    write: &'w mut dyn FnMut(&str) -> Result<(), Failure>,
    wrote: bool,
    in_line: bool,
    /// Whether the text of a message has not begun.
    before_text: bool,
    /// Space that is shown when more text follows it.
    held: String,
}

impl<'w> Pen<'w> {
    fn new(write: &'w mut dyn FnMut(&str) -> Result<(), Failure>) -> Self {
        Self {
            write,
            wrote: false,
            in_line: false,
            before_text: false,
            held: String::new(),
        }
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        self.wrote = true;
        self.in_line = !text.ends_with('\n');
        (self.write)(text)
    }

    fn end_line(&mut self) -> Result<(), Failure> {
        if self.in_line {
            self.write("\n")?;
        }
        Ok(())
    }

    fn begin_text(&mut self) {
        self.before_text = true;
        self.held.clear();
    }

    /// A message's text without the space around it: what may be the end of it
    /// is held back until more comes.
    fn trimmed(&mut self, text: &str) -> String {
        let text = if self.before_text {
            text.trim_start()
        } else {
            text
        };
        let body = text.trim_end();
        if body.is_empty() {
            self.held.push_str(text);
            return String::new();
        }
        self.before_text = false;
        let mut out = std::mem::take(&mut self.held);
        out.push_str(body);
        self.held.push_str(&text[body.len()..]);
        out
    }

    fn is_blank(&self) -> bool {
        !self.wrote
    }
}

#[cfg(test)]
mod tests {
    use linnet_models::harmony::Parser;
    use linnet_models::{CheckpointFiles, Tokenizer};

    use super::*;

    /// What is shown of an output.
    fn shown(view: View, output: &str) -> String {
        let files = linnet_models::Bundled::find("tales-gpt-oss").unwrap();
        let tokenizer = Tokenizer::read(&CheckpointFiles::Bundled(files)).unwrap();
        let mut parser = Parser::new(&tokenizer).unwrap();
        let mut events = Vec::new();
        let mut turn = Turn::default();
        for id in tokenizer.encode(output).unwrap() {
            events.extend(parser.push(&tokenizer, id));
        }
        events.extend(parser.finish(&tokenizer));
        events.iter().for_each(|event| turn.add(event));
        let mut out = String::new();
        let mut write = |text: &str| {
            out.push_str(text);
            Ok(())
        };
        let mut pen = Pen::new(&mut write);
        let mut events = events.into_iter().map(Ok);
        view.messages(&mut events, &mut pen).unwrap();
        if !view.is_terminal {
            view.rest(&turn, &mut pen).unwrap();
        }
        pen.end_line().unwrap();
        // One change of colour for each word is as good as one for all.
        out.replace("\x1b[0m\x1b[2m", "")
    }

    const OUTPUT: &str = "<|channel|>analysis<|message|>Hm.\n<|end|><|start|>assistant\
        <|channel|>commentary<|message|>I look.<|end|><|start|>assistant\
        <|channel|>commentary to=functions.look<|message|>{}<|end|>\
        <|start|>functions.look to=assistant<|channel|>commentary<|message|>Water<|end|>\
        <|start|>assistant<|channel|>final<|message|> There was\na lake.<|return|>";

    fn view(analysis: Analysis, is_terminal: bool, colour: bool) -> View {
        View {
            analysis,
            is_terminal,
            colour,
        }
    }

    #[test]
    fn a_terminal_shows_all_messages() {
        assert_eq!(
            shown(view(Analysis::Dim, true, true), OUTPUT),
            "\x1b[2mHm.\x1b[0m\nI look.\n[calls functions.look with {}]\n\
             \x1b[2m[functions.look: Water]\x1b[0m\nThere was\na lake.\n"
        );
        assert_eq!(
            shown(view(Analysis::Dim, true, false), OUTPUT),
            "(Hm.)\nI look.\n[calls functions.look with {}]\n[functions.look: Water]\n\
             There was\na lake.\n"
        );
        assert_eq!(
            shown(view(Analysis::Hide, true, true), OUTPUT),
            "I look.\n[calls functions.look with {}]\nThere was\na lake.\n"
        );
    }

    #[test]
    fn a_pipe_gets_the_answer() {
        for analysis in [Analysis::Dim, Analysis::Hide] {
            let view = view(analysis, false, false);
            assert_eq!(shown(view, OUTPUT), "There was\na lake.\n");
            // Outside of the final channel it is an answer if there is no other.
            assert_eq!(shown(view, "Once.<|return|>"), "Once.\n");
            assert_eq!(
                shown(
                    view,
                    "<|channel|>?? no<|end|><|channel|>final<|message|>Once.<|return|>"
                ),
                "Once.\n"
            );
            assert_eq!(
                shown(view, "<|channel|>analysis<|message|>Hm.<|return|>"),
                ""
            );
        }
    }

    #[test]
    fn malformed_headers_are_shown() {
        let view = view(Analysis::Dim, true, false);
        assert_eq!(
            shown(view, "<|channel|>final 2?<|message|>Once.<|return|>"),
            "(2?)\nOnce.\n"
        );
        assert_eq!(
            shown(
                view,
                "<|channel|>??<|end|><|start|>assistant<|channel|>final Once.<|return|>"
            ),
            "Once.\n"
        );
    }
}
