//! The Hub's client against a server on this machine.

mod server;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use self::server::{Request, Response, Server};
use super::*;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// The content of a repository.
#[derive(Clone)]
struct Repo(BTreeMap<&'static str, Vec<u8>>);

impl Repo {
    /// The parts that a model in one file has.
    fn single() -> Self {
        Self(BTreeMap::from([
            ("config.json", b"{}".to_vec()),
            ("tokenizer.json", b"{\"model\": 1}".to_vec()),
            (
                "model.safetensors",
                (0..300_000u32)
                    .map(|i| (i.wrapping_mul(i) >> 7) as u8)
                    .collect(),
            ),
            ("README.md", b"not needed".to_vec()),
            ("pytorch_model.bin", b"not needed".to_vec()),
        ]))
    }

    fn sharded() -> Self {
        let index = r#"{"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}"#;
        Self(BTreeMap::from([
            ("config.json", b"{}".to_vec()),
            ("model.safetensors.index.json", index.as_bytes().to_vec()),
            ("m-1.safetensors", vec![1; 1000]),
            ("m-2.safetensors", vec![2; 2000]),
        ]))
    }

    /// As the Hub answers.
    fn answer(&self, request: &Request) -> Response {
        if request
            .path
            .starts_with("/api/models/owner/name/revision/main")
        {
            let siblings: Vec<_> = self
                .0
                .iter()
                .map(|(name, body)| serde_json::json!({"rfilename": name, "size": body.len()}))
                .collect();
            let json = serde_json::json!({"sha": COMMIT, "siblings": siblings});
            return Response::new(200, json.to_string());
        }
        let name = request
            .path
            .strip_prefix(&format!("/owner/name/resolve/{COMMIT}/"));
        let Some((name, body)) = name.and_then(|name| self.0.get_key_value(name)) else {
            return Response::new(404, "").header("x-error-code", "EntryNotFound");
        };
        let etag = format!("\"etag-of-{name}\"");
        let range = request.headers.get("range").and_then(|range| {
            range
                .strip_prefix("bytes=")?
                .strip_suffix('-')?
                .parse::<usize>()
                .ok()
        });
        match range {
            Some(from) => Response::new(206, &body[from..]).header(
                "content-range",
                format!("bytes {from}-{}/{}", body.len() - 1, body.len()),
            ),
            None => Response::new(200, body.clone()),
        }
        .header("etag", etag)
    }

    fn serve(self) -> Server {
        Server::start(move |request| self.answer(request))
    }
}

fn settings(server: &str, cache: &Path) -> Settings {
    Settings {
        endpoint: server.to_owned(),
        token: None,
        cache: cache.to_owned(),
        offline: false,
        progress: Progress::Silent,
        retry_delay: Duration::from_millis(1),
    }
}

fn fetch(server: &str, cache: &Path) -> Result<PathBuf, HubError> {
    Hub::new(settings(server, cache)).fetch(&"owner/name".parse().unwrap(), "main")
}

fn check_files(folder: &Path, repo: &Repo, names: &[&str]) {
    for name in names {
        assert_eq!(
            std::fs::read(folder.join(name)).unwrap(),
            repo.0[name],
            "{name}"
        );
    }
}

/// No file of the cache is a part of one.
fn blobs(cache: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(cache.join("models--owner--name/blobs"))
        .map(|entries| {
            entries
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect()
        })
        .unwrap_or_default();
    names.sort_unstable();
    names
}

#[test]
fn a_repository_is_downloaded_once() {
    let cache = tempfile::tempdir().unwrap();
    let server = Repo::single().serve();
    let folder = fetch(&server.url, cache.path()).unwrap();
    assert_eq!(
        folder,
        cache
            .path()
            .join("models--owner--name/snapshots")
            .join(COMMIT)
    );
    check_files(
        &folder,
        &Repo::single(),
        &["config.json", "tokenizer.json", "model.safetensors"],
    );
    assert!(!folder.join("pytorch_model.bin").exists() && !folder.join("README.md").exists());
    let reference = cache.path().join("models--owner--name/refs/main");
    assert_eq!(std::fs::read_to_string(reference).unwrap(), COMMIT);
    assert_eq!(
        blobs(cache.path()),
        [
            "etag-of-config.json",
            "etag-of-model.safetensors",
            "etag-of-tokenizer.json"
        ]
    );
    let link = std::fs::read_link(folder.join("config.json")).unwrap();
    assert_eq!(link, Path::new("../../blobs/etag-of-config.json"));

    let before = server.asked().len();
    assert_eq!(fetch(&server.url, cache.path()).unwrap(), folder);
    assert_eq!(
        server.asked()[before..],
        ["GET /api/models/owner/name/revision/main?blobs=true"]
    );
}

#[test]
fn shards_are_downloaded_by_their_index() {
    let cache = tempfile::tempdir().unwrap();
    let server = Repo::sharded().serve();
    let folder = fetch(&server.url, cache.path()).unwrap();
    check_files(
        &folder,
        &Repo::sharded(),
        &["config.json", "m-1.safetensors", "m-2.safetensors"],
    );
}

#[test]
fn a_shard_that_the_repository_lacks() {
    let cache = tempfile::tempdir().unwrap();
    let mut repo = Repo::sharded();
    repo.0.remove("m-2.safetensors");
    let error = fetch(&repo.serve().url, cache.path())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("m-2.safetensors is named by the index"),
        "{error}"
    );
}

#[test]
fn an_index_must_not_lead_out_of_the_cache() {
    let cache = tempfile::tempdir().unwrap();
    let mut repo = Repo::sharded();
    let index = br#"{"weight_map": {"a": "../../../../outside"}}"#.to_vec();
    repo.0.insert("model.safetensors.index.json", index);
    let error = fetch(&repo.serve().url, cache.path())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("which is not a file of the repository"),
        "{error}"
    );
}

#[test]
fn the_token_is_sent() {
    let cache = tempfile::tempdir().unwrap();
    let server = Repo::single().serve();
    let settings = Settings {
        token: Some("hf_secret".to_owned()),
        ..settings(&server.url, cache.path())
    };
    Hub::new(settings)
        .fetch(&"owner/name".parse().unwrap(), "main")
        .unwrap();
    for request in server.requests.lock().unwrap().iter() {
        assert_eq!(request.headers["authorization"], "Bearer hf_secret");
    }
}

#[test]
fn large_files_come_from_another_place() {
    // The first answer redirects and names the content; the second place has it.
    let cache = tempfile::tempdir().unwrap();
    let repo = Repo::single();
    let served = repo.clone();
    let server = Server::start(move |request| {
        if let Some(name) = request.path.strip_prefix("/store/") {
            return Response::new(200, served.0[name].clone()).header("etag", "\"of-the-store\"");
        }
        let response = served.answer(request);
        if !request.path.ends_with("model.safetensors") {
            return response;
        }
        Response::new(302, "")
            .header("location", "/store/model.safetensors")
            .header("x-linked-etag", "\"linked\"")
            .header("x-linked-size", served.0["model.safetensors"].len())
    });
    let folder = fetch(&server.url, cache.path()).unwrap();
    check_files(&folder, &repo, &["model.safetensors"]);
    assert!(blobs(cache.path()).contains(&"linked".to_owned()));
}

#[test]
fn a_renamed_repository_is_followed() {
    let cache = tempfile::tempdir().unwrap();
    let repo = Repo::single();
    let served = repo.clone();
    let server = Server::start(move |request| {
        let mut request = request.clone();
        match request.path.replacen("/new/", "/owner/", 1) {
            path if path != request.path => {
                request.path = path;
                served.answer(&request)
            }
            path => Response::new(307, "").header("location", path.replacen("/owner/", "/new/", 1)),
        }
    });
    let folder = fetch(&server.url, cache.path()).unwrap();
    check_files(&folder, &repo, &["config.json", "model.safetensors"]);
}

#[test]
fn a_connection_that_breaks_is_continued() {
    let cache = tempfile::tempdir().unwrap();
    let repo = Repo::single();
    let served = repo.clone();
    let gets = AtomicUsize::new(0);
    let server = Server::start(move |request| {
        let mut response = served.answer(request);
        let weights = request.method == "GET" && request.path.ends_with("model.safetensors");
        if weights && gets.fetch_add(1, Ordering::SeqCst) < 2 {
            response.body.truncate(response.body.len() / 2);
        }
        response
    });
    let folder = fetch(&server.url, cache.path()).unwrap();
    check_files(&folder, &repo, &["model.safetensors"]);
    let ranges: Vec<String> = server
        .requests
        .lock()
        .unwrap()
        .iter()
        .filter_map(|request| request.headers.get("range").cloned())
        .collect();
    assert_eq!(ranges, ["bytes=150000-", "bytes=225000-"]);
}

#[test]
fn a_truncated_body_never_becomes_a_file() {
    let cache = tempfile::tempdir().unwrap();
    let repo = Repo::single();
    let server = Server::start(move |request| {
        let mut response = repo.answer(request);
        // Ranges are refused: each attempt begins anew and ends early.
        if request.path.ends_with("model.safetensors") && request.method == "GET" {
            response = Response::new(200, vec![7; 1000]).header("content-length", 300_000);
        }
        response
    });
    let error = fetch(&server.url, cache.path()).unwrap_err();
    let message = error.to_string();
    assert!(
        matches!(error, HubError::Truncated { received: 1000, .. }),
        "{message}"
    );
    assert!(
        message.contains("ended after 1000 of 300000 bytes"),
        "{message}"
    );
    assert!(!blobs(cache.path()).contains(&"etag-of-model.safetensors".to_owned()));
    assert!(!cache.path().join("models--owner--name/refs/main").exists());

    // The next run, with a server that works, starts from what is there.
    let folder = fetch(&Repo::single().serve().url, cache.path()).unwrap();
    let weights = std::fs::read(folder.join("model.safetensors")).unwrap();
    assert_eq!(weights.len(), 300_000);
    assert!(
        !blobs(cache.path())
            .iter()
            .any(|name| name.ends_with(".incomplete"))
    );
}

#[test]
fn a_body_that_is_too_long_is_not_kept() {
    let cache = tempfile::tempdir().unwrap();
    let repo = Repo::single();
    let server = Server::start(move |request| {
        let response = repo.answer(request);
        if request.method == "GET" && request.path.ends_with("config.json") {
            return Response::new(200, "{ longer than its metadata say }");
        }
        response
    });
    let error = fetch(&server.url, cache.path()).unwrap_err();
    assert!(
        matches!(error, HubError::TooLong { expected: 2, .. }),
        "{error}"
    );
    assert!(!blobs(cache.path()).contains(&"etag-of-config.json".to_owned()));
}

#[test]
fn a_file_of_the_wrong_size_in_the_cache_is_replaced() {
    let cache = tempfile::tempdir().unwrap();
    let server = Repo::single().serve();
    let folder = fetch(&server.url, cache.path()).unwrap();
    let blob = cache
        .path()
        .join("models--owner--name/blobs/etag-of-model.safetensors");
    std::fs::write(&blob, "damaged").unwrap();
    fetch(&server.url, cache.path()).unwrap();
    check_files(&folder, &Repo::single(), &["model.safetensors"]);
}

#[test]
fn refusals_say_what_to_do() {
    let cases: [(u16, &str, &str); 7] = [
        (
            401,
            "RepoNotFound",
            "there is no such repository, or it is private",
        ),
        (401, "", "set HF_TOKEN to a token that may read it"),
        (
            401,
            "GatedRepo",
            "accept the conditions on the repository's page",
        ),
        (403, "", "access is restricted"),
        (
            404,
            "RevisionNotFound",
            "the repository has no such revision",
        ),
        (404, "", "check the spelling"),
        (418, "", "was not expected"),
    ];
    for (status, code, expected) in cases {
        let cache = tempfile::tempdir().unwrap();
        let server = Server::start(move |_| Response::new(status, "").header("x-error-code", code));
        let message = fetch(&server.url, cache.path()).unwrap_err().to_string();
        assert!(
            message.contains(&format!("answered {status}: ")),
            "{message}"
        );
        assert!(message.contains(expected), "{message}");
        assert_eq!(server.asked().len(), 1);
    }
}

#[test]
fn a_server_with_a_problem_is_asked_again() {
    let cache = tempfile::tempdir().unwrap();
    let repo = Repo::single();
    let heads = AtomicUsize::new(0);
    let server = Server::start(move |request| {
        if request.method == "HEAD" && heads.fetch_add(1, Ordering::SeqCst) < 2 {
            return Response::new(500, "");
        }
        repo.answer(request)
    });
    fetch(&server.url, cache.path()).unwrap();

    let cache = tempfile::tempdir().unwrap();
    let server = Server::start(|_| Response::new(503, ""));
    let message = fetch(&server.url, cache.path()).unwrap_err().to_string();
    assert!(
        message.contains("answered 503: the server has a problem"),
        "{message}"
    );
    assert!(
        message.contains("it lacks config.json, model.safetensors (or"),
        "{message}"
    );
}

#[test]
fn without_a_connection_the_cache_is_used() {
    let cache = tempfile::tempdir().unwrap();
    let server = Repo::single().serve();
    let url = server.url.clone();
    let folder = fetch(&url, cache.path()).unwrap();
    drop(server);
    assert_eq!(fetch(&url, cache.path()).unwrap(), folder);
}

#[test]
fn offline_says_what_it_needs() {
    let cache = tempfile::tempdir().unwrap();
    let offline = |cache: &Path| {
        let settings = Settings {
            offline: true,
            ..settings("http://127.0.0.1:9", cache)
        };
        Hub::new(settings).fetch(&"owner/name".parse().unwrap(), "main")
    };
    let message = offline(cache.path()).unwrap_err().to_string();
    for part in [
        "owner/name is not complete in the cache",
        cache.path().to_str().unwrap(),
        "it lacks config.json, model.safetensors (or model.safetensors.index.json with its shards), \
         tokenizer.json (or vocab.json and merges.txt)",
        "offline mode is on",
        "hf download owner/name",
        "http://127.0.0.1:9/owner/name/tree/main",
    ] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
    let server = Repo::single().serve();
    let folder = fetch(&server.url, cache.path()).unwrap();
    let asked = server.asked().len();
    assert_eq!(offline(cache.path()).unwrap(), folder);
    assert_eq!(server.asked().len(), asked);
    // The blob is gone, the link is left.
    std::fs::remove_file(
        cache
            .path()
            .join("models--owner--name/blobs/etag-of-model.safetensors"),
    )
    .unwrap();
    let message = offline(cache.path()).unwrap_err().to_string();
    assert!(message.contains("it lacks model.safetensors"), "{message}");
}

#[test]
fn a_cache_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let server = Repo::single().serve();
    let message = fetch(&server.url, &file).unwrap_err().to_string();
    assert!(
        message.starts_with("cannot create the folder "),
        "{message}"
    );
    assert!(
        message.contains("set HF_HUB_CACHE to a folder that can be written"),
        "{message}"
    );
}

#[test]
fn a_repository_without_safetensors() {
    let mut repo = Repo::single();
    repo.0.remove("model.safetensors");
    let cache = tempfile::tempdir().unwrap();
    let message = fetch(&repo.clone().serve().url, cache.path())
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("has neither model.safetensors nor"),
        "{message}"
    );
    assert!(
        message.contains("its weights are in pytorch_model.bin"),
        "{message}"
    );
    repo.0.remove("config.json");
    let message = fetch(&repo.serve().url, cache.path())
        .unwrap_err()
        .to_string();
    assert!(message.contains("it has no config.json"), "{message}");
    assert!(blobs(cache.path()).is_empty());
}

#[test]
fn answers_that_make_no_sense() {
    let answers: [(&str, &str); 3] = [
        ("<html>", "the list of files cannot be read"),
        (
            r#"{"sha": "../../etc", "siblings": []}"#,
            "the commit \"../../etc\" is not one",
        ),
        (r#"{"siblings": []}"#, "missing field `sha`"),
    ];
    for (body, expected) in answers {
        let cache = tempfile::tempdir().unwrap();
        let server = Server::start(move |_| Response::new(200, body));
        let message = fetch(&server.url, cache.path()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let cache = tempfile::tempdir().unwrap();
    let repo = Repo::single();
    let server = Server::start(move |request| {
        let response = repo.answer(request);
        if request.method == "HEAD" {
            response.header("etag", "\"a/../b\"")
        } else {
            response
        }
    });
    let message = fetch(&server.url, cache.path()).unwrap_err().to_string();
    assert!(
        message.contains("the ETag cannot be a file's name"),
        "{message}"
    );
}

#[test]
fn two_downloads_at_once() {
    let cache = tempfile::tempdir().unwrap();
    let server = Repo::single().serve();
    let folders: Vec<PathBuf> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| fetch(&server.url, cache.path()).unwrap()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for folder in folders {
        check_files(
            &folder,
            &Repo::single(),
            &["config.json", "model.safetensors"],
        );
    }
}
