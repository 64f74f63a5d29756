//! The standard operations and GPT-2 pass as they stand in the repository.

use super::harness::passes;

/// The items of source files, without what only Rust reads.
fn items(files: &[&str]) -> String {
    files
        .iter()
        .flat_map(|file| file.lines())
        .filter(|line| !line.starts_with("//!"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The standard operations and blocks.
const NN: &[&str] = &[
    include_str!("../../../../../linnet-runtime/src/nn/activations.rs"),
    include_str!("../../../../../linnet-runtime/src/nn/attention.rs"),
    include_str!("../../../../../linnet-runtime/src/nn/cache.rs"),
    include_str!("../../../../../linnet-runtime/src/nn/embedding.rs"),
    include_str!("../../../../../linnet-runtime/src/nn/linear.rs"),
    include_str!("../../../../../linnet-runtime/src/nn/norm.rs"),
    include_str!("../../../../../linnet-runtime/src/nn/softmax.rs"),
];

/// GPT-2.
const GPT2: &[&str] = &[
    include_str!("../../../../../models/gpt2/src/attention.rs"),
    include_str!("../../../../../models/gpt2/src/block.rs"),
    include_str!("../../../../../models/gpt2/src/conv1d.rs"),
    include_str!("../../../../../models/gpt2/src/layer_norm.rs"),
    include_str!("../../../../../models/gpt2/src/mlp.rs"),
    include_str!("../../../../../models/gpt2/src/model.rs"),
];

#[test]
fn the_standard_operations_pass() {
    let program = passes(&items(NN));
    assert!(program.ops.len() >= 15, "{}", program.ops.len());
}

#[test]
fn gpt2_passes() {
    let program = passes(&items(&[NN, GPT2].concat()));
    let model = program
        .blocks
        .iter()
        .find(|block| block.name == "Model")
        .unwrap();
    let entries = model.functions.iter().filter(|function| function.entry);
    assert_eq!(entries.count(), 5);
}
