//! Text to token ids and back.
//!
//! The tokenizer is the checkpoint's own: `tokenizer.json`, or GPT-2's
//! byte-level BPE from `vocab.json` and `merges.txt`. The [`tokenizers`] crate
//! does the splitting and merging; decoding of byte-level vocabularies is a
//! table here, because a streamed token may end in the middle of a character.

mod byte_table;
mod read;
mod stream;

use tokenizers::DecoderWrapper;

pub use stream::TextStream;

use self::byte_table::ByteTable;
use crate::checkpoint_files::CheckpointFiles;
use crate::{Error, Result};

/// Vocabularies have up to a few hundred thousand tokens. An id beyond this is
/// a damaged file, and a table of that size would take all memory.
const LARGEST_PLAUSIBLE_ID: u32 = 1 << 24;

/// A checkpoint's tokenizer with its special tokens.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// The bytes of every token, where the vocabulary is byte-level.
    bytes: Option<ByteTable>,
    /// Ids of the special tokens, ascending; they are left out of decoded text.
    special: Vec<u32>,
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
        let inner = read::tokenizer(files)?;
        let special_ids = read::special_ids(files, &inner)?;
        let vocab = inner.get_vocab(true);
        let largest_id = vocab.values().copied().max().unwrap_or(0);
        if largest_id > LARGEST_PLAUSIBLE_ID {
            return Err(Error::Tokenizer {
                file: files.place(),
                message: format!(
                    "the tokenizer has a token id of {largest_id}, which no model has"
                ),
            });
        }
        let bytes = matches!(inner.get_decoder(), Some(DecoderWrapper::ByteLevel(_)))
            .then(|| ByteTable::new(&vocab));
        let mut special: Vec<u32> = inner
            .get_added_tokens_decoder()
            .iter()
            .filter(|(_, token)| token.special)
            .map(|(id, _)| *id)
            .collect();
        special.sort_unstable();
        Ok(Self {
            inner,
            bytes,
            special,
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
        let encoding = self
            .inner
            .encode_fast(text, false)
            .map_err(|e| self.error(format!("cannot encode the text: {e}")))?;
        Ok(encoding.get_ids().iter().map(|&id| id as i32).collect())
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
        self.inner.token_to_id(token).map(|id| id as i32)
    }

    /// The token of an id as the vocabulary spells it.
    pub fn token(&self, id: i32) -> Option<String> {
        self.inner.id_to_token(u32::try_from(id).ok()?)
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
