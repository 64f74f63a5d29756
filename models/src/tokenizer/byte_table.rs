//! The bytes behind the tokens of a byte-level vocabulary.
//!
//! Byte-level BPE spells each byte as one printable character: the printable
//! ones of Latin-1 stand for themselves, the other 68 are U+0100 and up, in
//! the order of their bytes.

use std::collections::HashMap;

/// The byte strings of all tokens, by id.
pub(super) struct ByteTable {
    /// Token `id` is `bytes[ends[id - 1]..ends[id]]`.
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl ByteTable {
    /// Builds the table of a vocabulary, whose ids the caller has bounded.
    pub(super) fn new(vocab: &HashMap<String, u32>) -> Self {
        let byte_of = byte_of_char();
        let mut tokens: Vec<(u32, &str)> = vocab
            .iter()
            .map(|(token, &id)| (id, token.as_str()))
            .collect();
        tokens.sort_unstable();
        let mut ends = Vec::with_capacity(tokens.len());
        let mut bytes = Vec::new();
        for (id, token) in tokens {
            if ends.len() > id as usize {
                continue; // a second spelling of the same id
            }
            // Ids before this one that no token has are empty.
            ends.resize(id as usize, bytes.len() as u32);
            let mapped: Option<Vec<u8>> = token.chars().map(|c| byte_of.get(&c).copied()).collect();
            // A token that is not spelled in bytes (an added one) is its own text.
            bytes.extend_from_slice(mapped.as_deref().unwrap_or(token.as_bytes()));
            ends.push(bytes.len() as u32);
        }
        Self { ends, bytes }
    }

    /// The table of a vocabulary whose entries are bytes, in the order of their ids.
    pub(super) fn from_entries(entries: impl Iterator<Item = Vec<u8>>) -> Self {
        let mut bytes = Vec::new();
        let ends = entries
            .map(|entry| {
                bytes.extend_from_slice(&entry);
                bytes.len() as u32
            })
            .collect();
        Self { ends, bytes }
    }

    /// The bytes of a token; none for an id outside the vocabulary.
    pub(super) fn get(&self, id: i32) -> &[u8] {
        let Ok(id) = usize::try_from(id) else {
            return &[];
        };
        let Some(&end) = self.ends.get(id) else {
            return &[];
        };
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.bytes[start as usize..end as usize]
    }
}

fn byte_of_char() -> HashMap<char, u8> {
    let printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let mut map = HashMap::with_capacity(256);
    let mut next = 0x100;
    for byte in 0..=255u8 {
        if printable(byte) {
            map.insert(char::from(byte), byte);
        } else if let Some(c) = char::from_u32(next) {
            map.insert(c, byte);
            next += 1;
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let map = byte_of_char();
        assert_eq!(map.len(), 256);
        assert_eq!(map[&'Ġ'], b' ');
        assert_eq!(map[&'Ċ'], b'\n');
        assert_eq!(map[&'A'], b'A');
        assert_eq!(map[&'Ń'], 0xAD);
    }

    #[test]
    fn gaps_and_added_tokens() {
        let vocab = HashMap::from([
            ("Ġa".to_owned(), 1),
            ("<|tool call|>".to_owned(), 4),
            ("é".to_owned(), 2),
        ]);
        let table = ByteTable::new(&vocab);
        assert_eq!(table.get(-1), b"");
        assert_eq!(table.get(0), b"");
        assert_eq!(table.get(1), b" a");
        assert_eq!(table.get(2), [0xE9]);
        assert_eq!(table.get(3), b"");
        assert_eq!(table.get(4), b"<|tool call|>");
        assert_eq!(table.get(5), b"");
    }

    #[test]
    fn entries_as_they_are() {
        let table = ByteTable::from_entries([b"ab".to_vec(), Vec::new(), vec![0xF0]].into_iter());
        assert_eq!(table.get(0), b"ab");
        assert_eq!(table.get(1), b"");
        assert_eq!(table.get(2), [0xF0]);
        assert_eq!(table.get(3), b"");
    }
}
