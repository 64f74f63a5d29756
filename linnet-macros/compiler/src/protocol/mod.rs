//! How an item learns the signatures of others.
//!
//! A procedural macro sees one item. So each block and operation leaves a
//! `macro_rules!` macro under its own name that answers with its signature,
//! and `use` carries it wherever the name goes. An item asks in a chain: each
//! macro appends its answer to the list it was given and calls the
//! next, and the last calls the procedural macro that checks.
//!
//! ```text
//! Linear! { @ask [] [{gelu} {nn::softmax}] {Linear} {{finish} payload} }
//!   -> gelu! { @ask [{block ..}] [{nn::softmax}] {gelu} {{finish} payload} }
//!     -> nn::softmax! { @ask [{block ..} {op ..}] [] {nn::softmax} {{finish} payload} }
//!       -> finish! { payload [{block ..} {op ..} {op ..}] }
//! ```
//!
//! Each name is one level of expansion, of which rustc allows 128: an item may
//! name about 120 others before its crate needs a higher `recursion_limit`.
//!
//! The struct of a block speaks to its `impl` in the same way, by a macro that
//! is private to their module ([`struct_macro`]).

mod answer;
mod chain;
mod signature;

pub use answer::{Answers, answer_macro, parse_answers};
pub(crate) use chain::resolved_at;
pub use chain::{ask, ask_struct, struct_macro};
pub use signature::{Answer, block_answer, broken_answer, op_answer};
pub(crate) use signature::{bound_name, dtype_name};

#[cfg(test)]
mod tests;
