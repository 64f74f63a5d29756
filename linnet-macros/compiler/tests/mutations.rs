//! Sources with a few tokens changed go through every stage: whatever an
//! author writes, the compiler answers with errors or with a descriptor, and
//! never panics.

use linnet_compiler::syntax::{self, SourceFile};
use linnet_compiler::{check, emit};
use proc_macro2::{Group, TokenStream, TokenTree};
use proptest::prelude::*;

const SOURCES: &[&str] = &[
    include_str!("../../../linnet-runtime/src/nn/attention.rs"),
    include_str!("../../../linnet-runtime/src/nn/linear.rs"),
    include_str!("../../../linnet-runtime/src/nn/norm.rs"),
    include_str!("../../../linnet-runtime/src/nn/cache.rs"),
    include_str!("../../../models/gpt2/src/attention.rs"),
    include_str!("../../../models/gpt2/src/block.rs"),
    include_str!("../../../models/gpt2/src/model.rs"),
];

/// What is done to one token.
#[derive(Debug, Clone, Copy)]
enum Edit {
    Remove,
    Double,
    /// Puts the token of this number, modulo their count, in its place.
    Replace(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        Just(Edit::Remove),
        Just(Edit::Double),
        any::<usize>().prop_map(Edit::Replace),
        any::<usize>().prop_map(Edit::Replace),
    ]
}

/// The tokens that are no groups, in the order of the source.
fn leaves(tokens: &TokenStream, list: &mut Vec<TokenTree>) {
    for token in tokens.clone() {
        match token {
            TokenTree::Group(group) => leaves(&group.stream(), list),
            leaf => list.push(leaf),
        }
    }
}

/// The tokens with the leaf of number `at` edited; `next` counts leaves.
fn edited(
    tokens: TokenStream,
    at: usize,
    edit: Edit,
    leaves: &[TokenTree],
    next: &mut usize,
) -> TokenStream {
    let mut out = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let inner = edited(group.stream(), at, edit, leaves, next);
                out.push(TokenTree::Group(Group::new(group.delimiter(), inner)));
            }
            leaf => {
                if *next == at {
                    match edit {
                        Edit::Remove => {}
                        Edit::Double => out.extend([leaf.clone(), leaf]),
                        Edit::Replace(with) => out.push(leaves[with % leaves.len()].clone()),
                    }
                } else {
                    out.push(leaf);
                }
                *next += 1;
            }
        }
    }
    out.into_iter().collect()
}

/// All stages after parsing, for every item, also those with errors: the
/// macros skip stages after errors, and tools may not.
fn compile(file: &SourceFile) {
    let valid = |tokens: TokenStream| {
        let text = tokens.to_string();
        assert!(syn::parse2::<syn::File>(tokens).is_ok(), "not Rust: {text}");
    };
    for error in &file.errors {
        valid(error.to_compile_error());
    }
    for (block, functions) in &file.blocks {
        let signatures = file.signatures(&syntax::block_callee_paths(functions, block));
        valid(emit::emit_struct(block));
        valid(emit::emit_block(block, functions, 1));
        let checked = check::check_block(block, functions, &signatures);
        for error in &checked.diagnostics {
            valid(error.to_compile_error());
        }
        if let Some(lowered) = checked.value {
            valid(emit::emit_block_descriptor(&block.name, 1, &lowered));
        }
    }
    for op in &file.ops {
        let signatures = file.signatures(&syntax::op_callee_paths(op));
        valid(emit::emit_op(op, 1));
        let checked = check::check_op(op, &signatures);
        for error in &checked.diagnostics {
            valid(error.to_compile_error());
        }
        if let Some(lowered) = checked.value {
            valid(emit::emit_op_descriptor(&op.function.name, 1, &lowered));
        }
    }
}

#[test]
fn the_sources_themselves_compile() {
    for source in SOURCES {
        let file = syntax::parse_file(source).expect("the source is Rust");
        assert!(file.errors.is_empty(), "{:?}", file.errors);
        assert!(!file.blocks.is_empty() || !file.ops.is_empty());
        compile(&file);
    }
}

proptest! {
    #[test]
    fn changed_tokens_never_panic(
        source in prop::sample::select(SOURCES),
        edits in prop::collection::vec((any::<usize>(), edit()), 1..4),
    ) {
        let mut tokens: TokenStream = source.parse().expect("the source has tokens");
        for (at, edit) in edits {
            let mut list = Vec::new();
            leaves(&tokens, &mut list);
            if list.is_empty() {
                break;
            }
            tokens = edited(tokens, at % list.len(), edit, &list, &mut 0);
        }
        // What is no Rust never reaches a macro.
        if let Ok(file) = syntax::parse_file(&tokens.to_string()) {
            compile(&file);
        }
    }
}
