//! The same tokens through each entry in its own way.

use linnet_models::{LanguageModel, Logits, Pack, Result};

use crate::arguments::Entry;
use crate::files::{LogitsFile, Tokens};

/// The logits after every token of every row.
pub fn logits(model: &mut dyn LanguageModel, tokens: &Tokens, entry: Entry) -> Result<LogitsFile> {
    let mut out = Output::new(tokens, model.vocab());
    match entry {
        Entry::Forward => forward(model, tokens, &mut out)?,
        Entry::Prefill => prefill(model, tokens, &mut out)?,
        Entry::Decode => decode(model, tokens, &mut out)?,
        Entry::DecodeRows => decode_rows(model, tokens, &mut out)?,
        Entry::PrefillSlots => prefill_slots(model, tokens, &mut out)?,
        Entry::NextToken => next_token(model, tokens, &mut out)?,
        Entry::PrefillPacked => packed(model, tokens, &mut out, false)?,
        Entry::StepPacked => packed(model, tokens, &mut out, true)?,
    }
    Ok(out.file)
}

struct Output {
    file: LogitsFile,
}

impl Output {
    fn new(tokens: &Tokens, vocab: usize) -> Self {
        let shape = [tokens.rows, tokens.length, vocab];
        Self {
            file: LogitsFile {
                bytes: vec![0; 4 * shape.iter().product::<usize>()],
                shape,
            },
        }
    }

    /// Keeps one row of an entry's result as the logits after token `s` of sequence `b`.
    fn set(&mut self, b: usize, s: usize, logits: &[f32]) {
        let [_, length, vocab] = self.file.shape;
        let start = 4 * vocab * (b * length + s);
        let (places, _) = self.file.bytes[start..start + 4 * vocab].as_chunks_mut();
        for (place, logit) in places.iter_mut().zip(logits) {
            *place = logit.to_le_bytes();
        }
    }

    /// Keeps a row per sequence, all after token `s`.
    fn set_all(&mut self, s: usize, logits: Logits<'_>) {
        for b in 0..logits.rows() {
            self.set(b, s, logits.row(b));
        }
    }
}

fn forward(model: &mut dyn LanguageModel, tokens: &Tokens, out: &mut Output) -> Result<()> {
    let logits = model.forward(&tokens.ids, tokens.rows)?;
    for row in 0..logits.rows() {
        out.set(row / tokens.length, row % tokens.length, logits.row(row));
    }
    Ok(())
}

/// The first `length` tokens of every row.
fn beginnings(tokens: &Tokens, length: usize) -> Vec<i32> {
    (0..tokens.rows)
        .flat_map(|b| tokens.row(b)[..length].iter().copied())
        .collect()
}

/// The tokens at one position of every row.
fn column(tokens: &Tokens, s: usize) -> Vec<i32> {
    (0..tokens.rows).map(|b| tokens.row(b)[s]).collect()
}

fn prefill(model: &mut dyn LanguageModel, tokens: &Tokens, out: &mut Output) -> Result<()> {
    for length in 1..=tokens.length {
        let logits = model.prefill(&beginnings(tokens, length), 0)?;
        out.set_all(length - 1, logits);
    }
    Ok(())
}

fn decode(model: &mut dyn LanguageModel, tokens: &Tokens, out: &mut Output) -> Result<()> {
    for s in 0..tokens.length {
        let logits = model.decode(&column(tokens, s), s)?;
        out.set_all(s, logits);
    }
    Ok(())
}

/// Row `b` starts `b` steps late. Rows that have not started, or have ended,
/// take in the first or last of their tokens at its place again.
fn decode_rows(model: &mut dyn LanguageModel, tokens: &Tokens, out: &mut Output) -> Result<()> {
    for step in 0..tokens.length + tokens.rows - 1 {
        let at = |b: usize| step.saturating_sub(b).min(tokens.length - 1);
        let ids: Vec<i32> = (0..tokens.rows).map(|b| tokens.row(b)[at(b)]).collect();
        let positions: Vec<i32> = (0..tokens.rows).map(|b| at(b) as i32).collect();
        let logits = model.decode_rows(&ids, &positions)?;
        for b in 0..tokens.rows {
            out.set(b, at(b), logits.row(b));
        }
    }
    Ok(())
}

/// In round `r` sequence `m` has `(r + m) % S + 1` tokens and goes to slot
/// `(r + m) % B`, so lengths differ within a round and slots are used again.
fn prefill_slots(model: &mut dyn LanguageModel, tokens: &Tokens, out: &mut Output) -> Result<()> {
    for round in 0..tokens.length {
        let length = |m: usize| (round + m) % tokens.length + 1;
        let lengths: Vec<i32> = (0..tokens.rows).map(|m| length(m) as i32).collect();
        let slots: Vec<i32> = (0..tokens.rows)
            .map(|m| ((round + m) % tokens.rows) as i32)
            .collect();
        let logits = model.prefill_slots(&tokens.ids, &slots, &lengths)?;
        for m in 0..tokens.rows {
            out.set(m, length(m) - 1, logits.row(m));
        }
    }
    Ok(())
}

fn next_token(model: &mut dyn LanguageModel, tokens: &Tokens, out: &mut Output) -> Result<()> {
    for length in 1..=tokens.length {
        let logits = model.next_token(&beginnings(tokens, length), tokens.rows)?;
        out.set_all(length - 1, logits);
    }
    Ok(())
}

/// Every beginning of the rows side by side, each with a token of padding behind
/// it; if `steps`, every second row goes token by token beside them instead.
fn packed(
    model: &mut dyn LanguageModel,
    tokens: &Tokens,
    out: &mut Output,
    steps: bool,
) -> Result<()> {
    let rows = tokens.rows;
    let is_step = |b: usize| steps && b % 2 == 1;
    for length in 1..=tokens.length {
        let (mut ids, mut places) = (Vec::new(), Vec::new());
        let (mut positions, mut segments) = (Vec::new(), Vec::new());
        let mut last = vec![0; rows];
        for b in (0..rows).filter(|&b| !is_step(b)) {
            ids.extend_from_slice(&tokens.row(b)[..length]);
            places.resize(ids.len(), b as i32);
            positions.extend(0..length as i32);
            segments.resize(ids.len(), b as i32);
            last[b] = ids.len() as i32 - 1;
            ids.push(0);
            places.push(b as i32);
            positions.push(0);
            segments.push(-1);
        }
        let pack = Pack {
            tokens: &ids,
            rows: &places,
            positions: &positions,
            segments: &segments,
        };
        if steps {
            let at = length as i32 - 1;
            let at: Vec<i32> = (0..rows)
                .map(|b| if is_step(b) { at } else { -1 })
                .collect();
            let logits = model.step_packed(pack, &last, &column(tokens, length - 1), &at)?;
            for b in 0..rows {
                let row = if is_step(b) { rows + b } else { b };
                out.set(b, length - 1, logits.row(row));
            }
        } else {
            out.set_all(length - 1, model.prefill_packed(pack, &last)?);
        }
    }
    Ok(())
}
