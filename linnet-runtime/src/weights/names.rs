//! From the path of a member to the name that a checkpoint gives its tensor.
//!
//! The rules are constant data that `linnet-build` makes from a model's card,
//! where they are written as patterns: `blocks.{i}.attn.qkv.weight =
//! "h.{i}.attn.c_attn.weight"`.

use std::fmt;

/// How a family of checkpoints names its tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameRules {
    /// Prefixes that some checkpoints put before every name, such as `transformer.`.
    /// The other rules speak of names without them.
    pub prefixes: &'static [&'static str],
    /// Member path to stored name. The first that matches counts; a path that
    /// none matches is its own name.
    pub tensors: &'static [(Pattern, Pattern)],
    /// Stored tensors that hold no parameters, such as mask buffers.
    pub ignore: &'static [Pattern],
    /// Second names of a tensor: (second name, first name). Stored under both,
    /// the bytes must be the same; stored under one, that one is read.
    pub tied: &'static [(&'static str, &'static str)],
}

impl NameRules {
    /// Stored names are member paths, and nothing else may be stored.
    pub const IDENTITY: NameRules = NameRules {
        prefixes: &[],
        tensors: &[],
        ignore: &[],
        tied: &[],
    };

    /// The stored name, without prefix, of the member with this path. None when
    /// a number in it is too large for the pattern's arithmetic.
    pub fn stored_name(&self, member: &str) -> Option<String> {
        for (from, to) in self.tensors {
            if let Some(captures) = from.match_name(member) {
                return to.expand(&captures);
            }
        }
        Some(member.to_owned())
    }

    /// The name without its prefix, if it has one.
    pub fn without_prefix<'a>(&self, stored: &'a str) -> &'a str {
        self.prefixes
            .iter()
            .find_map(|prefix| stored.strip_prefix(prefix))
            .unwrap_or(stored)
    }

    /// Whether a stored tensor, named without prefix, holds no parameters.
    pub fn is_ignored(&self, name: &str) -> bool {
        self.ignore
            .iter()
            .any(|pattern| pattern.match_name(name).is_some())
    }
}

/// A pattern of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// Its parts in order.
    pub pieces: &'static [Piece],
}

/// A part of a [`Pattern`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// This text.
    Text(&'static str),
    /// `{i}`: a decimal number. On the stored side also `{2 * i + 1}`.
    Number {
        /// The name of the number.
        name: &'static str,
        /// What it is multiplied by when written; 1 where the pattern is matched.
        times: u64,
        /// What is added then; 0 where the pattern is matched.
        plus: u64,
    },
    /// `*`, only at the end: all that is left, at least one character.
    Rest,
}

/// What the holes of a pattern matched.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Captures<'a> {
    numbers: Vec<(&'static str, u64)>,
    rest: &'a str,
}

impl Pattern {
    /// What its holes match in `name`, if it matches. A number must be written
    /// without leading zeros, and the same in all holes of one name.
    pub(crate) fn match_name<'a>(&self, name: &'a str) -> Option<Captures<'a>> {
        let mut captures = Captures {
            numbers: Vec::new(),
            rest: "",
        };
        let mut left = name;
        for piece in self.pieces {
            match *piece {
                Piece::Text(text) => left = left.strip_prefix(text)?,
                Piece::Number { name, .. } => {
                    let n_digits = left.bytes().take_while(u8::is_ascii_digit).count();
                    let (digits, after) = left.split_at(n_digits);
                    if n_digits > 1 && digits.starts_with('0') {
                        return None;
                    }
                    captures.bind(name, digits.parse().ok()?)?;
                    left = after;
                }
                Piece::Rest if left.is_empty() => return None,
                Piece::Rest => {
                    captures.rest = left;
                    left = "";
                }
            }
        }
        left.is_empty().then_some(captures)
    }

    /// The name that it stands for. None if its arithmetic overflows or a
    /// number has no value.
    pub(crate) fn expand(&self, captures: &Captures<'_>) -> Option<String> {
        let mut name = String::new();
        for piece in self.pieces {
            match *piece {
                Piece::Text(text) => name.push_str(text),
                Piece::Number {
                    name: number,
                    times,
                    plus,
                } => {
                    let value = captures
                        .get(number)?
                        .checked_mul(times)?
                        .checked_add(plus)?;
                    name.push_str(&value.to_string());
                }
                Piece::Rest => name.push_str(captures.rest),
            }
        }
        Some(name)
    }
}

impl Captures<'_> {
    fn get(&self, name: &str) -> Option<u64> {
        self.numbers
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, value)| value)
    }

    fn bind(&mut self, name: &'static str, value: u64) -> Option<()> {
        match self.get(name) {
            Some(known) => (known == value).then_some(()),
            None => {
                self.numbers.push((name, value));
                Some(())
            }
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in self.pieces {
            match *piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Number {
                    name,
                    times: 1,
                    plus: 0,
                } => write!(f, "{{{name}}}")?,
                Piece::Number {
                    name,
                    times,
                    plus: 0,
                } => write!(f, "{{{times} * {name}}}")?,
                Piece::Number {
                    name,
                    times: 1,
                    plus,
                } => write!(f, "{{{name} + {plus}}}")?,
                Piece::Number { name, times, plus } => write!(f, "{{{times} * {name} + {plus}}}")?,
                Piece::Rest => f.write_str("*")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn number(name: &'static str) -> Piece {
        Piece::Number {
            name,
            times: 1,
            plus: 0,
        }
    }

    const RULES: NameRules = NameRules {
        prefixes: &["transformer."],
        tensors: &[
            (
                Pattern {
                    pieces: &[
                        Piece::Text("blocks."),
                        number("i"),
                        Piece::Text(".attn."),
                        Piece::Rest,
                    ],
                },
                Pattern {
                    pieces: &[
                        Piece::Text("h."),
                        number("i"),
                        Piece::Text(".a."),
                        Piece::Rest,
                    ],
                },
            ),
            (
                Pattern {
                    pieces: &[Piece::Text("pairs."), number("i"), Piece::Text(".full.w")],
                },
                Pattern {
                    pieces: &[
                        Piece::Text("layers."),
                        Piece::Number {
                            name: "i",
                            times: 2,
                            plus: 1,
                        },
                        Piece::Text(".w"),
                    ],
                },
            ),
            (
                Pattern {
                    pieces: &[
                        number("i"),
                        Piece::Text("."),
                        number("j"),
                        Piece::Text("."),
                        number("i"),
                    ],
                },
                Pattern {
                    pieces: &[number("j"), Piece::Text("-"), number("i")],
                },
            ),
        ],
        ignore: &[Pattern {
            pieces: &[Piece::Text("h."), number("i"), Piece::Text(".attn.bias")],
        }],
        tied: &[],
    };

    #[test]
    fn members_map_to_stored_names() {
        let name = |member| RULES.stored_name(member).unwrap();
        assert_eq!(name("blocks.11.attn.qkv.weight"), "h.11.a.qkv.weight");
        assert_eq!(name("pairs.0.full.w"), "layers.1.w");
        assert_eq!(name("pairs.7.full.w"), "layers.15.w");
        assert_eq!(name("3.4.3"), "4-3");
        assert_eq!(name("3.4.5"), "3.4.5", "holes of one name must agree");
        assert_eq!(
            name("blocks.01.attn.w"),
            "blocks.01.attn.w",
            "no leading zeros"
        );
        assert_eq!(name("blocks..attn.w"), "blocks..attn.w");
        assert_eq!(
            name("blocks.1.attn."),
            "blocks.1.attn.",
            "the rest is not empty"
        );
        assert_eq!(name("wte"), "wte");
    }

    #[test]
    fn numbers_that_overflow_have_no_name() {
        assert_eq!(
            RULES.stored_name(&format!("pairs.{}.full.w", u64::MAX)),
            None
        );
    }

    #[test]
    fn ignore_matches_whole_names() {
        assert!(RULES.is_ignored("h.0.attn.bias"));
        assert!(!RULES.is_ignored("h.0.attn.bias2"));
        assert!(!RULES.is_ignored("transformer.h.0.attn.bias"));
        assert_eq!(RULES.without_prefix("transformer.h.0"), "h.0");
        assert_eq!(RULES.without_prefix("h.0"), "h.0");
    }

    #[test]
    fn patterns_print_as_written() {
        assert_eq!(RULES.tensors[1].1.to_string(), "layers.{2 * i + 1}.w");
        assert_eq!(RULES.tensors[0].0.to_string(), "blocks.{i}.attn.*");
    }
}
