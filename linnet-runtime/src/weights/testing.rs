//! What the tests of weights and cards share: the members of GPT-2 as a
//! descriptor, and small safetensors files.

use crate::block::{Block, StaticArg};
use crate::card::{Allowed, Card, GenericRule, GenericSource, Known, Rule};
use crate::descriptor::{
    BlockDescriptor, Comparison, DTypeExpr, DimExpr, DimItem, Generic, GenericArg, GenericKind,
    Member, MemberKind, Requirement, Type,
};
use crate::dtype::DType;
use crate::env::GenericValue;
use crate::instance::Instance;
use crate::weights::{GenericValues, NameRules, Pattern, Piece};

const fn dim(name: &'static str) -> DimExpr {
    DimExpr::Generic(name)
}

const fn axis(name: &'static str) -> DimItem {
    DimItem::One(dim(name))
}

const fn generic(name: &'static str) -> Generic {
    Generic {
        name,
        kind: GenericKind::Dim,
        default: None,
    }
}

const T: DTypeExpr = DTypeExpr::Generic("T");
const FLOAT: Generic = Generic {
    name: "T",
    kind: GenericKind::Float,
    default: None,
};
const T_ARG: GenericArg = GenericArg::DType(T);
const THREE_H: DimExpr = DimExpr::Mul(&DimExpr::Const(3), &dim("H"));
const FOUR_H: DimExpr = DimExpr::Mul(&DimExpr::Const(4), &dim("H"));
const HEAD_DIM: DimExpr = DimExpr::Div(&dim("H"), &dim("Heads"));

const fn param(name: &'static str, dims: &'static [DimItem]) -> Member {
    Member {
        name,
        kind: MemberKind::Param(Type::Tensor { dims, dtype: T }),
    }
}

const fn sub(
    name: &'static str,
    block: &'static BlockDescriptor,
    args: &'static [GenericArg],
) -> Member {
    Member {
        name,
        kind: MemberKind::Sub {
            block,
            args,
            length: None,
            optional: false,
        },
    }
}

const fn block(
    name: &'static str,
    generics: &'static [Generic],
    requires: &'static [Requirement],
    members: &'static [Member],
) -> BlockDescriptor {
    BlockDescriptor {
        name,
        module: "test",
        generics,
        requires,
        members,
        functions: &[],
    }
}

static CONV1D: BlockDescriptor = block(
    "Conv1D",
    &[generic("In"), generic("Out"), FLOAT],
    &[],
    &[
        param("weight", &[axis("In"), axis("Out")]),
        param("bias", &[axis("Out")]),
    ],
);

static LAYER_NORM: BlockDescriptor = block(
    "LayerNorm",
    &[generic("H"), FLOAT],
    &[],
    &[param("weight", &[axis("H")]), param("bias", &[axis("H")])],
);

static ATTENTION: BlockDescriptor = block(
    "Attention",
    &[
        generic("H"),
        generic("Heads"),
        generic("Batch"),
        generic("MaxSeq"),
        FLOAT,
    ],
    &[],
    &[
        sub(
            "qkv",
            &CONV1D,
            &[GenericArg::Dim(dim("H")), GenericArg::Dim(THREE_H), T_ARG],
        ),
        sub(
            "out",
            &CONV1D,
            &[GenericArg::Dim(dim("H")), GenericArg::Dim(dim("H")), T_ARG],
        ),
        Member {
            name: "cache_k",
            kind: MemberKind::State(Type::Tensor {
                dims: &[
                    axis("Batch"),
                    axis("Heads"),
                    axis("MaxSeq"),
                    DimItem::One(HEAD_DIM),
                ],
                dtype: T,
            }),
        },
    ],
);

static MLP: BlockDescriptor = block(
    "Mlp",
    &[generic("H"), FLOAT],
    &[],
    &[
        sub(
            "up",
            &CONV1D,
            &[GenericArg::Dim(dim("H")), GenericArg::Dim(FOUR_H), T_ARG],
        ),
        sub(
            "down",
            &CONV1D,
            &[GenericArg::Dim(FOUR_H), GenericArg::Dim(dim("H")), T_ARG],
        ),
    ],
);

const NORM_ARGS: &[GenericArg] = &[GenericArg::Dim(dim("H")), T_ARG];
const LAYER_ARGS: &[GenericArg] = &[
    GenericArg::Dim(dim("H")),
    GenericArg::Dim(dim("Heads")),
    GenericArg::Dim(dim("Batch")),
    GenericArg::Dim(dim("MaxSeq")),
    T_ARG,
];

static LAYER: BlockDescriptor = block(
    "Block",
    &[
        generic("H"),
        generic("Heads"),
        generic("Batch"),
        generic("MaxSeq"),
        FLOAT,
    ],
    &[],
    &[
        sub("ln_1", &LAYER_NORM, NORM_ARGS),
        sub("attn", &ATTENTION, LAYER_ARGS),
        sub("ln_2", &LAYER_NORM, NORM_ARGS),
        sub("mlp", &MLP, NORM_ARGS),
    ],
);

/// GPT-2's members.
pub(crate) static MODEL: BlockDescriptor = block(
    "Model",
    &[
        generic("Vocab"),
        generic("MaxPositions"),
        generic("H"),
        generic("Heads"),
        generic("Layers"),
        generic("Batch"),
        generic("MaxSeq"),
        Generic {
            name: "T",
            kind: GenericKind::Float,
            default: Some(GenericArg::DType(DTypeExpr::Concrete(DType::F32))),
        },
    ],
    &[
        Requirement::Compare {
            left: DimExpr::Rem(&dim("H"), &dim("Heads")),
            comparison: Comparison::Eq,
            right: DimExpr::Const(0),
            text: "H % Heads == 0",
        },
        Requirement::Compare {
            left: dim("MaxSeq"),
            comparison: Comparison::Le,
            right: dim("MaxPositions"),
            text: "MaxSeq <= MaxPositions",
        },
    ],
    &[
        param("wte", &[axis("Vocab"), axis("H")]),
        param("wpe", &[axis("MaxPositions"), axis("H")]),
        Member {
            name: "blocks",
            kind: MemberKind::Sub {
                block: &LAYER,
                args: LAYER_ARGS,
                length: Some(dim("Layers")),
                optional: false,
            },
        },
        sub("ln_f", &LAYER_NORM, NORM_ARGS),
    ],
);

/// A model type with `Dyn` dimensions and `T` = f32, or with constant ones.
#[derive(Debug)]
pub(crate) struct Model<const H: usize>(Instance);

impl<const H: usize> Block for Model<H> {
    const DESCRIPTOR: &'static BlockDescriptor = &MODEL;

    fn generic_args() -> Vec<StaticArg> {
        let mut args = vec![StaticArg::Dim(None); 7];
        if H > 0 {
            args[2] = StaticArg::Dim(Some(H));
            args[5] = StaticArg::Dim(Some(1));
        }
        args.push(StaticArg::DType(DType::F32));
        args
    }

    fn from_instance(instance: Instance) -> Self {
        Model(instance)
    }

    fn instance(&self) -> &Instance {
        &self.0
    }

    fn instance_mut(&mut self) -> &mut Instance {
        &mut self.0
    }
}

const I: Piece = Piece::Number {
    name: "i",
    times: 1,
    plus: 0,
};

/// The start of a layer's names: member side and stored side.
const fn layer(member: &'static [Piece], stored: &'static [Piece]) -> (Pattern, Pattern) {
    (Pattern { pieces: member }, Pattern { pieces: stored })
}

/// How GPT-2 checkpoints name their tensors.
pub(crate) const RULES: NameRules = NameRules {
    prefixes: &["transformer."],
    tensors: &[
        layer(
            &[
                Piece::Text("blocks."),
                I,
                Piece::Text(".attn.qkv."),
                Piece::Rest,
            ],
            &[
                Piece::Text("h."),
                I,
                Piece::Text(".attn.c_attn."),
                Piece::Rest,
            ],
        ),
        layer(
            &[
                Piece::Text("blocks."),
                I,
                Piece::Text(".attn.out."),
                Piece::Rest,
            ],
            &[
                Piece::Text("h."),
                I,
                Piece::Text(".attn.c_proj."),
                Piece::Rest,
            ],
        ),
        layer(
            &[
                Piece::Text("blocks."),
                I,
                Piece::Text(".mlp.up."),
                Piece::Rest,
            ],
            &[Piece::Text("h."), I, Piece::Text(".mlp.c_fc."), Piece::Rest],
        ),
        layer(
            &[
                Piece::Text("blocks."),
                I,
                Piece::Text(".mlp.down."),
                Piece::Rest,
            ],
            &[
                Piece::Text("h."),
                I,
                Piece::Text(".mlp.c_proj."),
                Piece::Rest,
            ],
        ),
        layer(
            &[Piece::Text("blocks."), I, Piece::Text("."), Piece::Rest],
            &[Piece::Text("h."), I, Piece::Text("."), Piece::Rest],
        ),
        layer(&[Piece::Text("wte")], &[Piece::Text("wte.weight")]),
        layer(&[Piece::Text("wpe")], &[Piece::Text("wpe.weight")]),
    ],
    ignore: &[Pattern {
        pieces: &[Piece::Text("h."), I, Piece::Text(".attn.bias")],
    }],
    tied: &[("lm_head.weight", "wte.weight")],
};

const fn from_key(name: &'static str, keys: &'static [&'static str]) -> GenericRule {
    GenericRule {
        name,
        source: GenericSource::Config {
            keys,
            default: None,
            max: 1 << 24,
        },
    }
}

/// A card of GPT-2.
pub(crate) static CARD: Card = Card {
    name: "GPT-2",
    summary: "A test.",
    licence: "MIT",
    links: &[],
    model: "Model",
    generics: &[
        from_key("Vocab", &["vocab_size"]),
        from_key("MaxPositions", &["n_positions", "max_position_embeddings"]),
        from_key("H", &["n_embd", "hidden_size"]),
        from_key("Heads", &["n_head"]),
        from_key("Layers", &["n_layer"]),
        GenericRule {
            name: "Batch",
            source: GenericSource::Chosen {
                default: DimExpr::Const(1),
                max: 1 << 16,
            },
        },
        GenericRule {
            name: "MaxSeq",
            source: GenericSource::Chosen {
                default: dim("MaxPositions"),
                max: 1 << 24,
            },
        },
        GenericRule {
            name: "T",
            source: GenericSource::DType,
        },
    ],
    rules: &[
        Rule {
            keys: &["model_type"],
            allowed: &[Allowed::Text("gpt2")],
            optional: false,
            about: "the architecture",
        },
        Rule {
            keys: &["layer_norm_epsilon"],
            allowed: &[Allowed::Number(1e-5)],
            optional: true,
            about: "what layer norms add to the variance",
        },
        Rule {
            keys: &["activation_function"],
            allowed: &[
                Allowed::Text("gelu_new"),
                Allowed::Text("gelu_pytorch_tanh"),
            ],
            optional: true,
            about: "the activation of the feed-forward layer",
        },
        Rule {
            keys: &["n_inner"],
            allowed: &[Allowed::Null, Allowed::Dim(FOUR_H)],
            optional: true,
            about: "the width of the feed-forward layer",
        },
        Rule {
            keys: &["scale_attn_weights"],
            allowed: &[Allowed::Bool(true)],
            optional: true,
            about: "whether scores are divided by the root of the head's width",
        },
    ],
    harmless: &[
        "*_pdrop",
        "*_token_id",
        "summary_*",
        "use_cache",
        "initializer_range",
        "transformers_version",
        "architectures",
    ],
    checkpoints: &[
        Known {
            name: "gpt2",
            alias: "Gpt2",
            repository: "openai-community/gpt2",
            parameters: 124_439_808,
            dims: &[
                ("Vocab", 50257),
                ("MaxPositions", 1024),
                ("H", 768),
                ("Heads", 12),
                ("Layers", 12),
            ],
        },
        Known {
            name: "tiny",
            alias: "Tiny",
            repository: "test/tiny",
            parameters: 528,
            dims: &[
                ("Vocab", 5),
                ("MaxPositions", 3),
                ("H", 4),
                ("Heads", 2),
                ("Layers", 2),
            ],
        },
    ],
    names: RULES,
};

/// The values of a model with two layers of width 4.
pub(crate) fn tiny_values() -> GenericValues {
    let dims = [
        ("Vocab", 5),
        ("MaxPositions", 3),
        ("H", 4),
        ("Heads", 2),
        ("Layers", 2),
        ("Batch", 1),
        ("MaxSeq", 3),
    ];
    let dims = dims
        .into_iter()
        .map(|(name, size)| (name, GenericValue::Dim(size)));
    dims.chain([("T", GenericValue::DType(DType::F32))])
        .collect()
}

/// A tensor to write into a file.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub name: String,
    pub dtype: &'static str,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

impl Entry {
    /// A tensor of 0, 1, 2, .. with `offset` added.
    pub fn f32(name: &str, shape: &[usize], offset: f32) -> Entry {
        let n: usize = shape.iter().product();
        let bytes = (0..n)
            .flat_map(|i| (i as f32 + offset).to_le_bytes())
            .collect();
        Entry {
            name: name.to_owned(),
            dtype: "F32",
            shape: shape.to_vec(),
            bytes,
        }
    }

    /// A tensor of zero bytes.
    pub fn zeros(name: &str, dtype: &'static str, shape: &[usize], width: usize) -> Entry {
        let n: usize = shape.iter().product();
        Entry {
            name: name.to_owned(),
            dtype,
            shape: shape.to_vec(),
            bytes: vec![0; n * width],
        }
    }
}

/// The bytes of a safetensors file. The header is padded so that the data starts
/// at a multiple of 8, plus `shift`.
pub(crate) fn safetensors(entries: &[Entry], shift: usize) -> Vec<u8> {
    let mut header = String::from("{");
    let mut begin = 0;
    for (i, entry) in entries.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let (name, end) = (&entry.name, begin + entry.bytes.len());
        header += &format!(
            r#"{comma}"{name}":{{"dtype":"{}","shape":{:?},"data_offsets":[{begin},{end}]}}"#,
            entry.dtype, entry.shape
        );
        begin = end;
    }
    header.push('}');
    while header.len() % 8 != shift {
        header.push(' ');
    }
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.into_bytes());
    entries.iter().for_each(|entry| file.extend(&entry.bytes));
    file
}

/// The tensors of a checkpoint for [`tiny_values`], `prefix` before each name.
pub(crate) fn tiny_entries(prefix: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut add = |name: &str, shape: &[usize]| {
        let offset = entries.len() as f32 * 100.0;
        entries.push(Entry::f32(&format!("{prefix}{name}"), shape, offset));
    };
    for i in 0..2 {
        for norm in ["ln_1", "ln_2"] {
            add(&format!("h.{i}.{norm}.weight"), &[4]);
            add(&format!("h.{i}.{norm}.bias"), &[4]);
        }
        for (name, inputs, outputs) in [
            ("attn.c_attn", 4, 12),
            ("attn.c_proj", 4, 4),
            ("mlp.c_fc", 4, 16),
            ("mlp.c_proj", 16, 4),
        ] {
            add(&format!("h.{i}.{name}.weight"), &[inputs, outputs]);
            add(&format!("h.{i}.{name}.bias"), &[outputs]);
        }
    }
    add("ln_f.weight", &[4]);
    add("ln_f.bias", &[4]);
    add("wte.weight", &[5, 4]);
    add("wpe.weight", &[3, 4]);
    entries
}

/// The `config.json` of [`tiny_values`].
pub(crate) const TINY_CONFIG: &str = r#"{"model_type": "gpt2", "vocab_size": 5, "n_positions": 3, "n_embd": 4,
    "n_head": 2, "n_layer": 2, "n_inner": null, "layer_norm_epsilon": 1e-05, "attn_pdrop": 0.1}"#;
