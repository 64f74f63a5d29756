use std::path::Path;

use super::*;
use crate::weights::testing::{Entry, safetensors, tiny_entries};

const INDEX: &str = "model.safetensors.index.json";

fn message(path: impl AsRef<Path>) -> String {
    Checkpoint::open(path)
        .expect_err("must be refused")
        .to_string()
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_folder_and_a_file_open_alike() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(
        folder.path(),
        "model.safetensors",
        safetensors(&tiny_entries(""), 0),
    );
    for path in [folder.path(), &file] {
        let checkpoint = Checkpoint::open(path).unwrap();
        assert_eq!(checkpoint.len(), 28);
        assert!(!checkpoint.is_empty());
        assert_eq!(
            checkpoint.n_bytes() as u64,
            fs::metadata(&file).unwrap().len()
        );
        let wpe = checkpoint.get("wpe.weight").unwrap();
        assert_eq!((wpe.shape, wpe.bytes().len()), (&[3, 4][..], 48));
        assert!(checkpoint.get("nothing").is_none());
        assert_eq!(checkpoint.tensors().count(), 28);
    }
}

#[test]
fn what_is_no_checkpoint_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let shown = path.display();
    let missing = path.join("missing");
    assert!(message(&missing).starts_with(&format!("cannot read {}: ", missing.display())));
    let expected = format!(
        "{shown} holds no weights: expected `model.safetensors`, or `model.safetensors.index.json` and its shards"
    );
    assert_eq!(
        message(path),
        format!("{expected}; it has no file that looks like weights")
    );
    write(path, "pytorch_model.bin", "x");
    write(path, "weights.safetensors", "x");
    assert_eq!(
        message(path),
        format!(
            "{expected}; found `pytorch_model.bin`, `weights.safetensors`; convert the weights to safetensors \
             or give the path of a .safetensors file"
        )
    );
}

#[test]
fn damaged_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let good = safetensors(&tiny_entries(""), 0);
    let path = write(folder.path(), "model.safetensors", []);
    let shown = path.display().to_string();
    assert!(message(folder.path()).starts_with(&format!("{shown}: the file has 0 bytes")));
    write(folder.path(), "model.safetensors", &good[..good.len() - 1]);
    assert!(message(folder.path()).contains("it was cut short, so fetch it again"));
    write(folder.path(), "model.safetensors", &good[..100]);
    assert!(message(folder.path()).contains("the file was cut short, so fetch it again"));
    let folder_as_file = folder.path().join("sub.safetensors");
    fs::create_dir(&folder_as_file).unwrap();
    assert!(message(&folder_as_file).contains("holds no weights"));
}

/// Two shards, `wte.weight` in the second, and their index with `changes` applied.
fn sharded(folder: &Path, changes: &[(&str, Option<&str>)]) {
    let (second, first): (Vec<Entry>, Vec<Entry>) = tiny_entries("")
        .into_iter()
        .partition(|entry| entry.name == "wte.weight");
    let mut map = BTreeMap::new();
    for (shard, entries) in [("a.safetensors", first), ("b.safetensors", second)] {
        write(folder, shard, safetensors(&entries, 0));
        map.extend(
            entries
                .into_iter()
                .map(|entry| (entry.name, shard.to_owned())),
        );
    }
    for (name, shard) in changes {
        match shard {
            Some(shard) => map.insert((*name).to_owned(), (*shard).to_owned()),
            None => map.remove(*name),
        };
    }
    let index = serde_json::json!({"metadata": {"total_size": 1}, "weight_map": map});
    write(folder, INDEX, index.to_string());
}

#[test]
fn shards_open_as_one() {
    let folder = tempfile::tempdir().unwrap();
    sharded(folder.path(), &[]);
    for path in [folder.path().to_owned(), folder.path().join(INDEX)] {
        let checkpoint = Checkpoint::open(path).unwrap();
        assert_eq!(checkpoint.len(), 28);
        assert_eq!(checkpoint.get("wte.weight").unwrap().shape, [5, 4]);
    }
}

#[test]
fn index_and_shards_must_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let head = format!(
        "{}: the index and the shards do not agree",
        path.join(INDEX).display()
    );

    sharded(
        path,
        &[
            ("new", Some("c.safetensors")),
            ("newer", Some("d.safetensors")),
        ],
    );
    let expected =
        "\n  2 shards are missing: `c.safetensors`, `d.safetensors`; fetch the checkpoint again";
    assert_eq!(message(path), format!("{head}{expected}"));

    sharded(
        path,
        &[
            ("new", Some("a.safetensors")),
            ("wte.weight", Some("a.safetensors")),
            ("wpe.weight", None),
        ],
    );
    // Nothing is listed for b.safetensors any more, so it is not opened.
    let expected = "\n  `new` is missing from `a.safetensors`\n  `wte.weight` is missing from `a.safetensors`\
                    \n  `wpe.weight` is in `a.safetensors`, where the index does not list it";
    assert_eq!(message(path), format!("{head}{expected}"));

    sharded(path, &[("wpe.weight", Some("b.safetensors"))]);
    let expected = "\n  `wpe.weight` should be in `b.safetensors`, but is in `a.safetensors`";
    assert_eq!(message(path), format!("{head}{expected}"));
}

#[test]
fn shards_stay_in_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    for shard in [
        "../a.safetensors",
        "/etc/passwd",
        "..",
        "",
        "x/a",
        "x\\a",
        "C:a",
    ] {
        sharded(folder.path(), &[("new", Some(shard))]);
        let expected = "expected the plain name of a file in the same folder";
        let message = message(folder.path());
        assert!(
            message.contains(expected) && message.contains("the index names the shard"),
            "{message}"
        );
    }
}

#[test]
fn damaged_indices_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), INDEX, "");
    let shown = path.display().to_string();
    for (text, expected) in [
        (
            "",
            "the index cannot be read: EOF while parsing a value at line 1 column 0",
        ),
        (
            "{}",
            "the index cannot be read: missing field `weight_map` at line 1 column 2",
        ),
        (
            r#"{"weight_map": {"a": 1}}"#,
            "the index cannot be read: `a`: invalid type: integer `1`, expected a string at line 1 column 22",
        ),
        (
            r#"{"weight_map": {}}"#,
            "the index lists no tensors; expected \"weight_map\": {\"tensor\": \"file\", ..}",
        ),
        (
            r#"{"weight_map": {"a": "x", "a": "x"}}"#,
            "the index lists the tensor `a` twice",
        ),
    ] {
        write(folder.path(), INDEX, text);
        assert_eq!(message(folder.path()), format!("{shown}: {expected}"));
    }
}

/// The layout of a published checkpoint: three shards and quantised experts.
#[test]
fn a_published_sharded_checkpoint_opens() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/tiny-gpt-oss-sharded");
    let checkpoint = Checkpoint::open(folder).unwrap();
    assert_eq!(checkpoint.len(), 3 + 2 * 19);
    let blocks = checkpoint
        .get("model.layers.1.mlp.experts.gate_up_proj_blocks")
        .unwrap();
    assert_eq!(
        (blocks.dtype, blocks.shape),
        (StoredDType::U8, &[4, 128, 3, 16][..])
    );
    let embedding = checkpoint.get("model.embed_tokens.weight").unwrap();
    assert_eq!(
        (embedding.dtype, embedding.shape),
        (StoredDType::BF16, &[200, 96][..])
    );
    assert!(
        checkpoint
            .tensors()
            .all(|tensor| tensor.place().0.is_mapped())
    );
}

mod damage {
    use proptest::prelude::*;

    use super::*;

    /// Reads every byte of whatever opens.
    fn use_up(bytes: Vec<u8>) -> usize {
        let Ok(checkpoint) = Checkpoint::from_bytes("damaged", bytes) else {
            return 0;
        };
        checkpoint
            .tensors()
            .map(|tensor| {
                tensor
                    .bytes()
                    .iter()
                    .map(|&b| usize::from(b))
                    .sum::<usize>()
            })
            .sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn flipped_and_cut_files_never_panic(
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let mut bytes = safetensors(&tiny_entries(""), 0);
            for (at, value) in flips {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            use_up(bytes);
        }

        #[test]
        fn headers_with_changed_numbers_never_panic(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 1..4),
        ) {
            let good = safetensors(&tiny_entries(""), 0);
            let n = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
            let mut header = String::from_utf8(good[8..8 + n].to_vec()).unwrap();
            for (at, value) in changes {
                let digits: Vec<usize> = header.match_indices(|c: char| c.is_ascii_digit()).map(|(i, _)| i).collect();
                let at = digits[at.index(digits.len())];
                header.replace_range(at..=at, &value.to_string());
            }
            let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
            bytes.extend(header.into_bytes());
            bytes.extend(&good[8 + n..]);
            use_up(bytes);
        }

        #[test]
        fn damaged_indices_never_panic(
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            let mut index = br#"{"metadata": {}, "weight_map": {"a": "x", "b": "y"}}"#.to_vec();
            for (at, value) in flips {
                let at = at.index(index.len());
                index[at] = value;
            }
            if let Ok(index) = Index::parse(&index) {
                prop_assert!(index.shards().iter().all(|shard| !shard.contains('/')));
            }
        }

        #[test]
        fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            use_up(bytes);
        }
    }
}
