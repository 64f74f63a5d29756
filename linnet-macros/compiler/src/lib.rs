//! The compiler of linnet: parses `#[block]` and `#[op]` items, checks every
//! shape and dtype, and lowers them to constant descriptors.
//!
//! It does no IO and reads no environment: tokens in, tokens or diagnostics
//! out. The stages, in order: [`ast`] (declarations), [`syntax`] (parsing),
//! [`protocol`] (how an item learns the signatures of others), [`dim`]
//! (dimension arithmetic), [`check`] (types and obligations, lowering to
//! [`ir`]), [`emit`] (Rust tokens). [`expand`] runs them for each macro: open
//! it first.

pub mod ast;
pub mod builtins;
pub mod check;
pub mod determined;
pub mod diagnostic;
pub mod dim;
pub mod emit;
pub mod expand;
pub mod ir;
pub mod protocol;
pub mod syntax;
