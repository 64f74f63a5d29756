//! The blocks of the model crate's source.

use std::fs;
use std::path::{Path, PathBuf};

use linnet_compiler::ast::BlockDecl;
use linnet_compiler::syntax::parse_file;

use crate::error::Error;

/// The blocks in a crate's `src`.
#[derive(Debug, Default)]
pub(crate) struct Source {
    pub blocks: Vec<BlockDecl>,
    /// Every file that was read.
    pub files: Vec<PathBuf>,
    /// The first file that is no Rust, and why: rustc reports it in full.
    pub broken: Option<String>,
}

impl Source {
    /// Reads every `.rs` file below `folder`.
    pub fn read(folder: &Path) -> Result<Source, Error> {
        let mut source = Source::default();
        source.add_folder(folder)?;
        source.files.sort();
        Ok(source)
    }

    /// The only block of this name.
    pub fn block(&self, name: &str) -> Option<&BlockDecl> {
        let mut found = self.blocks.iter().filter(|block| block.name == name);
        match (found.next(), found.next()) {
            (Some(block), None) => Some(block),
            _ => None,
        }
    }

    fn add_folder(&mut self, folder: &Path) -> Result<(), Error> {
        let cannot_read = |path: &Path, e: std::io::Error| {
            Error::new(path.display(), format!("cannot be read: {e}"))
        };
        for entry in fs::read_dir(folder).map_err(|e| cannot_read(folder, e))? {
            let path = entry.map_err(|e| cannot_read(folder, e))?.path();
            if path.is_dir() {
                self.add_folder(&path)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).map_err(|e| cannot_read(&path, e))?;
                self.add_file(&path, &text);
                self.files.push(path);
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path, text: &str) {
        match parse_file(text) {
            // Forms that the language lacks are the macro's to report.
            Ok(file) => self
                .blocks
                .extend(file.blocks.into_iter().map(|(block, _)| block)),
            Err(e) => {
                let line = e.span().start().line;
                self.broken
                    .get_or_insert_with(|| format!("{}:{line}: {e}", path.display()));
            }
        }
    }
}
