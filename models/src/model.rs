//! One interface over the models, for programs that do not care which.

use crate::Result;

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
}
