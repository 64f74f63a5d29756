//! The folder of the new checkpoint: filled beside its place, then moved there.

use std::fs;
use std::path::{Path, PathBuf};

use linnet_models::CheckpointFiles;
use serde_json::Value;
use tempfile::TempDir;

/// The files beside the weights that a checkpoint may have, all of them small.
const COPIED: [&str; 11] = [
    "LICENSE",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "generation_config.json",
    "merges.txt",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
];

/// A folder that becomes `out` when it is complete.
pub struct NewFolder {
    out: PathBuf,
    temporary: TempDir,
}

impl NewFolder {
    /// Begins a folder.
    ///
    /// # Errors
    ///
    /// When `out` is a file, the folder of the source, or holds anything and
    /// `force` is not given.
    pub fn begin(out: &Path, source: &CheckpointFiles, force: bool) -> Result<NewFolder, String> {
        let name = out.display();
        let failed = |e: std::io::Error| format!("cannot write {name}: {e}");
        if out.exists() {
            if !out.is_dir() {
                return Err(format!(
                    "cannot write {name}: it is a file, and a folder is needed"
                ));
            }
            let same = |source: &Path| -> std::io::Result<bool> {
                Ok(source.canonicalize()? == out.canonicalize()?)
            };
            if let Some(folder) = source.folder()
                && same(folder).map_err(failed)?
            {
                return Err(format!("--out is the folder of the model itself, {name}"));
            }
            let empty = fs::read_dir(out).map_err(failed)?.next().is_none();
            if !empty && !force {
                return Err(format!(
                    "{name} is not empty: give another --out, or --force to replace the \
                     checkpoint in it"
                ));
            }
        }
        let parent = match out.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(failed)?;
        let temporary = tempfile::Builder::new()
            .prefix(".quantize-")
            .tempdir_in(parent)
            .map_err(failed)?;
        Ok(NewFolder {
            out: out.to_owned(),
            temporary,
        })
    }

    /// Where the files go for now.
    pub fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// Puts in what a checkpoint has beside its weights.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or written.
    pub fn add_files(&self, source: &CheckpointFiles, config: &Value) -> Result<(), String> {
        let write = |name: &str, bytes: &[u8]| {
            let path = self.path().join(name);
            fs::write(path, bytes).map_err(|e| format!("cannot write {name}: {e}"))
        };
        for name in COPIED {
            if let Some(bytes) = source.read(name).map_err(|e| e.to_string())? {
                write(name, &bytes)?;
            }
        }
        write("config.json", format!("{config:#}\n").as_bytes())
    }

    /// Moves the files to their place. Weights that an older checkpoint has
    /// there go: the new ones may have other names.
    ///
    /// # Errors
    ///
    /// When a file cannot be moved.
    pub fn finish(self) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("cannot write {}: {e}", self.out.display());
        fs::create_dir_all(&self.out).map_err(failed)?;
        for entry in fs::read_dir(&self.out).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json") {
                fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        for entry in fs::read_dir(self.path()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            fs::rename(entry.path(), self.out.join(entry.file_name())).map_err(failed)?;
        }
        Ok(())
    }
}
