//! The tensors of a checkpoint and where they go.

use linnet_runtime::DType;
use linnet_runtime::weights::{Manifest, ManifestTensor};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::published::Published;
use crate::values::Kind;

/// Everything that is written but `config.json`.
#[derive(Debug)]
pub struct Layout {
    /// The files with weights.
    pub files: Vec<File>,
    /// The number of the model's parameters, those in few bits counted one by one.
    pub n_parameters: u64,
}

/// A safetensors file.
#[derive(Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its tensors in their order.
    pub tensors: Vec<StoredTensor>,
}

/// A tensor as it is stored.
#[derive(Debug, Clone)]
pub struct StoredTensor {
    /// Its name, with prefix.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// What it holds.
    pub kind: Kind,
}

impl StoredTensor {
    /// Its size in bytes.
    pub fn n_bytes(&self) -> u64 {
        (self.shape.iter().product::<usize>() * self.dtype.size()) as u64
    }
}

impl Layout {
    /// Lists a model's tensors and shares them out to files of about the same size.
    pub fn new(model: &Published) -> Result<Self, Error> {
        let manifest = Manifest::new(model.block, &model.values())?;
        let mut tensors = Vec::new();
        for tensor in manifest.params() {
            tensors.extend(stored(model, tensor)?);
        }
        // MXFP4 blocks hold two parameters in a byte, and scales none.
        let n_parameters = tensors
            .iter()
            .map(|tensor| match tensor.kind {
                Kind::Codes => 2 * tensor.n_bytes(),
                Kind::Scales => 0,
                Kind::Ones | Kind::Normal => tensor.n_bytes() / tensor.dtype.size() as u64,
            })
            .sum();
        let n_files = model.n_files().min(tensors.len()).max(1);
        let total: u64 = tensors.iter().map(StoredTensor::n_bytes).sum();
        let mut files: Vec<File> = (0..n_files)
            .map(|i| File {
                name: model.file_name(i, n_files),
                tensors: Vec::new(),
            })
            .collect();
        let mut done = 0;
        for tensor in tensors {
            // Where its middle falls decides; so every file holds a run of the model.
            let middle = done + tensor.n_bytes() / 2;
            let file = (middle * n_files as u64 / total.max(1)) as usize;
            done += tensor.n_bytes();
            files[file.min(n_files - 1)].tensors.push(tensor);
        }
        files.retain(|file| !file.tensors.is_empty());
        let n_files = files.len();
        for (i, file) in files.iter_mut().enumerate() {
            file.name = model.file_name(i, n_files);
            // Larger elements first, so that every tensor starts at a multiple of its element's size.
            file.tensors
                .sort_by(|a, b| (b.dtype.size(), &a.name).cmp(&(a.dtype.size(), &b.name)));
        }
        Ok(Self {
            files,
            n_parameters,
        })
    }

    /// The bytes of all weights, without the headers.
    pub fn n_bytes(&self) -> u64 {
        self.files.iter().map(File::n_bytes).sum()
    }

    /// The contents of `model.safetensors.index.json`; None where one file holds everything.
    pub fn index(&self) -> Option<Value> {
        if self.files.len() < 2 {
            return None;
        }
        let mut places = Map::new();
        for file in &self.files {
            for tensor in &file.tensors {
                places.insert(tensor.name.clone(), json!(file.name));
            }
        }
        Some(json!({ "metadata": { "total_size": self.n_bytes() }, "weight_map": places }))
    }
}

impl File {
    /// The bytes of its tensors.
    pub fn n_bytes(&self) -> u64 {
        self.tensors.iter().map(StoredTensor::n_bytes).sum()
    }

    /// What stands before the tensors: the header's length, and the header padded to 8 bytes.
    pub fn header(&self) -> Vec<u8> {
        let mut header = Map::new();
        header.insert("__metadata__".to_owned(), json!({ "format": "pt" }));
        let mut at = 0;
        for tensor in &self.tensors {
            let end = at + tensor.n_bytes();
            header.insert(
                tensor.name.clone(),
                json!({
                    "dtype": dtype_name(tensor.dtype),
                    "shape": tensor.shape,
                    "data_offsets": [at, end],
                }),
            );
            at = end;
        }
        let mut text = Value::Object(header).to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.append(&mut text);
        bytes
    }
}

/// A tensor as the published model stores it, if it does.
fn stored(model: &Published, tensor: &ManifestTensor) -> Result<Option<StoredTensor>, Error> {
    let name = (model.card.names.stored_name(&tensor.path)).ok_or_else(|| Error::NoName {
        path: tensor.path.clone(),
    })?;
    if tensor.optional && !model.has_optional(&name) {
        return Ok(None);
    }
    let kind = if tensor.dtype == DType::U8 {
        if tensor.path.ends_with("_scales") {
            Kind::Scales
        } else {
            Kind::Codes
        }
    } else if tensor.block.ends_with("Norm") && tensor.path.ends_with(".weight") {
        Kind::Ones
    } else {
        Kind::Normal
    };
    Ok(Some(StoredTensor {
        name: format!("{}{name}", model.prefix(&name)),
        dtype: tensor.dtype,
        shape: tensor.shape.clone(),
        kind,
    }))
}

/// The name of a dtype in a header.
fn dtype_name(dtype: DType) -> String {
    dtype.name().to_uppercase()
}
