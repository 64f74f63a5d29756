//! What the tests share: one source text in, types or diagnostics out.

use super::well_formed::assert_well_formed;
use crate::diagnostic::{Checked, Diagnostic};
use crate::ir;
use crate::syntax::{self, SourceFile};

/// Everything that a source declares, checked and lowered.
#[derive(Debug, Default)]
pub(super) struct Program {
    /// Its blocks.
    pub(super) blocks: Vec<ir::BlockDescriptor>,
    /// Its operations.
    pub(super) ops: Vec<ir::OpDescriptor>,
    /// Everything that is wrong with it.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Parses and checks all items of a source.
pub(super) fn check(source: &str) -> Program {
    check_after("", source)
}

/// Parses and checks all items of a source, which may name those of `prelude`.
pub(super) fn check_after(prelude: &str, source: &str) -> Program {
    let before = parse(prelude);
    let file = parse(&format!("{prelude}\n{source}"));
    let mut program = Program {
        diagnostics: file.errors.clone(),
        ..Program::default()
    };
    for op in file.ops.iter().skip(before.ops.len()) {
        let signatures = file.signatures(&syntax::op_callee_paths(op));
        let Checked { value, diagnostics } = super::super::check_op(op, &signatures);
        if let Some(op) = &value {
            assert_well_formed(&op.function);
        }
        program.ops.extend(value);
        program.diagnostics.extend(diagnostics);
    }
    for (decl, imp) in file.blocks.iter().skip(before.blocks.len()) {
        let signatures = file.signatures(&syntax::block_callee_paths(imp, decl));
        let Checked { value, diagnostics } = super::super::check_block(decl, imp, &signatures);
        let functions = value.iter().flat_map(|block| &block.functions);
        functions.for_each(assert_well_formed);
        program.blocks.extend(value);
        program.diagnostics.extend(diagnostics);
    }
    program
}

fn parse(source: &str) -> SourceFile {
    syntax::parse_file(source).unwrap_or_else(|error| panic!("not Rust: {error}"))
}

/// All diagnostics as text, each followed by the tokens that it is about.
pub(super) fn text(program: &Program) -> String {
    let parts = program.diagnostics.iter().map(|diagnostic| {
        format!(
            "{}\n  at `{}`",
            diagnostic.text(),
            syntax::text(&diagnostic.tokens)
        )
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// Checks a source that must pass.
pub(super) fn passes(source: &str) -> Program {
    let program = check(source);
    assert!(program.diagnostics.is_empty(), "{}", text(&program));
    program
}
