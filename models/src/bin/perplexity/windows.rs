//! The windows in which a text goes through the model.

/// A window: `begin..end` are its tokens, and those from `first` on are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first token.
    pub begin: usize,
    /// One past the last token.
    pub end: usize,
    /// The first token that is scored. What comes before it is only context.
    pub first: usize,
}

/// Windows of `context` tokens, `stride` apart, that score each of `n` tokens but
/// the first once. `stride` is at least 1 and below `context`.
pub fn windows(n: usize, context: usize, stride: usize) -> Vec<Window> {
    let mut windows = Vec::new();
    let (mut begin, mut first) = (0, 1);
    while first < n {
        let end = (begin + context).min(n);
        windows.push(Window { begin, end, first });
        first = end;
        begin += stride;
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_but_the_first_is_scored_once_with_enough_before_it() {
        for n in 0..40 {
            for context in 2..12 {
                for stride in 1..context {
                    let windows = windows(n, context, stride);
                    let mut scored = Vec::new();
                    for window in &windows {
                        assert!(window.begin < window.first && window.first < window.end);
                        assert!(window.end - window.begin <= context);
                        scored.extend(window.first..window.end);
                        let enough = (context - stride).min(window.first);
                        assert!(window.first - window.begin >= enough || window.begin == 0);
                    }
                    let all: Vec<usize> = (1..n).collect();
                    assert_eq!(scored, all, "{n} tokens, {context}, {stride}");
                }
            }
        }
    }

    #[test]
    fn a_short_text_is_one_window() {
        let window = Window {
            begin: 0,
            end: 5,
            first: 1,
        };
        assert_eq!(windows(5, 8, 4), [window]);
        assert_eq!(windows(1, 8, 4), []);
    }
}
