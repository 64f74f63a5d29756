//! What a kernel says about arguments it cannot compute with.

/// A result of this crate.
pub type Result<T> = std::result::Result<T, KernelError>;

/// Why a kernel refused its arguments. Nothing has been written when a kernel
/// returns one of these, and building one allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// Two lengths that must agree do not.
    #[error("{kernel}: {what} must be {expected}, found {found}")]
    Shape {
        /// The kernel that was called.
        kernel: &'static str,
        /// Which length of which argument.
        what: &'static str,
        /// The length the other arguments ask for.
        expected: usize,
        /// The length that was given.
        found: usize,
    },
    /// A view reaches past the end of its slice.
    #[error("{kernel}: {what} reaches element {needed} of a slice that has {len}")]
    OutOfBounds {
        /// The kernel or view constructor that was called.
        kernel: &'static str,
        /// Which argument.
        what: &'static str,
        /// Elements the shape and the strides need (`usize::MAX` if the count overflows).
        needed: usize,
        /// Elements there are.
        len: usize,
    },
    /// An output view whose strides name one element twice.
    #[error(
        "{kernel}: the strides of {what} name an element more than once, so it cannot be written to"
    )]
    Aliased {
        /// The kernel or view constructor that was called.
        kernel: &'static str,
        /// Which argument.
        what: &'static str,
    },
    /// A run-time index (a token id, a position, a cache row) outside its axis.
    #[error("{kernel}: {what}[{at}] is {value}, which is not in 0..{limit}")]
    Index {
        /// The kernel that was called.
        kernel: &'static str,
        /// Which argument.
        what: &'static str,
        /// Where in that argument.
        at: usize,
        /// The value found there.
        value: i64,
        /// The first value that is too large.
        limit: usize,
    },
    /// The scratch space is smaller than the kernel's `*_scratch` function says.
    #[error("{kernel}: needs {needed} f32 elements of scratch space, was given {found}")]
    Scratch {
        /// The kernel that was called.
        kernel: &'static str,
        /// Elements needed.
        needed: usize,
        /// Elements given.
        found: usize,
    },
    /// An argument value that the kernel has no meaning for.
    #[error("{kernel}: {what}")]
    Invalid {
        /// The kernel that was called.
        kernel: &'static str,
        /// What is wrong, as a sentence.
        what: &'static str,
    },
    /// The asked-for instruction set is not on this machine.
    #[error("the instruction set {name} is not available on this machine (available: {available})")]
    IsaUnavailable {
        /// Its name.
        name: &'static str,
        /// The best one that is.
        available: &'static str,
    },
    /// `LINNET_CPU` names no instruction set.
    #[error(
        "the environment variable LINNET_CPU names no instruction set: expected portable, avx2 or avx512 \
         (unset it to let linnet choose)"
    )]
    IsaUnknown,
    /// The operating system refused to start a worker thread.
    #[error("could not start worker thread {index} of {threads}: ask for fewer threads")]
    Threads {
        /// Which worker.
        index: usize,
        /// How many threads were asked for.
        threads: usize,
    },
}

/// Checks that two lengths agree.
pub(crate) fn expect_len(
    kernel: &'static str,
    what: &'static str,
    expected: usize,
    found: usize,
) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(KernelError::Shape {
        kernel,
        what,
        expected,
        found,
    })
}

/// Checks that the scratch space is large enough.
pub(crate) fn expect_scratch(kernel: &'static str, needed: usize, found: usize) -> Result<()> {
    if needed <= found {
        return Ok(());
    }
    Err(KernelError::Scratch {
        kernel,
        needed,
        found,
    })
}
