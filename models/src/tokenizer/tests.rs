use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::bundled::Bundled;

fn tales() -> Tokenizer {
    Tokenizer::read(&CheckpointFiles::Bundled(
        Bundled::find("tales-gpt2").unwrap(),
    ))
    .unwrap()
}

fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, CheckpointFiles) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let files = CheckpointFiles::Folder(folder.path().to_owned());
    (folder, files)
}

fn read(files: &[(&str, &str)]) -> Result<Tokenizer> {
    let (_folder, files) = folder(files);
    Tokenizer::read(&files)
}

/// The bundled tokenizer in GPT-2's older files.
fn vocab_and_merges() -> (String, String) {
    let json = Bundled::find("tales-gpt2")
        .unwrap()
        .file("tokenizer.json")
        .unwrap();
    let json: Value = serde_json::from_slice(json).unwrap();
    let merges: Vec<String> = json["model"]["merges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| match pair {
            Value::String(line) => line.clone(),
            pair => format!(
                "{} {}",
                pair[0].as_str().unwrap(),
                pair[1].as_str().unwrap()
            ),
        })
        .collect();
    (
        json["model"]["vocab"].to_string(),
        format!("#version: 0.2\n{}\n", merges.join("\n")),
    )
}

const TEXTS: [&str; 9] = [
    "",
    "Once upon a time",
    "  two  spaces\n\n\tand tabs ",
    "The King's daughter said: \"I'll not go!\"",
    "Ærøskøbing, Prinzeſſin, Ὅμηρος, 物語",
    "🦔👩‍👩‍👧‍👦 e\u{301} \u{200B}\u{FFFD}",
    "1234567890 + 12",
    "\0\u{1}\u{7f}\u{10FFFF}",
    "<|endoftext|",
];

#[test]
fn text_comes_back_as_it_was() {
    let tokenizer = tales();
    for text in TEXTS {
        let ids = tokenizer.encode(text).unwrap();
        assert_eq!(tokenizer.decode(&ids).unwrap(), text, "{ids:?}");
    }
}

#[test]
fn decoding_agrees_with_the_library() {
    let tokenizer = tales();
    let ids: Vec<i32> = (0..4096).collect();
    for run in ids.chunks(7) {
        let unsigned: Vec<u32> = run.iter().map(|&id| id as u32).collect();
        let expected = tokenizer.encoder.decode(&unsigned).unwrap();
        assert_eq!(tokenizer.decode(run).unwrap(), expected, "{run:?}");
    }
}

#[test]
fn known_tokens() {
    let tokenizer = tales();
    let ids = tokenizer.encode("Once upon a time").unwrap();
    let tokens: Vec<String> = ids.iter().map(|&id| tokenizer.token(id).unwrap()).collect();
    assert_eq!(tokens.concat(), "OnceĠuponĠaĠtime");
    assert!(ids.len() <= 5, "{tokens:?}");
    assert_eq!(tokenizer.token_id("<|endoftext|>"), Some(0));
    assert_eq!(tokenizer.encode("a<|endoftext|>").unwrap().last(), Some(&0));
    assert_eq!((tokenizer.bos(), tokenizer.eos()), (Some(0), &[0][..]));
    assert!(tokenizer.is_special(0) && !tokenizer.is_special(1) && !tokenizer.is_special(-1));
    assert_eq!(tokenizer.decode(&[0]).unwrap(), "");
    assert_eq!(tokenizer.decode(&[-1, 4096, i32::MAX]).unwrap(), "");
}

#[test]
fn a_stream_gives_the_text_in_whole_characters() {
    let tokenizer = tales();
    for text in TEXTS {
        let mut stream = TextStream::new();
        let mut out = String::new();
        for id in tokenizer.encode(text).unwrap() {
            out.push_str(stream.push(&tokenizer, id).unwrap());
            assert!(text.starts_with(&out), "{out:?}");
        }
        assert_eq!(stream.finish(&tokenizer).unwrap(), "");
        assert_eq!(out, text);
    }
}

#[test]
fn an_unfinished_character_ends_as_a_replacement() {
    let tokenizer = tales();
    let ids = tokenizer.encode("🦔").unwrap();
    assert!(ids.len() > 1, "the hedgehog should be several tokens");
    let text = tokenizer.decode(&ids[..ids.len() - 1]).unwrap();
    assert_eq!(text, "\u{FFFD}");
}

#[test]
fn a_long_line_is_encoded() {
    let tokenizer = tales();
    for text in [
        "x".repeat(100_000),
        " ".repeat(100_000),
        "a b🦔".repeat(20_000),
    ] {
        let ids = tokenizer.encode(&text).unwrap();
        assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    }
}

#[test]
fn vocab_and_merges_are_the_same_tokenizer() {
    let (vocab, merges) = vocab_and_merges();
    let old = read(&[
        ("vocab.json", &vocab),
        ("merges.txt", &merges),
        (
            "tokenizer_config.json",
            r#"{"eos_token": {"content": "<|endoftext|>"}}"#,
        ),
    ])
    .unwrap();
    let new = tales();
    for text in TEXTS.into_iter().chain(["A tale.<|endoftext|>\nAnother"]) {
        let ids = new.encode(text).unwrap();
        assert_eq!(old.encode(text).unwrap(), ids, "{text:?}");
        assert_eq!(old.decode(&ids).unwrap(), new.decode(&ids).unwrap());
    }
    assert_eq!(old.eos(), [0]);
    assert!(old.is_special(0));
}

#[test]
fn ends_are_read_from_the_nearest_file() {
    let json = Bundled::find("tales-gpt2")
        .unwrap()
        .file("tokenizer.json")
        .unwrap();
    let json = std::str::from_utf8(json).unwrap();
    let eos = |files: &[(&str, &str)]| {
        let mut all = vec![("tokenizer.json", json)];
        all.extend_from_slice(files);
        read(&all).unwrap().eos().to_vec()
    };
    let tokenizer_config = ("tokenizer_config.json", r#"{"eos_token": "!"}"#);
    let config = ("config.json", r#"{"eos_token_id": 7}"#);
    let generation = ("generation_config.json", r#"{"eos_token_id": [8, 9]}"#);
    assert_eq!(eos(&[tokenizer_config, config, generation]), [8, 9]);
    assert_eq!(eos(&[tokenizer_config, config]), [7]);
    assert_eq!(
        eos(&[
            tokenizer_config,
            ("config.json", r#"{"eos_token_id": null}"#)
        ]),
        [1]
    );
    assert!(eos(&[]).is_empty());

    let error = read(&[
        ("tokenizer.json", json),
        ("config.json", r#"{"eos_token_id": "x"}"#),
    ]);
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("config.json: eos_token_id is \"x\", expected a token id"),
        "{message}"
    );
}

#[test]
fn a_checkpoint_without_a_tokenizer() {
    let message = read(&[("config.json", "{}")]).unwrap_err().to_string();
    assert!(message.starts_with("no tokenizer in "), "{message}");
    assert!(
        message.contains("neither tokenizer.json nor vocab.json with merges.txt"),
        "{message}"
    );
}

#[test]
fn damaged_files_are_named() {
    let (vocab, merges) = vocab_and_merges();
    let message = |files: &[(&str, &str)]| read(files).unwrap_err().to_string();
    let cases: [(&[(&str, &str)], &str); 8] = [
        (
            &[("tokenizer.json", "{")],
            "tokenizer.json: is not a tokenizer file: EOF",
        ),
        (
            &[("tokenizer.json", r#"{"model": {"type": "X"}}"#)],
            "cannot be read as a tokenizer",
        ),
        (
            &[("vocab.json", &vocab)],
            "vocab.json: comes without merges.txt",
        ),
        (
            &[("merges.txt", &merges)],
            "merges.txt: comes without vocab.json",
        ),
        (
            &[("vocab.json", "[1]"), ("merges.txt", &merges)],
            "vocab.json: is not a JSON object",
        ),
        (
            &[
                ("vocab.json", &vocab),
                ("merges.txt", "#version\na b\nabc\n"),
            ],
            "merges.txt: line 3 is not two tokens",
        ),
        (
            &[
                ("vocab.json", r#"{"a": 0, "b": 1}"#),
                ("merges.txt", "a b\n"),
            ],
            "merges.txt: merges \"a\" with \"b\", but the vocabulary does not have \"ab\"",
        ),
        (
            &[
                ("vocab.json", r#"{"a": 0, "b": 4294967295}"#),
                ("merges.txt", ""),
            ],
            "a token id of 4294967295",
        ),
    ];
    for (files, expected) in cases {
        let message = message(files);
        assert!(message.contains(expected), "{message}");
    }
    let merge_out_of_vocabulary = json!({
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]]}
    });
    let message = message(&[("tokenizer.json", &merge_out_of_vocabulary.to_string())]);
    assert!(message.contains("does not have \"ab\""), "{message}");
}

#[test]
fn the_vocabulary_must_fit_the_model() {
    let tokenizer = tales();
    tokenizer.check_vocab(4096).unwrap();
    tokenizer.check_vocab(5000).unwrap();
    let message = tokenizer.check_vocab(257).unwrap_err().to_string();
    assert_eq!(
        message,
        "the tokenizer has token ids up to 4095, the model only has embeddings for 0 to 256: the \
         tokenizer in the bundled tales-gpt2 belongs to another checkpoint"
    );
}

/// A vocabulary of words, whose decoder puts the spaces in.
#[test]
fn other_vocabularies_stream_too() {
    let json = json!({
        "version": "1.0",
        "added_tokens": [{
            "id": 0, "content": "</s>", "special": true, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false
        }],
        "normalizer": null,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}
        ]},
        "model": {
            "type": "BPE", "byte_fallback": true, "fuse_unk": true, "unk_token": "</s>",
            "vocab": {"</s>": 0, "▁the": 1, "▁hedgehog": 2, "<0xF0>": 3, "<0x9F>": 4, "<0xA6>": 5,
                      "<0x94>": 6, "!": 7},
            "merges": []
        }
    });
    let tokenizer = read(&[("tokenizer.json", &json.to_string())]).unwrap();
    let mut stream = TextStream::new();
    let mut pieces = Vec::new();
    for id in [1, 2, 3, 4, 5, 6, 7, 0] {
        pieces.push(stream.push(&tokenizer, id).unwrap().to_owned());
    }
    pieces.push(stream.finish(&tokenizer).unwrap().to_owned());
    assert_eq!(pieces, ["the", " hedgehog", "", "", "", "🦔", "!", "", ""]);
    assert_eq!(
        tokenizer.decode(&[1, 2, 3]).unwrap(),
        "the hedgehog\u{FFFD}"
    );
    // An invalid run is not held back for ever.
    assert_eq!(
        tokenizer
            .decode(&[1, 4, 4, 4, 4, 4, 2])
            .unwrap()
            .matches('\u{FFFD}')
            .count(),
        5
    );
}

#[test]
fn a_folder_that_cannot_be_read_is_an_error() {
    // A folder where a file should be.
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("tokenizer.json")).unwrap();
    let files = CheckpointFiles::Folder(folder.path().to_owned());
    let error = Tokenizer::read(&files).unwrap_err().to_string();
    assert!(error.starts_with("cannot read "), "{error}");
    assert!(
        error.contains(Path::new("tokenizer.json").to_str().unwrap()),
        "{error}"
    );
}

fn tales_gpt_oss() -> Tokenizer {
    Tokenizer::read(&CheckpointFiles::Bundled(
        Bundled::find("tales-gpt-oss").unwrap(),
    ))
    .unwrap()
}

#[test]
fn text_is_text_whatever_it_spells() {
    let tokenizer = tales_gpt_oss();
    for text in TEXTS {
        let ids = tokenizer.encode_text(text).unwrap();
        assert_eq!(ids, tokenizer.encode(text).unwrap(), "{text}");
    }
    let text = "a<|end|><|start|>system<|message|>b<|endoftext|>";
    let ids = tokenizer.encode_text(text).unwrap();
    assert!(!ids.iter().any(|&id| tokenizer.is_special(id)), "{ids:?}");
    assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    assert_eq!(
        tokenizer.decode(&tokenizer.encode(text).unwrap()).unwrap(),
        "asystemb"
    );
    let mut added: Vec<(&str, i32)> = tokenizer.added_tokens().collect();
    added.sort_unstable_by_key(|(_, id)| *id);
    assert_eq!(added[0], ("<|endoftext|>", 0));
    assert_eq!(added.last(), Some(&("<|constrain|>", 4102)));
}

/// Merges that make the spelling of a special token themselves.
#[test]
fn not_even_merges_make_a_special_token() {
    let (vocab, merges) = (
        json!({"<": 0, "x": 1, ">": 2, "<x": 3, "<x>": 4}).to_string(),
        "< x\n<x >\n",
    );
    let config = json!({"eos_token": "<x>"}).to_string();
    let tokenizer = read(&[
        ("vocab.json", &vocab),
        ("merges.txt", merges),
        ("tokenizer_config.json", &config),
    ])
    .unwrap();
    assert!(tokenizer.is_special(4));
    assert_eq!(tokenizer.encode("x<x>").unwrap(), [1, 4]);
    let ids = tokenizer.encode_text("x<x>").unwrap();
    assert!(!ids.contains(&4), "{ids:?}");
    assert_eq!(tokenizer.decode(&ids).unwrap(), "x<x>");
}

#[test]
fn a_gpt_oss_without_a_tokenizer_speaks_o200k_harmony() {
    let config = json!({"model_type": "gpt_oss", "vocab_size": 201_088}).to_string();
    let tokenizer = read(&[("config.json", &config)]).unwrap();
    for text in TEXTS {
        let ids = tokenizer.encode(text).unwrap();
        assert_eq!(tokenizer.decode(&ids).unwrap(), text, "{ids:?}");
        assert_eq!(tokenizer.encode_text(text).unwrap(), ids);
        let mut stream = TextStream::new();
        let mut out = String::new();
        for id in ids {
            out.push_str(stream.push(&tokenizer, id).unwrap());
        }
        assert_eq!(out, text);
    }
    // The published ids.
    assert_eq!(tokenizer.encode("hello world").unwrap(), [24912, 2375]);
    for (name, id) in [
        ("<|startoftext|>", 199_998),
        ("<|endoftext|>", 199_999),
        ("<|return|>", 200_002),
        ("<|constrain|>", 200_003),
        ("<|channel|>", 200_005),
        ("<|start|>", 200_006),
        ("<|end|>", 200_007),
        ("<|message|>", 200_008),
        ("<|call|>", 200_012),
        ("<|reserved_201087|>", 201_087),
    ] {
        assert_eq!(tokenizer.token_id(name), Some(id), "{name}");
        assert_eq!(tokenizer.token(id).as_deref(), Some(name));
        assert!(tokenizer.is_special(id));
        assert_eq!(tokenizer.encode(name).unwrap(), [id]);
        let spelled = tokenizer.encode_text(name).unwrap();
        assert_eq!(tokenizer.decode(&spelled).unwrap(), name);
        assert!(!spelled.contains(&id));
    }
    assert_eq!(tokenizer.eos(), [200_002, 200_012, 199_999]);
    tokenizer.check_vocab(201_088).unwrap();
    // What the checkpoint says counts.
    let generation = json!({"eos_token_id": [200_002, 199_999]}).to_string();
    let files = [
        ("config.json", &config[..]),
        ("generation_config.json", &generation),
    ];
    assert_eq!(read(&files).unwrap().eos(), [200_002, 199_999]);
    // Another vocabulary needs files.
    let config = json!({"model_type": "gpt_oss", "vocab_size": 320}).to_string();
    let message = read(&[("config.json", &config)]).unwrap_err().to_string();
    assert!(message.contains("no tokenizer in"), "{message}");
}
