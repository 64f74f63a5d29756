//! The steps from logits to a token.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::Sampling;
use crate::{Error, Result};

/// How many of the most probable tokens `top_p` looks at first.
const FIRST_CANDIDATES: usize = 64;

/// A token with its logit, later with its weight.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    value: f32,
    id: u32,
}

/// Chooses tokens. After the first one of a vocabulary it allocates nothing.
#[derive(Debug, Clone)]
pub struct Sampler {
    options: Sampling,
    random: Xoshiro256PlusPlus,
    candidates: Vec<Candidate>,
    /// Per token, the last round of the repetition penalty that met it.
    penalised: Vec<u32>,
    round: u32,
}

impl Sampler {
    /// A sampler at the beginning of its random numbers.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] when a field is out of its range.
    pub fn new(options: Sampling) -> Result<Self> {
        options.check()?;
        // The keys of a new hasher are random.
        let seed = options
            .seed
            .unwrap_or_else(|| RandomState::new().hash_one(()));
        Ok(Self {
            options,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            candidates: Vec::new(),
            penalised: Vec::new(),
            round: 0,
        })
    }

    /// Chooses the token after `context`, given its `logits`.
    ///
    /// Of equal logits the lower id counts as the more probable one.
    ///
    /// # Errors
    ///
    /// [`Error::NanLogits`] when a logit is NaN, [`Error::DegenerateLogits`]
    /// when one is plus infinity or all are minus infinity.
    pub fn sample(&mut self, logits: &[f32], context: &[i32]) -> Result<i32> {
        check_logits(logits)?;
        self.candidates.clear();
        self.candidates.extend(
            logits
                .iter()
                .zip(0u32..)
                .map(|(&value, id)| Candidate { value, id }),
        );
        if self.options.repetition_penalty != 1.0 {
            self.penalise(context);
        }
        let best = most_probable(&self.candidates);
        // Temperature 0 leaves one choice, and so does one so small that the
        // quotient overflows.
        let inverse = self.options.temperature.recip();
        if !(best.value * inverse).is_finite() {
            return Ok(best.id as i32);
        }
        for candidate in &mut self.candidates {
            candidate.value = ((candidate.value - best.value) * inverse).exp();
        }
        // From here on values are weights: probabilities times one constant,
        // the most probable token's being 1.
        if self.options.top_k > 0 && self.options.top_k < self.candidates.len() {
            keep_top(&mut self.candidates, self.options.top_k);
        }
        if self.options.top_p < 1.0 {
            keep_top_p(&mut self.candidates, self.options.top_p);
        }
        if self.options.min_p > 0.0 {
            let least = self.options.min_p;
            self.candidates.retain(|candidate| candidate.value >= least);
        }
        Ok(self.draw() as i32)
    }

    fn penalise(&mut self, context: &[i32]) {
        let penalty = self.options.repetition_penalty;
        if self.penalised.len() != self.candidates.len() || self.round == u32::MAX {
            self.penalised.clear();
            self.penalised.resize(self.candidates.len(), 0);
            self.round = 0;
        }
        self.round += 1;
        for &id in context {
            let Ok(index) = usize::try_from(id) else {
                continue;
            };
            let Some(met) = self.penalised.get_mut(index) else {
                continue;
            };
            if *met == self.round {
                continue;
            }
            *met = self.round;
            let value = &mut self.candidates[index].value;
            *value = if *value > 0.0 {
                *value / penalty
            } else {
                *value * penalty
            };
        }
    }

    /// Draws one of the candidates by weight.
    fn draw(&mut self) -> u32 {
        let total = sum(&self.candidates);
        // 53 bits, the precision of f64, in [0, 1).
        let uniform = (self.random.next_u64() >> 11) as f64 * (-53f64).exp2();
        let mut left = uniform * total;
        let mut last = self.candidates[0].id;
        for candidate in &self.candidates {
            if candidate.value > 0.0 {
                last = candidate.id;
                left -= f64::from(candidate.value);
                if left < 0.0 {
                    break;
                }
            }
        }
        // The sum of differences may end a rounding error above 0: then the last one.
        last
    }
}

/// Refuses what cannot be sampled.
fn check_logits(logits: &[f32]) -> Result<()> {
    let mut largest = f32::NEG_INFINITY;
    let mut nan = false;
    for &logit in logits {
        nan |= logit.is_nan();
        largest = largest.max(logit);
    }
    if nan {
        return Err(Error::NanLogits {
            count: logits.iter().filter(|logit| logit.is_nan()).count(),
            first: logits.iter().position(|logit| logit.is_nan()).unwrap_or(0),
            vocab: logits.len(),
        });
    }
    if largest == f32::INFINITY {
        return Err(Error::DegenerateLogits {
            reason: "some are infinite",
        });
    }
    if largest == f32::NEG_INFINITY {
        return Err(Error::DegenerateLogits {
            reason: "all are minus infinity",
        });
    }
    Ok(())
}

/// More probable first; of equal ones the lower id first.
fn by_probability(a: &Candidate, b: &Candidate) -> Ordering {
    b.value.total_cmp(&a.value).then(a.id.cmp(&b.id))
}

fn most_probable(candidates: &[Candidate]) -> Candidate {
    let mut best = candidates[0];
    for &candidate in candidates {
        if candidate.value > best.value {
            best = candidate;
        }
    }
    best
}

fn sum(candidates: &[Candidate]) -> f64 {
    candidates
        .iter()
        .map(|candidate| f64::from(candidate.value))
        .sum()
}

/// Keeps the `k` most probable ones, in any order.
fn keep_top(candidates: &mut Vec<Candidate>, k: usize) {
    if k < candidates.len() {
        candidates.select_nth_unstable_by(k, by_probability);
        candidates.truncate(k);
    }
}

/// Keeps the fewest most probable ones that sum to `top_p` of all, in order.
///
/// Few are kept as a rule, so a growing part is sorted instead of everything.
fn keep_top_p(candidates: &mut Vec<Candidate>, top_p: f32) {
    let enough = sum(candidates) * f64::from(top_p);
    let mut sorted = FIRST_CANDIDATES.min(candidates.len());
    loop {
        if sorted < candidates.len() {
            candidates.select_nth_unstable_by(sorted, by_probability);
        }
        candidates[..sorted].sort_unstable_by(by_probability);
        let mut reached = 0.0;
        let kept = candidates[..sorted].iter().position(|candidate| {
            reached += f64::from(candidate.value);
            reached >= enough
        });
        if let Some(last) = kept {
            candidates.truncate(last + 1);
            return;
        }
        if sorted == candidates.len() {
            return;
        }
        sorted = (sorted * 8).min(candidates.len());
    }
}
