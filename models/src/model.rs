//! One interface over the models, for programs that do not care which.

use crate::{Error, Result};

/// Logits of some rows: `[rows, vocab]`, row by row.
///
/// A view into the model's own output; the next call on the model ends it.
#[derive(Debug, Clone, Copy)]
pub struct Logits<'a> {
    values: &'a [f32],
    vocab: usize,
}

impl<'a> Logits<'a> {
    /// Views `values` as rows of `vocab` logits each.
    ///
    /// # Panics
    ///
    /// If `values` does not consist of whole rows.
    pub fn new(values: &'a [f32], vocab: usize) -> Self {
        assert!(
            vocab > 0 && values.len().is_multiple_of(vocab),
            "{} logits are not whole rows of {vocab}",
            values.len()
        );
        Self { values, vocab }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.values.len() / self.vocab
    }

    /// The logits of one row, one per token of the vocabulary.
    ///
    /// # Panics
    ///
    /// If `row` is not below [`Logits::rows`].
    pub fn row(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.vocab..(row + 1) * self.vocab]
    }

    /// All rows, one after the other.
    pub fn values(&self) -> &'a [f32] {
        self.values
    }
}

/// Tokens of several prompts side by side, for [`LanguageModel::prefill_packed`].
/// The four lists are of one length.
#[derive(Debug, Clone, Copy)]
pub struct Pack<'a> {
    /// The token ids.
    pub tokens: &'a [i32],
    /// The cache row of each token.
    pub rows: &'a [i32],
    /// The position of each token in its row.
    pub positions: &'a [i32],
    /// The prompt that each token belongs to: tokens of one segment are one row's, at
    /// consecutive positions. A negative segment marks padding, which touches no row.
    pub segments: &'a [i32],
}

/// A language model with its weights and its key-value cache.
///
/// Token ids are `i32`, as the models' entries take them; several sequences
/// lie one after the other, `[rows, S]`. The cached entries work on the
/// model's own `Batch` rows, each with room for [`LanguageModel::max_positions`]
/// positions. Every method checks ids, positions, slots and lengths before it
/// computes anything, and returns an error that names the value at fault.
pub trait LanguageModel: Send {
    /// The architecture, as `model_type` in `config.json` spells it.
    fn model_type(&self) -> &str;

    /// The number of tokens in the vocabulary.
    fn vocab(&self) -> usize;

    /// The number of rows of the cache.
    fn batch(&self) -> usize;

    /// How many positions a row of the cache can hold.
    fn max_positions(&self) -> usize;

    /// The number of parameters.
    fn parameters(&self) -> usize;

    /// Logits after every token of whole sequences, without the cache:
    /// `tokens` is `[rows, S]`, the result `[rows * S, vocab]`.
    fn forward(&mut self, tokens: &[i32], rows: usize) -> Result<Logits<'_>>;

    /// Logits after the last token of whole sequences, without the cache:
    /// `tokens` is `[rows, S]`, the result `[rows, vocab]`.
    ///
    /// # Errors
    ///
    /// [`Error::NoEntry`] if the model has no such entry.
    fn next_token(&mut self, _tokens: &[i32], _rows: usize) -> Result<Logits<'_>> {
        Err(self.no_entry("next_token"))
    }

    /// Takes in `tokens` (`[batch, S]`) at positions `pos..pos + S` of every
    /// row, and returns the logits after each row's last token, `[batch, vocab]`.
    fn prefill(&mut self, tokens: &[i32], pos: usize) -> Result<Logits<'_>>;

    /// Takes in one token per row (`[batch]`) at position `pos` and returns
    /// the logits after it, `[batch, vocab]`.
    fn decode(&mut self, tokens: &[i32], pos: usize) -> Result<Logits<'_>>;

    /// Takes in one token per row, each at its own position (`[batch]`), and
    /// returns the logits after it, `[batch, vocab]`.
    fn decode_rows(&mut self, tokens: &[i32], positions: &[i32]) -> Result<Logits<'_>>;

    /// Starts new sequences in some rows of the cache: `tokens` is `[M, S]`,
    /// `slots` and `lengths` are `[M]`. Sequence `m` is the first `lengths[m]`
    /// tokens of its row and fills row `slots[m]` of the cache from position 0.
    /// Returns the logits after each one's last token, `[M, vocab]`; rows that
    /// `slots` does not name stay as they were.
    fn prefill_slots(
        &mut self,
        tokens: &[i32],
        slots: &[i32],
        lengths: &[i32],
    ) -> Result<Logits<'_>>;

    /// Takes in tokens of several prompts side by side and returns the logits
    /// after token `last[b]` of the pack for each row `b` of the cache,
    /// `[batch, vocab]`; those of a row without a prompt mean nothing. A prompt
    /// that starts past position 0 continues its row.
    ///
    /// # Errors
    ///
    /// [`Error::NoEntry`] if the model has no such entry.
    fn prefill_packed(&mut self, _pack: Pack<'_>, _last: &[i32]) -> Result<Logits<'_>> {
        Err(self.no_entry("prefill_packed"))
    }

    /// [`LanguageModel::prefill_packed`] and [`LanguageModel::decode_rows`] in one pass:
    /// `[2 * batch, vocab]`, the prompts' logits first. A row whose prompt is in
    /// the pack does not step, nor does one at position -1.
    ///
    /// # Errors
    ///
    /// [`Error::NoEntry`] if the model has no such entry.
    fn step_packed(
        &mut self,
        _pack: Pack<'_>,
        _last: &[i32],
        _step_tokens: &[i32],
        _step_positions: &[i32],
    ) -> Result<Logits<'_>> {
        Err(self.no_entry("step_packed"))
    }

    /// The error of an entry that this model does not have.
    fn no_entry(&self, entry: &'static str) -> Error {
        Error::NoEntry {
            model_type: self.model_type().to_owned(),
            entry,
        }
    }
}
