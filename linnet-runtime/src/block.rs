//! What the macros implement for blocks and operations.

use crate::descriptor::{BlockDescriptor, OpDescriptor};
use crate::dtype::DType;
use crate::instance::Instance;

/// A type that `#[block]` declares.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a block",
    label = "there is no `#[block] impl` of this struct",
    note = "a block is a `#[block] struct` and below it, in the same module, one `#[block] impl` with its functions, if any"
)]
pub trait Block: Sized {
    /// Its members and functions.
    const DESCRIPTOR: &'static BlockDescriptor;

    /// What this type says of its generics, in the order of their declaration.
    fn generic_args() -> Vec<StaticArg>;

    /// A loaded block with its type. The caller sees to it that `instance` is of
    /// [`Block::DESCRIPTOR`] and agrees with [`Block::generic_args`].
    fn from_instance(instance: Instance) -> Self;

    /// The loaded block.
    fn instance(&self) -> &Instance;

    /// The loaded block, to change its settings.
    fn instance_mut(&mut self) -> &mut Instance;
}

/// What a block's type says of one of its generics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaticArg {
    /// A dimension; None if it is known only when the block is loaded.
    Dim(Option<usize>),
    /// A dtype.
    DType(DType),
}

/// The type that `#[op]` declares beside its function, under the same name.
pub trait Op {
    /// Its function and kernel.
    const DESCRIPTOR: &'static OpDescriptor;
}
