//! The CPU kernels of linnet.
//!
//! Safe functions over slices and strided views. The first argument of each is the
//! [`Cpu`]: a thread pool and an instruction set. Arguments are checked before
//! anything is computed, and a kernel returns a [`KernelError`] instead of
//! panicking. No kernel allocates: those that need room take it from the caller and
//! have a `*_scratch` function that says how much. Results do not depend on the
//! number of threads, bit for bit.
//!
//! Memory holds f32, f16 or bf16 ([`Element`]); arithmetic is in f32.
//!
//! Dimensions: B batch, S positions of a query, M positions of a cache, H heads,
//! D head dimension, R rows, I inner (summed) length, O outputs.

mod cpu;
mod element;
mod error;
mod isa;
mod pool;
mod simd;
#[cfg(test)]
mod testing;
mod view;

pub use cpu::{
    Cpu, attention, binary, cache, convert, copy, embedding, experts, linear, matmul, norm, probe,
    quant, ranks, reduce, rope, softmax, swiglu, unary,
};
pub use element::Element;
pub use error::{KernelError, Result};
pub use isa::{ISA_VARIABLE, Isa};
pub use pool::ThreadPool;
pub use view::{HeadsMut, HeadsRef, MAX_RANK, MatMut, MatRef};
