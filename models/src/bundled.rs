//! Models that are compiled into the library, so that a first run needs no download.

/// A checkpoint in the program itself.
#[derive(Debug)]
pub struct Bundled {
    name: &'static str,
    config: &'static str,
    files: &'static [(&'static str, &'static [u8])],
    weights: &'static [u8],
}

/// Puts `include_bytes!` at an address that the weights' elements and the
/// widest vector loads can use in place.
#[repr(C, align(64))]
struct Aligned<Bytes: ?Sized>(Bytes);

static TALES_GPT2_WEIGHTS: &Aligned<[u8]> = &Aligned(*include_bytes!(
    "../checkpoints/tales-gpt2/model.safetensors"
));

static BUNDLED: [Bundled; 1] = [Bundled {
    name: "tales-gpt2",
    config: include_str!("../checkpoints/tales-gpt2/config.json"),
    files: &[
        (
            "generation_config.json",
            include_bytes!("../checkpoints/tales-gpt2/generation_config.json"),
        ),
        (
            "tokenizer.json",
            include_bytes!("../checkpoints/tales-gpt2/tokenizer.json"),
        ),
        (
            "tokenizer_config.json",
            include_bytes!("../checkpoints/tales-gpt2/tokenizer_config.json"),
        ),
    ],
    weights: &TALES_GPT2_WEIGHTS.0,
}];

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
