//! The compiler of linnet: parses `#[block]` and `#[op]` items, checks every
//! shape and dtype, and lowers them to constant descriptors.
//!
//! It does no IO and reads no environment: tokens in, tokens or diagnostics
//! out. The stages, in order: [`ast`] (declarations), `syntax` (parsing),
//! `dim` (dimension arithmetic), `check` (types and obligations, lowering to
//! [`ir`]), `emit` (Rust tokens), `protocol` (how an item learns the
//! signatures of others).
pub mod ast;
pub mod determined;
pub mod dim;
pub mod builtins;
pub mod ir;
pub mod check;
pub mod diagnostic;
pub mod syntax;
pub mod emit;
pub mod expand;
pub mod protocol;
