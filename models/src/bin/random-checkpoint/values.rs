//! Random contents of tensors, several gigabytes a second.
//!
//! A tensor's bytes depend on the seed and its name alone.

use linnet_runtime::DType;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What a tensor holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Ones: the weights of norms.
    Ones,
    /// About normal, with a standard deviation of 0.02.
    Normal,
    /// Any bytes: pairs of MXFP4 codes.
    Codes,
    /// MXFP4 scales 2^-7 to 2^-3, as bytes 120 to 124: sums over a few thousand codes stay small.
    Scales,
}

const DEVIATION: f64 = 0.02;

/// Along each side of the square of pairs that normal values are made from.
const SIDE: usize = 64;

/// Values of a normal distribution, each as likely as the others.
const N_NORMALS: usize = SIDE * SIDE;

/// Makes the bytes of one tensor from its first on.
pub struct Values {
    random: Xoshiro256PlusPlus,
    kind: Kind,
    dtype: DType,
    /// Normal values as they are stored; zeros where no normal values are asked for.
    normals: Box<[u32; N_NORMALS]>,
}

impl Values {
    /// For the tensor of this name.
    pub fn new(seed: u64, name: &str, kind: Kind, dtype: DType) -> Self {
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ hash(name)),
            kind,
            dtype,
            normals: Box::new(match kind {
                Kind::Normal => std::array::from_fn(|i| bits(normal(i), dtype)),
                _ => [0; N_NORMALS],
            }),
        }
    }

    /// The next bytes; whole elements.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        match (self.kind, self.dtype.size()) {
            (Kind::Codes, _) => self.random.fill_bytes(bytes),
            (Kind::Scales, _) => {
                self.random.fill_bytes(bytes);
                bytes.iter_mut().for_each(|x| *x = 120 + *x % 5);
            }
            (Kind::Ones, 4) => fill::<4>(bytes, || bits(1.0, DType::F32)),
            (Kind::Ones, _) => {
                let one = bits(1.0, self.dtype);
                fill::<2>(bytes, || one);
            }
            (Kind::Normal, 4) => {
                let mut draws = Draws::new(&mut self.random, &self.normals);
                fill::<4>(bytes, || draws.next());
            }
            (Kind::Normal, _) => {
                let mut draws = Draws::new(&mut self.random, &self.normals);
                fill::<2>(bytes, || draws.next());
            }
        }
    }
}

/// Elements of N bytes from the low bytes of `next`.
#[inline(always)]
fn fill<const N: usize>(bytes: &mut [u8], mut next: impl FnMut() -> u32) {
    for element in bytes.as_chunks_mut::<N>().0 {
        element.copy_from_slice(&next().to_le_bytes()[..N]);
    }
}

/// Random entries of a table, five for a word of the generator.
struct Draws<'a> {
    random: &'a mut Xoshiro256PlusPlus,
    normals: &'a [u32; N_NORMALS],
    word: u64,
    left: u32,
}

impl<'a> Draws<'a> {
    fn new(random: &'a mut Xoshiro256PlusPlus, normals: &'a [u32; N_NORMALS]) -> Self {
        Self {
            random,
            normals,
            word: 0,
            left: 0,
        }
    }

    #[inline(always)]
    fn next(&mut self) -> u32 {
        if self.left == 0 {
            (self.word, self.left) = (self.random.next_u64(), 5);
        }
        let value = self.normals[self.word as usize % N_NORMALS];
        self.word /= N_NORMALS as u64;
        self.left -= 1;
        value
    }
}

/// The Box-Muller transform of the i-th middle of a grid.
fn normal(i: usize) -> f32 {
    let middle = |i: usize| (i as f64 + 0.5) / SIDE as f64;
    let (u, v) = (middle(i / SIDE), middle(i % SIDE));
    let radius = (-2.0 * u.ln()).sqrt();
    (DEVIATION * radius * (std::f64::consts::TAU * v).cos()) as f32
}

/// A value as it is stored, in the low bytes.
fn bits(x: f32, dtype: DType) -> u32 {
    match dtype {
        DType::BF16 => linnet_runtime::bf16::from_f32(x).to_bits().into(),
        DType::F16 => linnet_runtime::f16::from_f32(x).to_bits().into(),
        _ => x.to_bits(),
    }
}

/// FNV-1a.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, byte| {
        (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
