//! The plans of the calls made so far, by what they depend on.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::call::Argument;
use crate::numerics::Numerics;
use crate::plan::bind::ArgumentKind;
use crate::plan::lower::Plan;

/// Plans kept. A chat of growing prompts makes one for each length; the least
/// recently used goes first.
const CAPACITY: usize = 64;

/// What is called: a function by its address in the descriptors, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Callable {
    pub(crate) function: usize,
    pub(crate) numerics: Numerics,
}

/// What a plan depends on.
#[derive(Debug, PartialEq)]
pub(super) struct Key {
    hash: u64,
    callable: Callable,
    arguments: Vec<ArgumentKind>,
}

fn hash(callable: Callable, args: &[Argument<'_>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    callable.hash(&mut hasher);
    for arg in args {
        ArgumentKind::of(arg).hash(&mut hasher);
    }
    hasher.finish()
}

impl Key {
    pub(super) fn new(callable: Callable, args: &[Argument<'_>]) -> Key {
        Key {
            hash: hash(callable, args),
            callable,
            arguments: args.iter().map(ArgumentKind::of).collect(),
        }
    }

    pub(super) fn arguments(&self) -> &[ArgumentKind] {
        &self.arguments
    }

    fn is_of(&self, hash: u64, callable: Callable, args: &[Argument<'_>]) -> bool {
        self.hash == hash
            && self.callable == callable
            && self.arguments.len() == args.len()
            && self
                .arguments
                .iter()
                .zip(args)
                .all(|(kind, arg)| *kind == ArgumentKind::of(arg))
    }
}

#[derive(Debug)]
struct Entry {
    key: Key,
    plan: Plan,
    last_used: u64,
}

/// The plans of the calls made so far.
#[derive(Debug, Default)]
pub(super) struct PlanCache {
    entries: Vec<Entry>,
    clock: u64,
}

impl PlanCache {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The number of the plan for such a call.
    pub(super) fn find(&mut self, callable: Callable, args: &[Argument<'_>]) -> Option<usize> {
        let hash = hash(callable, args);
        let at = self
            .entries
            .iter()
            .position(|entry| entry.key.is_of(hash, callable, args))?;
        self.clock += 1;
        self.entries[at].last_used = self.clock;
        Some(at)
    }

    /// Adds a plan and gives its number.
    pub(super) fn insert(&mut self, key: Key, plan: Plan) -> usize {
        self.clock += 1;
        let entry = Entry {
            key,
            plan,
            last_used: self.clock,
        };
        if self.entries.len() < CAPACITY {
            self.entries.push(entry);
            return self.entries.len() - 1;
        }
        let oldest = (0..self.entries.len())
            .min_by_key(|&i| self.entries[i].last_used)
            .unwrap_or(0);
        self.entries[oldest] = entry;
        oldest
    }

    pub(super) fn get(&self, at: usize) -> &Plan {
        &self.entries[at].plan
    }
}
