//! Lists the files of `ui/pass` as modules, so that `tests/ui_pass.rs` compiles
//! all of them at once: as programs of their own they would take minutes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/pass");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(&folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    let mut modules = String::new();
    for path in paths
        .iter()
        .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
    {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = "#[allow(dead_code, unused_variables, missing_docs)]";
        writeln!(modules, "{text}\n#[path = {path:?}]\nmod {name};").map_err(io::Error::other)?;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("ui_pass.rs");
    if fs::read_to_string(&out).is_ok_and(|old| old == modules) {
        return Ok(());
    }
    fs::write(out, modules)
}
