//! Writes a checkpoint into a folder.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::error::Error;
use crate::layout::{self, Layout};
use crate::published::Published;
use crate::values::Values;

/// Bytes made and written at a time: inside the second-level cache they go to the system fast.
const CHUNK: usize = 1 << 20;

/// Room for the small files, and what the file system takes for itself.
const MARGIN: u64 = 16 << 20;

/// Writes the weights, the index and, last, `config.json`.
pub fn checkpoint(
    model: &Published,
    layout: &Layout,
    folder: &Path,
    seed: u64,
    force: bool,
) -> Result<(), Error> {
    let old = entries(folder)?;
    if !old.is_empty() && !force {
        return Err(Error::NotEmpty(folder.to_owned()));
    }
    let replaced: Vec<&PathBuf> = old.iter().filter(|path| is_of_a_checkpoint(path)).collect();
    check_space(folder, layout, &replaced)?;
    fs::create_dir_all(folder).map_err(Error::io("create the folder", folder))?;
    // config.json first: without it the rest is no checkpoint.
    let is_config = |path: &&PathBuf| path.ends_with("config.json");
    let (config, rest): (Vec<_>, Vec<_>) = replaced.into_iter().partition(is_config);
    for path in config.into_iter().chain(rest) {
        fs::remove_file(path).map_err(Error::io("remove", path))?;
    }

    let bar = progress(layout.n_bytes());
    for file in &layout.files {
        bar.set_message(file.name.clone());
        Partial::create(folder, &file.name)?.complete(|out| weights(out, file, seed, &bar))?;
    }
    bar.finish_and_clear();
    let index = layout.index();
    let index = index.map(|index| ("model.safetensors.index.json", index));
    for (name, value) in index.into_iter().chain([("config.json", model.config())]) {
        Partial::create(folder, name)?.complete(|out| json(out, &value))?;
    }
    Ok(())
}

/// What is in the folder; nothing if it is not there.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(_) if folder.exists() && !folder.is_dir() => {
            return Err(Error::NotAFolder(folder.to_owned()));
        }
        Err(error) => return Err(Error::io("read the folder", folder)(error)),
    };
    listing
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()
        .map_err(Error::io("read the folder", folder))
}

/// Whether a file is one that would be read together with the new ones, or a part of one.
fn is_of_a_checkpoint(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| {
        let whole = name.strip_suffix(PARTIAL).unwrap_or(name);
        whole == "config.json"
            || whole.ends_with(".safetensors")
            || whole.ends_with(".safetensors.index.json")
    }) && path.is_file()
}

fn check_space(folder: &Path, layout: &Layout, replaced: &[&PathBuf]) -> Result<(), Error> {
    let Some(free) = free_bytes(folder) else {
        return Ok(());
    };
    let freed = |path: &&PathBuf| fs::metadata(path).map_or(0, |file| file.len());
    let free = free.saturating_add(replaced.iter().map(freed).sum());
    let needed = layout.n_bytes() + MARGIN;
    if free < needed {
        return Err(Error::NoSpace {
            needed,
            free,
            folder: folder.to_owned(),
        });
    }
    Ok(())
}

/// The bytes that are free for files in the folder, or in the first of its parents that is
/// there; None where the system does not say.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let there = std::path::absolute(folder).ok()?;
    let there = there.ancestors().find(|path| path.exists())?;
    let found = nix::sys::statvfs::statvfs(there).ok()?;
    // The types differ between systems.
    #[allow(clippy::useless_conversion, reason = "narrower on some systems")]
    let (blocks, size) = (
        u64::from(found.blocks_available()),
        u64::from(found.fragment_size()),
    );
    Some(blocks.saturating_mul(size))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// The end of the name of a file that is not complete.
const PARTIAL: &str = ".partial";

/// A file that gets its name when it is complete, and is removed if it never is.
struct Partial {
    path: PathBuf,
    name: PathBuf,
    file: Option<File>,
}

impl Partial {
    fn create(folder: &Path, name: &str) -> Result<Self, Error> {
        let path = folder.join(format!("{name}{PARTIAL}"));
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        Ok(Self {
            path,
            name: folder.join(name),
            file: Some(file),
        })
    }

    fn complete(mut self, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), Error> {
        let Some(mut file) = self.file.take() else {
            return Ok(());
        };
        write(&mut file)
            // Some systems notice only now that there is no room.
            .and_then(|()| file.sync_all())
            .map_err(Error::io("write", &self.path))?;
        drop(file);
        fs::rename(&self.path, &self.name).map_err(Error::io("rename", &self.path))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After the renaming nothing is there; and an error that led here is the one to report.
        let _ = fs::remove_file(&self.path);
    }
}

fn weights(out: &mut File, file: &layout::File, seed: u64, bar: &ProgressBar) -> io::Result<()> {
    out.write_all(&file.header())?;
    let mut chunk = vec![0; CHUNK];
    for tensor in &file.tensors {
        let mut values = Values::new(seed, &tensor.name, tensor.kind, tensor.dtype);
        let mut left = tensor.n_bytes();
        while left > 0 {
            let n = left.min(CHUNK as u64);
            let part = &mut chunk[..n as usize];
            values.fill(part);
            out.write_all(part)?;
            bar.inc(n);
            left -= n;
        }
    }
    Ok(())
}

fn json(out: &mut File, value: &Value) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    out.write_all(text.as_bytes())
}

/// A bar in a terminal, nothing elsewhere.
fn progress(n_bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(n_bytes);
    let template = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
