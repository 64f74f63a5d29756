//! The small gpt-oss checkpoints with their reference logits, and how results
//! are compared.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};

use gpt_oss::{CARD, GptOssDyn};
use linnet_runtime::card::{Choices, LoadOptions, load};
use linnet_runtime::{Block, Device, Dim, Dyn, Float, Numerics, Tensor};
use safetensors::SafeTensors;

/// gpt-oss with every dimension known when it loads.
pub type DynModel<T = f32> = GptOssDyn<T>;

/// What a logit may differ from the stored one, in f32.
pub const LOGIT_TOLERANCE: f32 = 2e-4;

/// Both ways of computing.
pub const NUMERICS: [Numerics; 2] = [Numerics::Exact, Numerics::Fast];

/// Tokens with the logits that transformers computes in f32.
pub struct Golden {
    /// Sequences of one length, one after the other.
    pub tokens: Vec<i32>,
    /// How many.
    pub rows: usize,
    /// Tokens of each.
    pub length: usize,
    /// The logits after the last positions of each.
    pub logits: Vec<f32>,
    /// How many positions have logits.
    pub tail: usize,
    /// Logits of a position.
    pub vocab: usize,
}

impl Golden {
    /// Reads two tensors of a checkpoint's `golden.safetensors`.
    pub fn read(folder: &Path, tokens: &str, logits: &str) -> Self {
        let bytes = std::fs::read(folder.join("golden.safetensors")).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let words = |name: &str| -> (Vec<usize>, Vec<[u8; 4]>) {
            let view = file.tensor(name).unwrap();
            let words = view.data().chunks_exact(4).map(|b| b.try_into().unwrap());
            (view.shape().to_vec(), words.collect())
        };
        let (shape, tokens) = words(tokens);
        let (logit_shape, logits) = words(logits);
        Self {
            tokens: tokens.into_iter().map(i32::from_le_bytes).collect(),
            rows: shape[0],
            length: shape[1],
            logits: logits.into_iter().map(f32::from_le_bytes).collect(),
            tail: logit_shape[1],
            vocab: logit_shape[2],
        }
    }

    /// The tokens of a sequence.
    pub fn row(&self, row: usize) -> &[i32] {
        &self.tokens[row * self.length..][..self.length]
    }

    /// The logits after token `at` of a sequence.
    pub fn logits_at(&self, row: usize, at: usize) -> &[f32] {
        let first = self.length - self.tail;
        &self.logits[(row * self.tail + at - first) * self.vocab..][..self.vocab]
    }
}

/// A folder of `tests/fixtures`.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(name)
}

/// The small checkpoints of random weights.
pub const TINY: [&str; 2] = ["tiny-gpt-oss", "tiny-gpt-oss-sharded"];

/// The stored logits of every position of two sequences of 40 tokens.
pub fn golden(name: &str) -> Golden {
    Golden::read(&fixture(name), "tokens", "logits")
}

/// Loads a checkpoint as a model of some type.
pub fn load_as<M: Block>(
    folder: &Path,
    batch: usize,
    max_seq: usize,
    numerics: Numerics,
    threads: usize,
) -> M {
    let options = LoadOptions {
        choices: Choices::new().batch(batch).max_seq(max_seq),
        device: Some(Device::cpu_with_threads(threads).unwrap()),
        numerics,
    };
    load::<M>(folder, &CARD, &options).unwrap()
}

/// Loads a checkpoint of `tests/fixtures` in f32.
pub fn load_tiny(name: &str, batch: usize, max_seq: usize, numerics: Numerics) -> DynModel {
    load_as(&fixture(name), batch, max_seq, numerics, 2)
}

/// Rows of numbers such as token ids.
pub fn matrix<A: Dim, B: Dim>(rows: &[&[i32]]) -> Tensor<(A, B), i32> {
    let n = rows.first().map_or(0, |row| row.len());
    Tensor::from_slice(&[rows.len(), n], &rows.concat()).unwrap()
}

/// Numbers such as positions.
pub fn list<A: Dim>(values: &[i32]) -> Tensor<(A,), i32> {
    Tensor::from_slice(&[values.len()], values).unwrap()
}

/// The logits after every token of one sequence, `[S, Vocab]`.
pub fn forward<T: Float>(model: &DynModel<T>, tokens: &[i32]) -> Vec<f32> {
    let tokens = Tensor::<(Dyn, Dyn), i32>::from_slice(&[1, tokens.len()], tokens).unwrap();
    let logits = model.forward(&tokens).unwrap();
    logits.cast::<f32>().unwrap().to_vec()
}

/// Panics if any element is further from `expected` than `tolerance`.
#[track_caller]
pub fn assert_close(what: &str, found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len(), "{what}: number of elements");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(
            error <= tolerance,
            "{what}: element {i} is {found}, expected {expected}: off by {error:e}, allowed {tolerance:e}"
        );
    }
}

/// Pseudo-random numbers (splitmix64) that depend on the seed alone.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// `n` tokens.
    pub fn tokens(&mut self, n: usize, vocab: usize) -> Vec<i32> {
        (0..n).map(|_| self.below(vocab) as i32).collect()
    }
}
