//! Types, obligations and lowering: from declarations to descriptors.
//!
//! The checker walks each body once. An expression is checked against what its
//! context expects, lowered to nodes of [`crate::ir`], and given a type; what
//! that type promises about dimensions is proved from the facts of
//! `#[require(..)]` or reported. After an error the value's type is unknown,
//! and what uses it stays silent.

use crate::ast;
use crate::diagnostic::Checked;
use crate::ir;

/// Checks the functions of a block and lowers it.
///
/// `signatures` are those of all blocks and operations that `decl` and `imp`
/// name, under the paths by which they name them.
pub fn check_block(
    _decl: &ast::BlockDecl,
    _imp: &ast::ImplDecl,
    _signatures: &[ast::Signature],
) -> Checked<ir::BlockDescriptor> {
    Checked::failed(Vec::new())
}

/// Checks an operation's body and lowers it.
///
/// `signatures` are those of all operations that the body names, under the
/// paths by which it names them.
pub fn check_op(_decl: &ast::OpDecl, _signatures: &[ast::Signature]) -> Checked<ir::OpDescriptor> {
    Checked::failed(Vec::new())
}
