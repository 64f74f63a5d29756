//! Printing tensors, abbreviated when they are large.

use std::fmt;

use super::ErasedTensor;

/// Axes longer than this are abbreviated to their first and last [`EDGE`] entries.
const LONGEST: usize = 12;
/// How many entries stay at each end of an abbreviated axis.
const EDGE: usize = 3;

/// Writes the elements as nested lists.
pub(super) fn write_elements(tensor: &ErasedTensor, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write_axis(tensor, 0, 0, f)
}

/// Writes axis `axis` of the part that starts at element `first`.
fn write_axis(
    tensor: &ErasedTensor,
    axis: usize,
    first: usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let shape = tensor.shape();
    if axis == shape.len() {
        let element = tensor.element(first);
        return match f.precision() {
            Some(digits) if element.dtype().is_float() => {
                write!(f, "{:.digits$}", element.to_f64())
            }
            _ => write!(f, "{element}"),
        };
    }
    let length = shape[axis];
    // An empty tensor may have axes whose product does not fit; there is nothing to print below them.
    let stride: usize = if tensor.is_empty() {
        0
    } else {
        shape[axis + 1..].iter().product()
    };
    f.write_str("[")?;
    let mut i = 0;
    while i < length {
        if i > 0 {
            f.write_str(", ")?;
        }
        if length > LONGEST && i == EDGE {
            f.write_str("..")?;
            i = length - EDGE;
            continue;
        }
        if tensor.is_empty() && axis + 1 == shape.len() {
            break;
        }
        write_axis(tensor, axis + 1, first + i * stride, f)?;
        i += 1;
    }
    f.write_str("]")
}

#[cfg(test)]
mod tests {
    use super::super::ErasedTensor;
    use crate::dtype::DType;

    #[test]
    fn prints_nested_and_abbreviated() {
        let t = ErasedTensor::from_slice(&[2, 2], &[1.0f32, 2.5, -3.0, 0.0]).unwrap();
        assert_eq!(t.to_string(), "[[1, 2.5], [-3, 0]]");
        assert_eq!(format!("{t:.1}"), "[[1.0, 2.5], [-3.0, 0.0]]");
        assert_eq!(format!("{t:?}"), "Tensor[2, 2]; f32 [[1, 2.5], [-3, 0]]");
        let long = ErasedTensor::from_slice(&[20], &(0..20).collect::<Vec<i32>>()).unwrap();
        assert_eq!(long.to_string(), "[0, 1, 2, .., 17, 18, 19]");
        assert_eq!(
            ErasedTensor::from_slice(&[], &[7i64]).unwrap().to_string(),
            "7"
        );
        assert_eq!(
            ErasedTensor::zeros(DType::Bool, &[1]).unwrap().to_string(),
            "[false]"
        );
        assert_eq!(
            ErasedTensor::zeros(DType::F32, &[2, 0])
                .unwrap()
                .to_string(),
            "[[], []]"
        );
        assert_eq!(
            ErasedTensor::zeros(DType::F32, &[0, 2])
                .unwrap()
                .to_string(),
            "[]"
        );
    }
}
