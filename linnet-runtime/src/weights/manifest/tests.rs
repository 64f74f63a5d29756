use super::*;
use crate::descriptor::{Generic, GenericKind};
use crate::weights::testing::{MODEL, tiny_values};

#[test]
fn lists_every_tensor_in_the_models_generics() {
    let manifest = Manifest::new(&MODEL, &tiny_values()).unwrap();
    let tensor = |path: &str| {
        manifest
            .tensors
            .iter()
            .find(|tensor| tensor.path == path)
            .unwrap()
    };

    let qkv = tensor("blocks.1.attn.qkv.weight");
    assert_eq!(qkv.declared, "Tensor[H, 3 * H; T]");
    assert_eq!(qkv.bindings, "H = 4, T = f32");
    assert_eq!(
        (qkv.shape.as_slice(), qkv.dtype, qkv.block),
        (&[4, 12][..], DType::F32, "Conv1D")
    );
    assert_eq!(
        tensor("blocks.0.mlp.down.weight").declared,
        "Tensor[4 * H, H; T]"
    );
    let cache = tensor("blocks.0.attn.cache_k");
    assert_eq!(cache.declared, "Tensor[Batch, Heads, MaxSeq, H / Heads; T]");
    assert_eq!(
        (cache.kind, cache.shape.as_slice()),
        (TensorKind::State, &[1, 2, 3, 2][..])
    );

    assert_eq!(manifest.params().count(), 2 + 2 * 12 + 2);
    assert_eq!(manifest.states().count(), 2);
    assert_eq!(manifest.state_bytes(), 2 * 12 * 4);
    let per_layer = 4 * 4 + (4 * 12 + 12) + (16 + 4) + (64 + 16) + (64 + 4);
    assert_eq!(manifest.n_parameters(), 20 + 12 + 2 * per_layer + 8);
}

#[test]
fn published_sizes_come_out() {
    let mut values = tiny_values();
    for (name, size) in [
        ("Vocab", 50257),
        ("MaxPositions", 1024),
        ("H", 768),
        ("Heads", 12),
        ("Layers", 12),
    ] {
        values.set(name, GenericValue::Dim(size));
    }
    assert_eq!(
        Manifest::new(&MODEL, &values).unwrap().n_parameters(),
        124_439_808
    );
}

#[test]
fn values_that_no_model_has_are_errors() {
    let with = |name, size| {
        let mut values = tiny_values();
        values.set(name, GenericValue::Dim(size));
        Manifest::new(&MODEL, &values).expect_err(name).to_string()
    };
    assert!(
        with("Layers", 1 << 40)
            .starts_with("the model would have more than 1048576 tensors (Vocab = 5, ")
    );
    assert!(with("Layers", 200_000).starts_with("the model would have more than 1048576 tensors"));
    assert!(
        with("Vocab", 1 << 62)
            .starts_with("`wte: Tensor[Vocab, H; T]` has the shape [4611686018427387904, 4]")
    );
    assert!(
        with("Heads", 0)
            .starts_with("`blocks.0.attn.cache_k`: the dimension `H / Heads` divides by zero")
    );
    assert!(with("H", 1 << 62).contains("no memory holds"));
    assert!(with("H", usize::MAX).contains("the dimension `H` is too large to compute"));
}

#[test]
fn a_generic_without_a_value_is_named() {
    let mut values = GenericValues::new();
    values.set("Vocab", GenericValue::Dim(5));
    let problem = Manifest::new(&MODEL, &values).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "the generic `MaxPositions` of `Model` has no value"
    );
}

const N: DimExpr = DimExpr::Generic("N");
const VECTOR: Type = Type::Tensor {
    dims: &[DimItem::One(N)],
    dtype: DTypeExpr::Concrete(DType::U8),
};
const N_GENERIC: Generic = Generic {
    name: "N",
    kind: GenericKind::Dim,
    default: None,
};

static INNER: BlockDescriptor = BlockDescriptor {
    name: "Inner",
    module: "test",
    generics: &[N_GENERIC],
    requires: &[],
    members: &[
        Member {
            name: "must",
            kind: MemberKind::Param(VECTOR),
        },
        Member {
            name: "may",
            kind: MemberKind::Param(Type::Option(&VECTOR)),
        },
    ],
    functions: &[],
};

static OUTER: BlockDescriptor = BlockDescriptor {
    name: "Outer",
    module: "test",
    generics: &[N_GENERIC],
    requires: &[],
    members: &[Member {
        name: "inner",
        kind: MemberKind::Sub {
            block: &INNER,
            args: &[GenericArg::Dim(DimExpr::Sub(&N, &DimExpr::Const(3)))],
            length: None,
            optional: true,
        },
    }],
    functions: &[],
};

#[test]
fn optional_members_and_blocks_are_marked() {
    let values = [("N", GenericValue::Dim(5))].into_iter().collect();
    let manifest = Manifest::new(&OUTER, &values).unwrap();
    let [must, may] = manifest.tensors.as_slice() else {
        panic!("{manifest:?}")
    };
    assert_eq!(must.declared, "Tensor[N - 3; u8]");
    assert_eq!(may.declared, "Tensor[N - 3; u8]?");
    assert_eq!(may.bindings, "N = 5");
    assert!(must.optional && may.optional);
    assert_eq!(must.within_optional.as_deref(), Some("inner"));

    let values = [("N", GenericValue::Dim(1))].into_iter().collect();
    let problem = Manifest::new(&OUTER, &values).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "`inner.must`: the dimension `N - 3` is negative: -2 (N = 1)"
    );
}
