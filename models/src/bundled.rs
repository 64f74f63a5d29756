//! Models that are compiled into the library, so that a first run needs no download.

/// A checkpoint in the program itself.
#[derive(Debug)]
pub struct Bundled {
    name: &'static str,
    config: &'static str,
    files: &'static [(&'static str, &'static [u8])],
    weights: &'static [u8],
    system: Option<&'static str>,
}

/// Puts `include_bytes!` at an address that the weights' elements and the
/// widest vector loads can use in place.
#[repr(C, align(64))]
struct Aligned<Bytes: ?Sized>(Bytes);

static TALES_GPT2_WEIGHTS: &Aligned<[u8]> = &Aligned(*include_bytes!(
    "../checkpoints/tales-gpt2/model.safetensors"
));

static TALES_GPT_OSS_WEIGHTS: &Aligned<[u8]> = &Aligned(*include_bytes!(
    "../checkpoints/tales-gpt-oss/model.safetensors"
));

/// A file's name with its content, from the checkpoint of that name.
macro_rules! files {
    ($checkpoint:literal: $($name:literal),+ $(,)?) => {
        &[$((
            $name,
            include_bytes!(concat!("../checkpoints/", $checkpoint, "/", $name)),
        )),+]
    };
}

static BUNDLED: [Bundled; 2] = [
    Bundled {
        name: "tales-gpt2",
        config: include_str!("../checkpoints/tales-gpt2/config.json"),
        files: files!(
            "tales-gpt2":
            "generation_config.json",
            "tokenizer.json",
            "tokenizer_config.json",
        ),
        weights: &TALES_GPT2_WEIGHTS.0,
        system: None,
    },
    Bundled {
        name: "tales-gpt-oss",
        config: include_str!("../checkpoints/tales-gpt-oss/config.json"),
        files: files!(
            "tales-gpt-oss":
            "chat_template.jinja",
            "generation_config.json",
            "tokenizer.json",
            "tokenizer_config.json",
        ),
        weights: &TALES_GPT_OSS_WEIGHTS.0,
        system: Some("You tell fairy tales."),
    },
];

impl Bundled {
    /// The bundled model of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        BUNDLED.iter().find(|bundled| bundled.name == name)
    }

    /// The names of all bundled models.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUNDLED.iter().map(|bundled| bundled.name)
    }

    /// Its name, e.g. `tales-gpt2`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The text of its `config.json`.
    pub fn config(&self) -> &'static str {
        self.config
    }

    /// One of its small files, by the name that the Hub gives it.
    pub fn file(&self, name: &str) -> Option<&'static [u8]> {
        if name == "config.json" {
            return Some(self.config.as_bytes());
        }
        self.files
            .iter()
            .find(|(file, _)| *file == name)
            .map(|(_, bytes)| *bytes)
    }

    /// Its weights: a safetensors file, at an address divisible by 64.
    pub fn weights(&self) -> &'static [u8] {
        self.weights
    }

    /// The system message that it was trained with, where it holds conversations.
    pub fn system(&self) -> Option<&'static str> {
        self.system
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_aligned_and_whole() {
        for name in Bundled::names() {
            let bundled = Bundled::find(name).unwrap();
            assert!(bundled.weights().as_ptr().addr().is_multiple_of(64));
            safetensors::SafeTensors::deserialize(bundled.weights()).unwrap();
            assert!(bundled.file("config.json").is_some());
            assert!(bundled.file("model.bin").is_none());
        }
        assert!(Bundled::find("gpt2").is_none());
    }
}
