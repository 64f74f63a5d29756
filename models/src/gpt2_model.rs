//! GPT-2 behind [`LanguageModel`].

use gpt2::{CARD, DistilGpt2, Gpt2, Gpt2Dyn, Gpt2Large, Gpt2Medium, Gpt2Xl, Model};
use linnet_runtime::card::{self, Choices, Loaded, Source};
use linnet_runtime::weights::GenericValues;
use linnet_runtime::{Block, Const, Device, Dim, Dyn, ErasedTensor, Float, Tensor, bf16, f16};

use crate::causal_model::{CausalModel, boxed};
use crate::checkpoint_files::CheckpointFiles;
use crate::load::{FloatType, LoadOptions};
use crate::model::LanguageModel;
use crate::{Error, Result};

/// Loads a checkpoint whose `model_type` is `gpt2`.
pub(crate) fn load(
    files: &CheckpointFiles,
    options: &LoadOptions,
) -> Result<Box<dyn LanguageModel>> {
    match options.dtype {
        FloatType::Auto | FloatType::F32 => load_as::<f32>(files, options),
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
    let source = files.source();
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

impl<
    Vocab: Dim,
    MaxPositions: Dim,
    H: Dim,
    Heads: Dim,
    Layers: Dim,
    Batch: Dim,
    MaxSeq: Dim,
    T: Float,
> CausalModel for Model<Vocab, MaxPositions, H, Heads, Layers, Batch, MaxSeq, T>
{
    type Batch = Batch;

    const MODEL_TYPE: &'static str = "gpt2";

    fn forward(&self, tokens: &Tensor<(Dyn, Dyn), i32>) -> Result<ErasedTensor> {
        Ok(self.forward(tokens)?.into_erased())
    }

    fn prefill(&mut self, tokens: &Tensor<(Batch, Dyn), i32>, pos: i32) -> Result<ErasedTensor> {
        Ok(self.prefill(tokens, pos)?.into_erased())
    }

    fn decode(
        &mut self,
        tokens: &Tensor<(Batch, Const<1>), i32>,
        pos: i32,
    ) -> Result<ErasedTensor> {
        Ok(self.decode(tokens, pos)?.into_erased())
    }

    fn decode_rows(
        &mut self,
        tokens: &Tensor<(Batch, Const<1>), i32>,
        positions: &Tensor<(Batch,), i32>,
    ) -> Result<ErasedTensor> {
        Ok(self.decode_rows(tokens, positions)?.into_erased())
    }

    fn prefill_slots(
        &mut self,
        tokens: &Tensor<(Dyn, Dyn), i32>,
        slots: &Tensor<(Dyn,), i32>,
        lengths: &Tensor<(Dyn,), i32>,
    ) -> Result<ErasedTensor> {
        Ok(self.prefill_slots(tokens, slots, lengths)?.into_erased())
    }
}
