//! A model with its tokenizer: text in, text out.

use crate::cancellation::Cancellation;
use crate::conversation::Conversation;
use crate::generation::{GenerateOptions, Generation};
use crate::harmony::{ChatFormat, ChatOptions, ChatSession};
use crate::model::LanguageModel;
use crate::tokenizer::Tokenizer;
use crate::{Error, Result};

/// A language model that reads and writes text, and the conversation so far.
///
/// ```
/// # fn main() -> linnet_models::Result<()> {
/// let mut model = linnet_models::load("tales-gpt2", Default::default())?;
/// let first: String = model.generate("Once upon a time", Default::default())?.collect::<Result<_, _>>()?;
/// // What was written stays in the cache; only the new words go through the model.
/// let more: String = model.resume("\nThe King said:", Default::default())?.collect::<Result<_, _>>()?;
/// # assert!(!first.is_empty() && !more.is_empty());
/// # Ok(())
/// # }
/// ```
pub struct TextModel {
    model: Box<dyn LanguageModel>,
    tokenizer: Tokenizer,
    conversation: Conversation,
    /// The logits after the conversation's last token.
    logits: Vec<f32>,
    /// How the checkpoint wants conversations, where it holds them.
    chat_format: Option<ChatFormat>,
}

impl TextModel {
    /// Joins a model and a tokenizer.
    ///
    /// # Errors
    ///
    /// [`Error::VocabularyTooLarge`] when the tokenizer has ids that the model has not.
    pub fn new(model: Box<dyn LanguageModel>, tokenizer: Tokenizer) -> Result<Self> {
        tokenizer.check_vocab(model.vocab())?;
        Ok(Self {
            model,
            tokenizer,
            conversation: Conversation::new(),
            logits: Vec::new(),
            chat_format: None,
        })
    }

    /// The same model, with the format of the checkpoint's conversations.
    pub(crate) fn with_chat_format(mut self, format: Option<ChatFormat>) -> Self {
        self.chat_format = format;
        self
    }

    /// Begins a conversation of turns, forgetting what came before.
    ///
    /// # Errors
    ///
    /// [`Error::NoChatFormat`] when the model does not hold conversations
    /// ([`TextModel::holds_conversations`]), [`Error::ChatTemplate`] when the
    /// checkpoint's template is not valid, [`Error::InvalidOption`] for options
    /// out of their range.
    pub fn chat(&mut self, options: ChatOptions) -> Result<ChatSession<'_>> {
        let format = self
            .chat_format
            .clone()
            .ok_or_else(|| Error::NoChatFormat {
                model_type: self.model.model_type().to_owned(),
            })?;
        self.reset();
        ChatSession::new(self, format, options)
    }

    /// Whether the model answers in turns, and does not just write on.
    pub fn holds_conversations(&self) -> bool {
        self.chat_format.is_some()
    }

    /// Writes on from `prompt`, forgetting what came before.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] for options out of their range,
    /// [`Error::EmptyPrompt`] for an empty prompt where the checkpoint names no
    /// token to begin with, and what [`Tokenizer::encode`] reports.
    pub fn generate(&mut self, prompt: &str, options: GenerateOptions) -> Result<Generation<'_>> {
        self.reset();
        self.resume(prompt, options)
    }

    /// Adds `text` to the conversation and writes on. With an empty text it goes on where it ended.
    ///
    /// # Errors
    ///
    /// As [`TextModel::generate`].
    pub fn resume(&mut self, text: &str, options: GenerateOptions) -> Result<Generation<'_>> {
        let mut tokens = self.tokenizer.encode(text)?;
        if self.conversation.tokens().is_empty() && (tokens.is_empty() || self.tokenizer.adds_bos())
        {
            let start = self
                .tokenizer
                .bos()
                .or(self.tokenizer.eos().first().copied());
            match start {
                Some(start) => tokens.insert(0, start),
                None if tokens.is_empty() => return Err(Error::EmptyPrompt),
                None => {}
            }
        }
        self.resume_tokens(&tokens, options)
    }

    /// Adds tokens to the conversation and writes on.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`] for options out of their range.
    pub fn resume_tokens(
        &mut self,
        tokens: &[i32],
        options: GenerateOptions,
    ) -> Result<Generation<'_>> {
        Generation::new(self, tokens, options)
    }

    /// Forgets the conversation.
    pub fn reset(&mut self) {
        self.conversation.clear();
    }

    /// The model.
    pub fn model(&self) -> &dyn LanguageModel {
        self.model.as_ref()
    }

    /// The model, for calls that this type does not have. They overwrite the
    /// cache, so the conversation is forgotten.
    pub fn model_mut(&mut self) -> &mut dyn LanguageModel {
        self.reset();
        self.model.as_mut()
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The conversation so far.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Sends pending tokens through the model; false when cancelled.
    pub(crate) fn advance(&mut self, cancellation: &Cancellation) -> Result<bool> {
        self.conversation
            .advance(self.model.as_mut(), cancellation, &mut self.logits)
    }

    pub(crate) fn logits_and_context(&self) -> (&[f32], &[i32]) {
        (&self.logits, self.conversation.tokens())
    }

    pub(crate) fn extend(&mut self, tokens: &[i32]) {
        self.conversation.extend(tokens);
    }

    pub(crate) fn replace_tokens(&mut self, tokens: &[i32]) {
        self.conversation.replace(tokens);
    }

    pub(crate) fn push_token(&mut self, token: i32) {
        self.conversation.push(token);
    }
}

impl std::fmt::Debug for TextModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextModel")
            .field("model_type", &self.model.model_type())
            .field("tokenizer", &self.tokenizer)
            .field("tokens", &self.conversation.tokens().len())
            .finish_non_exhaustive()
    }
}
