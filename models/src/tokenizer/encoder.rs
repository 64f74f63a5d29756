//! The two kinds of tokenizer behind [`Tokenizer`](super::Tokenizer): a
//! checkpoint's own pipeline, and o200k_harmony.

use tiktoken_rs::CoreBPE;
use tokenizers::tokenizer::pre_tokenizer::PreTokenizedString;
use tokenizers::{DecoderWrapper, Model, Normalizer, OffsetType, PreTokenizer};

use super::byte_table::ByteTable;

/// The largest id of o200k_harmony; the published vocabulary has one entry more.
pub(super) const O200K_LARGEST_ID: u32 = 201_087;

/// Text to ids, and ids to the vocabulary's entries.
pub(super) enum Encoder {
    /// What the checkpoint's files describe.
    Pipeline(Box<tokenizers::Tokenizer>),
    /// The published gpt-oss models' encoding, from the program itself.
    O200k(&'static CoreBPE),
}

/// An entry of the vocabulary that stands beside the merges: it is never the
/// result of encoding its parts.
pub(super) struct AddedToken {
    pub(super) text: String,
    pub(super) id: u32,
    pub(super) special: bool,
}

/// What the tokenizer library says when it fails.
type Outcome<T> = Result<T, String>;

impl Encoder {
    /// o200k_harmony.
    pub(super) fn o200k() -> Self {
        Self::O200k(tiktoken_rs::o200k_harmony_singleton())
    }

    /// The ids of `text`; added tokens that are spelled out in it become their ids.
    pub(super) fn encode(&self, text: &str) -> Outcome<Vec<u32>> {
        match self {
            Self::Pipeline(pipeline) => pipeline
                .encode_fast(text, false)
                .map(|encoding| encoding.get_ids().to_vec())
                .map_err(|e| e.to_string()),
            Self::O200k(bpe) => Ok(bpe.encode_with_special_tokens(text)),
        }
    }

    /// The ids of `text` by the merges alone.
    pub(super) fn encode_text(&self, text: &str) -> Outcome<Vec<u32>> {
        match self {
            Self::Pipeline(pipeline) => {
                encode_without_added(pipeline, text).map_err(|e| e.to_string())
            }
            Self::O200k(bpe) => Ok(bpe.encode_ordinary(text)),
        }
    }

    /// The id of an entry as the vocabulary spells it.
    pub(super) fn token_to_id(&self, token: &str) -> Option<u32> {
        match self {
            Self::Pipeline(pipeline) => pipeline.token_to_id(token),
            Self::O200k(bpe) => match bpe.encode_with_special_tokens(token)[..] {
                [id] => Some(id),
                _ => None,
            },
        }
    }

    /// The entry of an id as the vocabulary spells it.
    pub(super) fn id_to_token(&self, id: u32) -> Option<String> {
        match self {
            Self::Pipeline(pipeline) => pipeline.id_to_token(id),
            Self::O200k(bpe) => {
                let bytes = bpe.decode_bytes(&[id]).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
        }
    }

    /// The text of a run of ids, without special tokens.
    pub(super) fn decode(&self, ids: &[u32]) -> Outcome<String> {
        match self {
            Self::Pipeline(pipeline) => pipeline.decode(ids, true).map_err(|e| e.to_string()),
            Self::O200k(bpe) => {
                let bytes = bpe.decode_bytes(ids).map_err(|e| e.to_string())?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
        }
    }

    /// The entries beside the merges.
    pub(super) fn added_tokens(&self) -> Vec<AddedToken> {
        match self {
            Self::Pipeline(pipeline) => pipeline
                .get_added_tokens_decoder()
                .into_iter()
                .map(|(id, token)| AddedToken {
                    text: token.content,
                    id,
                    special: token.special,
                })
                .collect(),
            Self::O200k(bpe) => bpe
                .special_tokens()
                .into_iter()
                .filter_map(|text| {
                    Some(AddedToken {
                        text: text.to_owned(),
                        id: self.token_to_id(text)?,
                        special: true,
                    })
                })
                .collect(),
        }
    }

    /// The largest id.
    pub(super) fn largest_id(&self) -> u32 {
        match self {
            Self::Pipeline(pipeline) => {
                let vocab = pipeline.get_vocab(true);
                vocab.values().copied().max().unwrap_or(0)
            }
            Self::O200k(_) => O200K_LARGEST_ID,
        }
    }

    /// The bytes of every entry, where the vocabulary is byte-level.
    pub(super) fn byte_table(&self) -> Option<ByteTable> {
        match self {
            Self::Pipeline(pipeline) => {
                matches!(pipeline.get_decoder(), Some(DecoderWrapper::ByteLevel(_)))
                    .then(|| ByteTable::new(&pipeline.get_vocab(true)))
            }
            Self::O200k(bpe) => Some(ByteTable::from_entries(
                (0..=O200K_LARGEST_ID).map(|id| bpe.decode_bytes(&[id]).unwrap_or_default()),
            )),
        }
    }
}

/// The pipeline without its search for added tokens.
fn encode_without_added(
    pipeline: &tokenizers::Tokenizer,
    text: &str,
) -> tokenizers::Result<Vec<u32>> {
    let mut pieces = PreTokenizedString::from(text);
    if let Some(normalizer) = pipeline.get_normalizer() {
        pieces.normalize(|piece| normalizer.normalize(piece))?;
    }
    if let Some(pre_tokenizer) = pipeline.get_pre_tokenizer() {
        pre_tokenizer.pre_tokenize(&mut pieces)?;
    }
    let model = pipeline.get_model();
    pieces.tokenize(|piece| model.tokenize(piece.get()))?;
    let encoding = pieces.into_encoding(None, 0, OffsetType::None)?;
    Ok(encoding.get_ids().to_vec())
}
