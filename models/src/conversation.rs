//! A growing sequence of tokens in a model's cache.

use crate::cancellation::Cancellation;
use crate::model::LanguageModel;
use crate::{Error, Result};

/// How many tokens of a prompt go through the model at once. Large enough for
/// the matrix products to be efficient, small enough that a cancelled prompt
/// stops within a moment.
const PREFILL_CHUNK: usize = 64;

/// The tokens of a conversation, and how many of them the model's cache holds.
///
/// Only tokens that are new go through the model. When the tokens do not fit
/// the model's positions any more, the oldest are dropped so that the newest
/// half of the positions is filled, and these go through the model again: the
/// conversation continues, and forgets its beginning.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    tokens: Vec<i32>,
    /// The first `cached` tokens are in the cache, at positions from 0.
    cached: usize,
    dropped: usize,
    processed: u64,
}

impl Conversation {
    /// A conversation without tokens.
    pub fn new() -> Self {
        Self::default()
    }

    /// Its tokens, without those that were dropped.
    pub fn tokens(&self) -> &[i32] {
        &self.tokens
    }

    /// How many tokens were dropped from its beginning since it began.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// How many tokens have not gone through the model yet.
    pub fn pending(&self) -> usize {
        self.tokens.len() - self.cached
    }

    /// How many tokens went through the model so far, each time counted.
    pub fn processed(&self) -> u64 {
        self.processed
    }

    /// Adds one token.
    pub fn push(&mut self, token: i32) {
        self.tokens.push(token);
    }

    /// Adds tokens.
    pub fn extend(&mut self, tokens: &[i32]) {
        self.tokens.extend_from_slice(tokens);
    }

    /// Replaces its tokens. Those that it begins with already stay in the cache.
    pub fn replace(&mut self, tokens: &[i32]) {
        let common = self
            .tokens
            .iter()
            .zip(tokens)
            .take_while(|(old, new)| old == new)
            .count();
        self.cached = self.cached.min(common);
        self.tokens.clear();
        self.tokens.extend_from_slice(tokens);
        self.dropped = 0;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.tokens.clear();
        self.cached = 0;
        self.dropped = 0;
    }

    /// Brings the cache up to date and writes the logits after the last token
    /// to `logits`. Returns false, with some tokens still pending, when
    /// `cancellation` is set meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyPrompt`] without any token, [`Error::BatchedConversation`]
    /// when the model has more than one row, and what the model reports. A
    /// token that the model refuses is taken out again with all that are
    /// pending, so that the conversation can go on without it.
    pub fn advance(
        &mut self,
        model: &mut dyn LanguageModel,
        cancellation: &Cancellation,
        logits: &mut Vec<f32>,
    ) -> Result<bool> {
        let result = self.try_advance(model, cancellation, logits);
        if result.is_err() {
            self.tokens.truncate(self.cached);
        }
        result
    }

    fn try_advance(
        &mut self,
        model: &mut dyn LanguageModel,
        cancellation: &Cancellation,
        logits: &mut Vec<f32>,
    ) -> Result<bool> {
        if model.batch() != 1 {
            return Err(Error::BatchedConversation {
                batch: model.batch(),
            });
        }
        if self.tokens.is_empty() {
            return Err(Error::EmptyPrompt);
        }
        self.check_tokens(model.vocab())?;
        self.make_room(model.max_positions());
        // The last token goes through again when there is nothing new.
        self.cached = self.cached.min(self.tokens.len() - 1);
        while self.pending() > 0 {
            if cancellation.is_cancelled() {
                return Ok(false);
            }
            let end = self.tokens.len().min(self.cached + PREFILL_CHUNK);
            let tokens = &self.tokens[self.cached..end];
            let output = match tokens {
                [token] => model.decode(&[*token], self.cached)?,
                tokens => model.prefill(tokens, self.cached)?,
            };
            if end == self.tokens.len() {
                logits.clear();
                logits.extend_from_slice(output.row(0));
            }
            self.processed += (end - self.cached) as u64;
            self.cached = end;
        }
        Ok(true)
    }

    fn check_tokens(&self, vocab: usize) -> Result<()> {
        let out_of_range = |&id: &i32| usize::try_from(id).map_or(true, |id| id >= vocab);
        match self.tokens[self.cached..].iter().position(out_of_range) {
            Some(at) => {
                let index = self.cached + at;
                Err(Error::TokenOutOfRange {
                    id: self.tokens[index].into(),
                    index,
                    vocab,
                })
            }
            None => Ok(()),
        }
    }

    /// Drops the oldest tokens when all do not fit.
    fn make_room(&mut self, max_positions: usize) {
        if self.tokens.len() > max_positions {
            let kept = (max_positions / 2).max(1);
            let dropped = self.tokens.len() - kept;
            self.tokens.drain(..dropped);
            self.dropped += dropped;
            self.cached = 0;
        }
    }
}

#[cfg(test)]
mod tests;
