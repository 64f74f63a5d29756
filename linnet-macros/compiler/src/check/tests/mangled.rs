//! Sources in which words were exchanged: whatever comes of it, the checker
//! neither panics nor lowers something that makes no sense.

use super::cases::{PRELUDE, sources};
use super::harness::check_after;

/// Numbers for choosing words (xorshift, Marsaglia 2003).
struct Choice(u64);

impl Choice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }
}

/// The words, numbers and signs of a source, in order.
fn words(source: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in source.chars() {
        let is_word = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some(last) if is_word && in_word => last.push(c),
            _ => words.push(c.to_string()),
        }
        in_word = is_word;
    }
    words
}

/// How often each source is mangled.
const TURNS: usize = 3;

#[test]
fn a_mangled_source_is_checked_to_its_end() {
    let seed = 0x9e37_79b9_7f4a_7c15;
    let mut choice = Choice(seed);
    let (mut rust, mut wrong) = (0, 0);
    for source in sources() {
        let words = words(&source);
        let is_name = |word: &str| word.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let places = |wanted: bool| -> Vec<usize> {
            (0..words.len())
                .filter(|i| !words[*i].trim().is_empty() && is_name(&words[*i]) == wanted)
                .collect()
        };
        let (names, signs) = (places(true), places(false));
        for _ in 0..TURNS {
            let mut mangled = words.clone();
            for _ in 0..=choice.below(2) {
                // Names for names and signs for signs: that still parses more often.
                let kind = if choice.below(5) > 0 { &names } else { &signs };
                let at = choice.below(kind.len());
                let near = (at + choice.below(30)).min(kind.len() - 1);
                mangled[kind[at]] = words[kind[near]].clone();
            }
            let text: String = mangled.concat();
            if syn::parse_file(&format!("{PRELUDE}\n{text}")).is_err() {
                continue;
            }
            rust += 1;
            let result = std::panic::catch_unwind(|| check_after(PRELUDE, &text));
            let Ok(program) = result else {
                panic!("a source of seed {seed:#x} panics:\n{text}");
            };
            wrong += usize::from(!program.diagnostics.is_empty());
        }
    }
    assert!(
        rust > 100 && wrong > 50,
        "{rust} sources parse, {wrong} have errors"
    );
}
