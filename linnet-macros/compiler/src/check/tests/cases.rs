//! Runs `cases/*.txt`.

use std::path::{Path, PathBuf};

use super::harness::{Program, check_after, passes, text};
use super::show;

/// Blocks and operations that every case may use.
pub(super) const PRELUDE: &str = include_str!("cases/prelude.rs");

/// What stands before the name of a case.
const CASE: &str = "=== ";

/// What stands between a source and what becomes of it.
const RESULT: &str = "--- ";

struct Case {
    name: String,
    source: String,
    expected: String,
}

fn parse(file: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut in_result = false;
    for line in file.lines() {
        if let Some(name) = line.strip_prefix(CASE) {
            in_result = false;
            cases.push(Case {
                name: name.to_owned(),
                source: String::new(),
                expected: String::new(),
            });
        } else if let Some(case) = cases.last_mut() {
            if !in_result && line == RESULT.trim_end() {
                in_result = true;
            } else {
                let part = if in_result {
                    &mut case.expected
                } else {
                    &mut case.source
                };
                part.push_str(line);
                part.push('\n');
            }
        }
    }
    cases
}

/// What becomes of a case.
fn outcome(case: &Case) -> String {
    let program = check_after(PRELUDE, &case.source);
    if program.diagnostics.is_empty() {
        lowered(&program)
    } else {
        text(&program)
    }
}

/// The functions of a case.
fn lowered(program: &Program) -> String {
    let mut parts = Vec::new();
    for op in &program.ops {
        parts.push(format!(
            "fn {}\n{}",
            op.function.name,
            show::function(&op.function)
        ));
    }
    for block in &program.blocks {
        for function in &block.functions {
            let name = format!("fn {}::{}", block.name, function.name);
            parts.push(format!("{name}\n{}", show::function(function)));
        }
    }
    parts.join("\n")
}

/// The sources of all cases.
pub(super) fn sources() -> Vec<String> {
    let files = files()
        .into_iter()
        .map(|path| std::fs::read_to_string(path).unwrap());
    files
        .flat_map(|file| parse(&file))
        .map(|case| case.source)
        .collect()
}

#[test]
fn the_prelude_passes() {
    passes(PRELUDE);
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/check/tests/cases");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    files
}

#[test]
fn cases_come_out_as_written() {
    let bless = std::env::var_os("LINNET_BLESS").is_some();
    let mut wrong = Vec::new();
    let mut n_cases = 0;
    for path in files() {
        let file = std::fs::read_to_string(&path).unwrap();
        let mut written = String::new();
        for case in parse(&file) {
            n_cases += 1;
            let outcome = outcome(&case);
            if outcome.trim_end() != case.expected.trim_end() {
                wrong.push(format!(
                    "{} in {}\nexpected:\n{}\nfound:\n{outcome}\n",
                    case.name,
                    path.display(),
                    case.expected
                ));
            }
            let source = case.source.trim_matches('\n');
            written.push_str(&format!(
                "{CASE}{}\n{source}\n{}\n{}\n\n",
                case.name,
                RESULT.trim_end(),
                outcome.trim_end()
            ));
        }
        if bless {
            std::fs::write(&path, format!("{}\n", written.trim_end())).unwrap();
        }
    }
    assert!(n_cases > 100, "only {n_cases} cases were found");
    assert!(bless || wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every rule has a case that breaks it, except those that only parsing or
/// the front ends report.
#[test]
fn every_rule_has_a_case() {
    let all: String = files()
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let missing: Vec<&str> = crate::diagnostic::CODES
        .iter()
        .copied()
        .filter(|code| !all.contains(&format!("[{code}]")))
        .collect();
    assert!(missing.is_empty(), "no case breaks {missing:?}");
}
