//! `model.safetensors.index.json`: which shard holds which tensor.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::quote::{Quoted, QuotedList};

/// The problems of one kind that a report lists before it only counts them.
const LISTED: usize = 20;

/// What is wrong with the index of a checkpoint in shards.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexProblem {
    /// Not the JSON that an index is.
    #[error("the index cannot be read: {message}")]
    NotJson {
        /// What the JSON parser says, with the place.
        message: String,
    },
    /// A tensor stands twice.
    #[error("the index lists the tensor {} twice", Quoted(name))]
    DuplicateName {
        /// The tensor.
        name: String,
    },
    /// An index of nothing.
    #[error("the index lists no tensors; expected \"weight_map\": {{\"tensor\": \"file\", ..}}")]
    Empty,
    /// A shard that would lie outside the checkpoint's folder.
    #[error(
        "the index names the shard {}; expected the plain name of a file in the same folder",
        Quoted(shard)
    )]
    BadShardName {
        /// The shard as written.
        shard: String,
    },
    /// The index and the files do not agree.
    #[error("{0}")]
    Disagrees(ShardReport),
}

/// All that differs between an index and the shards that it names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardReport {
    /// Shards that are not there.
    pub missing_shards: Vec<String>,
    /// Tensors that are in no shard: (tensor, the shard that the index names).
    pub missing: Vec<(String, String)>,
    /// Tensors in another shard than the index says: (tensor, named, found in).
    pub misplaced: Vec<(String, String, String)>,
    /// Tensors in a shard that the index does not list there: (tensor, shard).
    pub unlisted: Vec<(String, String)>,
}

impl ShardReport {
    /// Whether index and shards agree.
    pub fn is_empty(&self) -> bool {
        self.missing_shards.is_empty()
            && self.missing.is_empty()
            && self.misplaced.is_empty()
            && self.unlisted.is_empty()
    }
}

impl fmt::Display for ShardReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the index and the shards do not agree")?;
        if !self.missing_shards.is_empty() {
            let n = self.missing_shards.len();
            let noun = if n == 1 { "shard is" } else { "shards are" };
            write!(
                f,
                "\n  {n} {noun} missing: {}",
                QuotedList(&self.missing_shards, LISTED)
            )?;
            f.write_str("; fetch the checkpoint again")?;
        }
        for (name, shard) in self.missing.iter().take(LISTED) {
            write!(f, "\n  {} is missing from {}", Quoted(name), Quoted(shard))?;
        }
        more(f, self.missing.len(), "missing")?;
        for (name, named, found) in self.misplaced.iter().take(LISTED) {
            write!(
                f,
                "\n  {} should be in {}, but is in {}",
                Quoted(name),
                Quoted(named),
                Quoted(found)
            )?;
        }
        more(f, self.misplaced.len(), "in the wrong shard")?;
        for (name, shard) in self.unlisted.iter().take(LISTED) {
            write!(
                f,
                "\n  {} is in {}, where the index does not list it",
                Quoted(name),
                Quoted(shard)
            )?;
        }
        more(f, self.unlisted.len(), "not listed")
    }
}

fn more(f: &mut fmt::Formatter<'_>, n: usize, what: &str) -> fmt::Result {
    if n > LISTED {
        write!(f, "\n  and {} more {what}", n - LISTED)
    } else {
        Ok(())
    }
}

/// The map of an index from tensors to shards.
#[derive(Debug)]
pub(crate) struct Index {
    /// Tensor to shard.
    pub shard_of: BTreeMap<String, String>,
}

impl Index {
    /// Reads an index.
    pub fn parse(text: &[u8]) -> Result<Index, IndexProblem> {
        let raw: RawIndex = serde_json::from_slice(text).map_err(|e| IndexProblem::NotJson {
            message: e.to_string(),
        })?;
        let mut shard_of = BTreeMap::new();
        for (name, shard) in raw.weight_map.0 {
            if !is_plain_file_name(&shard) {
                return Err(IndexProblem::BadShardName { shard });
            }
            if shard_of.insert(name.clone(), shard).is_some() {
                return Err(IndexProblem::DuplicateName { name });
            }
        }
        if shard_of.is_empty() {
            return Err(IndexProblem::Empty);
        }
        Ok(Index { shard_of })
    }

    /// The shards, each once, by name.
    pub fn shards(&self) -> BTreeSet<&str> {
        self.shard_of.values().map(String::as_str).collect()
    }
}

/// Whether a name stays within the folder on every system.
fn is_plain_file_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', ':', '\0'])
}

#[derive(Deserialize)]
struct RawIndex {
    weight_map: RawMap,
    #[allow(dead_code, reason = "read so that a doubled key is an error")]
    metadata: Option<IgnoredAny>,
}

struct RawMap(Vec<(String, String)>);

impl<'de> Deserialize<'de> for RawMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawMap, D::Error> {
        struct MapVisitor;

        impl<'de> Visitor<'de> for MapVisitor {
            type Value = RawMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object that maps tensors to files")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawMap, A::Error> {
                let mut entries = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    let shard = map
                        .next_value()
                        .map_err(|e| A::Error::custom(format_args!("{}: {e}", Quoted(&name))))?;
                    entries.push((name, shard));
                }
                Ok(RawMap(entries))
            }
        }

        deserializer.deserialize_map(MapVisitor)
    }
}
