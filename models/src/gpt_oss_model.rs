//! gpt-oss behind [`LanguageModel`].

use gpt_oss::{CARD, GptOss20b, GptOss120b, GptOssDyn, Model};
use linnet_runtime::card::{self, Choices, Loaded};
use linnet_runtime::weights::{GenericValues, Manifest, ManifestTensor};
use linnet_runtime::{Block, Const, Device, Dim, Dyn, ErasedTensor, Float, Tensor, bf16, f16};

use crate::causal_model::{CausalModel, PackTensors, boxed};
use crate::checkpoint_files::CheckpointFiles;
use crate::load::{FloatType, LoadOptions};
use crate::model::LanguageModel;
use crate::{Error, Result};

/// Up to this width a model computes in f32 unless told otherwise: its dense
/// weights are small then. Wider ones stay as they are published, in bf16.
const WIDEST_IN_F32: usize = 1024;

/// Loads a checkpoint whose `model_type` is `gpt_oss`.
pub(crate) fn load(
    files: &CheckpointFiles,
    options: &LoadOptions,
) -> Result<Box<dyn LanguageModel>> {
    let mut choices = Choices::new().batch(options.batch);
    let config = files.read_json("config.json")?.unwrap_or_default();
    let limit = config["max_position_embeddings"].as_u64();
    let limit = limit.map_or(usize::MAX, |limit| limit as usize);
    match options.max_positions {
        Some(asked) if asked > limit => return Err(Error::TooManyPositions { asked, limit }),
        Some(asked) => choices = choices.max_seq(asked),
        None => {}
    }
    let bound = CARD
        .bind(
            GptOssDyn::<bf16>::DESCRIPTOR,
            &config,
            &files.name_of("config.json"),
            &choices,
            &GptOssDyn::<bf16>::generic_args(),
        )
        .map_err(linnet_runtime::Error::from)?;
    let device = match options.threads {
        Some(threads) => Device::cpu_with_threads(threads)?,
        None => Device::cpu()?,
    };
    let card_options = card::LoadOptions {
        choices,
        device: Some(device),
        numerics: options.numerics,
    };
    let wide = bound.values.dim("H").is_some_and(|h| h > WIDEST_IN_F32);
    match options.dtype {
        FloatType::Auto if wide => load_as::<bf16>(files, &card_options, &bound.values),
        FloatType::Auto | FloatType::F32 => load_as::<f32>(files, &card_options, &bound.values),
        FloatType::Bf16 => load_as::<bf16>(files, &card_options, &bound.values),
        FloatType::F16 => load_as::<f16>(files, &card_options, &bound.values),
    }
}

/// Loads it with the dimensions of a known checkpoint, or any others.
fn load_as<T: Float>(
    files: &CheckpointFiles,
    options: &card::LoadOptions,
    values: &GenericValues,
) -> Result<Box<dyn LanguageModel>> {
    match CARD.checkpoint_matching(values).map(|known| known.alias) {
        Some("GptOss20b") => read::<GptOss20b<Dyn, Dyn, T>>(files, options).and_then(boxed),
        Some("GptOss120b") => read::<GptOss120b<Dyn, Dyn, T>>(files, options).and_then(boxed),
        _ => read::<GptOssDyn<T>>(files, options).and_then(boxed),
    }
}

fn read<M: Block>(files: &CheckpointFiles, options: &card::LoadOptions) -> Result<Loaded<M>> {
    Ok(card::load_reported::<M>(files.source(), &CARD, options)?)
}

impl<
    Vocab: Dim,
    H: Dim,
    Heads: Dim,
    KvHeads: Dim,
    HeadDim: Dim,
    Inner: Dim,
    Experts: Dim,
    TopK: Dim,
    Layers: Dim,
    Window: Dim,
    Batch: Dim,
    MaxSeq: Dim,
    T: Float,
> CausalModel
    for Model<
        Vocab,
        H,
        Heads,
        KvHeads,
        HeadDim,
        Inner,
        Experts,
        TopK,
        Layers,
        Window,
        Batch,
        MaxSeq,
        T,
    >
{
    type Batch = Batch;

    const MODEL_TYPE: &'static str = "gpt_oss";

    /// A byte of the experts' blocks holds two, their scales none.
    fn n_parameters(manifest: &Manifest) -> usize {
        let of = |tensor: &ManifestTensor| match tensor.path.rsplit('_').next() {
            Some("blocks") => 2 * tensor.n_elements(),
            Some("scales") => 0,
            _ => tensor.n_parameters,
        };
        manifest.params().map(of).sum()
    }

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

    fn next_token(&self, tokens: &Tensor<(Dyn, Dyn), i32>) -> Result<ErasedTensor> {
        Ok(self.next_token(tokens)?.into_erased())
    }

    fn prefill_packed(
        &mut self,
        pack: &PackTensors,
        last: &Tensor<(Batch,), i32>,
    ) -> Result<ErasedTensor> {
        let PackTensors {
            tokens,
            rows,
            positions,
            segments,
        } = pack;
        let logits = self.prefill_packed(tokens, rows, positions, segments, last)?;
        Ok(logits.into_erased())
    }

    fn step_packed(
        &mut self,
        pack: &PackTensors,
        last: &Tensor<(Batch,), i32>,
        step_tokens: &Tensor<(Batch, Const<1>), i32>,
        step_positions: &Tensor<(Batch,), i32>,
    ) -> Result<ErasedTensor> {
        let PackTensors {
            tokens,
            rows,
            positions,
            segments,
        } = pack;
        let logits = self.step_packed(
            tokens,
            rows,
            positions,
            segments,
            last,
            step_tokens,
            step_positions,
        )?;
        Ok(logits.into_erased())
    }
}
