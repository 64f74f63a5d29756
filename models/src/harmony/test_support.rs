//! What the tests of this folder share.

use std::sync::{Arc, LazyLock, Mutex};

use super::ChatFormat;
use crate::bundled::Bundled;
use crate::checkpoint_files::CheckpointFiles;
use crate::model::{LanguageModel, Logits};
use crate::text_model::TextModel;
use crate::tokenizer::Tokenizer;
use crate::{Error, Result};

/// The files of tales-gpt-oss.
pub(super) fn files() -> CheckpointFiles {
    CheckpointFiles::Bundled(Bundled::find("tales-gpt-oss").unwrap())
}

/// The tokenizer of tales-gpt-oss.
pub(super) fn tokenizer() -> &'static Tokenizer {
    static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| Tokenizer::read(&files()).unwrap());
    &TOKENIZER
}

/// A text model that says what it is told to.
pub(super) fn text_model(model: ScriptedModel) -> TextModel {
    let format = ChatFormat::read(&files(), tokenizer()).unwrap();
    TextModel::new(Box::new(model), Tokenizer::read(&files()).unwrap())
        .unwrap()
        .with_chat_format(format)
}

/// A model that says what it is told to: after the prompt of its `n`-th turn,
/// the tokens of `replies[n]`, whatever was said.
pub(super) struct ScriptedModel {
    replies: Vec<Vec<i32>>,
    cache: Vec<i32>,
    max_positions: usize,
    logits: Vec<f32>,
    /// What went through the model, as (position, tokens).
    pub(super) calls: Calls,
}

/// The calls of a [`ScriptedModel`].
pub(super) type Calls = Arc<Mutex<Vec<(usize, Vec<i32>)>>>;

impl ScriptedModel {
    pub(super) fn new(replies: &[&str], max_positions: usize) -> Self {
        Self {
            replies: replies
                .iter()
                .map(|reply| tokenizer().encode(reply).unwrap())
                .collect(),
            cache: Vec::new(),
            max_positions,
            logits: Vec::new(),
            calls: Calls::default(),
        }
    }

    /// The token of the script that follows what is in the cache: that of the
    /// reply of which most has been said after `<|start|>assistant`.
    fn next(&self) -> i32 {
        let begin = tokenizer().encode("<|start|>assistant").unwrap();
        let said = (0..self.cache.len())
            .filter(|&at| self.cache[at..].starts_with(&begin))
            .map(|at| &self.cache[at + begin.len()..]);
        let users = tokenizer().encode("<|start|>user").unwrap();
        let turn = self
            .cache
            .windows(users.len())
            .filter(|window| *window == users)
            .count();
        let reply = &self.replies[(turn.max(1) - 1).min(self.replies.len() - 1)];
        said.filter(|said| reply.starts_with(said))
            .map(|said| reply.get(said.len()).copied().unwrap_or(0))
            .next()
            .unwrap_or(0)
    }
}

impl LanguageModel for ScriptedModel {
    fn model_type(&self) -> &str {
        "scripted"
    }

    fn vocab(&self) -> usize {
        4103
    }

    fn batch(&self) -> usize {
        1
    }

    fn max_positions(&self) -> usize {
        self.max_positions
    }

    fn parameters(&self) -> usize {
        0
    }

    fn forward(&mut self, _tokens: &[i32], _rows: usize) -> Result<Logits<'_>> {
        Err(Error::Other("not scripted".to_owned()))
    }

    fn prefill(&mut self, tokens: &[i32], pos: usize) -> Result<Logits<'_>> {
        self.calls.lock().unwrap().push((pos, tokens.to_vec()));
        assert!(pos <= self.cache.len() && pos + tokens.len() <= self.max_positions);
        self.cache.truncate(pos);
        self.cache.extend_from_slice(tokens);
        self.logits = vec![0.0; 4103];
        let next = self.next();
        self.logits[next as usize] = 100.0;
        Ok(Logits::new(&self.logits, 4103))
    }

    fn decode(&mut self, tokens: &[i32], pos: usize) -> Result<Logits<'_>> {
        self.prefill(tokens, pos)
    }

    fn decode_rows(&mut self, _tokens: &[i32], _positions: &[i32]) -> Result<Logits<'_>> {
        Err(Error::Other("not scripted".to_owned()))
    }

    fn prefill_slots(
        &mut self,
        _tokens: &[i32],
        _slots: &[i32],
        _lengths: &[i32],
    ) -> Result<Logits<'_>> {
        Err(Error::Other("not scripted".to_owned()))
    }
}
