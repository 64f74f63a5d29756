//! `perplexity`: how well a model predicts a text.

mod arguments;
mod score;
mod windows;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use linnet_models::{TextModel, Tokenizer};
use serde_json::json;

use self::arguments::Arguments;

/// The tokens of a window where neither the user nor the model says less.
const DEFAULT_CONTEXT: usize = 512;

fn main() -> ExitCode {
    let written = run(&Arguments::parse()).and_then(|text| {
        std::io::stdout()
            .write_all(text.as_bytes())
            .map_err(|e| format!("cannot write the result: {e}"))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<String, String> {
    let text = read_text(&arguments.text)?;
    let mut model = linnet_models::load(&arguments.model, arguments.load_options())
        .map_err(|e| e.to_string())?;
    let (context, stride) = sizes(arguments, &model)?;
    let tokens = model.tokenizer().encode(&text).map_err(|e| e.to_string())?;
    let Tokens { tokens, n_bytes } = with_start(tokens, &text, model.tokenizer())?;
    if tokens.len() < 2 {
        return Err(format!(
            "{}: the text has {} token, and the first is not predicted by anything: give a \
             longer one",
            arguments.text.display(),
            tokens.len()
        ));
    }
    let start = Instant::now();
    let nats = score::score(model.model_mut(), &tokens, context, stride)?;
    let seconds = start.elapsed().as_secs_f64();

    let scored = tokens.len() - 1;
    let per_token = nats / scored as f64;
    let bits_per_byte = nats / std::f64::consts::LN_2 / n_bytes as f64;
    if arguments.json {
        let result = json!({
            "model": arguments.model,
            "text": arguments.text.display().to_string(),
            "context": context,
            "stride": stride,
            "tokens": scored,
            "bytes": n_bytes,
            "nats_per_token": per_token,
            "perplexity": per_token.exp(),
            "bits_per_byte": bits_per_byte,
            "seconds": seconds,
        });
        return Ok(format!("{result}\n"));
    }
    Ok(format!(
        "perplexity      {:.4}\n\
         nats per token  {per_token:.5}\n\
         bits per byte   {bits_per_byte:.5}\n\
         scored          {scored} tokens, {n_bytes} bytes\n\
         windows         {context} tokens, one every {stride}\n\
         time            {seconds:.1} s, {:.0} tokens/s\n",
        per_token.exp(),
        scored as f64 / seconds.max(1e-9),
    ))
}

fn read_text(path: &Path) -> Result<String, String> {
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|e| format!("cannot read {name}: {e}"))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        format!("{name} is not UTF-8: byte {at} begins no character; convert it first")
    })?;
    match text.is_empty() {
        true => Err(format!("{name} is empty")),
        false => Ok(text),
    }
}

/// The size of a window and the distance between two.
fn sizes(arguments: &Arguments, model: &TextModel) -> Result<(usize, usize), String> {
    let limit = model.model().max_positions();
    let context = match arguments.context {
        // That the model has as many positions was checked when it was loaded.
        Some(context) => context as usize,
        None => limit.min(DEFAULT_CONTEXT),
    };
    if context < 2 {
        return Err(format!(
            "the model has {limit} position, too few to predict from"
        ));
    }
    let stride = match arguments.stride {
        Some(stride) => stride as usize,
        None => (context / 2).max(1),
    };
    if stride >= context {
        return Err(format!(
            "--stride is {stride}, but must be below the {context} tokens of a window: the first \
             token of a window is not scored in it"
        ));
    }
    Ok((context, stride))
}

/// The tokens of a text, and the bytes that all but the first stand for.
struct Tokens {
    tokens: Vec<i32>,
    n_bytes: usize,
}

/// Puts the token in front with which the checkpoint's texts begin, if it wants
/// that. Then the first token of the text is scored, and without it is not.
fn with_start(mut tokens: Vec<i32>, text: &str, tokenizer: &Tokenizer) -> Result<Tokens, String> {
    let mut n_bytes = text.len();
    let start = tokenizer.bos().filter(|_| tokenizer.adds_bos());
    match (start, tokens.first()) {
        (Some(start), _) => tokens.insert(0, start),
        (None, Some(&first)) => {
            let first = tokenizer.decode(&[first]).map_err(|e| e.to_string())?;
            // A token that is a part of a character has no text of its own; its
            // few bytes stay in the count.
            if text.starts_with(&first) {
                n_bytes -= first.len();
            }
        }
        (None, None) => {}
    }
    Ok(Tokens { tokens, n_bytes })
}
