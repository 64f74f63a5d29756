//! Tokens as the author wrote them, on one line.

use proc_macro2::{Delimiter, LineColumn, Span, TokenStream, TokenTree};
use quote::ToTokens;

use crate::syntax;

/// One token, or one delimiter of a group.
struct Piece {
    text: String,
    start: LineColumn,
    end: LineColumn,
    opens: bool,
    closes: bool,
}

/// The source of tokens: spaces stand where the author put them, and line
/// breaks become spaces. Tokens without a place are spaced by habit.
pub(crate) fn text(tokens: impl ToTokens) -> String {
    let tokens = tokens.into_token_stream();
    let mut pieces = Vec::new();
    collect(tokens.clone(), &mut pieces);
    let first = pieces.first().map(|piece| piece.start);
    let one_place = pieces.len() > 1 && pieces.iter().all(|piece| Some(piece.start) == first);
    if one_place || pieces.iter().any(|piece| piece.start.line == 0) {
        return syntax::text(tokens);
    }
    let mut text = String::new();
    for (i, piece) in pieces.iter().enumerate() {
        let before = i.checked_sub(1).map(|before| &pieces[before]);
        // A list that is broken into lines ends with a comma that one line has not.
        let trailing = piece.text == ","
            && pieces
                .get(i + 1)
                .is_some_and(|next| next.closes && next.start.line > piece.end.line);
        if trailing {
            continue;
        }
        let space = before.is_some_and(|before| {
            if before.end.line == piece.start.line {
                before.end.column != piece.start.column
            } else {
                !before.opens && !piece.closes && piece.text != "." && piece.text != ","
            }
        });
        if space {
            text.push(' ');
        }
        text.push_str(&piece.text);
    }
    text
}

fn collect(tokens: TokenStream, pieces: &mut Vec<Piece>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                // The tuple that `index!` puts around indices has the place of
                // the brackets, and is none of the author's.
                let own = pieces.last().is_none_or(|before| {
                    !before.opens || before.start != group.span_open().start()
                });
                if open.is_empty() || !own {
                    collect(group.stream(), pieces);
                    continue;
                }
                pieces.push(Piece::new(open, group.span_open(), true, false));
                collect(group.stream(), pieces);
                pieces.push(Piece::new(close, group.span_close(), false, true));
            }
            other => pieces.push(Piece::new(&other.to_string(), other.span(), false, false)),
        }
    }
}

impl Piece {
    fn new(text: &str, span: Span, opens: bool, closes: bool) -> Self {
        let (mut start, mut end) = (span.start(), span.end());
        // A group that was put together anew has one place for all of it.
        if opens {
            end = LineColumn {
                column: start.column + 1,
                ..start
            };
        } else if closes {
            start = LineColumn {
                column: end.column.saturating_sub(1),
                ..end
            };
        }
        Piece {
            text: text.to_owned(),
            start,
            end,
            opens,
            closes,
        }
    }
}
