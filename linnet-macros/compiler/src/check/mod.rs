//! Types, obligations and lowering: from declarations to descriptors.
//!
//! The checker walks each body once. An expression is checked against what its
//! context expects, lowered to nodes of [`crate::ir`], and given a type; what
//! that type promises about dimensions is proved from the facts of
//! `#[require(..)]` or reported. After an error the value's type is unknown,
//! and what uses it stays silent.
//!
//! To read it, start with `block` (one item), `function` (one function) and
//! `expr` (one expression). Calls are in `call` and `infer`, `index!` is in
//! `index`, `s![..]` in `slice`. A new rule is a variant of
//! [`Rule`](crate::diagnostic::Rule) and one place that reports it.

mod agree;
mod block;
mod body;
mod branch;
mod builtin;
mod call;
mod declared;
mod expr;
mod function;
mod index;
mod infer;
mod library;
mod literal;
mod loops;
mod member;
mod nearest;
mod obligation;
mod operator;
mod recursion;
mod scope;
mod shape;
mod signature;
mod slice;
mod source;
mod stmt;
#[cfg(test)]
mod tests;
mod types;

use crate::ast;
use crate::diagnostic::Checked;
use crate::ir;

/// Checks the functions of a block and lowers it.
///
/// `signatures` are those of all blocks and operations that `decl` and `imp`
/// name, under the paths by which they name them.
pub fn check_block(
    decl: &ast::BlockDecl,
    imp: &ast::ImplDecl,
    signatures: &[ast::Signature],
) -> Checked<ir::BlockDescriptor> {
    block::check_block(decl, imp, signatures)
}

/// Checks an operation's body and lowers it.
///
/// `signatures` are those of all operations that the body names, under the
/// paths by which it names them.
pub fn check_op(decl: &ast::OpDecl, signatures: &[ast::Signature]) -> Checked<ir::OpDescriptor> {
    block::check_op(decl, signatures)
}
