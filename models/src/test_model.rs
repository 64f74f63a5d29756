//! A small model for the tests: its logits depend on every token in the cache,
//! so that a token missed, doubled or out of place shows.

use std::sync::{Arc, Mutex};

use crate::model::{LanguageModel, Logits};
use crate::{Error, Result};

/// The calls that were made, as (entry, number of tokens, position).
pub(crate) type Calls = Arc<Mutex<Vec<(&'static str, usize, usize)>>>;

/// After each call, by its ordinal number.
type AfterCall = Box<dyn FnMut(usize) + Send>;

pub(crate) struct TestModel {
    vocab: usize,
    cache: Vec<Vec<i32>>,
    max_positions: usize,
    logits: Vec<f32>,
    pub(crate) calls: Calls,
    /// Makes all logits NaN.
    pub(crate) broken: bool,
    pub(crate) after_call: Option<AfterCall>,
}

impl TestModel {
    pub(crate) fn new(vocab: usize, batch: usize, max_positions: usize) -> Self {
        Self {
            vocab,
            cache: vec![vec![-1; max_positions]; batch],
            max_positions,
            logits: Vec::new(),
            calls: Calls::default(),
            broken: false,
            after_call: None,
        }
    }

    /// The logits after `tokens`.
    pub(crate) fn logits_after(vocab: usize, tokens: &[i32]) -> Vec<f32> {
        let mut state = 0xcbf2_9ce4_8422_2325_u64;
        for token in tokens {
            state = (state ^ u64::from(token.cast_unsigned())).wrapping_mul(0x100_0000_01b3);
        }
        (0..vocab as u64)
            .map(|v| {
                let bits = (state ^ v.wrapping_mul(0x9e37_79b9_7f4a_7c15))
                    .wrapping_mul(0xff51_afd7_ed55_8ccd);
                (bits >> 40) as f32 / (1 << 22) as f32
            })
            .collect()
    }

    fn note(&mut self, entry: &'static str, tokens: usize, pos: usize) {
        let mut calls = self.calls.lock().unwrap();
        calls.push((entry, tokens, pos));
        if let Some(after) = &mut self.after_call {
            after(calls.len());
        }
    }

    fn take_in(&mut self, row: usize, tokens: &[i32], pos: usize) -> Result<()> {
        let end = pos + tokens.len();
        if tokens.is_empty() || end > self.max_positions {
            return Err(Error::Other(format!(
                "positions {pos}..{end} are out of range"
            )));
        }
        self.cache[row][pos..end].copy_from_slice(tokens);
        let mut logits = Self::logits_after(self.vocab, &self.cache[row][..end]);
        if self.broken {
            logits.fill(f32::NAN);
        }
        self.logits.append(&mut logits);
        Ok(())
    }

    fn output(&self) -> Logits<'_> {
        Logits::new(&self.logits, self.vocab)
    }
}

impl LanguageModel for TestModel {
    fn model_type(&self) -> &str {
        "test"
    }

    fn vocab(&self) -> usize {
        self.vocab
    }

    fn batch(&self) -> usize {
        self.cache.len()
    }

    fn max_positions(&self) -> usize {
        self.max_positions
    }

    fn parameters(&self) -> usize {
        0
    }

    fn forward(&mut self, tokens: &[i32], rows: usize) -> Result<Logits<'_>> {
        self.note("forward", tokens.len(), 0);
        self.logits.clear();
        for row in tokens.chunks(tokens.len() / rows) {
            for end in 1..=row.len() {
                self.logits
                    .append(&mut Self::logits_after(self.vocab, &row[..end]));
            }
        }
        Ok(self.output())
    }

    fn prefill(&mut self, tokens: &[i32], pos: usize) -> Result<Logits<'_>> {
        self.note("prefill", tokens.len(), pos);
        self.logits.clear();
        let length = tokens.len() / self.batch();
        for (row, tokens) in tokens.chunks(length).enumerate() {
            self.take_in(row, tokens, pos)?;
        }
        Ok(self.output())
    }

    fn decode(&mut self, tokens: &[i32], pos: usize) -> Result<Logits<'_>> {
        self.note("decode", tokens.len(), pos);
        self.logits.clear();
        for (row, &token) in tokens.iter().enumerate() {
            self.take_in(row, &[token], pos)?;
        }
        Ok(self.output())
    }

    fn decode_rows(&mut self, tokens: &[i32], positions: &[i32]) -> Result<Logits<'_>> {
        self.note("decode_rows", tokens.len(), 0);
        self.logits.clear();
        for (row, (&token, &pos)) in tokens.iter().zip(positions).enumerate() {
            self.take_in(row, &[token], pos as usize)?;
        }
        Ok(self.output())
    }

    fn prefill_slots(
        &mut self,
        tokens: &[i32],
        slots: &[i32],
        lengths: &[i32],
    ) -> Result<Logits<'_>> {
        self.note("prefill_slots", tokens.len(), 0);
        self.logits.clear();
        let width = tokens.len() / slots.len();
        for (m, tokens) in tokens.chunks(width).enumerate() {
            self.take_in(slots[m] as usize, &tokens[..lengths[m] as usize], 0)?;
        }
        Ok(self.output())
    }
}
