use super::*;
use crate::bundled::Bundled;
use crate::checkpoint_files::CheckpointFiles;
use crate::error::Error;
use crate::test_model::TestModel;
use crate::tokenizer::Tokenizer;

const VOCAB: usize = 4096;

fn tokenizer() -> Tokenizer {
    Tokenizer::read(&CheckpointFiles::Bundled(
        Bundled::find("tales-gpt2").unwrap(),
    ))
    .unwrap()
}

fn text_model(model: TestModel) -> TextModel {
    TextModel::new(Box::new(model), tokenizer()).unwrap()
}

fn greedy(max_tokens: usize) -> GenerateOptions {
    GenerateOptions {
        sampling: Sampling::greedy(),
        max_tokens,
        ignore_eos: true,
        ..GenerateOptions::default()
    }
}

/// The text, why it ended, and the tokens of the whole conversation.
fn run(
    model: &mut TextModel,
    prompt: &str,
    options: GenerateOptions,
) -> (String, FinishReason, Vec<i32>) {
    let mut generation = model.generate(prompt, options).unwrap();
    let mut text = String::new();
    while let Some(piece) = generation.next_piece().unwrap() {
        assert!(!piece.is_empty());
        text.push_str(piece);
    }
    assert_eq!(generation.next_piece().unwrap(), None);
    let reason = generation.finish_reason().unwrap();
    (text, reason, model.conversation().tokens().to_vec())
}

#[test]
fn the_pieces_are_the_text_of_the_tokens() {
    let mut model = text_model(TestModel::new(VOCAB, 1, 256));
    let (text, reason, tokens) = run(&mut model, "Once upon", greedy(60));
    let prompt = tokenizer().encode("Once upon").unwrap();
    assert_eq!(tokens[..prompt.len()], prompt);
    assert_eq!(tokens.len(), prompt.len() + 60);
    assert_eq!(text, tokenizer().decode(&tokens[prompt.len()..]).unwrap());
    assert_eq!(reason, FinishReason::MaxTokens);
    // Each token is the most probable one after those before it.
    for end in prompt.len()..tokens.len() {
        let logits = TestModel::logits_after(VOCAB, &tokens[..end]);
        let best = (0..VOCAB)
            .rev()
            .max_by(|&a, &b| logits[a].total_cmp(&logits[b]))
            .unwrap();
        assert_eq!(tokens[end], best as i32);
    }
    assert_eq!(run(&mut model, "Once upon", greedy(60)).0, text);
}

#[test]
fn a_seed_fixes_the_text() {
    let mut model = text_model(TestModel::new(VOCAB, 1, 256));
    let options = |seed| GenerateOptions {
        sampling: Sampling {
            seed: Some(seed),
            ..Sampling::default()
        },
        ..greedy(30)
    };
    let first = run(&mut model, "Once", options(1)).0;
    assert_eq!(run(&mut model, "Once", options(1)).0, first);
    assert_ne!(run(&mut model, "Once", options(2)).0, first);
}

#[test]
fn stop_tokens_end_the_text() {
    let mut model = text_model(TestModel::new(VOCAB, 1, 256));
    let (_, _, tokens) = run(&mut model, "Once", greedy(20));
    let generated = &tokens[tokens.len() - 20..];
    let stop = generated[7];
    let first = generated.iter().position(|&token| token == stop).unwrap();
    let options = GenerateOptions {
        stop_tokens: vec![stop],
        ..greedy(20)
    };
    let (text, reason, _) = run(&mut model, "Once", options);
    assert_eq!(reason, FinishReason::EndOfText(stop));
    assert_eq!(text, tokenizer().decode(&generated[..first]).unwrap());
}

#[test]
fn stop_strings_end_the_text_before_them() {
    let mut model = text_model(TestModel::new(VOCAB, 1, 256));
    let whole = run(&mut model, "Once", greedy(40)).0;
    let middle: Vec<char> = whole.chars().skip(20).take(9).collect();
    let stop: String = middle.iter().collect();
    let options = GenerateOptions {
        stop: vec![stop.clone()],
        ..greedy(40)
    };
    let (text, reason, _) = run(&mut model, "Once", options);
    assert_eq!(reason, FinishReason::StopString);
    assert_eq!(text, whole[..whole.find(&stop).unwrap()]);

    // One that almost comes is shown in the end.
    let options = GenerateOptions {
        stop: vec![format!("{whole}!")],
        ..greedy(40)
    };
    let (text, reason, _) = run(&mut model, "Once", options);
    assert_eq!((text, reason), (whole, FinishReason::MaxTokens));
}

#[test]
fn only_the_new_words_go_through_the_model() {
    let model = TestModel::new(VOCAB, 1, 256);
    let calls = std::sync::Arc::clone(&model.calls);
    let mut model = text_model(model);
    run(&mut model, "Once upon a time", greedy(3));
    let before = model.conversation().tokens().len();
    calls.lock().unwrap().clear();
    let text = " there was";
    let mut generation = model.resume(text, greedy(1)).unwrap();
    generation.next_piece().unwrap();
    // The last token written, which had not gone through yet, and the new ones.
    let new = tokenizer().encode(text).unwrap().len() + 1;
    assert_eq!(calls.lock().unwrap()[0], ("prefill", new, before - 1));
    assert_eq!(generation.statistics().prompt_tokens, new);
}

#[test]
fn an_empty_prompt_begins_a_text() {
    let mut model = text_model(TestModel::new(VOCAB, 1, 64));
    let (_, _, tokens) = run(&mut model, "", greedy(2));
    assert_eq!((tokens[0], tokens.len()), (0, 3));
}

#[test]
fn running_out_of_positions_is_no_end() {
    let mut model = text_model(TestModel::new(VOCAB, 1, 32));
    let (text, reason, tokens) = run(&mut model, "Once upon a time", greedy(300));
    assert_eq!(reason, FinishReason::MaxTokens);
    assert!(tokens.len() <= 33 && model.conversation().dropped() > 200);
    assert!(text.len() > 300);
    // So is a prompt that is longer than all positions; half of them are filled.
    let (_, reason, _) = run(&mut model, &"long ".repeat(500), greedy(5));
    assert_eq!(reason, FinishReason::MaxTokens);
    let mut generation = model.generate(&"long ".repeat(500), greedy(5)).unwrap();
    generation.next_piece().unwrap();
    assert_eq!(generation.statistics().prompt_tokens, 16);
}

#[test]
fn cancelling_ends_the_text_and_keeps_the_tokens() {
    let mut test_model = TestModel::new(VOCAB, 1, 256);
    let options = greedy(50);
    let flag = options.cancellation.clone();
    test_model.after_call = Some(Box::new(move |n| {
        if n == 10 {
            flag.cancel();
        }
    }));
    let mut model = text_model(test_model);
    let (_, reason, tokens) = run(&mut model, "Once upon a time", options);
    assert_eq!(reason, FinishReason::Cancelled);
    let prompt = tokenizer().encode("Once upon a time").unwrap().len();
    assert_eq!(tokens.len(), prompt + 10);
}

#[test]
fn nan_is_reported_once() {
    let mut broken = TestModel::new(VOCAB, 1, 64);
    broken.broken = true;
    let mut model = text_model(broken);
    let mut generation = model.generate("Once", greedy(5)).unwrap();
    let error = generation.next().unwrap().unwrap_err();
    assert!(
        matches!(
            error,
            Error::NanLogits {
                count: VOCAB,
                first: 0,
                ..
            }
        ),
        "{error}"
    );
    assert!(generation.next().is_none());
    assert_eq!(generation.finish_reason(), Some(FinishReason::Failed));
}

#[test]
fn options_are_checked_before_anything_happens() {
    let mut model = text_model(TestModel::new(VOCAB, 1, 64));
    let bad_top_p = GenerateOptions {
        sampling: Sampling {
            top_p: 2.0,
            ..Sampling::default()
        },
        ..GenerateOptions::default()
    };
    assert!(bad_top_p.check().is_err());
    assert!(model.generate("Once", bad_top_p).is_err());
    let bad_stop = GenerateOptions {
        stop: vec![String::new()],
        ..GenerateOptions::default()
    };
    assert!(bad_stop.check().is_err());
    assert!(model.generate("Once", bad_stop).is_err());
    assert!(model.conversation().tokens().is_empty());
    GenerateOptions::default().check().unwrap();
}

#[test]
fn nothing_is_written_when_nothing_is_asked_for() {
    let mut model = text_model(TestModel::new(VOCAB, 1, 64));
    let (text, reason, _) = run(&mut model, "Once", greedy(0));
    assert_eq!((text.as_str(), reason), ("", FinishReason::MaxTokens));
}

#[test]
fn the_tokenizer_must_fit_the_model() {
    let model = Box::new(TestModel::new(257, 1, 64));
    let error = TextModel::new(model, tokenizer()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::VocabularyTooLarge {
                largest: 4095,
                vocab: 257,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn statistics_count_tokens_and_time() {
    let mut model = text_model(TestModel::new(VOCAB, 1, 64));
    let mut generation = model.generate("Once upon a time", greedy(5)).unwrap();
    while generation.next_piece().unwrap().is_some() {}
    let statistics = generation.statistics();
    assert_eq!(statistics.generated_tokens, 5);
    assert_eq!(
        statistics.prompt_tokens,
        tokenizer().encode("Once upon a time").unwrap().len()
    );
    assert!(statistics.time_to_first_token > Duration::ZERO);
    assert!(statistics.tokens_per_second() > 0.0);
    assert_eq!(Statistics::default().tokens_per_second(), 0.0);
}
