//! From a checkpoint's folder to a model that runs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::config::Choices;
use super::error::{ConfigError, ConfigProblem};
use super::{Card, Known};
use crate::block::Block;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::numerics::Numerics;
use crate::quant::Scheme;
use crate::weights::{
    Binding, Checkpoint, Manifest, ReadSummary, SharedBytes, TensorKind, WeightsError,
};

/// The largest `config.json` that is read, in bytes.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// The name of a checkpoint's config.
const CONFIG_FILE: &str = "config.json";

/// Where a checkpoint is.
#[derive(Debug, Clone)]
pub enum Source {
    /// A folder with `config.json` and weights, or a weight file beside a `config.json`.
    Path(PathBuf),
    /// In the program.
    Embedded {
        /// Its name, for messages.
        name: &'static str,
        /// The text of `config.json`.
        config: &'static str,
        /// The bytes of `model.safetensors`.
        weights: &'static [u8],
    },
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Source {
        Source::Path(path)
    }
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Source {
        Source::Path(path.to_owned())
    }
}

impl From<&str> for Source {
    fn from(path: &str) -> Source {
        Source::Path(path.into())
    }
}

/// How a model is loaded.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Generics that the config leaves open, and config keys to accept.
    pub choices: Choices,
    /// Where the model runs; without, on all of this machine's processors.
    pub device: Option<Device>,
    /// Whether operations run by kernels or by their bodies.
    pub numerics: Numerics,
}

/// A loaded model, and how it was loaded.
#[derive(Debug)]
pub struct Loaded<M> {
    /// The model.
    pub model: M,
    /// Its tensors and the values of its generics.
    pub manifest: Manifest,
    /// How its affine maps are stored, where that is in few bits.
    pub quantisation: Option<Scheme>,
    /// The published checkpoint that has these dimensions, if one has.
    pub known: Option<&'static Known>,
    /// Keys of the config that nobody knows and that change nothing by their names.
    pub ignored_keys: Vec<String>,
    /// What of the weights is shared with the files, and what was converted.
    pub summary: ReadSummary,
}

/// Loads a model: binds its generics from the config, checks every tensor of the
/// checkpoint, and brings the parameters into memory.
///
/// # Errors
///
/// When config, weights or the model's type do not fit; see [`Card::bind`] and
/// [`Binding`].
pub fn load<M: Block>(source: impl Into<Source>, card: &Card, options: &LoadOptions) -> Result<M> {
    load_reported(source, card, options).map(|loaded| loaded.model)
}

/// As [`load`], with a report of how it went.
///
/// # Errors
///
/// As [`load`].
pub fn load_reported<M: Block>(
    source: impl Into<Source>,
    card: &Card,
    options: &LoadOptions,
) -> Result<Loaded<M>> {
    let source = source.into();
    let block = M::DESCRIPTOR;
    let (origin, config) = source.config(card)?;
    let bound = card.bind(
        block,
        &config,
        &origin,
        &options.choices,
        &M::generic_args(),
    )?;
    let mut manifest =
        Manifest::new(block, &bound.values).map_err(|e| WeightsError::from(Box::new(e)))?;
    let checkpoint = source.checkpoint()?;
    if let Some(scheme) = bound.quantisation {
        manifest = Manifest::of_quantised(block, &bound.values, &checkpoint, &card.names, &scheme)?;
    }
    let device = match &options.device {
        Some(device) => device.clone(),
        None => Device::cpu()?,
    };
    let binding = Binding::new(&checkpoint, &manifest, &card.names)?;
    let (parameters, summary) = binding.read(&checkpoint, &manifest, device.pool())?;
    // What is optional and not there is no part of the loaded model.
    manifest
        .tensors
        .retain(|tensor| tensor.kind != TensorKind::Param || parameters.contains_key(&tensor.path));
    let mut instance = Instance::new(block, &manifest.values.in_order(), parameters, &device)?;
    instance.set_numerics(options.numerics);
    Ok(Loaded {
        model: M::from_instance(instance),
        known: card.checkpoint_matching(&manifest.values),
        manifest,
        quantisation: bound.quantisation,
        ignored_keys: bound.ignored_keys,
        summary,
    })
}

/// Reads the `config.json` of a checkpoint's folder, or the one beside a weight
/// file. `model` names who asks in messages. Gives the file's path too.
///
/// # Errors
///
/// When it cannot be read or is no JSON.
pub fn read_config(path: &Path, model: &'static str) -> Result<(String, Value)> {
    let file = match path.is_dir() {
        true => path.join(CONFIG_FILE),
        false => path.parent().unwrap_or(Path::new("")).join(CONFIG_FILE),
    };
    let io = |source| Error::Io {
        path: file.clone(),
        source,
    };
    let metadata = fs::metadata(&file).map_err(io)?;
    if !metadata.is_file() || metadata.len() > MAX_CONFIG_BYTES {
        let message = format!("expected a file of at most {MAX_CONFIG_BYTES} bytes");
        return Err(io(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            message,
        )));
    }
    let text = fs::read(&file).map_err(io)?;
    let origin = file.display().to_string();
    let config = parse(&text, &origin, model)?;
    Ok((origin, config))
}

impl Source {
    fn config(&self, card: &Card) -> Result<(String, Value)> {
        match self {
            Source::Path(path) => read_config(path, card.name),
            Source::Embedded { name, config, .. } => {
                let origin = format!("the config of {name}");
                let config = parse(config.as_bytes(), &origin, card.name)?;
                Ok((origin, config))
            }
        }
    }

    fn checkpoint(&self) -> Result<Checkpoint> {
        Ok(match self {
            Source::Path(path) => Checkpoint::open(path)?,
            Source::Embedded { name, weights, .. } => {
                Checkpoint::from_bytes(*name, SharedBytes::from(*weights))?
            }
        })
    }
}

fn parse(text: &[u8], origin: &str, model: &'static str) -> Result<Value, ConfigError> {
    serde_json::from_slice(text).map_err(|e| ConfigError {
        origin: origin.to_owned(),
        model,
        problems: vec![ConfigProblem::NotJson {
            message: e.to_string(),
        }],
    })
}

#[cfg(test)]
mod tests;
