//! Affine maps whose weights are stored in few bits.
//!
//! Each operation reads the stored codes; no floating-point copy of a weight is
//! made. The blocks have the signature of a float map (`In` features to `Out`,
//! `forward` over the last axis), so a checkpoint may hold one of them where a
//! model declares [`Linear`](crate::nn::linear::Linear) or a block like it.
//!
//! The value of a stored weight, `w[o, i]`:
//!
//! | block | codes | `w[o, i]` |
//! | --- | --- | --- |
//! | [`Int8Linear`](int8::Int8Linear) | `i8`, one a byte | `code * scale[o]` |
//! | [`Int4Linear`](int4::Int4Linear) | -8 to 7, two a byte | `code * scale[o]` |
//! | [`Int4GroupLinear`](int4_group::Int4GroupLinear) | 0 to 15, two a byte | `(code - zero[o, g]) * scale[o, g]` with `g = i / Group` |
//!
//! Of the two codes of a byte, the low four bits are the even column's.
//!
//! What such a checkpoint's tensors are named and how `config.json` describes
//! them is in [`Scheme`].

pub(crate) mod affine;
pub(crate) mod format;
pub mod int4;
pub mod int4_group;
pub mod int8;
pub mod mxfp4;
pub(crate) mod reads;
pub(crate) mod scheme;

pub use format::Format;
pub use scheme::Scheme;
