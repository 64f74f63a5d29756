//! Text as the model writes it.

mod tokens;

use std::time::Duration;

pub(crate) use self::tokens::Tokens;
use crate::Result;
use crate::cancellation::Cancellation;
use crate::sampling::Sampling;
use crate::stop::StopStrings;
use crate::text_model::TextModel;
use crate::tokenizer::TextStream;

/// How a text is written, and when it ends.
#[derive(Debug, Clone)]
pub struct GenerateOptions {
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// The most tokens to write.
    pub max_tokens: usize,
    /// Strings that end the text; they are not part of it.
    pub stop: Vec<String>,
    /// Tokens that end the text, beside those that the checkpoint names.
    pub stop_tokens: Vec<i32>,
    /// Writes on past the checkpoint's end-of-text tokens.
    pub ignore_eos: bool,
    /// Ends the text from outside.
    pub cancellation: Cancellation,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self {
            sampling: Sampling::default(),
            max_tokens: 256,
            stop: Vec::new(),
            stop_tokens: Vec::new(),
            ignore_eos: false,
            cancellation: Cancellation::new(),
        }
    }
}

impl GenerateOptions {
    /// Checks every option's range.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) that names the first one out of it.
    pub fn check(&self) -> Result<()> {
        self.sampling.check()?;
        StopStrings::new(&self.stop).map(drop)
    }
}

/// Why a text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The model chose this token, which ends a text.
    EndOfText(i32),
    /// One of [`GenerateOptions::stop`] came.
    StopString,
    /// [`GenerateOptions::max_tokens`] were written.
    MaxTokens,
    /// [`GenerateOptions::cancellation`] was set.
    Cancelled,
    /// An error was returned.
    Failed,
}

/// How long a text took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Statistics {
    /// Tokens that went through the model before the first was chosen.
    pub prompt_tokens: usize,
    /// From the start to the first chosen token.
    pub time_to_first_token: Duration,
    /// Tokens chosen.
    pub generated_tokens: usize,
    /// From the first chosen token to the last.
    pub generation_time: Duration,
}

impl Statistics {
    /// Prompt tokens per second; 0 without a prompt.
    pub fn prompt_tokens_per_second(&self) -> f64 {
        per_second(self.prompt_tokens, self.time_to_first_token)
    }

    /// Generated tokens per second, not counting the first, which waited for the prompt.
    pub fn tokens_per_second(&self) -> f64 {
        per_second(
            self.generated_tokens.saturating_sub(1),
            self.generation_time,
        )
    }
}

fn per_second(count: usize, time: Duration) -> f64 {
    if count == 0 || time.is_zero() {
        0.0
    } else {
        count as f64 / time.as_secs_f64()
    }
}

/// A text in the making; an iterator over its pieces.
///
/// Each piece is a few whole characters. Dropping it early is fine: the
/// conversation keeps the tokens that were chosen.
#[derive(Debug)]
pub struct Generation<'a> {
    tokens: Tokens<'a>,
    stops: StopStrings,
    stream: TextStream,
    piece: String,
}

impl<'a> Generation<'a> {
    /// Adds `tokens` to the model's conversation and starts to write after them.
    pub(crate) fn new(
        source: &'a mut TextModel,
        tokens: &[i32],
        options: GenerateOptions,
    ) -> Result<Self> {
        let stops = StopStrings::new(&options.stop)?;
        Ok(Self {
            tokens: Tokens::new(source, tokens, options)?,
            stops,
            stream: TextStream::new(),
            piece: String::new(),
        })
    }

    /// The next piece of text, `None` when it is over. It is never empty.
    ///
    /// # Errors
    ///
    /// What [`Conversation::advance`](crate::Conversation::advance) and
    /// [`Sampler::sample`](crate::Sampler::sample) report. The text is over
    /// after an error.
    pub fn next_piece(&mut self) -> Result<Option<&str>> {
        self.piece.clear();
        while self.tokens.finish_reason().is_none() && self.piece.is_empty() {
            if let Err(error) = self.step() {
                self.tokens.finish(FinishReason::Failed);
                return Err(error);
            }
        }
        Ok((!self.piece.is_empty()).then_some(self.piece.as_str()))
    }

    /// Why the text ended, `None` while it goes on.
    pub fn finish_reason(&self) -> Option<FinishReason> {
        self.tokens.finish_reason()
    }

    /// The times so far.
    pub fn statistics(&self) -> Statistics {
        self.tokens.statistics()
    }

    /// Chooses one token and adds its text to the piece.
    fn step(&mut self) -> Result<()> {
        let token = self.tokens.next_token()?;
        match token {
            Some(token) if self.tokens.finish_reason().is_none() => {
                let text = self.stream.push(self.tokens.tokenizer(), token)?;
                let watched = self.stops.push(text);
                self.piece.push_str(watched.text);
                if watched.stopped {
                    self.tokens.finish(FinishReason::StopString);
                }
                Ok(())
            }
            _ => self.release(),
        }
    }

    /// Gives out what was held back, when no more text comes.
    fn release(&mut self) -> Result<()> {
        let rest = self.stream.finish(self.tokens.tokenizer())?;
        let watched = self.stops.push(rest);
        self.piece.push_str(watched.text);
        if watched.stopped {
            self.tokens.finish(FinishReason::StopString);
        }
        self.piece.push_str(self.stops.finish());
        Ok(())
    }
}

impl Iterator for Generation<'_> {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_piece()
            .map(|piece| piece.map(str::to_owned))
            .transpose()
    }
}

#[cfg(test)]
mod tests;
