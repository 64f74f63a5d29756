//! The special tokens of the harmony format.

use crate::tokenizer::Tokenizer;

/// A special token of the harmony format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Special {
    /// `<|start|>` begins a message, and its header.
    Start,
    /// `<|end|>` ends a message.
    End,
    /// `<|message|>` ends a header; the text follows.
    Message,
    /// `<|channel|>` stands before the channel's name in a header.
    Channel,
    /// `<|constrain|>` stands before the text's type in a header.
    Constrain,
    /// `<|return|>` ends the last message of a turn.
    Return,
    /// `<|call|>` ends a message to a tool, and the turn.
    Call,
}

impl Special {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Start,
        Self::End,
        Self::Message,
        Self::Channel,
        Self::Constrain,
        Self::Return,
        Self::Call,
    ];

    /// How the vocabulary spells it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Start => "<|start|>",
            Self::End => "<|end|>",
            Self::Message => "<|message|>",
            Self::Channel => "<|channel|>",
            Self::Constrain => "<|constrain|>",
            Self::Return => "<|return|>",
            Self::Call => "<|call|>",
        }
    }
}

/// The ids of the special tokens in one vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecialTokens {
    /// In the order of [`Special::ALL`].
    ids: [i32; 7],
}

impl SpecialTokens {
    /// The ids in a tokenizer's vocabulary; `None` when it lacks one of them,
    /// and so does not speak harmony.
    pub fn of(tokenizer: &Tokenizer) -> Option<Self> {
        let mut ids = [0; 7];
        for (id, special) in ids.iter_mut().zip(Special::ALL) {
            *id = tokenizer
                .token_id(special.text())
                .filter(|&id| tokenizer.is_special(id))?;
        }
        Some(Self { ids })
    }

    /// The id of a special token.
    pub fn id(&self, special: Special) -> i32 {
        self.ids[special as usize]
    }

    /// The special token that an id stands for.
    pub fn special(&self, id: i32) -> Option<Special> {
        let at = self.ids.iter().position(|&known| known == id)?;
        Some(Special::ALL[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harmony::test_support::tokenizer;

    #[test]
    fn ids_come_from_the_vocabulary() {
        let tokens = SpecialTokens::of(tokenizer()).unwrap();
        for special in Special::ALL {
            let id = tokens.id(special);
            assert_eq!(tokens.special(id), Some(special));
            assert_eq!(tokenizer().token(id).as_deref(), Some(special.text()));
        }
        assert_eq!(tokens.special(0), None);
    }
}
