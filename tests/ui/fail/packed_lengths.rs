use gpt_oss::GptOss20b;
use linnet_runtime::{Const, Result, Tensor};

/// Five tokens, each with its row, position and segment.
pub fn logits(
    model: &mut GptOss20b<Const<2>>,
    tokens: &Tensor<(Const<5>,), i32>,
    rows: &Tensor<(Const<4>,), i32>,
    positions: &Tensor<(Const<5>,), i32>,
    segments: &Tensor<(Const<5>,), i32>,
    last: &Tensor<(Const<2>,), i32>,
) -> Result<()> {
    model.prefill_packed(tokens, rows, positions, segments, last)?;
    Ok(())
}

fn main() {}
