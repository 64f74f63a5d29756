//! Choosing the next token from the logits.

mod sampler;

pub use sampler::Sampler;

use crate::{Error, Result};

/// How tokens are chosen.
///
/// The steps come in the order of the fields: the repetition penalty, the
/// temperature, then the three ways of leaving improbable tokens out, each on
/// what the ones before it left. A default value of a field switches nothing on
/// but the temperature of 0.8 and the `top_p` of 0.95.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// Divides the positive logits of tokens that the context already holds, and
    /// multiplies the negative ones ([Keskar et al. 2019](https://arxiv.org/abs/1909.05858)).
    /// At least 1; 1 switches it off.
    pub repetition_penalty: f32,
    /// Divides the logits. 0 always takes the most probable token; at least 0.
    pub temperature: f32,
    /// Keeps the `top_k` most probable tokens. 0 keeps all.
    pub top_k: usize,
    /// Keeps the fewest most probable tokens whose probabilities sum to `top_p`
    /// ([Holtzman et al. 2020](https://arxiv.org/abs/1904.09751)). Above 0, at most 1; 1 keeps all.
    pub top_p: f32,
    /// Keeps the tokens at least `min_p` times as probable as the most probable
    /// one ([Nguyen et al. 2024](https://arxiv.org/abs/2407.01082)). From 0 to 1; 0 keeps all.
    pub min_p: f32,
    /// Fixes the random numbers, so that the same call gives the same text.
    pub seed: Option<u64>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            repetition_penalty: 1.0,
            temperature: 0.8,
            top_k: 0,
            top_p: 0.95,
            min_p: 0.0,
            seed: None,
        }
    }
}

impl Sampling {
    /// Always the most probable token.
    pub fn greedy() -> Self {
        Self {
            temperature: 0.0,
            ..Self::default()
        }
    }

    /// Checks every field's range.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] that names the first field out of its range.
    pub fn check(&self) -> Result<()> {
        let fields = [
            (
                "the repetition penalty",
                self.repetition_penalty,
                self.repetition_penalty >= 1.0 && self.repetition_penalty.is_finite(),
                "at least 1 (1 switches it off)",
            ),
            (
                "the temperature",
                self.temperature,
                self.temperature >= 0.0 && self.temperature.is_finite(),
                "0 (always the most probable token) or more",
            ),
            (
                "top-p",
                self.top_p,
                self.top_p > 0.0 && self.top_p <= 1.0,
                "above 0 and at most 1",
            ),
            (
                "min-p",
                self.min_p,
                (0.0..=1.0).contains(&self.min_p),
                "from 0 to 1",
            ),
        ];
        match fields.into_iter().find(|(_, _, valid, _)| !valid) {
            Some((option, value, _, expected)) => Err(Error::InvalidOption {
                option,
                value: value.to_string(),
                expected,
            }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
