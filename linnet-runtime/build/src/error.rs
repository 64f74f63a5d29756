//! Why a build script fails, in a sentence that cargo shows.

use std::fmt;

/// What is wrong with a model crate's card, or with the crate around it.
pub struct Error {
    file: String,
    line: Option<usize>,
    message: String,
}

impl Error {
    pub(crate) fn new(file: impl fmt::Display, message: impl Into<String>) -> Error {
        Error {
            file: file.to_string(),
            line: None,
            message: message.into(),
        }
    }

    pub(crate) fn at(file: impl fmt::Display, line: usize, message: impl Into<String>) -> Error {
        Error {
            file: file.to_string(),
            line: Some(line),
            message: message.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// As [`Display`](fmt::Display): it is what `main` prints when it returns an error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
