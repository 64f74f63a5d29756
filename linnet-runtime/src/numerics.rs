//! How arithmetic is carried out.

/// How operations are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Numerics {
    /// Every operation by its body, in plain loops and in the order of the
    /// indices; each result is rounded to its dtype. Only what a fold adds up
    /// or multiplies keeps the precision of `f32`, in which it accumulates.
    /// Slow, and the reference for everything else.
    Exact,
    /// Operations by their kernels, matrix products recognised in index
    /// notation. The same result on every run and for every number of threads.
    #[default]
    Fast,
}

impl std::fmt::Display for Numerics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Numerics::Exact => "exact",
            Numerics::Fast => "fast",
        })
    }
}
