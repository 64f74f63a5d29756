//! The kernel families, and the context they run in.

pub mod attention;
pub mod binary;
pub mod cache;
pub mod convert;
pub mod copy;
pub mod embedding;
pub mod experts;
pub mod linear;
pub mod matmul;
pub mod norm;
pub mod probe;
pub mod quant;
pub mod ranks;
pub mod reduce;
pub mod rope;
mod rows;
mod scratch;
pub mod softmax;
pub mod swiglu;
pub mod unary;

use crate::error::Result;
use crate::isa::{Isa, Level};
use crate::pool::ThreadPool;
use crate::simd::Kernel;

/// Where kernels run: some threads and an instruction set.
#[derive(Debug)]
pub struct Cpu {
    pool: ThreadPool,
    level: Level,
}

impl Cpu {
    /// A context with `threads` threads (the caller included) and the instruction set that
    /// `LINNET_CPU` asks for, else the best one.
    ///
    /// # Errors
    /// If `threads` is 0, the system refuses to start them, or `LINNET_CPU` asks for
    /// something this machine does not have.
    pub fn new(threads: usize) -> Result<Self> {
        Self::with_isa(threads, Isa::chosen()?)
    }

    /// A context with a given instruction set.
    ///
    /// # Errors
    /// If `threads` is 0, the system refuses to start them, or this machine does not have `isa`.
    pub fn with_isa(threads: usize, isa: Isa) -> Result<Self> {
        Ok(Self {
            level: Level::require(isa)?,
            pool: ThreadPool::new(threads)?,
        })
    }

    /// The number of threads, the caller included.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.level.isa()
    }

    /// The threads, for loops of the caller's own. A kernel called from within
    /// such a loop runs on the calling thread alone.
    pub fn pool(&self) -> &ThreadPool {
        &self.pool
    }

    #[inline(always)]
    pub(crate) fn dispatch<K: Kernel>(&self, kernel: K) -> K::Output {
        self.level.dispatch(kernel)
    }
}
