//! The small checkpoints, their models, and how results are compared.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod reference;

use std::{fmt::Write as _, path::PathBuf};

use linnet_runtime::{
    Block, DType, Device, Dyn, ErasedTensor, GenericValue, Instance, Numerics, Parameters, Tensor,
};
use reference::Reference;
use safetensors::SafeTensors;

/// GPT-2 with every dimension known when it loads.
pub type DynModel = gpt2::model::Model<Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, f32>;

/// What a logit may differ from the stored one: the stored ones are `f32` of
/// another order of summation, and are of magnitude 1 to 10.
pub const LOGIT_TOLERANCE: f64 = 1e-4;

/// Both ways of computing.
pub const NUMERICS: [Numerics; 2] = [Numerics::Exact, Numerics::Fast];

/// A small checkpoint with its reference logits.
pub struct Checkpoint {
    /// The name of its folder.
    pub name: &'static str,
    /// The plain model.
    pub reference: Reference,
    /// `[2, 24]`.
    pub tokens: Vec<i32>,
    /// `[2, 24, Vocab]`, as transformers computes them.
    pub logits: Vec<f64>,
}

/// Sequences of the stored tokens.
pub const ROWS: usize = 2;
/// Tokens of each.
pub const LENGTH: usize = 24;

impl Checkpoint {
    /// Reads `tests/fixtures/NAME`.
    pub fn read(name: &'static str) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures")
            .join(name);
        let bytes = std::fs::read(folder.join("golden.safetensors")).unwrap();
        let golden = SafeTensors::deserialize(&bytes).unwrap();
        let words = |name: &str| -> Vec<[u8; 4]> {
            let view = golden.tensor(name).unwrap();
            view.data()
                .chunks_exact(4)
                .map(|b| b.try_into().unwrap())
                .collect()
        };
        assert_eq!(golden.tensor("tokens").unwrap().shape(), [ROWS, LENGTH]);
        Self {
            name,
            reference: Reference::read(&folder),
            tokens: words("tokens")
                .into_iter()
                .map(i32::from_le_bytes)
                .collect(),
            logits: words("logits")
                .into_iter()
                .map(|b| f32::from_le_bytes(b).into())
                .collect(),
        }
    }

    /// Both small checkpoints.
    pub fn all() -> [Self; 2] {
        [Self::read("tiny-gpt2"), Self::read("tiny-gpt2-hub")]
    }

    /// The stored tokens of one sequence.
    pub fn row(&self, row: usize) -> &[i32] {
        &self.tokens[row * LENGTH..(row + 1) * LENGTH]
    }

    /// The stored logits after token `at` of one sequence.
    pub fn logits_at(&self, row: usize, at: usize) -> &[f64] {
        let vocab = self.reference.vocab;
        &self.logits[(row * LENGTH + at) * vocab..][..vocab]
    }

    /// A sequence of `n` tokens that depends on `seed`.
    pub fn sequence(&self, seed: u64, n: usize) -> Vec<i32> {
        let mut random = Random::new(seed);
        (0..n)
            .map(|_| random.below(self.reference.vocab) as i32)
            .collect()
    }

    /// The parameters by member path.
    pub fn parameters(&self) -> Parameters {
        let mut parameters = Parameters::new();
        parameters.insert("wte".into(), self.tensor("wte.weight"));
        parameters.insert("wpe".into(), self.tensor("wpe.weight"));
        for layer in 0..self.reference.layers {
            for (path, tensor) in self.layer_parameters(layer) {
                parameters.insert(format!("blocks.{layer}.{path}"), tensor);
            }
        }
        for part in ["weight", "bias"] {
            parameters.insert(format!("ln_f.{part}"), self.tensor(&format!("ln_f.{part}")));
        }
        parameters
    }

    /// The parameters of one layer by member path within it.
    pub fn layer_parameters(&self, layer: usize) -> Parameters {
        let names = [
            ("ln_1", "ln_1"),
            ("attn.qkv", "attn.c_attn"),
            ("attn.out", "attn.c_proj"),
            ("ln_2", "ln_2"),
            ("mlp.up", "mlp.c_fc"),
            ("mlp.down", "mlp.c_proj"),
        ];
        let mut parameters = Parameters::new();
        for (member, published) in names {
            for part in ["weight", "bias"] {
                let tensor = self.tensor(&format!("h.{layer}.{published}.{part}"));
                parameters.insert(format!("{member}.{part}"), tensor);
            }
        }
        parameters
    }

    /// A parameter by its published name.
    pub fn tensor(&self, name: &str) -> ErasedTensor {
        let (shape, values) = self.reference.param(name);
        let values: Vec<f32> = values.iter().map(|v| *v as f32).collect();
        ErasedTensor::from_slice(shape, &values).unwrap()
    }

    /// The generics of the model, in order.
    pub fn generics(&self, batch: usize, max_seq: usize) -> [GenericValue; 8] {
        let r = &self.reference;
        let sizes =
            [r.vocab, r.positions, r.h, r.heads, r.layers, batch, max_seq].map(GenericValue::Dim);
        let [a, b, c, d, e, f, g] = sizes;
        [a, b, c, d, e, f, g, GenericValue::DType(DType::F32)]
    }

    /// The loaded model, of whatever type has these sizes.
    pub fn load<M: Block>(
        &self,
        batch: usize,
        max_seq: usize,
        numerics: Numerics,
        threads: usize,
    ) -> M {
        let device = Device::cpu_with_threads(threads).unwrap();
        let generics = self.generics(batch, max_seq);
        let mut instance =
            Instance::new(M::DESCRIPTOR, &generics, self.parameters(), &device).unwrap();
        instance.set_numerics(numerics);
        M::from_instance(instance)
    }
}

/// A matrix of numbers such as token ids.
pub fn matrix<A: linnet_runtime::Dim, B: linnet_runtime::Dim>(
    rows: &[&[i32]],
) -> Tensor<(A, B), i32> {
    let n = rows.first().map_or(0, |row| row.len());
    Tensor::from_slice(&[rows.len(), n], &rows.concat()).unwrap()
}

/// A list of numbers such as positions.
pub fn list<A: linnet_runtime::Dim>(values: &[i32]) -> Tensor<(A,), i32> {
    Tensor::from_slice(&[values.len()], values).unwrap()
}

/// Panics if any element is further from `expected` than `tolerance`, naming
/// `what`, the worst element and both its errors.
#[track_caller]
pub fn assert_close(what: &str, found: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}: number of elements");
    let error = |i: usize| (f64::from(found[i]) - expected[i]).abs();
    let worst = (0..found.len()).max_by(|&a, &b| rank(error(a)).total_cmp(&rank(error(b))));
    let Some(worst) = worst else { return };
    let mut message = String::new();
    write!(
        message,
        "{what}: element {worst} is {}, expected {}: absolute error {:e}, relative {:e}, allowed {tolerance:e}",
        found[worst],
        expected[worst],
        error(worst),
        error(worst) / expected[worst].abs(),
    )
    .unwrap();
    assert!(error(worst) <= tolerance, "{message}");
}

/// NaN is the worst error of all.
fn rank(error: f64) -> f64 {
    if error.is_nan() { f64::INFINITY } else { error }
}

/// A small generator of pseudo-random numbers (splitmix64), so that a test's
/// inputs depend on its seed alone.
pub struct Random(u64);

impl Random {
    /// A generator for one test.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    /// A number between -1 and 1.
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    }

    /// `n` numbers between -1 and 1.
    pub fn units(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.unit()).collect()
    }
}
