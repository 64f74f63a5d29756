//! What the macros say. Each file of `ui/fail` breaks the rule that it is named
//! for, and has a twin of the same name in `ui/pass` that keeps it, which
//! `ui_pass.rs` compiles. After a change of messages, run with
//! `TRYBUILD=overwrite` and read the difference.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("ui/fail/*.rs");
}

#[test]
fn each_mistake_has_a_twin() {
    assert_eq!(names("fail", "rs"), names("pass", "rs"));
    assert_eq!(names("fail", "rs"), names("fail", "stderr"));
}

/// Each code that the compiler can report is reported for some file.
#[test]
fn each_rule_has_a_case() {
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../linnet-macros/compiler/src/diagnostic.rs");
    let source = fs::read_to_string(source).expect("the rules");
    let codes: BTreeSet<&str> = source.split('"').filter(|text| is_code(text)).collect();
    assert!(codes.len() > 50, "{codes:?}");
    let mut missing = codes;
    for name in names("fail", "stderr") {
        let text = fs::read_to_string(folder("fail").join(name + ".stderr")).expect("a case");
        missing.retain(|code| !text.contains(&format!("[{code}]")));
    }
    assert_eq!(
        missing,
        BTreeSet::new(),
        "no case of `ui/fail` breaks these rules"
    );
}

/// rustc adds nothing to an error of ours: whoever breaks a rule is told so once.
#[test]
fn rustc_adds_nothing() {
    for name in names("fail", "stderr") {
        let text = fs::read_to_string(folder("fail").join(format!("{name}.stderr")));
        let text = text.expect("a case");
        let errors = text.lines().filter(|line| line.starts_with("error"));
        let (ours, theirs): (Vec<_>, Vec<_>) = errors.partition(|line| {
            line.strip_suffix(']')
                .and_then(|line| line.rsplit_once('['))
                .is_some_and(|(_, code)| is_code(code))
        });
        assert!(
            ours.is_empty() || theirs.is_empty(),
            "{name}: {ours:#?} and {theirs:#?}"
        );
    }
}

fn is_code(text: &str) -> bool {
    text.len() == 5 && text.starts_with('E') && text[1..].bytes().all(|byte| byte.is_ascii_digit())
}

fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ui").join(kind)
}

/// The names of the files with this extension.
fn names(kind: &str, extension: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder(kind)).expect("a folder of cases");
    let paths = entries.map(|entry| entry.expect("a file").path());
    paths
        .filter(|path| path.extension().is_some_and(|ext| ext == extension))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect()
}
