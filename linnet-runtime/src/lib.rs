//! Tensors, the standard blocks, weights and the executor of linnet.
//!
//! A model is written with `#[block]` and `#[op]`, which compile to constant
//! [`descriptor`]s. An [`Instance`] holds a block's parameters and states; a
//! call on it is planned once for its sizes and then runs as a list of kernels
//! in memory that was laid out beforehand.

extern crate self as linnet_runtime;

pub mod block;
pub mod call;
pub mod card;
pub mod descriptor;
pub mod device;
pub mod dim;
pub mod dtype;
pub mod env;
pub mod error;
mod exec;
pub mod instance;
pub mod kernel;
pub mod nn;
pub mod notation;
pub mod numerics;
mod plan;
pub mod quant;
pub mod shape;
pub mod storage;
pub mod tensor;
pub mod weights;

pub use block::{Block, Op, StaticArg};
pub use call::{Argument, FromOutput, IntoArgument, Output, OutputValue};
pub use device::Device;
pub use dim::{Const, Dim, Dyn};
pub use dtype::{DType, Element, Float, Int, ScalarValue, bf16, f16};
pub use env::GenericValue;
pub use error::{Error, Result};
pub use instance::{Instance, Parameters, call_op};
pub use numerics::Numerics;
pub use shape::{AnyShape, Shape};
pub use tensor::{ErasedTensor, Tensor};

pub use linnet_macros::{Tensor, block, index, op, s};

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

/// What a file that declares blocks or operations imports.
pub mod prelude {
    pub use crate::block::{Block as _, Op as _};
    pub use crate::dim::{Const, Dim, Dyn};
    pub use crate::dtype::{Element, Float, Int, bf16, f16};
    pub use crate::shape::{AnyShape, Shape};
    pub use crate::tensor::Tensor;
    pub use linnet_macros::{Tensor, block, index, op, s};
}
