//! What the kernels' tests share: random data, instruction sets, comparison with a reference.

use crate::cpu::Cpu;
use crate::element::Element;
use crate::isa::Isa;

/// Set this to make a test fail on an instruction set that the machine lacks.
const REQUIRE: &str = "LINNET_REQUIRE_ISA";

/// A small generator of numbers that look random (SplitMix64).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An integer in `0..n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A number in -1..1.
    pub(crate) fn unit(&mut self) -> f32 {
        ((self.next() >> 40) as f32 / (1u64 << 23) as f32) - 1.0
    }

    /// `n` numbers in -1..1.
    pub(crate) fn vec<E: Element>(&mut self, n: usize) -> Vec<E> {
        (0..n).map(|_| E::from_f32(self.unit())).collect()
    }
}

/// Calls `test` with a context for each instruction set, with 1 and with 3 threads. One that the
/// machine lacks is printed, or fails if `LINNET_REQUIRE_ISA` is set.
pub(crate) fn each_cpu(mut test: impl FnMut(&Cpu)) {
    for isa in Isa::ALL {
        if !isa.is_available() {
            assert!(
                std::env::var_os(REQUIRE).is_none(),
                "{REQUIRE} is set, and this machine has no {}",
                isa.name()
            );
            eprintln!("skipped: {} is not available on this machine", isa.name());
            continue;
        }
        for threads in [1, 3] {
            test(&Cpu::with_isa(threads, isa).unwrap());
        }
    }
}

/// The smallest positive value of a type: the spacing of its subnormal values.
pub(crate) fn smallest<E: Element>() -> f64 {
    match E::NAME {
        "f16" => 2f64.powi(-24),
        "bf16" => 2f64.powi(-133),
        _ => 2f64.powi(-149),
    }
}

/// Compares with a reference, element by element: `|found - expected| <= bound(i)`, and NaN for
/// NaN, infinity for infinity. Panics with the worst element and `what`.
pub(crate) fn assert_close<E: Element>(
    what: &str,
    found: &[E],
    expected: &[f64],
    bound: impl Fn(usize) -> f64,
) {
    assert_eq!(found.len(), expected.len(), "{what}: length");
    let mut worst: Option<(f64, usize)> = None;
    for (i, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let value = f64::from(found.to_f32());
        if value == expected || (value.is_nan() && expected.is_nan()) {
            continue;
        }
        // How many times the bound the error is.
        let excess = (value - expected).abs() / bound(i);
        if excess.is_nan() || worst.is_none_or(|(w, _)| excess > w) {
            worst = Some((excess, i));
        }
    }
    if let Some((excess, i)) = worst
        && (excess > 1.0 || excess.is_nan())
    {
        let (value, expected) = (f64::from(found[i].to_f32()), expected[i]);
        let error = (value - expected).abs();
        panic!(
            "{what}: element {i} is {value:e}, expected {expected:e}: off by {error:e} ({:e} relative), {excess:.2} times the bound {:e}",
            error / expected.abs(),
            bound(i)
        );
    }
}
