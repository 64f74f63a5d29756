//! From a name to a model that runs.

use std::path::Path;

pub use linnet_runtime::Numerics;

use crate::bundled::Bundled;
use crate::checkpoint_files::CheckpointFiles;
use crate::harmony::ChatFormat;
use crate::hub::{Hub, HubError, Progress, RepoId, Settings};
use crate::model::LanguageModel;
use crate::text_model::TextModel;
use crate::tokenizer::Tokenizer;
use crate::{Error, Result, architectures};

/// The number format that a model computes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FloatType {
    /// f32, but for large models whose weights are published in bf16 that:
    /// they stay mapped from their file then.
    #[default]
    Auto,
    /// 32 bits: as precise as the stored weights, whatever they are.
    F32,
    /// 16 bits with the range of f32.
    Bf16,
    /// 16 bits, more precise than bf16, of smaller range.
    F16,
}

/// How to load a model.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The number format of the weights in memory and of the arithmetic. Any
    /// format that is stored can be loaded as any other.
    pub dtype: FloatType,
    /// The number of threads; `None` is one for each core.
    pub threads: Option<usize>,
    /// The number of rows in the cache: sequences that are generated at once.
    pub batch: usize,
    /// Positions in the cache; `None` is the model's own limit, or 4,096 for a
    /// model that leaves the length open.
    pub max_positions: Option<usize>,
    /// Kernels, or the operations' definitions.
    pub numerics: Numerics,
    /// Looks for Hub ids in the cache alone.
    pub offline: bool,
    /// The branch, tag or commit of a Hub id.
    pub revision: String,
    /// What is shown of downloads.
    pub progress: Progress,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            dtype: FloatType::default(),
            threads: None,
            batch: 1,
            max_positions: None,
            numerics: Numerics::default(),
            offline: false,
            revision: "main".to_owned(),
            progress: Progress::default(),
        }
    }
}

/// Loads a model with its tokenizer.
///
/// `source` is a bundled model's name (`tales-gpt2`), a folder with a
/// checkpoint as the Hub publishes it, or a Hub id (`openai-community/gpt2`),
/// which is downloaded into the Hub's usual cache. The architecture is the one
/// that `config.json` names.
///
/// # Errors
///
/// Everything that is wrong with the checkpoint is found here, before anything
/// is computed: files that are missing, a configuration that is not supported,
/// tensors of other names, shapes or types than the model has, a tokenizer
/// that does not fit.
pub fn load(source: impl AsRef<Path>, options: LoadOptions) -> Result<TextModel> {
    let files = find(source.as_ref(), &options)?;
    // The weights take longest; what a glance can tell comes first.
    let architecture = architectures::of(&files)?;
    let tokenizer = Tokenizer::read(&files)?;
    let model = architecture.load(&files, &options)?;
    let format = ChatFormat::read(&files, &tokenizer)?;
    Ok(TextModel::new(model, tokenizer)?.with_chat_format(format))
}

/// Loads a model without a tokenizer, for work on token ids.
///
/// # Errors
///
/// As [`load`].
pub fn load_model(
    source: impl AsRef<Path>,
    options: LoadOptions,
) -> Result<Box<dyn LanguageModel>> {
    let files = find(source.as_ref(), &options)?;
    architectures::of(&files)?.load(&files, &options)
}

/// The files of a checkpoint, downloaded if need be.
pub(crate) fn find(source: &Path, options: &LoadOptions) -> Result<CheckpointFiles> {
    let name = source.to_str();
    if let Some(bundled) = name.and_then(Bundled::find) {
        return Ok(CheckpointFiles::Bundled(bundled));
    }
    if source.is_dir() {
        return folder(source);
    }
    let no_such_model = |reason: String| Error::NoSuchModel {
        name: source.display().to_string(),
        reason,
    };
    if source.exists() {
        return Err(no_such_model(
            "that is a file; give the folder that it is in, with config.json beside it".to_owned(),
        ));
    }
    let is_path = source.is_absolute() || source.starts_with(".") || source.starts_with("..");
    match name.map(str::parse::<RepoId>) {
        Some(Ok(repo)) if !is_path => fetch(&repo, options),
        _ if is_path => Err(no_such_model("there is no such folder".to_owned())),
        _ => {
            let bundled: Vec<&str> = Bundled::names().collect();
            Err(no_such_model(format!(
                "it is neither a folder, nor a bundled model ({}), nor a Hub id (owner/name, for \
                 example openai-community/gpt2)",
                bundled.join(", ")
            )))
        }
    }
}

fn folder(path: &Path) -> Result<CheckpointFiles> {
    if path.join("config.json").exists() {
        return Ok(CheckpointFiles::Folder(path.to_owned()));
    }
    Err(Error::Incomplete {
        folder: path.to_owned(),
        missing: "config.json; give the folder that has it and the weights".to_owned(),
    })
}

fn fetch(repo: &RepoId, options: &LoadOptions) -> Result<CheckpointFiles> {
    let mut settings = Settings::from_environment()?;
    settings.offline |= options.offline;
    settings.progress = options.progress;
    let folder =
        Hub::new(settings)
            .fetch(repo, &options.revision)
            .map_err(|error| match error {
                // A path that was mistyped looks like a Hub id.
                HubError::Status {
                    url,
                    status: status @ (401 | 404),
                    meaning,
                } => HubError::Status {
                    url,
                    status,
                    meaning: format!("{meaning}; there is no folder of that name here either"),
                },
                error => error,
            })?;
    Ok(CheckpointFiles::Folder(folder))
}
