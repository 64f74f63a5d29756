//! What of a checkpoint can be stored in few bits.

use std::path::Path;

use gpt_oss::GptOssDyn;
use gpt2::Gpt2Dyn;
use linnet_runtime::Block;
use linnet_runtime::card::{Card, Choices};
use linnet_runtime::quant::Scheme;
use linnet_runtime::weights::{
    AffineSite, Binding, Checkpoint, Manifest, NameRules, SharedBytes, StoredTensor, WeightsError,
};
use serde_json::Value;

use crate::checkpoint_files::CheckpointFiles;
use crate::load::{LoadOptions, find};
use crate::{Error, Result, architectures};

/// A checkpoint with the affine maps whose weights can be stored in few bits.
#[derive(Debug)]
pub struct Quantisable {
    files: CheckpointFiles,
    config: Value,
    checkpoint: Checkpoint,
    maps: Vec<QuantisableMap>,
    quantised: Option<Scheme>,
}

/// An affine map in a checkpoint. Names are those of the checkpoint's tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantisableMap {
    /// Its path in the model.
    pub path: String,
    /// The name of its float weight.
    pub weight: String,
    /// The weights of a row.
    pub inputs: usize,
    /// The rows.
    pub outputs: usize,
    /// Whether the float weight is stored as `[In, Out]` and not as `[Out, In]`.
    pub transposed: bool,
    /// Whether it is one that does better in floats.
    pub better_in_floats: bool,
    /// The name that its quantised tensors have in common.
    stem: String,
}

impl QuantisableMap {
    /// The name of its `weight`, `scale` or `zero` when it is quantised.
    pub fn quantised_name(&self, member: &str) -> String {
        format!("{}.{member}", self.stem)
    }
}

impl Quantisable {
    /// Opens a checkpoint, by a source as [`load`](crate::load) takes it, and
    /// checks that its tensors are those of its model.
    ///
    /// # Errors
    ///
    /// As [`load`](crate::load), before any weight is read.
    pub fn open(source: impl AsRef<Path>, options: &LoadOptions) -> Result<Quantisable> {
        let files = find(source.as_ref(), options)?;
        architectures::of(&files)?.quantisable(&files)
    }

    /// Its files.
    pub fn files(&self) -> &CheckpointFiles {
        &self.files
    }

    /// Its `config.json`.
    pub fn config(&self) -> &Value {
        &self.config
    }

    /// Its tensors.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The affine maps that it holds as floats, in the order of the model.
    pub fn maps(&self) -> &[QuantisableMap] {
        &self.maps
    }

    /// How some of its maps are stored in few bits already, if they are.
    pub fn quantised(&self) -> Option<Scheme> {
        self.quantised
    }

    /// The tensor that is the float weight of a map.
    pub fn tensor(&self, map: &QuantisableMap) -> Option<StoredTensor<'_>> {
        self.checkpoint.get(&map.weight)
    }
}

/// The maps of a GPT-2: all of them. The head shares the embedding, which is no map.
pub(crate) fn gpt2(files: &CheckpointFiles) -> Result<Quantisable> {
    of::<Gpt2Dyn<f32>>(&gpt2::CARD, files, &[])
}

/// The dense maps of a gpt-oss. The router decides which experts a token gets,
/// and a small error there changes all of its result for few bytes saved; an
/// error of the head goes into the logits as it is.
pub(crate) fn gpt_oss(files: &CheckpointFiles) -> Result<Quantisable> {
    of::<GptOssDyn<f32>>(&gpt_oss::CARD, files, &["router", "lm_head"])
}

fn of<M: Block>(
    card: &Card,
    files: &CheckpointFiles,
    better_in_floats: &[&str],
) -> Result<Quantisable> {
    let config = files.read_json("config.json")?.unwrap_or_default();
    let origin = files.name_of("config.json");
    let (block, args) = (M::DESCRIPTOR, M::generic_args());
    let bound = card.bind(block, &config, &origin, &Choices::new(), &args);
    let bound = bound.map_err(linnet_runtime::Error::from)?;
    let checkpoint = open(files)?;
    let maps = match bound.quantisation {
        Some(_) => Vec::new(),
        None => {
            let listed = (|| {
                let manifest = Manifest::new(block, &bound.values).map_err(Box::new)?;
                let sites = Manifest::affine_sites(block, &bound.values).map_err(Box::new)?;
                let binding = Binding::new(&checkpoint, &manifest, &card.names)?;
                Ok(maps(&sites, &binding, &card.names, better_in_floats))
            })();
            listed.map_err(|e: WeightsError| Error::from(linnet_runtime::Error::from(e)))?
        }
    };
    Ok(Quantisable {
        files: files.clone(),
        config,
        checkpoint,
        maps,
        quantised: bound.quantisation,
    })
}

fn open(files: &CheckpointFiles) -> Result<Checkpoint> {
    let opened = match files {
        CheckpointFiles::Folder(folder) => Checkpoint::open(folder),
        CheckpointFiles::Bundled(bundled) => {
            Checkpoint::from_bytes(bundled.name(), SharedBytes::from(bundled.weights()))
        }
    };
    opened.map_err(|e| linnet_runtime::Error::from(e).into())
}

fn maps(
    sites: &[AffineSite],
    binding: &Binding<'_>,
    rules: &NameRules,
    better_in_floats: &[&str],
) -> Vec<QuantisableMap> {
    let map = |site: &AffineSite| {
        let bound = binding
            .tensors
            .iter()
            .find(|(param, _)| param.path == site.weight)?;
        let weight = bound.1.name;
        // What the checkpoint puts before every name stays there. A weight that
        // is stored under a tied tensor's name has none to derive others from.
        let prefix = weight.strip_suffix(site.float_name(rules).as_str())?;
        let stem = site.quantised_name(rules, "")?;
        let name = site.path.rsplit('.').next().unwrap_or_default();
        Some(QuantisableMap {
            path: site.path.clone(),
            weight: weight.to_owned(),
            inputs: site.inputs,
            outputs: site.outputs,
            transposed: site.transposed,
            better_in_floats: better_in_floats.contains(&name),
            stem: format!("{prefix}{}", stem.trim_end_matches('.')),
        })
    };
    sites.iter().filter_map(map).collect()
}
