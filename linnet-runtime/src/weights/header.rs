//! The header of a safetensors file, checked against the file it heads.
//!
//! Layout: 8 bytes, the length `n` of the header, little-endian; `n` bytes of
//! JSON, `{"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..}`;
//! then the data, which the offsets count from. The format allows no hole and
//! no overlap. A header that passes [`parse`] can be trusted: every tensor lies
//! within the file and has exactly the bytes that its shape needs.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use safetensors::Dtype;
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::quote::Quoted;

/// The longest header that the format allows, in bytes.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// The most axes that a stored tensor may have.
const MAX_AXES: usize = 64;

/// The bytes in front of the header.
const LENGTH_BYTES: usize = 8;

/// What a file holds.
#[derive(Debug)]
pub(crate) struct Header {
    /// In the order of their data.
    pub tensors: Vec<HeaderTensor>,
    /// The free texts under `__metadata__`.
    pub metadata: BTreeMap<String, String>,
}

/// One tensor of a file.
#[derive(Debug)]
pub(crate) struct HeaderTensor {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    /// Its first byte, counted from the start of the file.
    pub begin: usize,
    /// One past its last byte.
    pub end: usize,
}

/// What is wrong with a safetensors file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderProblem {
    /// Not even the length of the header fits.
    #[error(
        "the file has {n_bytes} bytes, fewer than the 8 that give the header's length; \
         it is empty or was cut short, so fetch it again"
    )]
    TooShort {
        /// The size of the file.
        n_bytes: usize,
    },
    /// The header's length is more than the format allows.
    #[error(
        "the header claims {claimed} bytes, more than the {MAX_HEADER_BYTES} that the format allows; \
         this is no safetensors file, or it is damaged"
    )]
    HeaderTooLong {
        /// The length that the file states.
        claimed: u64,
    },
    /// The header does not fit into the file.
    #[error(
        "the header claims {claimed} bytes, but only {available} follow; \
         the file was cut short, so fetch it again"
    )]
    HeaderPastEnd {
        /// The length that the file states.
        claimed: u64,
        /// The bytes that there are.
        available: usize,
    },
    /// The header is not text.
    #[error("the header is not UTF-8 (byte {at}); this is no safetensors file, or it is damaged")]
    NotUtf8 {
        /// The first byte at fault, counted from the start of the header.
        at: usize,
    },
    /// The header is not the JSON that the format prescribes.
    #[error("the header cannot be read: {message}")]
    NotJson {
        /// What the JSON parser says, with the place in the header.
        message: String,
    },
    /// A name stands twice.
    #[error("the header lists the tensor {} twice", Quoted(name))]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A dtype that the format does not have.
    #[error("the tensor {} has the unknown dtype {}", Quoted(name), Quoted(dtype))]
    UnknownDType {
        /// The tensor.
        name: String,
        /// The dtype as written.
        dtype: String,
    },
    /// The size of a tensor cannot be computed.
    #[error(
        "the tensor {} has the shape {shape:?}, whose size in bytes overflows",
        Quoted(name)
    )]
    SizeOverflow {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// A packed dtype whose elements end within a byte.
    #[error(
        "the tensor {} of {dtype} has the shape {shape:?}, which does not fill whole bytes",
        Quoted(name)
    )]
    PartialByte {
        /// The tensor.
        name: String,
        /// Its dtype.
        dtype: Dtype,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// An end before its begin.
    #[error(
        "the tensor {} has the data offsets [{begin}, {end}], which end before they begin",
        Quoted(name)
    )]
    Backwards {
        /// The tensor.
        name: String,
        /// Its first byte.
        begin: u64,
        /// One past its last byte.
        end: u64,
    },
    /// Data past the end of the file.
    #[error(
        "the tensor {} has the data offsets [{begin}, {end}], but the file has only {available} bytes of data; \
         it was cut short, so fetch it again",
        Quoted(name)
    )]
    PastEnd {
        /// The tensor.
        name: String,
        /// Its first byte.
        begin: u64,
        /// One past its last byte.
        end: u64,
        /// The bytes of data that the file has.
        available: usize,
    },
    /// Bytes that do not fit the shape.
    #[error(
        "the tensor {} of {dtype} {shape:?} needs {expected} bytes, but its data offsets give it {found}",
        Quoted(name)
    )]
    WrongLength {
        /// The tensor.
        name: String,
        /// Its dtype.
        dtype: Dtype,
        /// Its shape.
        shape: Vec<u64>,
        /// The bytes that the shape needs.
        expected: u64,
        /// The bytes that the offsets give.
        found: u64,
    },
    /// Two tensors share bytes.
    #[error(
        "the data of the tensors {} and {} overlap at byte {at} of the data",
        Quoted(first),
        Quoted(second)
    )]
    Overlap {
        /// The tensor that begins first.
        first: String,
        /// The other.
        second: String,
        /// The first shared byte, counted from the start of the data.
        at: u64,
    },
    /// Bytes that belong to no tensor.
    #[error("bytes {begin} to {end} of the data belong to no tensor")]
    Hole {
        /// The first of them, counted from the start of the data.
        begin: u64,
        /// One past the last of them.
        end: u64,
    },
}

/// Reads and checks the header of `file`, the bytes of a whole file.
///
/// # Errors
///
/// The first [`HeaderProblem`] found. Memory used is bounded by a small multiple
/// of the header's bytes that are really there.
pub(crate) fn parse(file: &[u8]) -> Result<Header, HeaderProblem> {
    let Some((length, rest)) = file.split_first_chunk::<LENGTH_BYTES>() else {
        return Err(HeaderProblem::TooShort {
            n_bytes: file.len(),
        });
    };
    let claimed = u64::from_le_bytes(*length);
    if claimed > MAX_HEADER_BYTES {
        return Err(HeaderProblem::HeaderTooLong { claimed });
    }
    let available = rest.len();
    let n_header = usize::try_from(claimed).unwrap_or(usize::MAX);
    let Some((json, data)) = rest.split_at_checked(n_header) else {
        return Err(HeaderProblem::HeaderPastEnd { claimed, available });
    };
    let text = std::str::from_utf8(json).map_err(|e| HeaderProblem::NotUtf8 {
        at: e.valid_up_to(),
    })?;
    let raw: RawHeader = serde_json::from_str(text).map_err(|e| HeaderProblem::NotJson {
        message: e.to_string(),
    })?;

    check_names(&raw)?;
    let mut tensors = Vec::with_capacity(raw.tensors.len());
    for (name, tensor) in raw.tensors {
        tensors.push(check_tensor(name, tensor, data.len())?);
    }
    tensors.sort_by_key(|tensor| (tensor.begin, tensor.end));
    check_cover(&tensors, data.len())?;
    for tensor in &mut tensors {
        tensor.begin += LENGTH_BYTES + n_header;
        tensor.end += LENGTH_BYTES + n_header;
    }
    Ok(Header {
        tensors,
        metadata: raw.metadata,
    })
}

fn check_names(raw: &RawHeader) -> Result<(), HeaderProblem> {
    let mut seen = HashSet::with_capacity(raw.tensors.len());
    for (name, _) in &raw.tensors {
        if !seen.insert(name.as_str()) {
            return Err(HeaderProblem::DuplicateName { name: name.clone() });
        }
    }
    Ok(())
}

/// Checks one tensor by itself; its offsets still count from the start of the data.
fn check_tensor(
    name: String,
    raw: RawTensor,
    available: usize,
) -> Result<HeaderTensor, HeaderProblem> {
    let (begin, end) = raw.data_offsets;
    let Some(dtype) = dtype_by_name(&raw.dtype) else {
        return Err(HeaderProblem::UnknownDType {
            name,
            dtype: raw.dtype,
        });
    };
    let shape = raw.shape.0;
    let n_bits = shape
        .iter()
        .try_fold(dtype.bitsize() as u64, |product, &axis| {
            product.checked_mul(axis)
        });
    let Some(n_bits) = n_bits else {
        return Err(HeaderProblem::SizeOverflow { name, shape });
    };
    if n_bits % 8 != 0 {
        return Err(HeaderProblem::PartialByte { name, dtype, shape });
    }
    let Some(found) = end.checked_sub(begin) else {
        return Err(HeaderProblem::Backwards { name, begin, end });
    };
    if end > available as u64 {
        return Err(HeaderProblem::PastEnd {
            name,
            begin,
            end,
            available,
        });
    }
    let expected = n_bits / 8;
    if found != expected {
        return Err(HeaderProblem::WrongLength {
            name,
            dtype,
            shape,
            expected,
            found,
        });
    }
    // An axis larger than the address space is possible beside an axis of 0.
    let axes: Result<Vec<usize>, _> = shape.iter().map(|&axis| usize::try_from(axis)).collect();
    match axes {
        Ok(axes) => Ok(HeaderTensor {
            name,
            dtype,
            shape: axes,
            begin: begin as usize,
            end: end as usize,
        }),
        Err(_) => Err(HeaderProblem::SizeOverflow { name, shape }),
    }
}

/// Checks that the tensors, in the order of their data, cover it exactly.
fn check_cover(tensors: &[HeaderTensor], available: usize) -> Result<(), HeaderProblem> {
    let mut covered = 0;
    let mut last = "";
    for tensor in tensors {
        if tensor.begin < covered {
            return Err(HeaderProblem::Overlap {
                first: last.to_owned(),
                second: tensor.name.clone(),
                at: tensor.begin as u64,
            });
        }
        if tensor.begin > covered {
            return Err(HeaderProblem::Hole {
                begin: covered as u64,
                end: tensor.begin as u64,
            });
        }
        covered = tensor.end;
        last = &tensor.name;
    }
    if covered < available {
        return Err(HeaderProblem::Hole {
            begin: covered as u64,
            end: available as u64,
        });
    }
    Ok(())
}

fn dtype_by_name(name: &str) -> Option<Dtype> {
    let deserializer: StrDeserializer<'_, serde::de::value::Error> = StrDeserializer::new(name);
    Dtype::deserialize(deserializer).ok()
}

/// The header as written, names in order and twice where they stand twice.
struct RawHeader {
    tensors: Vec<(String, RawTensor)>,
    metadata: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct RawTensor {
    dtype: String,
    shape: Axes,
    data_offsets: (u64, u64),
}

struct Axes(Vec<u64>);

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawHeader, D::Error> {
        struct HeaderVisitor;

        impl<'de> Visitor<'de> for HeaderVisitor {
            type Value = RawHeader;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object that maps names to tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeader, A::Error> {
                let mut header = RawHeader {
                    tensors: Vec::new(),
                    metadata: BTreeMap::new(),
                };
                while let Some(name) = map.next_key::<String>()? {
                    let within =
                        |e: A::Error| A::Error::custom(format_args!("{}: {e}", Quoted(&name)));
                    if name == "__metadata__" {
                        header
                            .metadata
                            .append(&mut map.next_value().map_err(within)?);
                    } else {
                        let tensor = map.next_value().map_err(within)?;
                        header.tensors.push((name, tensor));
                    }
                }
                Ok(header)
            }
        }

        deserializer.deserialize_map(HeaderVisitor)
    }
}

impl<'de> Deserialize<'de> for Axes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Axes, D::Error> {
        struct AxesVisitor;

        impl<'de> Visitor<'de> for AxesVisitor {
            type Value = Axes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a shape, a list of sizes")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Axes, A::Error> {
                let mut axes = Vec::new();
                while let Some(axis) = seq.next_element()? {
                    if axes.len() == MAX_AXES {
                        return Err(A::Error::custom(format_args!(
                            "a shape of more than {MAX_AXES} axes"
                        )));
                    }
                    axes.push(axis);
                }
                Ok(Axes(axes))
            }
        }

        deserializer.deserialize_seq(AxesVisitor)
    }
}

#[cfg(test)]
mod tests;
