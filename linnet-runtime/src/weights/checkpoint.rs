//! An opened checkpoint: tensors by name, in one file or in shards.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::bytes::SharedBytes;
use super::error::WeightsError;
use super::header::{self, Header};
use super::index::{Index, IndexProblem, ShardReport};

pub use safetensors::Dtype as StoredDType;

/// The name of a checkpoint's only file.
const SINGLE_FILE: &str = "model.safetensors";

/// The name of the index of a checkpoint in shards.
const INDEX_FILE: &str = "model.safetensors.index.json";

/// The stored tensors of a checkpoint.
///
/// Opening reads headers only and checks them against their files: each tensor
/// then lies within its file and has exactly the bytes that its shape needs.
/// Files are mapped, not read. While a checkpoint or a model made from it is
/// alive, its files must not be truncated or rewritten in place.
#[derive(Debug)]
pub struct Checkpoint {
    origin: String,
    files: Vec<SharedBytes>,
    tensors: BTreeMap<String, Place>,
    metadata: BTreeMap<String, String>,
}

#[derive(Debug)]
struct Place {
    dtype: StoredDType,
    shape: Vec<usize>,
    file: usize,
    range: Range<usize>,
}

/// One tensor of a [`Checkpoint`], in row-major order and little-endian.
#[derive(Debug, Clone, Copy)]
pub struct StoredTensor<'a> {
    /// Its name in the file.
    pub name: &'a str,
    /// How its elements are stored.
    pub dtype: StoredDType,
    /// Its shape.
    pub shape: &'a [usize],
    file: &'a SharedBytes,
    begin: usize,
    end: usize,
}

impl<'a> StoredTensor<'a> {
    /// Its bytes: exactly the number of elements times the size of one.
    pub fn bytes(&self) -> &'a [u8] {
        &self.file[self.begin..self.end]
    }

    /// The whole file that it lies in, and the range of its bytes there.
    pub fn place(&self) -> (&'a SharedBytes, Range<usize>) {
        (self.file, self.begin..self.end)
    }
}

impl Checkpoint {
    /// Opens a folder with `model.safetensors` or with `model.safetensors.index.json`
    /// and its shards (the single file is preferred), one `.safetensors` file, or
    /// one index by its path.
    ///
    /// # Errors
    ///
    /// When there are no weights, a file is damaged, or index and shards disagree.
    pub fn open(path: impl AsRef<Path>) -> Result<Checkpoint, WeightsError> {
        let path = path.as_ref();
        let metadata = fs::metadata(path).map_err(|e| read_error(path, e))?;
        if metadata.is_dir() {
            return Checkpoint::open_folder(path);
        }
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            return Checkpoint::open_index(path);
        }
        let bytes = SharedBytes::map(path).map_err(|e| read_error(path, e))?;
        Checkpoint::from_bytes(path.display().to_string(), bytes)
    }

    /// Opens the bytes of one safetensors file. `origin` names them in messages.
    ///
    /// # Errors
    ///
    /// When they are damaged.
    pub fn from_bytes(
        origin: impl Into<String>,
        bytes: impl Into<SharedBytes>,
    ) -> Result<Checkpoint, WeightsError> {
        let origin = origin.into();
        let bytes = bytes.into();
        let header = parse(&origin, &bytes)?;
        let mut checkpoint = Checkpoint::empty(origin);
        let file = checkpoint.add_file(bytes);
        checkpoint.metadata = header.metadata;
        for tensor in header.tensors {
            let place = Place {
                dtype: tensor.dtype,
                shape: tensor.shape,
                file,
                range: tensor.begin..tensor.end,
            };
            checkpoint.tensors.insert(tensor.name, place);
        }
        Ok(checkpoint)
    }

    /// The path or name that it was opened by, for messages.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The tensor of this exact name.
    pub fn get(&self, name: &str) -> Option<StoredTensor<'_>> {
        self.tensors
            .get_key_value(name)
            .map(|(name, place)| self.view(name, place))
    }

    /// All tensors, by name.
    pub fn tensors(&self) -> impl Iterator<Item = StoredTensor<'_>> {
        self.tensors
            .iter()
            .map(|(name, place)| self.view(name, place))
    }

    /// The number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The free texts of the files' headers.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// The size of all files, in bytes.
    pub fn n_bytes(&self) -> usize {
        self.files.iter().map(|file| file.len()).sum()
    }

    fn empty(origin: String) -> Checkpoint {
        Checkpoint {
            origin,
            files: Vec::new(),
            tensors: BTreeMap::new(),
            metadata: BTreeMap::new(),
        }
    }

    fn add_file(&mut self, bytes: SharedBytes) -> usize {
        self.files.push(bytes);
        self.files.len() - 1
    }

    fn view<'a>(&'a self, name: &'a str, place: &'a Place) -> StoredTensor<'a> {
        StoredTensor {
            name,
            dtype: place.dtype,
            shape: &place.shape,
            file: &self.files[place.file],
            begin: place.range.start,
            end: place.range.end,
        }
    }

    fn open_folder(folder: &Path) -> Result<Checkpoint, WeightsError> {
        let single = folder.join(SINGLE_FILE);
        if single.exists() {
            let bytes = SharedBytes::map(&single).map_err(|e| read_error(&single, e))?;
            return Checkpoint::from_bytes(single.display().to_string(), bytes);
        }
        let index = folder.join(INDEX_FILE);
        if index.exists() {
            return Checkpoint::open_index(&index);
        }
        Err(WeightsError::NoWeights {
            folder: folder.to_owned(),
            found_instead: weight_like_files(folder)?,
        })
    }

    fn open_index(path: &Path) -> Result<Checkpoint, WeightsError> {
        let file = path.display().to_string();
        let problem = |problem| WeightsError::Index {
            file: file.clone(),
            problem: Box::new(problem),
        };
        let bytes = SharedBytes::map(path).map_err(|e| read_error(path, e))?;
        let index = Index::parse(&bytes).map_err(problem)?;
        let folder = path.parent().unwrap_or(Path::new(""));

        let missing_shards: Vec<String> = index
            .shards()
            .into_iter()
            .filter(|shard| !folder.join(shard).exists())
            .map(str::to_owned)
            .collect();
        let mut report = ShardReport {
            missing_shards,
            ..ShardReport::default()
        };
        if !report.is_empty() {
            return Err(problem(IndexProblem::Disagrees(report)));
        }

        let mut checkpoint = Checkpoint::empty(file.clone());
        for shard in index.shards() {
            checkpoint.add_shard(&index, folder.join(shard), shard, &mut report)?;
        }
        let misplaced: Vec<&String> = report.misplaced.iter().map(|(name, ..)| name).collect();
        let missing = index
            .shard_of
            .iter()
            .filter(|(name, _)| !checkpoint.tensors.contains_key(*name))
            .filter(|(name, _)| misplaced.binary_search(name).is_err())
            .map(|(name, shard)| (name.clone(), shard.clone()))
            .collect();
        report.missing = missing;
        if !report.is_empty() {
            return Err(problem(IndexProblem::Disagrees(report)));
        }
        Ok(checkpoint)
    }

    /// Adds the tensors that the index expects of a shard, and notes the others.
    fn add_shard(
        &mut self,
        index: &Index,
        path: PathBuf,
        shard: &str,
        report: &mut ShardReport,
    ) -> Result<(), WeightsError> {
        let bytes = SharedBytes::map(&path).map_err(|e| read_error(&path, e))?;
        let header = parse(&path.display().to_string(), &bytes)?;
        let file = self.add_file(bytes);
        self.metadata.extend(header.metadata);
        for tensor in header.tensors {
            match index.shard_of.get(&tensor.name) {
                Some(named) if named == shard => {
                    let place = Place {
                        dtype: tensor.dtype,
                        shape: tensor.shape,
                        file,
                        range: tensor.begin..tensor.end,
                    };
                    self.tensors.insert(tensor.name, place);
                }
                Some(named) => {
                    report
                        .misplaced
                        .push((tensor.name, named.clone(), shard.to_owned()));
                }
                None => report.unlisted.push((tensor.name, shard.to_owned())),
            }
        }
        report.misplaced.sort();
        report.unlisted.sort();
        Ok(())
    }
}

fn parse(file: &str, bytes: &SharedBytes) -> Result<Header, WeightsError> {
    header::parse(bytes).map_err(|problem| WeightsError::Header {
        file: file.to_owned(),
        problem: Box::new(problem),
    })
}

fn read_error(path: &Path, source: std::io::Error) -> WeightsError {
    WeightsError::Read {
        path: path.to_owned(),
        source,
    }
}

/// Files of a folder that a person may take for weights that we read.
fn weight_like_files(folder: &Path) -> Result<Vec<String>, WeightsError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| read_error(folder, e))? {
        let entry = entry.map_err(|e| read_error(folder, e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let extensions = [
            ".safetensors",
            ".bin",
            ".pt",
            ".pth",
            ".gguf",
            ".h5",
            ".msgpack",
            ".onnx",
        ];
        if extensions.iter().any(|extension| name.ends_with(extension)) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests;
