//! The stored formats, and the blocks that read them.

use std::fmt;

use super::int4::Int4Linear;
use super::int4_group::Int4GroupLinear;
use super::int8::Int8Linear;
use crate::block::Block;
use crate::descriptor::BlockDescriptor;
use crate::dim::Dyn;
use crate::dtype::{DType, bf16, f16};
use crate::tensor::ErasedTensor;

/// How the weights of an affine map are stored in few bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// 8 bits, a scale for each row: [`Int8Linear`].
    Int8,
    /// 4 bits, a scale for each row: [`Int4Linear`].
    Int4,
    /// 4 bits, a scale and a zero point for each group of a row: [`Int4GroupLinear`].
    Int4Group,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Int8, Format::Int4, Format::Int4Group];

    /// Its name in a checkpoint's `config.json`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Int8 => "int8",
            Format::Int4 => "int4",
            Format::Int4Group => "int4_group",
        }
    }

    /// The format of this name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The number that a row's length must be a multiple of, for groups of `group`.
    pub fn row_multiple(self, group: usize) -> usize {
        match self {
            Format::Int8 => 1,
            Format::Int4 => 2,
            Format::Int4Group => group,
        }
    }

    /// The block that reads it.
    pub(crate) fn block(self) -> &'static BlockDescriptor {
        match self {
            Format::Int8 => Int8Linear::<Dyn, Dyn, f32>::DESCRIPTOR,
            Format::Int4 => Int4Linear::<Dyn, Dyn, f32>::DESCRIPTOR,
            Format::Int4Group => Int4GroupLinear::<Dyn, Dyn, Dyn, f32>::DESCRIPTOR,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A stored format with what its tensors do not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) format: Format,
    /// Columns of a group; 0 where the format has no groups.
    pub(crate) group: usize,
}

impl Stored {
    /// The format in which a map of `inputs` features is stored whose weight has
    /// this dtype and shape. None if the weight is one of floats. A shape that
    /// fits no format is left to be compared with what the likeliest asks for.
    pub(crate) fn of_weight(dtype: DType, shape: &[usize], inputs: usize) -> Option<Stored> {
        let (format, group) = match (dtype, shape) {
            (DType::U8, [.., bytes]) => (Format::Int4Group, bytes.saturating_mul(2)),
            (DType::U8, []) => (Format::Int4Group, 0),
            (DType::I8, [.., bytes]) if *bytes != inputs && *bytes == inputs / 2 => {
                (Format::Int4, 0)
            }
            (DType::I8, _) => (Format::Int8, 0),
            _ => return None,
        };
        Some(Stored { format, group })
    }
}

/// What keeps the content of a quantised block's member from being used, if anything.
pub(crate) fn content_problem(member: &str, tensor: &ErasedTensor) -> Option<String> {
    match member {
        "scale" => {
            let (at, value) = not_finite(tensor)?;
            Some(format!("element {at} is {value}, but a scale is finite"))
        }
        "order" => not_a_permutation(tensor.as_slice::<i32>()?),
        _ => None,
    }
}

fn not_finite(tensor: &ErasedTensor) -> Option<(usize, f32)> {
    fn find<T: Copy>(values: &[T], value: impl Fn(T) -> f32) -> Option<(usize, f32)> {
        let values = values.iter().map(|&x| value(x)).enumerate();
        values.into_iter().find(|(_, x)| !x.is_finite())
    }
    if let Some(values) = tensor.as_slice::<f32>() {
        find(values, |x| x)
    } else if let Some(values) = tensor.as_slice::<f16>() {
        find(values, f16::to_f32)
    } else {
        find(tensor.as_slice::<bf16>()?, bf16::to_f32)
    }
}

fn not_a_permutation(order: &[i32]) -> Option<String> {
    let n = order.len();
    let mut seen = vec![false; n];
    order.iter().enumerate().find_map(|(at, &column)| {
        let slot = usize::try_from(column).ok().and_then(|c| seen.get_mut(c));
        match slot {
            None => Some(format!(
                "element {at} is {column}, but an order names the columns 0 to {}",
                n.saturating_sub(1)
            )),
            Some(true) => Some(format!(
                "element {at} is {column} again, but an order names every column once"
            )),
            Some(slot) => {
                *slot = true;
                None
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_name() {
        for format in Format::ALL {
            assert_eq!(Format::named(format.name()), Some(format));
        }
        assert_eq!(Format::named("int3"), None);
    }

    #[test]
    fn formats_by_what_a_weight_is() {
        let of = |dtype, shape: &[usize], inputs| {
            Stored::of_weight(dtype, shape, inputs).map(|s| (s.format, s.group))
        };
        assert_eq!(of(DType::I8, &[6, 64], 64), Some((Format::Int8, 0)));
        assert_eq!(of(DType::I8, &[6, 32], 64), Some((Format::Int4, 0)));
        assert_eq!(of(DType::U8, &[6, 4, 8], 64), Some((Format::Int4Group, 16)));
        assert_eq!(of(DType::I8, &[6, 0], 0), Some((Format::Int8, 0)));
        assert_eq!(of(DType::I8, &[6, 7], 64), Some((Format::Int8, 0)));
        assert_eq!(of(DType::F16, &[6, 64], 64), None);
        assert_eq!(of(DType::I32, &[6, 64], 64), None);
    }

    #[test]
    fn scales_and_orders_are_checked() {
        let floats = |values: &[f32]| ErasedTensor::from_slice(&[values.len()], values).unwrap();
        let halves = |values: &[f32]| floats(values).cast(DType::F16).unwrap();
        let ints = |values: &[i32]| ErasedTensor::from_slice(&[values.len()], values).unwrap();
        let good = [
            ("scale", floats(&[0.0, -1.5, 1e-40])),
            ("scale", floats(&[])),
            ("scale", halves(&[1.0])),
            ("bias", floats(&[f32::NAN])),
            ("order", ints(&[2, 0, 1])),
            ("order", ints(&[])),
        ];
        for (member, tensor) in good {
            assert_eq!(content_problem(member, &tensor), None);
        }
        let problem = |member, tensor| content_problem(member, &tensor).unwrap();
        assert!(problem("scale", floats(&[1.0, f32::NAN])).contains("element 1 is NaN"));
        assert!(problem("scale", halves(&[1e9])).contains("element 0 is inf"));
        assert!(
            problem("order", ints(&[0, 2]))
                .contains("element 1 is 2, but an order names the columns 0 to 1")
        );
        assert!(problem("order", ints(&[-1])).contains("element 0 is -1"));
        assert!(problem("order", ints(&[0, 1, 0])).contains("element 2 is 0 again"));
    }
}
