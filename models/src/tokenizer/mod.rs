//! Text to token ids and back.
//!
//! The tokenizer is the checkpoint's own: `tokenizer.json`, or GPT-2's
//! byte-level BPE from `vocab.json` and `merges.txt`; where a gpt-oss
//! checkpoint has neither, it is o200k_harmony, which is part of the program.
//! The [`tokenizers`] and [`tiktoken_rs`] crates do the splitting and merging;
//! decoding of byte-level vocabularies is a table here, because a streamed
//! token may end in the middle of a character.

mod byte_table;
mod encoder;
mod read;
mod stream;

pub use stream::TextStream;

use self::byte_table::ByteTable;
use self::encoder::{AddedToken, Encoder};
use crate::checkpoint_files::CheckpointFiles;
use crate::{Error, Result};

/// Vocabularies have up to a few hundred thousand tokens. An id beyond this is
/// a damaged file, and a table of that size would take all memory.
const LARGEST_PLAUSIBLE_ID: u32 = 1 << 24;

/// A checkpoint's tokenizer with its special tokens.
pub struct Tokenizer {
    encoder: Encoder,
    /// The bytes of every token, where the vocabulary is byte-level.
    bytes: Option<ByteTable>,
    /// Ids of the special tokens, ascending; they are left out of decoded text.
    special: Vec<u32>,
    /// The entries that are looked for in a text before it is encoded.
    added: Vec<AddedToken>,
    bos: Option<i32>,
    eos: Vec<i32>,
    add_bos: bool,
    largest_id: u32,
    place: String,
}

impl Tokenizer {
    /// Reads the tokenizer of a checkpoint.
    ///
    /// # Errors
    ///
    /// [`Error::NoTokenizer`] when the checkpoint has none, [`Error::Tokenizer`]
    /// or [`Error::Config`] when a file is damaged.
    pub fn read(files: &CheckpointFiles) -> Result<Self> {
        let encoder = read::tokenizer(files)?;
        let special_ids = read::special_ids(files, &encoder)?;
        let largest_id = encoder.largest_id();
        if largest_id > LARGEST_PLAUSIBLE_ID {
            return Err(Error::Tokenizer {
                file: files.place(),
                message: format!(
                    "the tokenizer has a token id of {largest_id}, which no model has"
                ),
            });
        }
        let bytes = encoder.byte_table();
        let added = encoder.added_tokens();
        let mut special: Vec<u32> = added
            .iter()
            .filter(|token| token.special)
            .map(|token| token.id)
            .collect();
        special.sort_unstable();
        Ok(Self {
            encoder,
            bytes,
            special,
            added,
            bos: special_ids.bos,
            eos: special_ids.eos,
            add_bos: special_ids.add_bos,
            largest_id,
            place: files.place(),
        })
    }

    /// The token ids of `text`. Special tokens that are spelled out in it become their ids.
    ///
    /// # Errors
    ///
    /// [`Error::Tokenizer`] when the tokenizer's own pipeline fails on the text.
    pub fn encode(&self, text: &str) -> Result<Vec<i32>> {
        self.encoder
            .encode(text)
            .map(signed)
            .map_err(|e| self.error(format!("cannot encode the text: {e}")))
    }

    /// The token ids of `text` as plain text: a special token that is spelled out
    /// in it is encoded letter by letter, as any other words are.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::encode`].
    pub fn encode_text(&self, text: &str) -> Result<Vec<i32>> {
        let encode = |text: &str| {
            self.encoder
                .encode_text(text)
                .map(signed)
                .map_err(|e| self.error(format!("cannot encode the text: {e}")))
        };
        let ids = encode(text)?;
        if !ids.iter().any(|&id| self.is_special(id)) {
            return Ok(ids);
        }
        // The merges themselves make the spelling of a special token; its
        // characters one by one do not.
        let mut ids = Vec::new();
        for c in text.chars() {
            ids.extend(encode(c.encode_utf8(&mut [0; 4]))?);
        }
        ids.retain(|&id| !self.is_special(id));
        Ok(ids)
    }

    /// The entries of the vocabulary that are looked for in a text before it is
    /// encoded, the special tokens among them: their spelling and their id.
    pub fn added_tokens(&self) -> impl Iterator<Item = (&str, i32)> {
        self.added
            .iter()
            .map(|token| (token.text.as_str(), token.id as i32))
    }

    /// The text of `ids`, without special tokens. Bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    ///
    /// [`Error::Tokenizer`] when the tokenizer's own decoder fails.
    pub fn decode(&self, ids: &[i32]) -> Result<String> {
        let mut stream = TextStream::new();
        let mut text = String::new();
        for &id in ids {
            text.push_str(stream.push(self, id)?);
        }
        text.push_str(stream.finish(self)?);
        Ok(text)
    }

    /// The id of a token as the vocabulary spells it, e.g. `<|endoftext|>`.
    pub fn token_id(&self, token: &str) -> Option<i32> {
        self.encoder.token_to_id(token).map(|id| id as i32)
    }

    /// The token of an id as the vocabulary spells it.
    pub fn token(&self, id: i32) -> Option<String> {
        self.encoder.id_to_token(u32::try_from(id).ok()?)
    }

    /// The token that begins a text, if the checkpoint names one.
    pub fn bos(&self) -> Option<i32> {
        self.bos
    }

    /// Whether the checkpoint asks for [`Tokenizer::bos`] before every text.
    pub fn adds_bos(&self) -> bool {
        self.add_bos
    }

    /// The tokens that end a text.
    pub fn eos(&self) -> &[i32] {
        &self.eos
    }

    /// Whether `id` is a special token, which decoded text leaves out.
    pub fn is_special(&self, id: i32) -> bool {
        u32::try_from(id).is_ok_and(|id| self.special.binary_search(&id).is_ok())
    }

    /// Checks that the model has an embedding for every id of the tokenizer.
    ///
    /// # Errors
    ///
    /// [`Error::VocabularyTooLarge`] when it has not.
    pub fn check_vocab(&self, vocab: usize) -> Result<()> {
        if self.largest_id as usize >= vocab {
            return Err(Error::VocabularyTooLarge {
                largest: self.largest_id,
                vocab,
                place: self.place.clone(),
            });
        }
        Ok(())
    }

    fn error(&self, message: String) -> Error {
        Error::Tokenizer {
            file: self.place.clone(),
            message,
        }
    }
}

/// Ids as the models take them; [`Tokenizer::read`] has bounded them.
fn signed(ids: Vec<u32>) -> Vec<i32> {
    ids.into_iter().map(|id| id as i32).collect()
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer")
            .field("place", &self.place)
            .field("largest_id", &self.largest_id)
            .field("bos", &self.bos)
            .field("eos", &self.eos)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
