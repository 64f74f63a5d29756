//! The architectures, by the `model_type` in `config.json`.

use crate::checkpoint_files::CheckpointFiles;
use crate::load::LoadOptions;
use crate::model::LanguageModel;
use crate::quantisable::{self, Quantisable};
use crate::{Error, Result, gpt_oss_model, gpt2_model};

/// A kind of model and how to load it.
pub(crate) struct Architecture {
    model_type: &'static str,
    load: fn(&CheckpointFiles, &LoadOptions) -> Result<Box<dyn LanguageModel>>,
    quantisable: fn(&CheckpointFiles) -> Result<Quantisable>,
}

/// All of them. A new model is a line here and a module beside `gpt2_model`.
static ARCHITECTURES: [Architecture; 2] = [
    Architecture {
        model_type: "gpt2",
        load: gpt2_model::load,
        quantisable: quantisable::gpt2,
    },
    Architecture {
        model_type: "gpt_oss",
        load: gpt_oss_model::load,
        quantisable: quantisable::gpt_oss,
    },
];

/// The names in [`ARCHITECTURES`], for messages.
static MODEL_TYPES: [&str; 2] = ["gpt2", "gpt_oss"];

impl Architecture {
    /// Loads a checkpoint of this kind.
    pub(crate) fn load(
        &self,
        files: &CheckpointFiles,
        options: &LoadOptions,
    ) -> Result<Box<dyn LanguageModel>> {
        if options.batch == 0 {
            return Err(Error::InvalidOption {
                option: "the batch",
                value: "0".to_owned(),
                expected: "at least 1",
            });
        }
        (self.load)(files, options)
    }

    /// What of a checkpoint of this kind can be stored in few bits.
    pub(crate) fn quantisable(&self, files: &CheckpointFiles) -> Result<Quantisable> {
        (self.quantisable)(files)
    }
}

/// The architecture that a checkpoint's `config.json` names.
pub(crate) fn of(files: &CheckpointFiles) -> Result<&'static Architecture> {
    let config_error = |message: &str| Error::Config {
        file: files.name_of("config.json"),
        message: message.to_owned(),
    };
    let config = files
        .read_json("config.json")?
        .ok_or_else(|| config_error("is not there"))?;
    let found = config["model_type"]
        .as_str()
        .ok_or_else(|| config_error("it has no model_type, which names the architecture"))?;
    ARCHITECTURES
        .iter()
        .find(|known| known.model_type == found)
        .ok_or_else(|| Error::UnknownModelType {
            file: files.name_of("config.json"),
            found: found.to_owned(),
            supported: &MODEL_TYPES,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_architectures() {
        let names: Vec<&str> = ARCHITECTURES.iter().map(|known| known.model_type).collect();
        assert_eq!(names, MODEL_TYPES);
    }
}
