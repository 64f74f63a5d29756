//! Ending a text at a stop string.

use crate::{Error, Result};

/// Watches streamed text for stop strings.
///
/// Text that may be the beginning of one is held back until the next text
/// decides, so that no part of a stop string is ever shown.
#[derive(Debug, Clone, Default)]
pub struct StopStrings {
    stops: Vec<String>,
    held: String,
    out: String,
}

/// What [`StopStrings::push`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched<'a> {
    /// The text that is safe to show.
    pub text: &'a str,
    /// Whether a stop string followed it; the text is over then.
    pub stopped: bool,
}

impl StopStrings {
    /// Watches for any of `stops`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] when one is empty: it would stop before the first character.
    pub fn new(stops: &[String]) -> Result<Self> {
        if stops.iter().any(String::is_empty) {
            return Err(Error::InvalidOption {
                option: "a stop string",
                value: "empty".to_owned(),
                expected: "at least one character",
            });
        }
        Ok(Self {
            stops: stops.to_vec(),
            ..Self::default()
        })
    }

    /// Takes the next text and returns what of it, and of what was held, is certain.
    pub fn push(&mut self, text: &str) -> Watched<'_> {
        self.out.clear();
        self.held.push_str(text);
        if let Some(at) = self
            .stops
            .iter()
            .filter_map(|stop| self.held.find(stop))
            .min()
        {
            self.out.push_str(&self.held[..at]);
            self.held.clear();
            return Watched {
                text: &self.out,
                stopped: true,
            };
        }
        let certain = self.held.len() - self.longest_beginning();
        self.out.push_str(&self.held[..certain]);
        self.held.drain(..certain);
        Watched {
            text: &self.out,
            stopped: false,
        }
    }

    /// Ends the text: what was held back is no stop string.
    pub fn finish(&mut self) -> &str {
        self.out.clear();
        std::mem::swap(&mut self.out, &mut self.held);
        &self.out
    }

    /// The length of the longest end of the held text that begins a stop string.
    fn longest_beginning(&self) -> usize {
        let longest = self.stops.iter().map(String::len).max().unwrap_or(0);
        let first = self.held.len().saturating_sub(longest.saturating_sub(1));
        (first..self.held.len())
            .filter(|&at| self.held.is_char_boundary(at))
            .find(|&at| {
                self.stops
                    .iter()
                    .any(|stop| stop.starts_with(&self.held[at..]))
            })
            .map_or(0, |at| self.held.len() - at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(stops: &[&str], chunks: &[&str]) -> (Vec<String>, bool, String) {
        let stops: Vec<String> = stops.iter().map(|&s| s.to_owned()).collect();
        let mut watcher = StopStrings::new(&stops).unwrap();
        let mut outs = Vec::new();
        for chunk in chunks {
            let watched = watcher.push(chunk);
            outs.push(watched.text.to_owned());
            if watched.stopped {
                return (outs, true, watcher.finish().to_owned());
            }
        }
        (outs, false, watcher.finish().to_owned())
    }

    #[test]
    fn without_stop_strings_everything_passes() {
        assert_eq!(
            watch(&[], &["a", "", "b"]),
            (
                vec!["a".into(), String::new(), "b".into()],
                false,
                String::new()
            )
        );
    }

    #[test]
    fn a_beginning_is_held_until_it_is_decided() {
        let (outs, stopped, rest) = watch(&["\nUser:"], &["Hello.\n", "Us", "ual\nUser"]);
        assert_eq!(outs, ["Hello.", "", "\nUsual"]);
        assert!(!stopped);
        assert_eq!(rest, "\nUser");
    }

    #[test]
    fn the_earliest_stop_string_ends_the_text() {
        let (outs, stopped, rest) = watch(&["the end", "end"], &["This is th", "e end, or", "x"]);
        assert_eq!(outs, ["This is ", ""]);
        assert!(stopped);
        assert_eq!(rest, "");
    }

    #[test]
    fn any_split_stops_at_the_same_place() {
        let text = "aé🦔aé🦔b and more";
        let stop = ["é🦔b"];
        let boundaries: Vec<usize> = (0..=text.len())
            .filter(|&i| text.is_char_boundary(i))
            .collect();
        for &i in &boundaries {
            for &j in boundaries.iter().filter(|&&j| j >= i) {
                let (outs, stopped, _) = watch(&stop, &[&text[..i], &text[i..j], &text[j..]]);
                assert_eq!(
                    (outs.concat().as_str(), stopped),
                    ("aé🦔a", true),
                    "{i} {j}"
                );
            }
        }
    }

    #[test]
    fn an_empty_stop_string_is_refused() {
        let error = StopStrings::new(&[String::new()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a stop string is empty, but must be at least one character"
        );
    }
}
