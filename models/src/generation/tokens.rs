//! Tokens as the model chooses them.

use std::time::Instant;

use super::{FinishReason, GenerateOptions, Statistics};
use crate::Result;
use crate::sampling::Sampler;
use crate::text_model::TextModel;
use crate::tokenizer::Tokenizer;

/// Tokens in the making: each goes into the model's conversation.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    source: &'a mut TextModel,
    options: GenerateOptions,
    sampler: Sampler,
    finished: Option<FinishReason>,
    started: Instant,
    first_token: Option<Instant>,
    processed_before: u64,
    statistics: Statistics,
}

impl<'a> Tokens<'a> {
    /// Adds `tokens` to the model's conversation and starts to write after them.
    pub(crate) fn new(
        source: &'a mut TextModel,
        tokens: &[i32],
        options: GenerateOptions,
    ) -> Result<Self> {
        let sampler = Sampler::new(options.sampling.clone())?;
        source.extend(tokens);
        let processed_before = source.conversation().processed();
        Ok(Self {
            source,
            sampler,
            finished: None,
            started: Instant::now(),
            first_token: None,
            statistics: Statistics::default(),
            processed_before,
            options,
        })
    }

    /// The next token, `None` when there are no more. A token that ends the
    /// text is the last one.
    pub(crate) fn next_token(&mut self) -> Result<Option<i32>> {
        if self.finished.is_some() {
            return Ok(None);
        }
        let result = self.choose();
        if result.is_err() {
            self.finished = Some(FinishReason::Failed);
        }
        result
    }

    /// Ends it here.
    pub(crate) fn finish(&mut self, reason: FinishReason) {
        self.finished = Some(reason);
    }

    /// Why it ended, `None` while it goes on.
    pub(crate) fn finish_reason(&self) -> Option<FinishReason> {
        self.finished
    }

    /// The times so far.
    pub(crate) fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The tokenizer of the model.
    pub(crate) fn tokenizer(&self) -> &Tokenizer {
        self.source.tokenizer()
    }

    fn choose(&mut self) -> Result<Option<i32>> {
        if self.statistics.generated_tokens >= self.options.max_tokens {
            self.finished = Some(FinishReason::MaxTokens);
            return Ok(None);
        }
        if !self.source.advance(&self.options.cancellation)? {
            self.finished = Some(FinishReason::Cancelled);
            return Ok(None);
        }
        let (logits, context) = self.source.logits_and_context();
        let token = self.sampler.sample(logits, context)?;
        self.source.push_token(token);
        self.count_token();
        let ends = !self.options.ignore_eos && self.source.tokenizer().eos().contains(&token);
        if ends || self.options.stop_tokens.contains(&token) {
            self.finished = Some(FinishReason::EndOfText(token));
        }
        Ok(Some(token))
    }

    fn count_token(&mut self) {
        self.statistics.generated_tokens += 1;
        let now = Instant::now();
        match self.first_token {
            None => {
                self.first_token = Some(now);
                let processed = self.source.conversation().processed() - self.processed_before;
                self.statistics.prompt_tokens = processed as usize;
                self.statistics.time_to_first_token = now - self.started;
            }
            Some(first) => self.statistics.generation_time = now - first,
        }
    }
}
