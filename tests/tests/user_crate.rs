//! A crate outside this workspace, as a user has one: its blocks stand in two
//! modules and use ours. It is built and run from a copy with this workspace's
//! lock file, so that nothing has to be downloaded.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

#[test]
fn a_crate_outside_the_workspace_builds_and_runs() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("user-crate");
    copy(&tests.join("user-crate"), &folder);
    let lock = tests.join("../Cargo.lock");
    fs::copy(&lock, folder.join("Cargo.lock")).expect("the workspace has a lock file");
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("the manifest was copied");
    let runtime = tests
        .join("../linnet-runtime")
        .canonicalize()
        .expect("the runtime's folder");
    let absolute = text.replace("\"../../linnet-runtime\"", &format!("{runtime:?}"));
    assert_ne!(
        text, absolute,
        "the manifest names the runtime by this path"
    );
    fs::write(&manifest, absolute).expect("the copy can be written");

    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--offline", "--quiet"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo runs");
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}\n{err}");
    assert!(!err.contains("warning"), "{err}");
    let lines: Vec<&str> = out.lines().collect();
    // x0 + silu(10 x0) x1 / 10 in each layer, and silu(10) is 9.9995.
    assert_eq!(lines[0], "[2, 2] [9.000, 2.000, 3.000, 0.000]");
    assert_eq!(lines[1], "2 calls");
    assert!(lines[2].contains("B > 0"), "{}", lines[2]);
    assert_eq!(lines.len(), 3, "{out}");
}

/// Copies the sources of a crate over what an earlier run left.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the target folder can be written");
    for entry in fs::read_dir(from).expect("the crate's folder") {
        let entry = entry.expect("an entry of it");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_name() == "target" {
            continue;
        }
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("a file of the crate");
        }
    }
}
