//! Patterns of names: `blocks.{i}.attn.qkv.weight`, `h.{2 * i + 1}.ln_1.*`.

use std::collections::BTreeSet;

/// A pattern, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// As written.
    pub text: String,
    pub pieces: Vec<Piece>,
}

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    /// `{times * name + plus}`.
    Number {
        name: String,
        times: u64,
        plus: u64,
    },
    /// `*` at the end.
    Rest,
}

impl Pattern {
    /// Takes a pattern apart.
    pub fn parse(text: &str) -> Result<Pattern, String> {
        let wrong = |why: &str| Err(format!("the pattern `{text}` {why}"));
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if rest == "*" {
                pieces.push(Piece::Rest);
                break;
            }
            if let Some(hole) = rest.strip_prefix('{') {
                let Some((inside, after)) = hole.split_once('}') else {
                    return wrong("has a `{` without its `}`");
                };
                let Some(number) = parse_number(inside) else {
                    return wrong(
                        "has a hole that is not of the form `{i}`, `{2 * i}`, `{i + 1}` or `{2 * i + 1}`",
                    );
                };
                if matches!(pieces.last(), Some(Piece::Number { .. })) {
                    return wrong("has two numbers side by side, which cannot be told apart");
                }
                pieces.push(number);
                rest = after;
                continue;
            }
            let end = rest.find(['{', '*']).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            if part.is_empty() {
                return wrong("has a `*` before its end");
            }
            if part.contains('}') {
                return wrong("has a `}` without its `{`");
            }
            if matches!(pieces.last(), Some(Piece::Number { .. }))
                && part.starts_with(|c: char| c.is_ascii_digit())
            {
                return wrong("has a digit right after a number, which cannot be told apart");
            }
            pieces.push(Piece::Text(part.to_owned()));
            rest = after;
        }
        if pieces.is_empty() {
            return wrong("is empty");
        }
        Ok(Pattern {
            text: text.to_owned(),
            pieces,
        })
    }

    /// The names of its numbers.
    pub fn numbers(&self) -> BTreeSet<&str> {
        let names = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Number { name, .. } => Some(name.as_str()),
            _ => None,
        });
        names.collect()
    }

    pub fn has_rest(&self) -> bool {
        self.pieces.contains(&Piece::Rest)
    }

    /// Whether its holes are plain, so that names can be matched with it.
    pub fn is_plain(&self) -> bool {
        self.pieces.iter().all(|piece| !matches!(piece, Piece::Number { times, plus, .. } if (*times, *plus) != (1, 0)))
    }

    /// The order in which patterns are tried: what says more comes first.
    pub fn rank(&self) -> (bool, usize, std::cmp::Reverse<usize>, &str) {
        (
            self.has_rest(),
            self.numbers().len(),
            std::cmp::Reverse(self.text.len()),
            &self.text,
        )
    }

    /// The pattern as a constant of `linnet_runtime::weights::Pattern`.
    pub fn constant(&self) -> String {
        const PATH: &str = "::linnet_runtime::weights";
        let pieces: Vec<String> = self
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => format!("{PATH}::Piece::Text({text:?})"),
                Piece::Number { name, times, plus } => {
                    format!(
                        "{PATH}::Piece::Number {{ name: {name:?}, times: {times}, plus: {plus} }}"
                    )
                }
                Piece::Rest => format!("{PATH}::Piece::Rest"),
            })
            .collect();
        format!("{PATH}::Pattern {{ pieces: &[{}] }}", pieces.join(", "))
    }
}

/// `i`, `2 * i`, `i + 1` or `2 * i + 1`.
fn parse_number(text: &str) -> Option<Piece> {
    let (product, plus) = match text.split_once('+') {
        Some((product, plus)) => (product, plus.trim().parse().ok()?),
        None => (text, 0),
    };
    let (times, name) = match product.split_once('*') {
        Some((times, name)) => (times.trim().parse().ok()?, name),
        None => (1, product),
    };
    let name = name.trim();
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && times > 0).then(|| Piece::Number {
        name: name.to_owned(),
        times,
        plus,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_taken_apart() {
        let pattern = Pattern::parse("layers.{2 * i + 1}.mlp.*").unwrap();
        assert_eq!(
            pattern.pieces,
            [
                Piece::Text("layers.".into()),
                Piece::Number {
                    name: "i".into(),
                    times: 2,
                    plus: 1
                },
                Piece::Text(".mlp.".into()),
                Piece::Rest,
            ]
        );
        assert!(!pattern.is_plain() && pattern.has_rest());
        assert!(Pattern::parse("h.{i}.{j}").unwrap().is_plain());
        assert_eq!(
            Pattern::parse("{i+3}").unwrap().pieces,
            [Piece::Number {
                name: "i".into(),
                times: 1,
                plus: 3
            }]
        );
    }

    #[test]
    fn wrong_patterns_are_refused() {
        for (text, why) in [
            ("", "is empty"),
            ("h.{i", "has a `{` without its `}`"),
            ("h.i}", "has a `}` without its `{`"),
            ("h.{}", "has a hole that is not of the form"),
            ("h.{i - 1}", "has a hole that is not of the form"),
            ("h.{0 * i}", "has a hole that is not of the form"),
            (
                "h.{99999999999999999999 * i}",
                "has a hole that is not of the form",
            ),
            ("h.*.x", "has a `*` before its end"),
            ("{i}{j}", "has two numbers side by side"),
            ("{i}0", "has a digit right after a number"),
        ] {
            let message = Pattern::parse(text).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
    }

    #[test]
    fn what_says_more_is_tried_first() {
        let mut patterns: Vec<Pattern> =
            ["blocks.{i}.*", "blocks.{i}.attn.*", "blocks.{i}.w", "wte"]
                .into_iter()
                .map(|text| Pattern::parse(text).unwrap())
                .collect();
        patterns.sort_by(|a, b| a.rank().cmp(&b.rank()));
        let texts: Vec<&str> = patterns
            .iter()
            .map(|pattern| pattern.text.as_str())
            .collect();
        assert_eq!(
            texts,
            ["wte", "blocks.{i}.w", "blocks.{i}.attn.*", "blocks.{i}.*"]
        );
    }
}
