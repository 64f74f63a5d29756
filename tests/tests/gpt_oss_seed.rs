//! The blocks of gpt-oss, and the standard blocks that it is made of, have the
//! members, functions and entries that their specification lists, each with its
//! exact signature.

mod seed;

use std::collections::BTreeMap;

use gpt_oss::{DecoderLayer, LayerPair, MixtureOfExperts, Model, SinkAttention};
use linnet_runtime::{
    Block, Dyn,
    descriptor::BlockDescriptor,
    nn::{embedding::Embedding, linear::Linear, norm::RmsNorm},
    quant::{int4::Int4Linear, int4_group::Int4GroupLinear, int8::Int8Linear},
};
use seed::listing;

const SEED: &str = include_str!("../fixtures/seeds/gpt_oss.txt");

/// The listing of each block by its name, without the module before the name.
fn specified() -> BTreeMap<&'static str, String> {
    let (_, blocks) = SEED.split_once("\nBlocks\n").unwrap();
    let parts: Vec<&str> = blocks.trim().split("\n\n").skip(1).collect();
    parts
        .chunks(2)
        .map(|pair| {
            let (_, listing) = pair[1].split_once("::").unwrap();
            (pair[0], format!("{listing}\n"))
        })
        .collect()
}

#[test]
fn every_block_is_as_specified() {
    type Layer = DecoderLayer<Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, f32>;
    type Pair = LayerPair<Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, f32>;
    type Whole = Model<Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn>;
    let blocks: [&BlockDescriptor; 11] = [
        Layer::DESCRIPTOR,
        Embedding::<Dyn, Dyn>::DESCRIPTOR,
        Int4GroupLinear::<Dyn, Dyn>::DESCRIPTOR,
        Int4Linear::<Dyn, Dyn>::DESCRIPTOR,
        Int8Linear::<Dyn, Dyn>::DESCRIPTOR,
        Pair::DESCRIPTOR,
        Linear::<Dyn, Dyn>::DESCRIPTOR,
        MixtureOfExperts::<Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, f32>::DESCRIPTOR,
        Whole::DESCRIPTOR,
        RmsNorm::<Dyn>::DESCRIPTOR,
        SinkAttention::<Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, f32>::DESCRIPTOR,
    ];
    let specified = specified();
    assert_eq!(specified.len(), blocks.len());
    for block in blocks {
        let found = listing(block);
        let expected = &specified[block.name];
        for (found, expected) in found.lines().zip(expected.lines()) {
            assert_eq!(found, expected);
        }
        assert_eq!(found.lines().count(), expected.lines().count(), "{found}");
    }
}

/// The entries at the top of the specification are those of the model.
#[test]
fn the_entries_are_as_specified() {
    type Whole = Model<Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn>;
    let (_, rest) = SEED.split_once("Entry\tSignature\n").unwrap();
    let (entries, _) = rest.split_once("\n\n").unwrap();
    let text = listing(Whole::DESCRIPTOR);
    let found: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("  pub entry "))
        .collect();
    let expected: Vec<&str> = entries
        .lines()
        .map(|line| line.split_once('\t').unwrap().1)
        .collect();
    assert_eq!(found, expected);
}
