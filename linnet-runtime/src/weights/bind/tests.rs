use super::*;
use crate::descriptor::{BlockDescriptor, DTypeExpr, DimExpr, DimItem, Member, MemberKind, Type};
use crate::dtype::DType;
use crate::env::GenericValue;
use crate::weights::GenericValues;
use crate::weights::testing::{Entry, MODEL, RULES, safetensors, tiny_entries, tiny_values};

fn manifest(dtype: DType) -> Manifest {
    let mut values = tiny_values();
    values.set("T", GenericValue::DType(dtype));
    Manifest::new(&MODEL, &values).unwrap()
}

fn checkpoint(entries: &[Entry]) -> Checkpoint {
    Checkpoint::from_bytes("ckpt", safetensors(entries, 0)).unwrap()
}

/// The message that refuses these tensors.
fn refusal(entries: &[Entry]) -> String {
    let checkpoint = checkpoint(entries);
    Binding::new(&checkpoint, &manifest(DType::F32), &RULES)
        .expect_err("must be refused")
        .to_string()
}

fn entry<'a>(entries: &'a mut [Entry], name: &str) -> &'a mut Entry {
    entries.iter_mut().find(|entry| entry.name == name).unwrap()
}

fn read(
    checkpoint: &Checkpoint,
    dtype: DType,
) -> Result<(BTreeMap<String, ErasedTensor>, ReadSummary)> {
    let manifest = manifest(dtype);
    let binding = Binding::new(checkpoint, &manifest, &RULES)?;
    binding.read(checkpoint, &manifest, &ThreadPool::new(2)?)
}

const HEAD: &str = "ckpt does not fit Model<Vocab = 5, MaxPositions = 3, H = 4, Heads = 2, Layers = 2, \
                    Batch = 1, MaxSeq = 3, T = f32>: ";

#[test]
fn all_parameters_are_found_with_and_without_prefix() {
    for prefix in ["", "transformer."] {
        let checkpoint = checkpoint(&tiny_entries(prefix));
        let (parameters, summary) = read(&checkpoint, DType::F32).unwrap();
        assert_eq!(parameters.len(), 28);
        let qkv = &parameters["blocks.1.attn.qkv.weight"];
        assert_eq!(qkv.shape(), [4, 12]);
        let index = tiny_entries("")
            .iter()
            .position(|entry| entry.name == "h.1.attn.c_attn.weight")
            .unwrap();
        assert_eq!(
            qkv.as_slice::<f32>().unwrap()[5],
            index as f32 * 100.0 + 5.0
        );
        assert_eq!(
            summary.shared_bytes + summary.owned_bytes,
            manifest(DType::F32).n_parameters() * 4
        );
    }
}

#[test]
fn mapped_files_are_shared_where_dtype_and_address_allow() {
    let folder = tempfile::tempdir().unwrap();
    for (shift, dtype, shared) in [
        (0, DType::F32, true),
        (1, DType::F32, false),
        (0, DType::BF16, false),
    ] {
        let path = folder.path().join("model.safetensors");
        std::fs::write(&path, safetensors(&tiny_entries(""), shift)).unwrap();
        let checkpoint = Checkpoint::open(folder.path()).unwrap();
        let (parameters, summary) = read(&checkpoint, dtype).unwrap();
        assert_eq!(summary.owned_bytes == 0, shared, "{shift} {dtype}");
        assert_eq!(summary.shared_bytes == 0, !shared, "{shift} {dtype}");
        let wpe = &parameters["wpe"];
        assert_eq!(wpe.dtype(), dtype);
        // 2711 rounds to a multiple of 16 in bf16, which has eight significant bits.
        let expected = if dtype == DType::BF16 { 2704.0 } else { 2711.0 };
        assert_eq!(wpe.element(11).to_f64(), expected);
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn embedded_bytes_are_shared() {
    let bytes: &'static [u8] = safetensors(&tiny_entries(""), 0).leak();
    let aligned = (bytes.as_ptr() as usize).is_multiple_of(4);
    let checkpoint = Checkpoint::from_bytes("embedded", bytes).unwrap();
    let (_, summary) = read(&checkpoint, DType::F32).unwrap();
    assert_eq!(summary.owned_bytes == 0, aligned);
}

#[test]
fn every_float_becomes_every_float() {
    for (stored, width) in [("F32", 4), ("F16", 2), ("BF16", 2), ("F64", 8)] {
        let entries: Vec<Entry> = tiny_entries("")
            .into_iter()
            .map(|entry| Entry::zeros(&entry.name, stored, &entry.shape, width))
            .collect();
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let (parameters, _) = read(&checkpoint(&entries), dtype).unwrap();
            assert!(parameters.values().all(|tensor| tensor.dtype() == dtype));
        }
    }
}

#[test]
fn every_problem_is_in_one_report() {
    let mut entries = tiny_entries("transformer.");
    entry(&mut entries, "transformer.h.0.attn.c_attn.weight").name =
        "transformer.h.0.attn.c_attn.weigth".into();
    entry(&mut entries, "transformer.h.1.mlp.c_fc.weight").shape = vec![16, 4];
    let fewer = Entry::f32("transformer.wpe.weight", &[2, 4], 0.0);
    *entry(&mut entries, "transformer.wpe.weight") = fewer;
    let ints = Entry::zeros("transformer.ln_f.bias", "I32", &[4], 4);
    *entry(&mut entries, "transformer.ln_f.bias") = ints;
    let f8 = Entry::zeros("transformer.ln_f.weight", "F8_E4M3", &[4], 1);
    *entry(&mut entries, "transformer.ln_f.weight") = f8;
    entries.push(Entry::f32("score.weight", &[2, 4], 0.0));
    let expected = "7 problems\n  \
        wrong shape: `transformer.wpe.weight` is [2, 4], expected [3, 4] \
        (for `wpe: Tensor[MaxPositions, H; T]` with MaxPositions = 3, H = 4, T = f32)\n  \
        wrong shape: `transformer.h.1.mlp.c_fc.weight` is [16, 4], expected [4, 16] \
        (for `blocks.1.mlp.up.weight: Tensor[H, 4 * H; T]` with H = 4, T = f32); it seems to be stored transposed\n  \
        wrong dtype: `transformer.ln_f.weight` is F8_E4M3, expected F32, F16, BF16 or F64 \
        (for `ln_f.weight: Tensor[H; T]`); F8_E4M3 is not supported, so convert the checkpoint first\n  \
        wrong dtype: `transformer.ln_f.bias` is I32, expected F32, F16, BF16 or F64 \
        (for `ln_f.bias: Tensor[H; T]`)\n  \
        missing: `h.0.attn.c_attn.weight` (for `blocks.0.attn.qkv.weight: Tensor[H, 3 * H; T]`); \
        did you mean `h.0.attn.c_attn.weigth`?\n  \
        extra: `transformer.h.0.attn.c_attn.weigth`, F32 [4, 12], belongs to no parameter\n  \
        extra: `score.weight`, F32 [2, 4], belongs to no parameter";
    assert_eq!(refusal(&entries), format!("{HEAD}{expected}"));
}

#[test]
fn long_reports_are_cut_and_counted() {
    let message = refusal(&[Entry::f32("other", &[1], 0.0)]);
    assert!(
        message.starts_with(&format!("{HEAD}29 problems")),
        "{message}"
    );
    assert_eq!(message.matches("\n  missing: `").count(), FitReport::LISTED);
    assert!(
        message.contains("\n  missing: and 16 more\n  extra: `other`"),
        "{message}"
    );
}

#[test]
fn mask_buffers_are_ignored_and_listed() {
    let mut entries = tiny_entries("transformer.");
    entries.push(Entry::f32("transformer.h.0.attn.bias", &[1, 1, 3, 3], 0.0));
    let checkpoint = checkpoint(&entries);
    let manifest = manifest(DType::F32);
    let binding = Binding::new(&checkpoint, &manifest, &RULES).unwrap();
    assert_eq!(binding.ignored, ["transformer.h.0.attn.bias"]);
}

#[test]
fn a_tied_tensor_must_be_the_same() {
    let mut entries = tiny_entries("transformer.");
    let wte = entry(&mut entries, "transformer.wte.weight").clone();
    entries.push(Entry {
        name: "lm_head.weight".into(),
        ..wte.clone()
    });
    read(&checkpoint(&entries), DType::F32).unwrap();

    entries.last_mut().unwrap().bytes[3] ^= 1;
    assert_eq!(
        refusal(&entries),
        format!(
            "{HEAD}1 problem\n  not tied: `lm_head.weight` must hold the same bytes as `transformer.wte.weight`, \
             which this model uses for both; a checkpoint with weights of their own is not supported"
        )
    );
}

#[test]
fn a_tensor_stored_only_under_its_tied_name_is_read() {
    let mut entries = tiny_entries("transformer.");
    entry(&mut entries, "transformer.wte.weight").name = "lm_head.weight".into();
    let (parameters, _) = read(&checkpoint(&entries), DType::F32).unwrap();
    assert_eq!(parameters["wte"].shape(), [5, 4]);
}

#[test]
fn a_tensor_stored_with_and_without_prefix_is_refused() {
    let mut entries = tiny_entries("transformer.");
    entries.push(Entry::f32("wpe.weight", &[3, 4], 0.0));
    let message = refusal(&entries);
    assert_eq!(
        message,
        format!(
            "{HEAD}1 problem\n  stored twice: `wpe.weight` is there as `transformer.wpe.weight` and as `wpe.weight`"
        )
    );
}

#[test]
fn numbers_past_the_range_are_refused() {
    let mut entries = tiny_entries("");
    let wpe = entry(&mut entries, "wpe.weight");
    wpe.bytes[20..24].copy_from_slice(&70000.0_f32.to_le_bytes());
    let error = read(&checkpoint(&entries), DType::F16)
        .unwrap_err()
        .to_string();
    let expected = "1 problem\n  too large: element 5 of `wpe.weight` is 7e4, past the range of f16; \
                    load it as bf16 or f32 instead";
    assert!(error.ends_with(expected), "{error}");
    read(&checkpoint(&entries), DType::BF16).unwrap();
}

const FLAGS: Type = Type::Tensor {
    dims: &[DimItem::One(DimExpr::Const(2))],
    dtype: DTypeExpr::Concrete(DType::Bool),
};

static INNER: BlockDescriptor = BlockDescriptor {
    name: "Inner",
    module: "test",
    generics: &[],
    requires: &[],
    members: &[
        Member {
            name: "must",
            kind: MemberKind::Param(FLAGS),
        },
        Member {
            name: "may",
            kind: MemberKind::Param(Type::Option(&FLAGS)),
        },
    ],
    functions: &[],
};

static OUTER: BlockDescriptor = BlockDescriptor {
    name: "Outer",
    module: "test",
    generics: &[],
    requires: &[],
    members: &[Member {
        name: "inner",
        kind: MemberKind::Sub {
            block: &INNER,
            args: &[],
            length: None,
            optional: true,
        },
    }],
    functions: &[],
};

#[test]
fn an_optional_block_is_there_as_a_whole_or_not_at_all() {
    let manifest = Manifest::new(&OUTER, &GenericValues::new()).unwrap();
    let bind = |names: &[&str]| {
        let entries: Vec<Entry> = names
            .iter()
            .map(|name| Entry::zeros(name, "BOOL", &[2], 1))
            .collect();
        let checkpoint = checkpoint(&entries);
        let binding = Binding::new(&checkpoint, &manifest, &NameRules::IDENTITY);
        binding
            .map(|binding| binding.tensors.len())
            .map_err(|e| e.to_string())
    };
    assert_eq!(bind(&[]), Ok(0));
    assert_eq!(bind(&["inner.must"]), Ok(1));
    assert_eq!(bind(&["inner.must", "inner.may"]), Ok(2));
    let message = bind(&["inner.may"]).unwrap_err();
    assert!(
        message.ends_with("1 problem\n  missing: `inner.must` (for `inner.must: Tensor[2; bool]`)"),
        "{message}"
    );
}

#[test]
fn bools_are_checked_and_integers_are_exact() {
    let manifest = Manifest::new(&INNER, &GenericValues::new()).unwrap();
    let mut flags = Entry::zeros("must", "BOOL", &[2], 1);
    flags.bytes[1] = 2;
    let broken = checkpoint(&[flags]);
    let binding = Binding::new(&broken, &manifest, &NameRules::IDENTITY).unwrap();
    let error = binding
        .read(&broken, &manifest, &ThreadPool::new(1).unwrap())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the parameter `must`") && error.contains("neither 0 nor 1"),
        "{error}"
    );

    let bytes = checkpoint(&[Entry::zeros("must", "U8", &[2], 1)]);
    let error = Binding::new(&bytes, &manifest, &NameRules::IDENTITY)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("wrong dtype: `must` is U8, expected BOOL (for `must: Tensor[2; bool]`)"),
        "{error}"
    );
}
