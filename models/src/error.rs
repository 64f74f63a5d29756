//! What can go wrong, said so that the reader knows what to do about it.

use std::path::PathBuf;

use crate::hub::HubError;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Any failure of loading, tokenizing or generating.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The runtime refused something: weights, shapes, token ids or positions.
    #[error(transparent)]
    Runtime(Box<linnet_runtime::Error>),

    /// A checkpoint could not be fetched from the Hub or found in its cache.
    #[error(transparent)]
    Hub(Box<HubError>),

    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb: "read", "write".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },

    /// The name given for a model is neither a folder, nor bundled, nor a Hub id.
    #[error("no model {name:?}: {reason}")]
    NoSuchModel {
        /// The name as given.
        name: String,
        /// What was looked for, and what to give instead.
        reason: String,
    },

    /// A folder lacks a file that a checkpoint must have.
    #[error("{} is not a checkpoint: it has no {missing}", folder.display())]
    Incomplete {
        /// The folder.
        folder: PathBuf,
        /// The file or files that are missing, with what to do.
        missing: String,
    },

    /// A JSON file of a checkpoint has unexpected content.
    #[error("{file}: {message}")]
    Config {
        /// The file.
        file: String,
        /// What is wrong in it.
        message: String,
    },

    /// `config.json` names an architecture that is not here.
    #[error(
        "{file}: model_type is {found:?}, which is not supported; supported are {}",
        supported.join(", ")
    )]
    UnknownModelType {
        /// The file.
        file: String,
        /// The `model_type` found.
        found: String,
        /// The ones that this crate has.
        supported: &'static [&'static str],
    },

    /// A checkpoint comes without tokenizer files.
    #[error(
        "no tokenizer in {place}: it has neither tokenizer.json nor vocab.json with merges.txt; \
         copy them from the checkpoint's page, or work on token ids with the `logits` program"
    )]
    NoTokenizer {
        /// The folder or repository.
        place: String,
    },

    /// The tokenizer files cannot be used.
    #[error("{file}: {message}")]
    Tokenizer {
        /// The file.
        file: String,
        /// What is wrong with it.
        message: String,
    },

    /// The tokenizer can produce ids that the model has no embedding for.
    #[error(
        "the tokenizer has token ids up to {largest}, the model only has embeddings for 0 to {}: \
         the tokenizer in {place} belongs to another checkpoint",
        vocab.saturating_sub(1)
    )]
    VocabularyTooLarge {
        /// The tokenizer's largest id.
        largest: u32,
        /// The model's vocabulary.
        vocab: usize,
        /// The folder or repository.
        place: String,
    },

    /// The checkpoint's chat template is not valid, or refuses the messages.
    #[error("the chat template of {file}: {message}")]
    ChatTemplate {
        /// The file that it is in.
        file: String,
        /// What is wrong.
        message: String,
    },

    /// The model continues texts, it does not answer in turns.
    #[error(
        "this {model_type} model holds no conversations: its vocabulary lacks the tokens of the \
         harmony format, such as <|start|> and <|channel|>; let it continue a text instead"
    )]
    NoChatFormat {
        /// The model's architecture.
        model_type: String,
    },

    /// An option has a value out of its range.
    #[error("{option} is {value}, but must be {expected}")]
    InvalidOption {
        /// The option's name.
        option: &'static str,
        /// Its value.
        value: String,
        /// What is accepted.
        expected: &'static str,
    },

    /// The model's output cannot be sampled because it is not a number.
    #[error(
        "{count} of {vocab} logits are NaN (the first for token {first}): the weights hold NaN \
         or the computation overflowed; check the checkpoint, or try --dtype f32"
    )]
    NanLogits {
        /// How many.
        count: usize,
        /// The first token with one.
        first: usize,
        /// How many logits there are.
        vocab: usize,
    },

    /// No token can be chosen: every logit is minus infinity, or some are infinite.
    #[error(
        "the logits leave no choice: {reason}; the weights are damaged or the computation \
         overflowed, try --dtype f32"
    )]
    DegenerateLogits {
        /// What is wrong with them.
        reason: &'static str,
    },

    /// There is nothing to continue.
    #[error(
        "the prompt is empty: it has no tokens, and the checkpoint names no token to begin a text with"
    )]
    EmptyPrompt,

    /// A token id is out of range.
    #[error("token id {id} at index {index} is out of range: the vocabulary is 0 to {}", vocab.saturating_sub(1))]
    TokenOutOfRange {
        /// The id.
        id: i64,
        /// Where in the sequence.
        index: usize,
        /// The model's vocabulary.
        vocab: usize,
    },

    /// More positions than the model has.
    #[error("room for {asked} positions is asked for, but the model has {limit} positions")]
    TooManyPositions {
        /// The positions asked for.
        asked: usize,
        /// The model's own limit.
        limit: usize,
    },

    /// An entry that an architecture does not have.
    #[error("a model of type {model_type} has no entry {entry}")]
    NoEntry {
        /// As `model_type` in `config.json` spells it.
        model_type: String,
        /// The entry.
        entry: &'static str,
    },

    /// A conversation needs a model loaded for one sequence.
    #[error("the model is loaded for {batch} sequences at once; a conversation needs a batch of 1")]
    BatchedConversation {
        /// The model's `Batch`.
        batch: usize,
    },

    /// Several problems of one checkpoint, or something else in words.
    #[error("{0}")]
    Other(String),
}

impl From<linnet_runtime::Error> for Error {
    fn from(error: linnet_runtime::Error) -> Self {
        Self::Runtime(Box::new(error))
    }
}

impl From<HubError> for Error {
    fn from(error: HubError) -> Self {
        Self::Hub(Box::new(error))
    }
}

impl Error {
    /// An [`Error::Io`], for use in `map_err`.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
