use super::*;
use crate::test_model::TestModel;

const VOCAB: usize = 50;

fn tokens(n: usize) -> Vec<i32> {
    (0..n).map(|i| (i * 7 % VOCAB) as i32).collect()
}

fn advance(conversation: &mut Conversation, model: &mut TestModel) -> Result<Vec<f32>> {
    let mut logits = Vec::new();
    assert!(conversation.advance(model, &Cancellation::new(), &mut logits)?);
    Ok(logits)
}

#[test]
fn only_new_tokens_go_through_the_model() {
    let mut model = TestModel::new(VOCAB, 1, 256);
    let mut conversation = Conversation::new();
    conversation.extend(&tokens(10));
    advance(&mut conversation, &mut model).unwrap();
    conversation.push(3);
    advance(&mut conversation, &mut model).unwrap();
    conversation.extend(&[4, 5]);
    let logits = advance(&mut conversation, &mut model).unwrap();
    assert_eq!(
        *model.calls.lock().unwrap(),
        [("prefill", 10, 0), ("decode", 1, 10), ("prefill", 2, 11)]
    );
    assert_eq!(
        logits,
        TestModel::logits_after(VOCAB, conversation.tokens())
    );
    assert_eq!(conversation.pending(), 0);
}

#[test]
fn nothing_new_asks_for_the_last_logits_again() {
    let mut model = TestModel::new(VOCAB, 1, 64);
    let mut conversation = Conversation::new();
    conversation.extend(&tokens(5));
    let first = advance(&mut conversation, &mut model).unwrap();
    let again = advance(&mut conversation, &mut model).unwrap();
    assert_eq!(first, again);
    assert_eq!(model.calls.lock().unwrap().last(), Some(&("decode", 1, 4)));
}

#[test]
fn other_tokens_keep_what_they_have_in_common() {
    let mut model = TestModel::new(VOCAB, 1, 64);
    let mut conversation = Conversation::new();
    conversation.extend(&tokens(10));
    advance(&mut conversation, &mut model).unwrap();
    // Two tokens that have not gone through are no help.
    conversation.extend(&[1, 2]);
    let mut other = tokens(10);
    other.extend([1, 2, 3, 4]);
    conversation.replace(&other);
    let logits = advance(&mut conversation, &mut model).unwrap();
    assert_eq!(logits, TestModel::logits_after(VOCAB, &other));
    // Cut back, and on in another way.
    other.truncate(6);
    other.extend([9, 9]);
    conversation.replace(&other);
    let logits = advance(&mut conversation, &mut model).unwrap();
    assert_eq!(logits, TestModel::logits_after(VOCAB, &other));
    // The same again, and a part of it: only the last token goes through.
    conversation.replace(&other);
    advance(&mut conversation, &mut model).unwrap();
    conversation.replace(&other[..4]);
    let logits = advance(&mut conversation, &mut model).unwrap();
    assert_eq!(logits, TestModel::logits_after(VOCAB, &other[..4]));
    assert_eq!(
        *model.calls.lock().unwrap(),
        [
            ("prefill", 10, 0),
            ("prefill", 4, 10),
            ("prefill", 2, 6),
            ("decode", 1, 7),
            ("decode", 1, 3)
        ]
    );
}

#[test]
fn a_long_prompt_goes_in_chunks() {
    let mut model = TestModel::new(VOCAB, 1, 512);
    let mut conversation = Conversation::new();
    let n = 2 * PREFILL_CHUNK + 1;
    conversation.extend(&tokens(n));
    let logits = advance(&mut conversation, &mut model).unwrap();
    assert_eq!(
        *model.calls.lock().unwrap(),
        [
            ("prefill", PREFILL_CHUNK, 0),
            ("prefill", PREFILL_CHUNK, PREFILL_CHUNK),
            ("decode", 1, 2 * PREFILL_CHUNK)
        ]
    );
    assert_eq!(logits, TestModel::logits_after(VOCAB, &tokens(n)));
}

#[test]
fn the_oldest_half_is_dropped_when_positions_run_out() {
    let mut model = TestModel::new(VOCAB, 1, 16);
    let mut conversation = Conversation::new();
    conversation.extend(&tokens(16));
    advance(&mut conversation, &mut model).unwrap();
    assert_eq!(conversation.dropped(), 0);
    conversation.push(9);
    let logits = advance(&mut conversation, &mut model).unwrap();
    let mut kept = tokens(16);
    kept.push(9);
    let kept = &kept[9..];
    assert_eq!((conversation.tokens(), conversation.dropped()), (kept, 9));
    assert_eq!(logits, TestModel::logits_after(VOCAB, kept));
    // Then it grows again.
    for i in 0..100 {
        conversation.push(i % VOCAB as i32);
        let logits = advance(&mut conversation, &mut model).unwrap();
        assert_eq!(
            logits,
            TestModel::logits_after(VOCAB, conversation.tokens())
        );
    }
    assert_eq!(conversation.tokens().len() + conversation.dropped(), 117);
}

#[test]
fn one_position_is_enough() {
    let mut model = TestModel::new(VOCAB, 1, 1);
    let mut conversation = Conversation::new();
    conversation.extend(&[1, 2, 3]);
    let logits = advance(&mut conversation, &mut model).unwrap();
    assert_eq!(logits, TestModel::logits_after(VOCAB, &[3]));
}

#[test]
fn a_cancelled_prompt_stops_between_chunks_and_goes_on_later() {
    let mut model = TestModel::new(VOCAB, 1, 512);
    let cancellation = Cancellation::new();
    let flag = cancellation.clone();
    model.after_call = Some(Box::new(move |n| {
        if n == 2 {
            flag.cancel();
        }
    }));
    let mut conversation = Conversation::new();
    let all = tokens(5 * PREFILL_CHUNK);
    conversation.extend(&all);
    let mut logits = Vec::new();
    assert!(
        !conversation
            .advance(&mut model, &cancellation, &mut logits)
            .unwrap()
    );
    assert_eq!(model.calls.lock().unwrap().len(), 2);
    assert_eq!(conversation.pending(), 3 * PREFILL_CHUNK);
    assert!(logits.is_empty());
    cancellation.clear();
    assert!(
        conversation
            .advance(&mut model, &cancellation, &mut logits)
            .unwrap()
    );
    assert_eq!(logits, TestModel::logits_after(VOCAB, &all));
}

#[test]
fn a_refused_token_does_not_stay() {
    let mut model = TestModel::new(VOCAB, 1, 64);
    let mut conversation = Conversation::new();
    conversation.extend(&tokens(4));
    advance(&mut conversation, &mut model).unwrap();
    conversation.extend(&[1, VOCAB as i32, 2]);
    let error = advance(&mut conversation, &mut model)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "token id 50 at index 5 is out of range: the vocabulary is 0 to 49"
    );
    conversation.extend(&[-1]);
    let error = advance(&mut conversation, &mut model)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "token id -1 at index 4 is out of range: the vocabulary is 0 to 49"
    );
    conversation.push(6);
    let logits = advance(&mut conversation, &mut model).unwrap();
    let mut expected = tokens(4);
    expected.push(6);
    assert_eq!(logits, TestModel::logits_after(VOCAB, &expected));
}

#[test]
fn what_cannot_be_continued_is_an_error() {
    let mut conversation = Conversation::new();
    let error = advance(&mut conversation, &mut TestModel::new(VOCAB, 1, 8)).unwrap_err();
    assert!(matches!(error, Error::EmptyPrompt));
    conversation.push(1);
    let error = advance(&mut conversation, &mut TestModel::new(VOCAB, 2, 8)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model is loaded for 2 sequences at once; a conversation needs a batch of 1"
    );
}
