//! Tokens as text, spaced by habit.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;

/// Tokens as a person would write them on one line.
pub(crate) fn text(tokens: impl ToTokens) -> String {
    let mut out = String::new();
    write(tokens.into_token_stream(), &mut out);
    out
}

fn write(tokens: TokenStream, out: &mut String) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let encloses = enclosing(&tokens);
    // Whether the next token follows without a space.
    let mut glue = true;
    // Whether an operand has ended, so that an operator is one of two sides.
    let mut operand = false;
    // Whether the last token was the first half of an operator.
    let mut half = false;
    for (i, token) in tokens.into_iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace if group.stream().is_empty() => ("{", "}"),
                    Delimiter::Brace => ("{ ", " }"),
                    Delimiter::None => ("", ""),
                };
                let is_call = operand && group.delimiter() != Delimiter::Brace;
                if !glue && !is_call {
                    out.push(' ');
                }
                out.push_str(open);
                write(group.stream(), out);
                out.push_str(close);
                (glue, operand) = (false, true);
            }
            TokenTree::Punct(punct) => {
                let ch = punct.as_char();
                let joint = punct.spacing() == Spacing::Joint;
                let was_half = std::mem::replace(&mut half, joint);
                match ch {
                    ',' | ';' => {
                        out.push(ch);
                        out.push(' ');
                        (glue, operand) = (true, false);
                    }
                    ':' if !joint && !out.ends_with(':') => {
                        out.push_str(": ");
                        (glue, operand) = (true, false);
                    }
                    ':' | '.' | '!' | '#' | '?' if !(ch == '!' && joint) => {
                        if !glue && matches!(ch, '#') {
                            out.push(' ');
                        }
                        out.push(ch);
                        (glue, operand) = (true, false);
                    }
                    '<' | '>' if encloses[i] => {
                        out.push(ch);
                        (glue, operand) = (ch == '<', ch == '>');
                    }
                    // A sign, a star or a reference before an operand.
                    '-' | '*' | '&' if !operand && !was_half => {
                        if !glue {
                            out.push(' ');
                        }
                        out.push(ch);
                        (glue, operand) = (true, false);
                    }
                    _ => {
                        if !glue {
                            out.push(' ');
                        }
                        out.push(ch);
                        if !joint {
                            out.push(' ');
                        }
                        (glue, operand) = (true, false);
                    }
                }
            }
            other => {
                if !glue {
                    out.push(' ');
                }
                out.push_str(&other.to_string());
                (glue, operand) = (false, true);
            }
        }
    }
    let trimmed = out.trim_end().len();
    out.truncate(trimmed);
}

/// Which of `<` and `>` enclose generics: those that have a partner.
fn enclosing(tokens: &[TokenTree]) -> Vec<bool> {
    let mut encloses = vec![false; tokens.len()];
    let mut open = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let TokenTree::Punct(punct) = token else {
            continue;
        };
        let after_dash = i.checked_sub(1).is_some_and(
            |before| matches!(&tokens[before], TokenTree::Punct(p) if p.as_char() == '-'),
        );
        match (punct.as_char(), punct.spacing()) {
            ('<', Spacing::Alone) => open.push(i),
            ('>', _) if !after_dash => {
                if let Some(start) = open.pop() {
                    encloses[start] = true;
                    encloses[i] = true;
                }
            }
            _ => {}
        }
    }
    encloses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_as_written() {
        for source in [
            "Tensor![B, S, 3 * H; T]",
            "Tensor![*S, In; T]",
            "Tensor![; f32]",
            "a::b",
            "const N: usize = 1;",
            "Option<f32>",
            "nn::Linear<H, { 4 * H }, Option<T>>",
            "pos + S <= MaxSeq",
            "H % Heads == 0",
            "H != 0",
            "H > 0",
            "tokens < Vocab",
            "distinct(slots)",
            "packed(rows, positions, segments)",
            "min(A, -1) / (B - 2)",
            "a && b",
            "a << *b",
            "&x",
            "x -> y",
            "if a == b { c(-1) } else {}",
            "&mut Tensor![N; T]",
            "()",
        ] {
            let tokens: TokenStream = source.parse().unwrap();
            assert_eq!(text(tokens), source);
        }
    }
}
