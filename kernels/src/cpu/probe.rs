//! What the machine can do, measured: the floors that kernels are compared with.

use std::hint::black_box;
use std::time::Instant;

use crate::cpu::Cpu;
use crate::simd::{Kernel, Simd};

/// Bytes per second at which the threads of `cpu` together read `data` from memory, best of
/// `repeats` passes. For a figure about memory, `data` must be several times the last cache
/// and must have been written or read before.
pub fn read_bandwidth(cpu: &Cpu, data: &[f32], repeats: usize) -> f64 {
    let threads = cpu.threads();
    // Several parts per thread, so that the threads end together.
    let part = data.len().div_ceil(threads * 16).next_multiple_of(1024);
    let parts = data.len().div_ceil(part);
    best_rate(repeats, size_of_val(data) as f64, &|| {
        cpu.pool().run(parts, &|i| {
            let part = &data[i * part..((i + 1) * part).min(data.len())];
            black_box(cpu.dispatch(Sum(part)));
        });
    })
}

/// f32 operations per second (an FMA counts as two) of all threads of `cpu` together, best of
/// `repeats` runs of a few milliseconds, on registers only.
pub fn fma_rate(cpu: &Cpu, repeats: usize) -> f64 {
    const ROUNDS: usize = 1 << 20;
    let lanes = cpu.dispatch(Lanes);
    let operations = (2 * CHAINS * lanes * ROUNDS * cpu.threads()) as f64;
    best_rate(repeats, operations, &|| {
        cpu.pool().run(cpu.threads(), &|_| {
            black_box(cpu.dispatch(Chains(ROUNDS)));
        });
    })
}

fn best_rate(repeats: usize, amount: f64, work: &dyn Fn()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..repeats.max(1) {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    amount / best
}

struct Sum<'a>(&'a [f32]);

impl Kernel for Sum<'_> {
    type Output = f32;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f32 {
        let mut sums = [s.splat(0.0); 8];
        let chunks = self.0.chunks_exact(8 * S::LANES);
        let rest: f32 = chunks.remainder().iter().sum();
        for chunk in chunks {
            for (j, sum) in sums.iter_mut().enumerate() {
                // SAFETY: a chunk has 8 vectors.
                *sum = s.add(*sum, unsafe { s.load(chunk.as_ptr().add(j * S::LANES)) });
            }
        }
        let mut total = s.splat(0.0);
        for sum in sums {
            total = s.add(total, sum);
        }
        s.reduce_add(total) + rest
    }
}

struct Lanes;

impl Kernel for Lanes {
    type Output = usize;
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> usize {
        S::LANES
    }
}

/// Independent chains of FMAs: at least latency (4 or 5) times the number of units (2).
const CHAINS: usize = 12;

struct Chains(usize);

impl Kernel for Chains {
    type Output = f32;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f32 {
        let (a, b) = (s.splat(black_box(0.999)), s.splat(black_box(1e-3)));
        let mut chains = [s.splat(1.0); CHAINS];
        for _ in 0..self.0 {
            for chain in &mut chains {
                *chain = s.fma(*chain, a, b);
            }
        }
        let mut total = s.splat(0.0);
        for chain in chains {
            total = s.add(total, chain);
        }
        s.reduce_add(total)
    }
}
