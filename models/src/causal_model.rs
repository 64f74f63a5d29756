//! A model's typed entries behind [`LanguageModel`].

use linnet_runtime::card::Loaded;
use linnet_runtime::weights::Manifest;
use linnet_runtime::{Const, Dim, Dyn, ErasedTensor, Tensor, bf16, f16};

use crate::model::{LanguageModel, Logits, Pack};
use crate::{Error, Result};

/// Token ids or positions, one for each row of the cache or each token.
type List<N> = Tensor<(N,), i32>;
/// Rows of token ids.
type Rows<B, S> = Tensor<(B, S), i32>;

/// The entries of a causal language model, their results without types.
pub(crate) trait CausalModel: Send + Sized {
    /// The rows of its cache.
    type Batch: Dim;

    /// As `model_type` in `config.json` spells it.
    const MODEL_TYPE: &'static str;

    /// The number of its parameters.
    fn n_parameters(manifest: &Manifest) -> usize {
        manifest.n_parameters()
    }

    fn forward(&self, tokens: &Rows<Dyn, Dyn>) -> Result<ErasedTensor>;
    fn prefill(&mut self, tokens: &Rows<Self::Batch, Dyn>, pos: i32) -> Result<ErasedTensor>;
    fn decode(&mut self, tokens: &Rows<Self::Batch, Const<1>>, pos: i32) -> Result<ErasedTensor>;
    fn decode_rows(
        &mut self,
        tokens: &Rows<Self::Batch, Const<1>>,
        positions: &List<Self::Batch>,
    ) -> Result<ErasedTensor>;
    fn prefill_slots(
        &mut self,
        tokens: &Rows<Dyn, Dyn>,
        slots: &List<Dyn>,
        lengths: &List<Dyn>,
    ) -> Result<ErasedTensor>;

    fn next_token(&self, _tokens: &Rows<Dyn, Dyn>) -> Result<ErasedTensor> {
        Err(no_entry::<Self>("next_token"))
    }
    fn prefill_packed(
        &mut self,
        _pack: &PackTensors,
        _last: &List<Self::Batch>,
    ) -> Result<ErasedTensor> {
        Err(no_entry::<Self>("prefill_packed"))
    }
    fn step_packed(
        &mut self,
        _pack: &PackTensors,
        _last: &List<Self::Batch>,
        _step_tokens: &Rows<Self::Batch, Const<1>>,
        _step_positions: &List<Self::Batch>,
    ) -> Result<ErasedTensor> {
        Err(no_entry::<Self>("step_packed"))
    }
}

fn no_entry<M: CausalModel>(entry: &'static str) -> Error {
    Error::NoEntry {
        model_type: M::MODEL_TYPE.to_owned(),
        entry,
    }
}

/// Tokens of several prompts side by side.
pub(crate) struct PackTensors {
    pub(crate) tokens: List<Dyn>,
    pub(crate) rows: List<Dyn>,
    pub(crate) positions: List<Dyn>,
    pub(crate) segments: List<Dyn>,
}

/// A loaded model, its sizes, and what a step reuses.
pub(crate) struct Adapter<M: CausalModel> {
    model: M,
    vocab: usize,
    batch: usize,
    max_positions: usize,
    parameters: usize,
    /// The tokens and positions of a step, kept so that a step allocates nothing.
    step: Rows<M::Batch, Const<1>>,
    positions: List<M::Batch>,
    last: List<M::Batch>,
    /// The last result as f32.
    logits: Vec<f32>,
}

/// A loaded model as a language model.
pub(crate) fn boxed<M: CausalModel + 'static>(loaded: Loaded<M>) -> Result<Box<dyn LanguageModel>> {
    let dim = |name: &str| {
        loaded
            .manifest
            .values
            .dim(name)
            .ok_or_else(|| Error::Other(format!("the model has no dimension {name}")))
    };
    let batch = dim("Batch")?;
    Ok(Box::new(Adapter {
        vocab: dim("Vocab")?,
        batch,
        max_positions: dim("MaxSeq")?,
        parameters: M::n_parameters(&loaded.manifest),
        step: Tensor::zeros(&[batch, 1])?,
        positions: Tensor::zeros(&[batch])?,
        last: Tensor::zeros(&[batch])?,
        logits: Vec::new(),
        model: loaded.model,
    }))
}

impl<M: CausalModel> Adapter<M> {
    /// Keeps a result as f32.
    fn keep(&mut self, output: &ErasedTensor) -> Result<Logits<'_>> {
        copy_as_f32(output, &mut self.logits)?;
        Ok(Logits::new(&self.logits, self.vocab))
    }

    fn set_step(&mut self, entry: &str, tokens: &[i32], positions: &[i32]) -> Result<()> {
        expect(&format!("{entry}, tokens"), tokens.len(), self.batch)?;
        expect(&format!("{entry}, positions"), positions.len(), self.batch)?;
        self.step.as_mut_slice()?.copy_from_slice(tokens);
        self.positions.as_mut_slice()?.copy_from_slice(positions);
        Ok(())
    }

    fn set_last(&mut self, entry: &str, last: &[i32]) -> Result<()> {
        expect(&format!("{entry}, last"), last.len(), self.batch)?;
        self.last.as_mut_slice()?.copy_from_slice(last);
        Ok(())
    }
}

/// The number of columns when `tokens` are `rows` rows.
fn columns(what: &str, tokens: usize, rows: usize) -> Result<usize> {
    if rows == 0 || tokens == 0 || !tokens.is_multiple_of(rows) {
        return Err(Error::Other(format!(
            "{what}: {tokens} values are not {rows} rows of one length above 0"
        )));
    }
    Ok(tokens / rows)
}

fn expect(what: &str, values: usize, expected: usize) -> Result<()> {
    if values == expected {
        return Ok(());
    }
    Err(Error::Other(format!(
        "{what}: {values} values, expected {expected}"
    )))
}

/// Positions are `i32` in the entries; one that is larger is out of range for any of them.
fn position(pos: usize) -> i32 {
    i32::try_from(pos).unwrap_or(i32::MAX)
}

fn list(values: &[i32]) -> Result<List<Dyn>> {
    Ok(Tensor::from_slice(&[values.len()], values)?)
}

fn pack_tensors(entry: &str, pack: Pack<'_>) -> Result<PackTensors> {
    let n = pack.tokens.len();
    expect(&format!("{entry}, rows"), pack.rows.len(), n)?;
    expect(&format!("{entry}, positions"), pack.positions.len(), n)?;
    expect(&format!("{entry}, segments"), pack.segments.len(), n)?;
    Ok(PackTensors {
        tokens: list(pack.tokens)?,
        rows: list(pack.rows)?,
        positions: list(pack.positions)?,
        segments: list(pack.segments)?,
    })
}

fn copy_as_f32(tensor: &ErasedTensor, out: &mut Vec<f32>) -> Result<()> {
    out.clear();
    if let Some(values) = tensor.as_slice::<f32>() {
        out.extend_from_slice(values);
    } else if let Some(values) = tensor.as_slice::<bf16>() {
        out.extend(values.iter().map(|value| value.to_f32()));
    } else if let Some(values) = tensor.as_slice::<f16>() {
        out.extend(values.iter().map(|value| value.to_f32()));
    } else {
        return Err(Error::Other(format!(
            "logits of dtype {} cannot be read",
            tensor.dtype()
        )));
    }
    Ok(())
}

impl<M: CausalModel> LanguageModel for Adapter<M> {
    fn model_type(&self) -> &str {
        M::MODEL_TYPE
    }

    fn vocab(&self) -> usize {
        self.vocab
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn max_positions(&self) -> usize {
        self.max_positions
    }

    fn parameters(&self) -> usize {
        self.parameters
    }

    fn forward(&mut self, tokens: &[i32], rows: usize) -> Result<Logits<'_>> {
        let columns = columns("forward", tokens.len(), rows)?;
        let tokens = Tensor::from_slice(&[rows, columns], tokens)?;
        let output = self.model.forward(&tokens)?;
        self.keep(&output)
    }

    fn next_token(&mut self, tokens: &[i32], rows: usize) -> Result<Logits<'_>> {
        let columns = columns("next_token", tokens.len(), rows)?;
        let tokens = Tensor::from_slice(&[rows, columns], tokens)?;
        let output = self.model.next_token(&tokens)?;
        self.keep(&output)
    }

    fn prefill(&mut self, tokens: &[i32], pos: usize) -> Result<Logits<'_>> {
        let columns = columns("prefill", tokens.len(), self.batch)?;
        let tokens = Tensor::from_slice(&[self.batch, columns], tokens)?;
        let output = self.model.prefill(&tokens, position(pos))?;
        self.keep(&output)
    }

    fn decode(&mut self, tokens: &[i32], pos: usize) -> Result<Logits<'_>> {
        expect("decode", tokens.len(), self.batch)?;
        self.step.as_mut_slice()?.copy_from_slice(tokens);
        let output = self.model.decode(&self.step, position(pos))?;
        self.keep(&output)
    }

    fn decode_rows(&mut self, tokens: &[i32], positions: &[i32]) -> Result<Logits<'_>> {
        self.set_step("decode_rows", tokens, positions)?;
        let output = self.model.decode_rows(&self.step, &self.positions)?;
        self.keep(&output)
    }

    fn prefill_slots(
        &mut self,
        tokens: &[i32],
        slots: &[i32],
        lengths: &[i32],
    ) -> Result<Logits<'_>> {
        let rows = slots.len();
        expect("prefill_slots, lengths", lengths.len(), rows)?;
        let columns = columns("prefill_slots", tokens.len(), rows)?;
        let tokens = Tensor::from_slice(&[rows, columns], tokens)?;
        let output = self
            .model
            .prefill_slots(&tokens, &list(slots)?, &list(lengths)?)?;
        self.keep(&output)
    }

    fn prefill_packed(&mut self, pack: Pack<'_>, last: &[i32]) -> Result<Logits<'_>> {
        let pack = pack_tensors("prefill_packed", pack)?;
        self.set_last("prefill_packed", last)?;
        let output = self.model.prefill_packed(&pack, &self.last)?;
        self.keep(&output)
    }

    fn step_packed(
        &mut self,
        pack: Pack<'_>,
        last: &[i32],
        step_tokens: &[i32],
        step_positions: &[i32],
    ) -> Result<Logits<'_>> {
        let pack = pack_tensors("step_packed", pack)?;
        self.set_last("step_packed", last)?;
        self.set_step("step_packed", step_tokens, step_positions)?;
        let output = self
            .model
            .step_packed(&pack, &self.last, &self.step, &self.positions)?;
        self.keep(&output)
    }
}
