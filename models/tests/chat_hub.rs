//! `chat` with a model from a Hub, which is a server on this machine.

#[path = "../src/hub/tests/server.rs"]
mod server;
mod support;

use std::path::Path;

use server::{Request, Response, Server};
use support::{failure, program, run, stderr, stdout, tales};

const COMMIT: &str = "89abcdef0123456789abcdef0123456789abcdef";
const FILES: [&str; 4] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "model.safetensors",
];

/// The bundled model as the Hub would serve it.
fn answer(request: &Request) -> Response {
    if request
        .path
        .starts_with("/api/models/somebody/tales/revision/main")
    {
        let siblings: Vec<_> = FILES
            .iter()
            .map(|name| serde_json::json!({"rfilename": name}))
            .collect();
        let json = serde_json::json!({"sha": COMMIT, "siblings": siblings});
        return Response::new(200, json.to_string());
    }
    let name = request
        .path
        .strip_prefix(&format!("/somebody/tales/resolve/{COMMIT}/"));
    match name.filter(|name| FILES.contains(name)) {
        Some(name) => Response::new(200, std::fs::read(tales().join(name)).unwrap())
            .header("etag", format!("\"{name}-1\"")),
        None => Response::new(404, ""),
    }
}

fn chat(endpoint: &str, cache: &Path, arguments: &[&str]) -> std::process::Output {
    let mut command = program(env!("CARGO_BIN_EXE_chat"));
    command
        .args([
            "--prompt",
            "Once upon a time",
            "--greedy",
            "--max-tokens",
            "8",
        ])
        .args(arguments)
        .env("HF_ENDPOINT", endpoint)
        .env("HF_HUB_CACHE", cache)
        .env("NO_PROXY", "127.0.0.1");
    run(&mut command, b"")
}

#[test]
fn a_model_is_downloaded_and_then_used_offline() {
    let cache = tempfile::tempdir().unwrap();
    let server = Server::start(answer);
    let expected = stdout(&chat(&server.url, cache.path(), &[]));
    let model = ["--model", "somebody/tales"];
    let output = chat(&server.url, cache.path(), &model);
    assert_eq!(stdout(&output), expected);
    assert!(
        stderr(&output).contains("downloading model.safetensors (6.79 MiB)"),
        "{}",
        stderr(&output)
    );
    let asked = server.asked().len();

    // Again: nothing but the question for the newest commit.
    let output = chat(&server.url, cache.path(), &model);
    assert_eq!(
        (stdout(&output), stderr(&output)),
        (expected.clone(), String::new())
    );
    assert_eq!(server.asked().len(), asked + 1);

    let offline = [&model[..], &["--offline"]].concat();
    let output = chat(&server.url, cache.path(), &offline);
    assert_eq!(
        (stdout(&output), stderr(&output)),
        (expected.clone(), String::new())
    );
    assert_eq!(server.asked().len(), asked + 1);

    // Without the server: a word about it, and the copy in the cache.
    let url = server.url.clone();
    drop(server);
    let output = chat(&url, cache.path(), &model);
    assert_eq!(stdout(&output), expected);
    assert!(stderr(&output).contains("using the copy of somebody/tales in the cache"));
}

#[test]
fn a_name_that_the_hub_does_not_know() {
    let cache = tempfile::tempdir().unwrap();
    let server = Server::start(answer);
    let output = chat(&server.url, cache.path(), &["--model", "somebody/tails"]);
    let message = failure(&output);
    assert!(message.contains("answered 404"), "{message}");
    assert!(
        message.contains("there is no folder of that name here either"),
        "{message}"
    );
}

#[test]
fn a_cache_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let server = Server::start(answer);
    let message = failure(&chat(&server.url, &file, &["--model", "somebody/tales"]));
    assert!(message.contains("cannot create the folder "), "{message}");
    assert!(
        message.contains("set HF_HUB_CACHE to a folder that can be written"),
        "{message}"
    );
}
