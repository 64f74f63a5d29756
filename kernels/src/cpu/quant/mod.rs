//! Weights in few bits, multiplied as they are stored: 8 or 4 bits with scales by row or by
//! group, and MXFP4.
//!
//! No copy of the weights is made but of the part at hand, in a thread's cache. `format` says
//! what the formats are, `product` how a product is divided, `stream` and `unpack` are its inner
//! loops, `arrange` puts x into their order. [`crate::cpu::experts`] builds on the same.

pub(crate) mod arrange;
pub(crate) mod format;
mod linear;
pub(crate) mod mxfp4;
pub(crate) mod product;
pub(crate) mod stream;
pub(crate) mod unpack;

pub use linear::{
    GroupLayout, Int4Groups, int4_group_linear, int4_group_linear_scratch, int4_linear,
    int4_linear_scratch, int8_linear, int8_linear_scratch,
};
pub use mxfp4::{Mxfp4, dequantize};

#[cfg(test)]
pub(crate) mod tests;
