#![allow(missing_docs, reason = "the blocks are for these tests only")]

use std::collections::BTreeMap;

use linnet_kernels::ThreadPool;

use super::*;
use crate::block::Block;
use crate::dtype::DType;
use crate::env::GenericValue;
use crate::nn::linear::{Linear, linear};
use crate::prelude::*;
use crate::weights::testing::{Entry, safetensors};
use crate::weights::{Binding, Pattern, Piece, TensorKind};

/// A map that is stored transposed, under names of its own.
#[block]
pub struct Conv<In: Dim, Out: Dim, T: Float> {
    #[param]
    kernel: Tensor![In, Out; T],
    #[param]
    added: Tensor![Out; T],
}

#[block]
impl Conv {
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        linear(x, self.kernel.permute([1, 0]), Some(self.added))
    }
}

#[block]
pub struct Net<H: Dim, Layers: Dim, T: Float> {
    layers: [Conv<H, { 2 * H }, T>; Layers],
    plain: Linear<H, H, T>,
    read: Linear<H, H, T>,
    #[state]
    last: Tensor![H; T],
}

#[block]
impl Net {
    #[entry]
    pub fn forward(&mut self, x: Tensor![H; T]) -> Tensor![H; T] {
        let mut y = x;
        for layer in &self.layers {
            y = layer.forward(y).slice(s![0..H]);
        }
        self.last = y;
        linear(self.plain.forward(y), self.read.weight, None)
    }
}

/// `layers.{i}.kernel` is stored as `h.{i}.c.kernel`, the others by their paths.
const RULES: NameRules = NameRules {
    prefixes: &["model."],
    tensors: &[(
        Pattern {
            pieces: &[
                Piece::Text("layers."),
                Piece::Number {
                    name: "i",
                    times: 1,
                    plus: 0,
                },
                Piece::Text("."),
                Piece::Rest,
            ],
        },
        Pattern {
            pieces: &[
                Piece::Text("h."),
                Piece::Number {
                    name: "i",
                    times: 1,
                    plus: 0,
                },
                Piece::Text(".c."),
                Piece::Rest,
            ],
        },
    )],
    ignore: &[],
    tied: &[],
};

fn values() -> GenericValues {
    [
        ("H", GenericValue::Dim(8)),
        ("Layers", GenericValue::Dim(2)),
        ("T", GenericValue::DType(DType::F32)),
    ]
    .into_iter()
    .collect()
}

const INT8: Scheme = Scheme {
    format: Format::Int8,
    group_size: None,
};

const GROUPS: Scheme = Scheme {
    format: Format::Int4Group,
    group_size: Some(4),
};

fn ones(name: &str, shape: &[usize]) -> Entry {
    let n: usize = shape.iter().product();
    Entry {
        bytes: 1f32.to_le_bytes().repeat(n),
        ..Entry::f32(name, shape, 0.0)
    }
}

/// A checkpoint whose first layer, second layer and plain map are quantised.
fn entries(scheme: &Scheme) -> Vec<Entry> {
    let mut entries = vec![ones("read.weight", &[8, 8])];
    for (name, bias, outputs) in [
        ("model.h.0.c", Some("added"), 16),
        ("model.h.1.c", Some("added"), 16),
        ("plain", None, 8),
    ] {
        let (weight, scale) = (format!("{name}.weight"), format!("{name}.scale"));
        match scheme.format {
            Format::Int8 => {
                entries.push(Entry::zeros(&weight, "I8", &[outputs, 8], 1));
                entries.push(ones(&scale, &[outputs]));
            }
            Format::Int4 => {
                entries.push(Entry::zeros(&weight, "I8", &[outputs, 4], 1));
                entries.push(ones(&scale, &[outputs]));
            }
            Format::Int4Group => {
                entries.push(Entry::zeros(&weight, "U8", &[outputs, 2, 2], 1));
                entries.push(ones(&scale, &[outputs, 2]));
                let zero = format!("{name}.zero");
                entries.push(Entry::zeros(&zero, "U8", &[outputs, 2], 1));
            }
        }
        entries.extend(bias.map(|bias| ones(&format!("{name}.{bias}"), &[outputs])));
    }
    entries
}

fn list(entries: &[Entry], scheme: &Scheme) -> Result<Manifest, WeightsError> {
    let checkpoint = Checkpoint::from_bytes("ckpt", safetensors(entries, 0))?;
    let block = Net::<Dyn, Dyn, f32>::DESCRIPTOR;
    Manifest::of_quantised(block, &values(), &checkpoint, &RULES, scheme)
}

/// Everything up to the parameters in memory.
fn read(entries: &[Entry], scheme: &Scheme) -> crate::Result<crate::Parameters> {
    let manifest = list(entries, scheme)?;
    let checkpoint = Checkpoint::from_bytes("ckpt", safetensors(entries, 0))?;
    let binding = Binding::new(&checkpoint, &manifest, &RULES)?;
    let (parameters, _) = binding.read(&checkpoint, &manifest, &ThreadPool::new(1)?)?;
    Ok(parameters)
}

fn without(entries: &[Entry], name: &str) -> Vec<Entry> {
    let kept: Vec<Entry> = entries.iter().filter(|e| e.name != name).cloned().collect();
    assert_eq!(kept.len() + 1, entries.len(), "{name}");
    kept
}

fn entry<'a>(entries: &'a mut [Entry], name: &str) -> &'a mut Entry {
    entries.iter_mut().find(|e| e.name == name).unwrap()
}

#[track_caller]
fn refuses(entries: &[Entry], scheme: &Scheme, expected: &[&str]) {
    let message = read(entries, scheme)
        .expect_err("must be refused")
        .to_string();
    for expected in expected {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn sites_are_the_affine_maps_that_only_their_function_reads() {
    let sites = Manifest::affine_sites(Net::<Dyn, Dyn, f32>::DESCRIPTOR, &values()).unwrap();
    let found: Vec<_> = sites
        .iter()
        .map(|site| {
            let name = site.quantised_name(&RULES, "scale").unwrap();
            (
                site.path.as_str(),
                name,
                site.inputs,
                site.outputs,
                site.transposed,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("layers.0", "h.0.c.scale".to_owned(), 8, 16, true),
            ("layers.1", "h.1.c.scale".to_owned(), 8, 16, true),
            ("plain", "plain.scale".to_owned(), 8, 8, false),
        ]
    );
    assert_eq!(sites[0].float_name(&RULES), "h.0.c.kernel");
}

#[test]
fn the_manifest_follows_the_checkpoint() {
    let float = Manifest::new(Net::<Dyn, Dyn, f32>::DESCRIPTOR, &values()).unwrap();
    for format in Format::ALL {
        let scheme = Scheme {
            format,
            group_size: GROUPS.group_size.filter(|_| format == Format::Int4Group),
        };
        let manifest = list(&entries(&scheme), &scheme).unwrap();
        // An optional bias, which the checkpoint lacks, counts in both.
        assert_eq!(manifest.n_parameters(), float.n_parameters(), "{format}");
        assert_eq!(manifest.state_bytes(), float.state_bytes());
        let parameters = read(&entries(&scheme), &scheme).unwrap();
        assert!(parameters.contains_key("layers.1.scale"), "{parameters:?}");
        let bytes = |path: &str| parameters[path].bytes().len();
        let expected = if format == Format::Int8 { 128 } else { 64 };
        assert_eq!(bytes("layers.0.weight"), expected);
        assert_eq!(bytes("layers.0.bias"), 64);
        assert_eq!(bytes("read.weight"), 256);
    }
    let manifest = list(&entries(&GROUPS), &GROUPS).unwrap();
    let of = |path: &str| manifest.tensors.iter().find(|t| t.path == path).unwrap();
    let weight = of("layers.1.weight");
    assert_eq!(weight.declared, "Tensor[2 * H, H / Group, Group / 2; u8]");
    assert_eq!(weight.bindings, "H = 8, Group = 4");
    assert_eq!(weight.stored.as_deref(), Some("h.1.c.weight"));
    assert_eq!((weight.n_parameters, weight.n_bytes()), (128, 64));
    let bias = of("layers.1.bias");
    assert_eq!(bias.declared, "Tensor[2 * H; T]", "it may not be absent");
    assert_eq!(bias.stored.as_deref(), Some("h.1.c.added"));
    assert!(of("plain.bias").optional);
    assert_eq!(of("last").kind, TensorKind::State);
}

#[test]
fn floats_stay_beside_what_is_quantised() {
    let mut some = without(&entries(&INT8), "model.h.1.c.scale");
    some = without(&some, "model.h.1.c.weight");
    some.push(ones("h.1.c.kernel", &[8, 16]));
    let parameters = read(&some, &INT8).unwrap();
    assert_eq!(parameters["layers.0.weight"].dtype(), DType::I8);
    assert_eq!(parameters["layers.1.kernel"].dtype(), DType::F32);
    assert!(parameters.contains_key("layers.0.bias"));
    assert!(parameters.contains_key("layers.1.added"));
}

#[test]
fn the_group_comes_from_the_shape_where_the_config_is_silent() {
    let silent = Scheme {
        group_size: None,
        ..GROUPS
    };
    assert!(read(&entries(&GROUPS), &silent).is_ok());
    let eight = Scheme {
        group_size: Some(8),
        ..GROUPS
    };
    refuses(
        &entries(&GROUPS),
        &eight,
        &[
            "wrong shape: `model.h.0.c.weight` is [16, 2, 2], expected [16, 1, 4] (for \
             `layers.0.weight: Tensor[2 * H, H / Group, Group / 2; u8]` with H = 8, Group = 8)",
            "wrong shape: `plain.scale` is [8, 2], expected [8, 1]",
        ],
    );
    let six = Scheme {
        group_size: Some(6),
        ..GROUPS
    };
    refuses(
        &entries(&GROUPS),
        &six,
        &[
            "wrong rows: `h.0.c.weight` (for `layers.0`): a row of 8 weights does not divide \
           into 6s, as the format int4_group has it",
        ],
    );
}

#[test]
fn what_is_missing_is_told_by_its_stored_name() {
    let all = entries(&GROUPS);
    for (lacks, told) in [
        (
            "model.h.1.c.scale",
            "missing: `h.1.c.scale` (for `layers.1.scale: Tensor[2 * H, H / Group; T]`)",
        ),
        ("model.h.1.c.zero", "missing: `h.1.c.zero`"),
        (
            "model.h.1.c.weight",
            "missing: `h.1.c.weight` (for `layers.1.weight: ",
        ),
        (
            "model.h.0.c.added",
            "missing: `h.0.c.added` (for `layers.0.bias: Tensor[2 * H; T]`)",
        ),
    ] {
        refuses(&without(&all, lacks), &GROUPS, &[": 1 problem\n", told]);
    }
    let mut more = all.clone();
    more.push(ones("plain.bias", &[8]));
    assert!(read(&more, &GROUPS).is_ok(), "a bias that may be there");
    more.push(Entry::zeros("plain.zeros", "U8", &[8, 2], 1));
    refuses(&more, &GROUPS, &["extra: `plain.zeros`"]);
}

#[test]
fn the_format_is_the_one_of_the_config() {
    refuses(
        &entries(&GROUPS),
        &INT8,
        &[
            "wrong dtype: `model.h.0.c.weight` is U8, expected I8",
            "extra: `model.h.0.c.zero`",
        ],
    );
    let int4 = Scheme {
        format: Format::Int4,
        group_size: None,
    };
    refuses(
        &entries(&INT8),
        &int4,
        &["is [16, 8], expected [16, 4] (for `layers.0.weight: Tensor[2 * H, H / 2; i8]`"],
    );
    // A scale beside floats: one of the two is wrong, and both are told.
    let mut floats = without(&entries(&INT8), "plain.weight");
    floats.push(ones("plain.weight", &[8, 8]));
    refuses(
        &floats,
        &INT8,
        &["wrong dtype: `plain.weight` is F32, expected I8"],
    );
}

#[test]
fn contents_that_cannot_be_used() {
    let mut bad = entries(&GROUPS);
    entry(&mut bad, "model.h.1.c.scale").bytes[4..8].copy_from_slice(&f32::NAN.to_le_bytes());
    refuses(
        &bad,
        &GROUPS,
        &["wrong content: `model.h.1.c.scale`: element 1 is NaN, but a scale is finite"],
    );
    let order = |columns: [i32; 8]| {
        let mut entries = entries(&GROUPS);
        entries.push(Entry {
            bytes: columns.iter().flat_map(|c| c.to_le_bytes()).collect(),
            ..Entry::zeros("plain.order", "I32", &[8], 4)
        });
        entries
    };
    assert!(read(&order([7, 6, 5, 4, 3, 2, 1, 0]), &GROUPS).is_ok());
    refuses(
        &order([0, 1, 2, 3, 4, 5, 6, 6]),
        &GROUPS,
        &[
            "wrong content: `plain.order`: element 7 is 6 again, but an order names every column once",
        ],
    );
    refuses(
        &order([0, 1, 2, 3, 4, 5, 6, 8]),
        &GROUPS,
        &["element 7 is 8, but an order names the columns 0 to 7"],
    );
}

#[test]
fn names_of_one_part_cannot_be_quantised() {
    const FLAT: NameRules = NameRules {
        tensors: &[(
            Pattern {
                pieces: &[Piece::Text("plain.weight")],
            },
            Pattern {
                pieces: &[Piece::Text("head")],
            },
        )],
        ..NameRules::IDENTITY
    };
    let sites = Manifest::affine_sites(Net::<Dyn, Dyn, f32>::DESCRIPTOR, &values()).unwrap();
    let names: BTreeMap<&str, Option<String>> = sites
        .iter()
        .map(|site| (site.path.as_str(), site.quantised_name(&FLAT, "weight")))
        .collect();
    assert_eq!(names["plain"], None);
    assert_eq!(names["layers.0"].as_deref(), Some("layers.0.weight"));
}
