//! What emitted code uses, and nobody else.

use crate::block::Block;
use crate::descriptor::{BlockDescriptor, Body, Function, OpDescriptor, Receiver, Type};

pub use linnet_macros::{check_block, check_op, declare_block};

/// Compiles for blocks only: a struct without its `impl` is none yet.
pub const fn is_block<B: Block>() {}

/// Stands in for the descriptor of a block that has errors. A crate with one
/// does not compile, so nothing ever runs it.
pub static UNCHECKED_BLOCK: BlockDescriptor = BlockDescriptor {
    name: "",
    module: "",
    generics: &[],
    requires: &[],
    members: &[],
    functions: &[],
};

/// Stands in for the descriptor of an operation that has errors.
pub static UNCHECKED_OP: OpDescriptor = OpDescriptor {
    module: "",
    function: Function {
        name: "",
        public: false,
        entry: false,
        receiver: Receiver::None,
        generics: &[],
        requires: &[],
        params: &[],
        ret: Type::Unit,
        body: Body {
            nodes: &[],
            result: None,
        },
        n_values: 0,
    },
    kernel: None,
};
