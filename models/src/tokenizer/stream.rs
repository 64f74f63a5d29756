//! Text from a stream of token ids, never splitting a character.

use super::Tokenizer;
use crate::Result;

/// Decodes ids one by one into whole characters.
///
/// A token may end within a character; its bytes are then held back until the
/// next tokens complete it. Bytes that cannot become a character are given out
/// as U+FFFD at once, as a decoder of the whole text would.
#[derive(Debug, Clone, Default)]
pub struct TextStream {
    /// Bytes of an incomplete character (byte-level vocabularies).
    partial: Vec<u8>,
    /// Ids whose text is not all out yet (other vocabularies).
    window: Vec<u32>,
    /// How many ids of the window `shown` is the text of.
    shown_ids: usize,
    /// The part of the window's text that is out.
    shown: String,
    /// What the last call returned.
    out: String,
}

impl TextStream {
    /// A stream at the beginning of a text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next id and returns the text that it completes, which may be empty.
    /// Special tokens have no text.
    ///
    /// # Errors
    ///
    /// [`Error::Tokenizer`](crate::Error::Tokenizer) when the tokenizer's own decoder fails.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: i32) -> Result<&str> {
        self.out.clear();
        if tokenizer.is_special(id) {
            return Ok("");
        }
        match &tokenizer.bytes {
            Some(table) => push_utf8(&mut self.partial, table.get(id), &mut self.out),
            None => self.push_window(tokenizer, id, false)?,
        }
        Ok(&self.out)
    }

    /// Ends the stream and returns what was held back.
    ///
    /// # Errors
    ///
    /// [`Error::Tokenizer`](crate::Error::Tokenizer) when the tokenizer's own decoder fails.
    pub fn finish(&mut self, tokenizer: &Tokenizer) -> Result<&str> {
        self.out.clear();
        if !self.partial.is_empty() {
            self.out.push(char::REPLACEMENT_CHARACTER);
            self.partial.clear();
        }
        if self.window.len() > self.shown_ids {
            self.flush_window(tokenizer, true)?;
        }
        self.window.clear();
        self.shown.clear();
        self.shown_ids = 0;
        Ok(&self.out)
    }

    fn push_window(&mut self, tokenizer: &Tokenizer, id: i32, last: bool) -> Result<()> {
        let Ok(id) = u32::try_from(id) else {
            return Ok(());
        };
        self.window.push(id);
        self.flush_window(tokenizer, last)
    }

    /// Decoders that look at neighbours (they join words with spaces) only give
    /// the right text for a run of ids, so a run is decoded and compared with
    /// what is out.
    fn flush_window(&mut self, tokenizer: &Tokenizer, last: bool) -> Result<()> {
        let decode = |ids: &[u32]| {
            tokenizer
                .encoder
                .decode(ids)
                .map_err(|e| tokenizer.error(format!("cannot decode token ids: {e}")))
        };
        let text: String = decode(&self.window)?;
        // A character that is not complete yet decodes as U+FFFD; more than a
        // character's worth of bytes will never complete it.
        let incomplete =
            text.ends_with(char::REPLACEMENT_CHARACTER) && self.window.len() - self.shown_ids < 4;
        if incomplete && !last {
            return Ok(());
        }
        self.out.push_str(new_part(&text, &self.shown));
        self.window.drain(..self.shown_ids);
        self.shown_ids = self.window.len();
        self.shown = decode(&self.window)?;
        Ok(())
    }
}

/// What `text` has beyond the part it shares with `shown`.
fn new_part<'t>(text: &'t str, shown: &str) -> &'t str {
    let common: usize = text
        .chars()
        .zip(shown.chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    &text[common..]
}

/// Appends `bytes` to `out` as text; an incomplete last character stays in `partial`.
fn push_utf8(partial: &mut Vec<u8>, bytes: &[u8], out: &mut String) {
    partial.extend_from_slice(bytes);
    let mut rest = partial.as_slice();
    loop {
        match std::str::from_utf8(rest) {
            Ok(text) => {
                out.push_str(text);
                partial.clear();
                return;
            }
            Err(error) => {
                let (valid, after) = rest.split_at(error.valid_up_to());
                out.extend(std::str::from_utf8(valid));
                match error.error_len() {
                    Some(length) => {
                        out.push(char::REPLACEMENT_CHARACTER);
                        rest = &after[length..];
                    }
                    None => {
                        let kept = partial.len() - after.len();
                        partial.drain(..kept);
                        return;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes the chunks and returns what came out for each, then what is left.
    fn push_all(chunks: &[&[u8]]) -> (Vec<String>, Vec<u8>) {
        let mut partial = Vec::new();
        let outs = chunks
            .iter()
            .map(|chunk| {
                let mut out = String::new();
                push_utf8(&mut partial, chunk, &mut out);
                out
            })
            .collect();
        (outs, partial)
    }

    #[test]
    fn a_character_comes_out_when_it_is_complete() {
        let (outs, left) = push_all(&[b"a\xF0", b"\x9F", b"\xA6", b"\x94b"]);
        assert_eq!(outs, ["a", "", "", "🦔b"]);
        assert!(left.is_empty());
    }

    #[test]
    fn bytes_that_are_no_character_come_out_at_once() {
        let (outs, left) = push_all(&[b"a\xFF", b"b\xF0\x9F", b"c", b"\xE2\x82"]);
        assert_eq!(outs, ["a\u{FFFD}", "b", "\u{FFFD}c", ""]);
        assert_eq!(left, b"\xE2\x82");
    }

    #[test]
    fn any_split_gives_the_same_text() {
        let bytes = "Prinzessin 🦔\u{301} é \u{FFFD} ende\u{10FFFF}".as_bytes();
        let whole = String::from_utf8_lossy(bytes);
        for first in 0..bytes.len() {
            for second in first..bytes.len() {
                let (outs, left) =
                    push_all(&[&bytes[..first], &bytes[first..second], &bytes[second..]]);
                assert_eq!(outs.concat(), whole);
                assert!(left.is_empty());
            }
        }
    }

    #[test]
    fn random_bytes_are_as_a_lossy_decoder_shows_them() {
        let mut state = 1u32;
        for _ in 0..2000 {
            let bytes: Vec<u8> = (0..12)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    // Mostly lead and continuation bytes.
                    (state >> 24) as u8 | if state & 0x300 != 0 { 0x80 } else { 0 }
                })
                .collect();
            let chunks: Vec<&[u8]> = bytes.chunks(1).collect();
            let (outs, left) = push_all(&chunks);
            let mut text = outs.concat();
            if !left.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            assert_eq!(text, String::from_utf8_lossy(&bytes), "{bytes:x?}");
        }
    }
}
