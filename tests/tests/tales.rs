//! The bundled model on text that it was not trained on: tokenizer, weights in
//! `f16` and the model together must predict it as well as they did when the
//! model was trained.

use linnet_models::{LoadOptions, Numerics};

/// The loss after training, in nats a token.
const LOSS: f64 = 3.85;
/// Where the text is cut, and the number format, move it by a few hundredths;
/// a model that is wrong anywhere is off by more than one.
const TOLERANCE: f64 = 0.05;
/// Positions of the model.
const LENGTH: usize = 512;

/// Minus the logarithm of the probability of `token`.
fn surprise(logits: &[f32], token: i32) -> f64 {
    let high = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f64 = logits.iter().map(|v| f64::from(v - high).exp()).sum();
    total.ln() - f64::from(logits[token as usize] - high)
}

#[test]
fn held_out_tales_are_as_likely_as_after_training() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/tales-heldout.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let mut model = linnet_models::load("tales-gpt2", LoadOptions::default()).unwrap();
    let tokens = model.tokenizer().encode(&text).unwrap();
    assert!(tokens.len() > 10_000, "{} tokens are too few", tokens.len());
    // The tales are apart by special tokens, which decoding leaves out.
    let plain = text.replace("<|endoftext|>", "");
    assert!(
        model.tokenizer().decode(&tokens).unwrap() == plain,
        "decoding must undo encoding"
    );
    let (mut total, mut n) = (0.0, 0);
    for part in tokens.chunks(LENGTH) {
        let logits = model.model_mut().forward(part, 1).unwrap();
        for (at, next) in part.iter().enumerate().skip(1) {
            total += surprise(logits.row(at - 1), *next);
            n += 1;
        }
    }
    let loss = total / f64::from(n);
    println!("{loss:.4} nats a token over {n} tokens");
    assert!(
        (loss - LOSS).abs() <= TOLERANCE,
        "the loss is {loss:.4}, expected {LOSS}"
    );
}

#[test]
fn exact_and_fast_agree_on_a_tale() {
    let text = "Once upon a time there was a king who had three daughters, and the youngest";
    let logits = [Numerics::Exact, Numerics::Fast].map(|numerics| {
        let options = LoadOptions {
            numerics,
            ..LoadOptions::default()
        };
        let mut model = linnet_models::load("tales-gpt2", options).unwrap();
        let tokens = model.tokenizer().encode(text).unwrap();
        model
            .model_mut()
            .prefill(&tokens, 0)
            .unwrap()
            .row(0)
            .to_vec()
    });
    for (token, (exact, fast)) in logits[0].iter().zip(&logits[1]).enumerate() {
        // Logits of magnitude 10 over sums of up to 768 products in `f32`.
        assert!(
            (exact - fast).abs() <= 1e-3,
            "token {token}: exact {exact}, fast {fast}"
        );
    }
}
