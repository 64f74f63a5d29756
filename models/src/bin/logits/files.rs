//! Tokens in, logits out.

use std::io::Write;
use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

/// `tokens`: `[rows, length]`.
pub struct Tokens {
    pub ids: Vec<i32>,
    pub rows: usize,
    pub length: usize,
}

/// `logits`: `[rows, length, vocab]` as little-endian f32.
pub struct LogitsFile {
    pub bytes: Vec<u8>,
    pub shape: [usize; 3],
}

impl Tokens {
    /// Reads `tokens` from a safetensors file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let bytes = std::fs::read(path).map_err(|e| format!("cannot read {name}: {e}"))?;
        let file = SafeTensors::deserialize(&bytes)
            .map_err(|e| format!("{name} is not a safetensors file: {e}"))?;
        let tensor = file.tensor("tokens").map_err(|_| {
            let mut names = file.names();
            names.sort_unstable();
            format!("{name} has no tensor `tokens`; it has {names:?}")
        })?;
        let &[rows, length] = tensor.shape() else {
            return Err(format!(
                "`tokens` in {name} has shape {:?}, expected [B, S]: sequences of one length",
                tensor.shape()
            ));
        };
        if rows == 0 || length == 0 {
            return Err(format!(
                "`tokens` in {name} has shape [{rows}, {length}], expected at least one sequence \
                 of at least one token"
            ));
        }
        let ids = ids(&tensor).map_err(|problem| format!("`tokens` in {name} {problem}"))?;
        Ok(Self { ids, rows, length })
    }

    /// Checks every id against the vocabulary.
    pub fn check(&self, vocab: usize, path: &Path) -> Result<(), String> {
        let out_of_range = |&id: &i32| usize::try_from(id).map_or(true, |id| id >= vocab);
        match self.ids.iter().position(out_of_range) {
            Some(at) => Err(format!(
                "`tokens` in {} has id {} at [{}, {}], but the vocabulary is 0 to {}",
                path.display(),
                self.ids[at],
                at / self.length,
                at % self.length,
                vocab - 1
            )),
            None => Ok(()),
        }
    }

    /// One sequence.
    pub fn row(&self, row: usize) -> &[i32] {
        &self.ids[row * self.length..(row + 1) * self.length]
    }
}

fn ids(tensor: &TensorView<'_>) -> Result<Vec<i32>, String> {
    match tensor.dtype() {
        Dtype::I32 => {
            let (values, _) = tensor.data().as_chunks();
            Ok(values
                .iter()
                .map(|&bytes| i32::from_le_bytes(bytes))
                .collect())
        }
        Dtype::I64 => {
            let (values, _) = tensor.data().as_chunks();
            let narrow = |(i, &bytes)| {
                let id = i64::from_le_bytes(bytes);
                i32::try_from(id)
                    .map_err(|_| format!("has id {id} at element {i}, which no vocabulary has"))
            };
            values.iter().enumerate().map(narrow).collect()
        }
        other => Err(format!("has dtype {other:?}, expected I32 or I64")),
    }
}

/// The folder that a file is in.
fn folder(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Whether the result can be written, before it is computed.
pub fn check_writable(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err(format!("cannot write {}: it is a folder", path.display()));
    }
    temporary(path).map(drop)
}

/// A file beside `path`, with the permissions that a new file gets.
fn temporary(path: &Path) -> Result<tempfile::NamedTempFile, String> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(permissions);
    builder
        .prefix(".logits-")
        .tempfile_in(folder(path))
        .map_err(|e| format!("cannot write in {}: {e}", folder(path).display()))
}

/// Writes `logits` to a safetensors file, which appears when it is complete.
pub fn write(path: &Path, logits: &LogitsFile) -> Result<(), String> {
    let failed = |e: &dyn std::fmt::Display| format!("cannot write {}: {e}", path.display());
    let view = TensorView::new(Dtype::F32, logits.shape.to_vec(), &logits.bytes)
        .map_err(|e| failed(&e))?;
    let mut file = temporary(path)?;
    safetensors::serialize_to_file([("logits", view)], None, file.path())
        .map_err(|e| failed(&e))?;
    file.flush()
        .and_then(|()| file.as_file().sync_all())
        .map_err(|e| failed(&e))?;
    file.persist(path).map(drop).map_err(|e| failed(&e.error))
}
