//! How arithmetic is carried out.

/// How operations are computed.
///
/// A dtype generic of 16 bits (`T = bf16`) says how a model's parameters, states,
/// arguments and results are stored. Between them, within an entry, values of type
/// `T` are `f32`: weights are widened where they are read, and only what is written
/// to a state or handed out is rounded. A dtype that is written out, as in
/// `cast::<bf16>(x)`, is computed as it says.
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
