//! Which instruction set the kernels use: detected once, forced by `LINNET_CPU` or by a caller.

use std::sync::OnceLock;

use crate::error::{KernelError, Result};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512, Simd as _};
use crate::simd::{Kernel, Portable};

/// The environment variable that forces an instruction set: `portable`, `avx2` or `avx512`.
pub const ISA_VARIABLE: &str = "LINNET_CPU";

/// An instruction set that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Isa {
    /// What the target guarantees: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// AVX2 with FMA and F16C.
    Avx2,
    /// AVX-512 (F, BW, VL, DQ) besides AVX2.
    Avx512,
}

impl Isa {
    /// All of them, slowest first.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The name as `LINNET_CPU` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The instruction set of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|isa| isa.name() == name)
    }

    /// Whether this machine has it.
    pub fn is_available(self) -> bool {
        Level::new(self).is_some()
    }

    /// The best one this machine has.
    pub fn best() -> Self {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| {
            Self::ALL
                .into_iter()
                .rev()
                .find(|isa| isa.is_available())
                .unwrap_or(Self::Portable)
        })
    }

    /// What `LINNET_CPU` asks for, else the best one. The variable is read once.
    ///
    /// # Errors
    /// If the variable names no instruction set, or one this machine does not have.
    pub fn chosen() -> Result<Self> {
        static CHOSEN: OnceLock<Result<Isa>> = OnceLock::new();
        *CHOSEN.get_or_init(|| match std::env::var_os(ISA_VARIABLE) {
            None => Ok(Self::best()),
            Some(value) => Self::parse(value.to_str()),
        })
    }

    /// `chosen` for a value of the variable (`None`: not Unicode).
    fn parse(value: Option<&str>) -> Result<Self> {
        let isa = value
            .and_then(Self::from_name)
            .ok_or(KernelError::IsaUnknown)?;
        Level::require(isa)?;
        Ok(isa)
    }
}

/// An instruction set with the proof that this machine has it.
#[derive(Clone, Copy, Debug)]
pub enum Level {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Level {
    pub(crate) fn new(isa: Isa) -> Option<Self> {
        match isa {
            Isa::Portable => Some(Self::Portable(Portable)),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Avx2::new().map(Self::Avx2),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Avx512::new().map(Self::Avx512),
            #[cfg(not(target_arch = "x86_64"))]
            _ => None,
        }
    }

    pub(crate) fn require(isa: Isa) -> Result<Self> {
        Self::new(isa).ok_or_else(|| KernelError::IsaUnavailable {
            name: isa.name(),
            available: Isa::best().name(),
        })
    }

    pub(crate) fn isa(self) -> Isa {
        match self {
            Self::Portable(_) => Isa::Portable,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => Isa::Avx2,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => Isa::Avx512,
        }
    }

    /// Runs a kernel compiled for this instruction set.
    #[inline(always)]
    pub(crate) fn dispatch<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            Self::Portable(s) => kernel.run(s),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(s) => s.vectorize(kernel),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(s) => s.vectorize(kernel),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for isa in Isa::ALL {
            assert_eq!(Isa::from_name(isa.name()), Some(isa));
            match Isa::parse(Some(isa.name())) {
                Ok(found) => assert!(found == isa && isa.is_available()),
                Err(e) => assert!(
                    !isa.is_available() && e.to_string().contains(isa.name()),
                    "{e}"
                ),
            }
        }
        for bad in [Some("AVX2"), Some(""), Some("avx"), None] {
            assert_eq!(Isa::parse(bad), Err(KernelError::IsaUnknown));
        }
        assert!(Isa::Portable.is_available() && Isa::best().is_available());
    }
}
