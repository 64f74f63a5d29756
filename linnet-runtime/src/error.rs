//! What can go wrong, in words that say what, where, and what was expected.

use crate::dtype::DType;

/// The result of everything that can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of loading or running a model, or of building a tensor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A tensor with too many axes.
    #[error("a tensor has at most {max} axes")]
    Rank {
        /// The limit.
        max: usize,
    },
    /// Something does not fit into memory.
    #[error("{what} is too large for this machine")]
    TooLarge {
        /// What it is.
        what: String,
    },
    /// Bytes or elements that do not make the tensor asked for.
    #[error("invalid tensor: {reason}")]
    InvalidTensor {
        /// Why.
        reason: String,
    },
    /// A tensor of another type than asked for.
    #[error("expected a tensor of type {expected}, found {found}")]
    TensorType {
        /// The type asked for.
        expected: String,
        /// The tensor's type.
        found: String,
    },
    /// A block or function that does not exist, or a wrong number of generics.
    #[error("{0}")]
    Descriptor(String),
    /// A generic that is missing, of the wrong kind, or without a value.
    #[error("{block}: {reason}")]
    Generic {
        /// The block or function.
        block: String,
        /// Which generic, and why.
        reason: String,
    },
    /// A wrong number of arguments.
    #[error("`{function}` takes {expected} arguments, found {found}")]
    ArgumentCount {
        /// The function.
        function: String,
        /// How many it takes.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// An argument of the wrong type or shape.
    #[error("`{function}`: argument `{param}` must be {expected}, found {found}{note}")]
    Argument {
        /// The function.
        function: String,
        /// The parameter.
        param: String,
        /// Its declared type.
        expected: String,
        /// The type of the argument.
        found: String,
        /// What binds the generics, or empty.
        note: String,
    },
    /// A requirement that does not hold.
    #[error("`{place}` requires `{clause}`, but {found}")]
    Requirement {
        /// The block or function.
        place: String,
        /// The clause as written.
        clause: String,
        /// The values that break it.
        found: String,
    },
    /// An element of an integer argument that breaks a requirement.
    #[error("`{place}`: {param} is {value} at {at}: must be {bound} (requires `{clause}`)")]
    Element {
        /// The block or function.
        place: String,
        /// The tensor parameter.
        param: &'static str,
        /// The element.
        value: i64,
        /// Its index, as `[0, 3]`.
        at: String,
        /// What it must be, as `< Vocab = 50257`.
        bound: String,
        /// The clause as written.
        clause: &'static str,
    },
    /// A value that occurs twice where each must be distinct.
    #[error(
        "`{place}`: {param} is {value} at both {first} and {second}: must be distinct (requires `{clause}`)"
    )]
    Duplicate {
        /// The block or function.
        place: String,
        /// The tensor parameter.
        param: &'static str,
        /// The value.
        value: i64,
        /// Where it occurs first.
        first: String,
        /// Where it occurs again.
        second: String,
        /// The clause as written.
        clause: &'static str,
    },
    /// An index outside its axis.
    #[error("{place}: index {index} is outside axis {axis} of length {length}")]
    IndexOutOfRange {
        /// Function and line.
        place: String,
        /// The index.
        index: i64,
        /// The axis.
        axis: usize,
        /// Its length.
        length: usize,
    },
    /// A slice whose run-time bounds leave their axis.
    #[error("{place}: the slice {start}..{end} is outside axis {axis} of length {length}")]
    SliceOutOfRange {
        /// Function and line.
        place: String,
        /// The first index.
        start: i64,
        /// One past the last.
        end: i64,
        /// The axis.
        axis: usize,
        /// Its length.
        length: usize,
    },
    /// An integer operation without a result.
    #[error("{place}: {what}")]
    Arithmetic {
        /// Function and line.
        place: String,
        /// What happened.
        what: String,
    },
    /// Parameters that are missing, of another type, or that no member takes.
    #[error("the parameters given do not fit `{block}`:\n{}", problems.join("\n"))]
    Parameters {
        /// The block.
        block: String,
        /// One line each, beginning with the member path.
        problems: Vec<String>,
    },
    /// A mistake in a descriptor, which the macros never emit.
    #[error("{place}: invalid descriptor: {reason}")]
    InvalidDescriptor {
        /// Function and line.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// A kernel that could not run.
    #[error("kernel `{kernel}`: {reason}")]
    Kernel {
        /// The kernel.
        kernel: &'static str,
        /// Why.
        reason: String,
    },
    /// A kernel that refused its arguments.
    #[error(transparent)]
    Kernels(#[from] linnet_kernels::KernelError),
    /// A file of weights that cannot be read or does not fit.
    #[error(transparent)]
    Weights(#[from] crate::weights::WeightsError),
    /// A `config.json`, or a choice beside it, that the model cannot run.
    #[error(transparent)]
    Config(#[from] crate::card::ConfigError),
    /// A file that cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Error {
    /// The error for a tensor of dtype and shape where another type is due.
    pub(crate) fn tensor_type(
        expected_dtype: DType,
        expected_shape: &str,
        dtype: DType,
        shape: &[usize],
    ) -> Error {
        Error::TensorType {
            expected: format!("{expected_dtype} {expected_shape}"),
            found: format!("{dtype} {shape:?}"),
        }
    }
}
