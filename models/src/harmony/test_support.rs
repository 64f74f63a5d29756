//! What the tests of this folder share.

use std::sync::LazyLock;

use crate::bundled::Bundled;
use crate::checkpoint_files::CheckpointFiles;
use crate::tokenizer::Tokenizer;

/// The tokenizer of tales-gpt-oss.
pub(super) fn tokenizer() -> &'static Tokenizer {
    static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| {
        let bundled = Bundled::find("tales-gpt-oss").unwrap();
        Tokenizer::read(&CheckpointFiles::Bundled(bundled)).unwrap()
    });
    &TOKENIZER
}
