//! Names from files, fit to print: a name in a damaged file can hold anything.

use std::fmt;

/// The characters of a name that a message shows.
const SHOWN: usize = 120;

/// Prints a name in backticks, control characters escaped and the middle of a
/// very long one left out.
pub(crate) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0.chars().count();
        if n <= SHOWN {
            return write!(f, "`{}`", self.0.escape_debug());
        }
        let head: String = self.0.chars().take(SHOWN / 2).collect();
        let tail: String = self.0.chars().skip(n - SHOWN / 4).collect();
        write!(
            f,
            "`{}...{}` ({n} characters)",
            head.escape_debug(),
            tail.escape_debug()
        )
    }
}

/// Several names, quoted, separated by commas, at most `limit` of them.
pub(crate) struct QuotedList<'a, S>(pub &'a [S], pub usize);

impl<S: AsRef<str>> fmt::Display for QuotedList<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().take(self.1).enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{}", Quoted(name.as_ref()))?;
        }
        if self.0.len() > self.1 {
            write!(f, " and {} more", self.0.len() - self.1)?;
        }
        Ok(())
    }
}
