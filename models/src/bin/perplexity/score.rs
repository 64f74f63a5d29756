//! How well the model predicts the tokens of a text.

use indicatif::{ProgressBar, ProgressStyle};
use linnet_models::LanguageModel;

use crate::windows::windows;

/// The negative logarithm of the probability of a token, in nats.
///
/// None if the logits are no distribution.
pub fn surprise(logits: &[f32], token: usize) -> Option<f64> {
    let high = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let high = f64::from(high);
    let total: f64 = logits.iter().map(|&x| (f64::from(x) - high).exp()).sum();
    let nats = total.ln() + high - f64::from(*logits.get(token)?);
    nats.is_finite().then_some(nats)
}

/// The sum of the surprise at all tokens but the first, in nats.
///
/// # Errors
///
/// When the model fails, or its logits are no distribution.
pub fn score(
    model: &mut dyn LanguageModel,
    tokens: &[i32],
    context: usize,
    stride: usize,
) -> Result<f64, String> {
    let bar = progress(tokens.len().saturating_sub(1) as u64);
    let (mut nats, mut scored) = (0.0, 0u64);
    for window in windows(tokens.len(), context, stride) {
        // The last token of a window has nothing after it to be predicted.
        let inputs = &tokens[window.begin..window.end - 1];
        let logits = model.forward(inputs, 1).map_err(|e| e.to_string())?;
        let targets = tokens.iter().enumerate().take(window.end);
        for (at, &token) in targets.skip(window.first) {
            let row = logits.row(at - 1 - window.begin);
            let token = usize::try_from(token).unwrap_or(usize::MAX);
            nats += surprise(row, token).ok_or_else(|| {
                format!(
                    "the logits before token {at} of the text give it no probability: the weights \
                     hold NaN or the computation overflowed; check the checkpoint, or try --dtype f32"
                )
            })?;
        }
        scored += (window.end - window.first) as u64;
        bar.set_position(scored);
        bar.set_message(format!("{:.4}", (nats / scored as f64).exp()));
    }
    bar.finish_and_clear();
    Ok(nats)
}

/// A bar on standard error; none where that is no terminal.
fn progress(total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let template = "{wide_bar} {pos}/{len} tokens, perplexity {msg}, {eta}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surprise_is_minus_the_log_of_the_softmax() {
        let even = surprise(&[3.0; 8], 5).unwrap();
        assert!((even - 8f64.ln()).abs() < 1e-12);
        let logits = [1.0, 2.0, -1.0];
        let total: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
        for (token, &logit) in logits.iter().enumerate() {
            let expected = total.ln() - f64::from(logit);
            assert!((surprise(&logits, token).unwrap() - expected).abs() < 1e-12);
        }
        // Large logits overflow nothing, and a certain token surprises nobody.
        assert_eq!(surprise(&[1e30, -1e30], 0), Some(0.0));
        assert_eq!(surprise(&[0.0, f32::NEG_INFINITY], 0), Some(0.0));
    }

    #[test]
    fn what_is_no_distribution_has_no_surprise() {
        assert_eq!(surprise(&[f32::NAN, 0.0], 1), None);
        assert_eq!(surprise(&[f32::INFINITY, 0.0], 1), None);
        assert_eq!(surprise(&[f32::NEG_INFINITY; 3], 1), None);
        assert_eq!(surprise(&[0.0, f32::NEG_INFINITY], 1), None);
        assert_eq!(surprise(&[0.0], 1), None);
    }
}
