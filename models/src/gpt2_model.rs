//! GPT-2 behind [`LanguageModel`].

use gpt2::{CARD, DistilGpt2, Gpt2, Gpt2Dyn, Gpt2Large, Gpt2Medium, Gpt2Xl, Model};
use linnet_runtime::card::{self, Choices, Loaded, Source};
use linnet_runtime::weights::GenericValues;
use linnet_runtime::{
    Block, Const, Device, Dim, Dyn, ErasedTensor, Float, Shape, Tensor, bf16, f16,
};

use crate::checkpoint_files::CheckpointFiles;
use crate::load::{FloatType, LoadOptions};
use crate::model::{LanguageModel, Logits};
use crate::{Error, Result};

/// Loads a checkpoint whose `model_type` is `gpt2`.
pub(crate) fn load(
    files: &CheckpointFiles,
    options: &LoadOptions,
) -> Result<Box<dyn LanguageModel>> {
    match options.dtype {
        FloatType::F32 => load_as::<f32>(files, options),
        FloatType::Bf16 => load_as::<bf16>(files, options),
        FloatType::F16 => load_as::<f16>(files, options),
    }
}

/// Loads it with the dimensions of a known checkpoint, or any others.
fn load_as<T: Float>(
    files: &CheckpointFiles,
    options: &LoadOptions,
) -> Result<Box<dyn LanguageModel>> {
    let mut choices = Choices::new().batch(options.batch);
    let values = config_values::<T>(files, &choices)?;
    if let Some(asked) = options.max_positions {
        let limit = values.dim("MaxPositions").unwrap_or(usize::MAX);
        if asked > limit {
            return Err(Error::TooManyPositions { asked, limit });
        }
        choices = choices.max_seq(asked);
    }
    let source = source(files)?;
    let known = CARD.checkpoint_matching(&values);
    let device = match options.threads {
        Some(threads) => Device::cpu_with_threads(threads)?,
        None => Device::cpu()?,
    };
    let options = card::LoadOptions {
        choices,
        device: Some(device),
        numerics: options.numerics,
    };
    match known.map(|known| known.alias) {
        Some("Gpt2") => read::<Gpt2<Dyn, Dyn, T>>(source, &options).and_then(boxed),
        Some("Gpt2Medium") => read::<Gpt2Medium<Dyn, Dyn, T>>(source, &options).and_then(boxed),
        Some("Gpt2Large") => read::<Gpt2Large<Dyn, Dyn, T>>(source, &options).and_then(boxed),
        Some("Gpt2Xl") => read::<Gpt2Xl<Dyn, Dyn, T>>(source, &options).and_then(boxed),
        Some("DistilGpt2") => read::<DistilGpt2<Dyn, Dyn, T>>(source, &options).and_then(boxed),
        _ => read::<Gpt2Dyn<T>>(source, &options).and_then(boxed),
    }
}

fn source(files: &CheckpointFiles) -> Result<Source> {
    match files {
        CheckpointFiles::Folder(folder) => Ok(Source::Path(folder.clone())),
        CheckpointFiles::Bundled(bundled) => Ok(Source::Embedded {
            name: bundled.name(),
            config: bundled.config(),
            weights: bundled.weights(),
        }),
    }
}

/// The model's dimensions by `config.json`.
fn config_values<T: Float>(files: &CheckpointFiles, choices: &Choices) -> Result<GenericValues> {
    let origin = files.name_of("config.json");
    let config = files.read_json("config.json")?.unwrap_or_default();
    let bound = CARD
        .bind(
            Gpt2Dyn::<T>::DESCRIPTOR,
            &config,
            &origin,
            choices,
            &Gpt2Dyn::<T>::generic_args(),
        )
        .map_err(linnet_runtime::Error::from)?;
    Ok(bound.values)
}

fn read<M: Block>(source: Source, options: &card::LoadOptions) -> Result<Loaded<M>> {
    Ok(card::load_reported::<M>(source, &CARD, options)?)
}

#[expect(
    clippy::type_complexity,
    reason = "the model's type has a generic for each of its dimensions"
)]
fn boxed<Vocab, MaxPositions, H, Heads, Layers, Batch, MaxSeq, T>(
    loaded: Loaded<Model<Vocab, MaxPositions, H, Heads, Layers, Batch, MaxSeq, T>>,
) -> Result<Box<dyn LanguageModel>>
where
    Vocab: Dim,
    MaxPositions: Dim,
    H: Dim,
    Heads: Dim,
    Layers: Dim,
    Batch: Dim,
    MaxSeq: Dim,
    T: Float,
{
    let values = &loaded.manifest.values;
    let dim = |name: &str| {
        values
            .dim(name)
            .ok_or_else(|| Error::Other(format!("the model has no dimension {name}")))
    };
    let sizes = Sizes {
        vocab: dim("Vocab")?,
        batch: dim("Batch")?,
        max_positions: dim("MaxSeq")?,
        parameters: loaded.manifest.n_parameters(),
    };
    Ok(Box::new(Adapter::new(loaded.model, sizes)?))
}

/// A GPT-2 of some dimensions and number format.
struct Adapter<Vocab, MaxPositions, H, Heads, Layers, Batch, MaxSeq, T>
where
    Vocab: Dim,
    MaxPositions: Dim,
    H: Dim,
    Heads: Dim,
    Layers: Dim,
    Batch: Dim,
    MaxSeq: Dim,
    T: Float,
{
    model: Model<Vocab, MaxPositions, H, Heads, Layers, Batch, MaxSeq, T>,
    sizes: Sizes,
    /// The tokens of a step, kept so that a step allocates nothing.
    step: Tensor<(Batch, Const<1>), i32>,
    positions: Tensor<(Batch,), i32>,
    /// The last result as f32.
    logits: Vec<f32>,
}

/// What callers ask about.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    vocab: usize,
    batch: usize,
    max_positions: usize,
    parameters: usize,
}

impl<Vocab, MaxPositions, H, Heads, Layers, Batch, MaxSeq, T>
    Adapter<Vocab, MaxPositions, H, Heads, Layers, Batch, MaxSeq, T>
where
    Vocab: Dim,
    MaxPositions: Dim,
    H: Dim,
    Heads: Dim,
    Layers: Dim,
    Batch: Dim,
    MaxSeq: Dim,
    T: Float,
{
    /// Wraps a loaded model, whose sizes are given.
    fn new(
        model: Model<Vocab, MaxPositions, H, Heads, Layers, Batch, MaxSeq, T>,
        sizes: Sizes,
    ) -> Result<Self> {
        Ok(Self {
            model,
            sizes,
            step: Tensor::zeros(&[sizes.batch, 1])?,
            positions: Tensor::zeros(&[sizes.batch])?,
            logits: Vec::new(),
        })
    }

    /// The number of columns when `tokens` are `rows` rows.
    fn columns(&self, what: &str, tokens: usize, rows: usize) -> Result<usize> {
        if rows == 0 || tokens == 0 || !tokens.is_multiple_of(rows) {
            return Err(Error::Other(format!(
                "{what}: {tokens} values are not {rows} rows of one length above 0"
            )));
        }
        Ok(tokens / rows)
    }

    fn per_row(&self, what: &str, values: usize, rows: usize) -> Result<()> {
        if values == rows {
            return Ok(());
        }
        Err(Error::Other(format!(
            "{what}: {values} values, expected one for each of {rows} rows"
        )))
    }

    /// Keeps a result as f32.
    fn keep<S: Shape>(&mut self, output: Tensor<S, T>) -> Result<Logits<'_>> {
        copy_as_f32(&output.into_erased(), &mut self.logits)?;
        Ok(Logits::new(&self.logits, self.sizes.vocab))
    }
}

/// Positions are `i32` in the entries; one that is larger is out of range for any of them.
fn position(pos: usize) -> i32 {
    i32::try_from(pos).unwrap_or(i32::MAX)
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

impl<Vocab, MaxPositions, H, Heads, Layers, Batch, MaxSeq, T> LanguageModel
    for Adapter<Vocab, MaxPositions, H, Heads, Layers, Batch, MaxSeq, T>
where
    Vocab: Dim,
    MaxPositions: Dim,
    H: Dim,
    Heads: Dim,
    Layers: Dim,
    Batch: Dim,
    MaxSeq: Dim,
    T: Float,
{
    fn model_type(&self) -> &str {
        "gpt2"
    }

    fn vocab(&self) -> usize {
        self.sizes.vocab
    }

    fn batch(&self) -> usize {
        self.sizes.batch
    }

    fn max_positions(&self) -> usize {
        self.sizes.max_positions
    }

    fn parameters(&self) -> usize {
        self.sizes.parameters
    }

    fn forward(&mut self, tokens: &[i32], rows: usize) -> Result<Logits<'_>> {
        let columns = self.columns("forward", tokens.len(), rows)?;
        let tokens = Tensor::<(Dyn, Dyn), i32>::from_slice(&[rows, columns], tokens)?;
        let output = self.model.forward(&tokens)?;
        self.keep(output)
    }

    fn prefill(&mut self, tokens: &[i32], pos: usize) -> Result<Logits<'_>> {
        let columns = self.columns("prefill", tokens.len(), self.sizes.batch)?;
        let tokens = Tensor::<(Batch, Dyn), i32>::from_slice(&[self.sizes.batch, columns], tokens)?;
        let output = self.model.prefill(&tokens, position(pos))?;
        self.keep(output)
    }

    fn decode(&mut self, tokens: &[i32], pos: usize) -> Result<Logits<'_>> {
        self.per_row("decode", tokens.len(), self.sizes.batch)?;
        self.step.as_mut_slice()?.copy_from_slice(tokens);
        let output = self.model.decode(&self.step, position(pos))?;
        self.keep(output)
    }

    fn decode_rows(&mut self, tokens: &[i32], positions: &[i32]) -> Result<Logits<'_>> {
        self.per_row("decode_rows, tokens", tokens.len(), self.sizes.batch)?;
        self.per_row("decode_rows, positions", positions.len(), self.sizes.batch)?;
        self.step.as_mut_slice()?.copy_from_slice(tokens);
        self.positions.as_mut_slice()?.copy_from_slice(positions);
        let output = self.model.decode_rows(&self.step, &self.positions)?;
        self.keep(output)
    }

    fn prefill_slots(
        &mut self,
        tokens: &[i32],
        slots: &[i32],
        lengths: &[i32],
    ) -> Result<Logits<'_>> {
        let rows = slots.len();
        self.per_row("prefill_slots, lengths", lengths.len(), rows)?;
        let columns = self.columns("prefill_slots", tokens.len(), rows)?;
        let tokens = Tensor::<(Dyn, Dyn), i32>::from_slice(&[rows, columns], tokens)?;
        let slots = Tensor::<(Dyn,), i32>::from_slice(&[rows], slots)?;
        let lengths = Tensor::<(Dyn,), i32>::from_slice(&[rows], lengths)?;
        let output = self.model.prefill_slots(&tokens, &slots, &lengths)?;
        self.keep(output)
    }
}
