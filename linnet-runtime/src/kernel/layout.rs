//! Tensors of any rank as the views that kernels take.

use linnet_kernels::{HeadsMut, HeadsRef, MatMut, MatRef};

use super::{OutputSpec, TensorOperand};
use crate::error::Result;
use crate::shape::Dims;

/// A tensor as a matrix: its last axis as columns, all others together as rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Matrix {
    shape: [usize; 2],
    strides: [usize; 2],
}

impl Matrix {
    /// None if the leading axes are not one walk with a single stride.
    pub(crate) fn of(tensor: &TensorOperand) -> Option<Matrix> {
        let Some((&cols, leading)) = tensor.shape.split_last() else {
            return Some(Matrix {
                shape: [1, 1],
                strides: [1, 1],
            });
        };
        if tensor.shape.contains(&0) {
            return Some(Matrix {
                shape: [leading.iter().product(), cols],
                strides: [cols, 1],
            });
        }
        let (mut rows, mut row_stride) = (1, cols);
        for (&n, &stride) in leading.iter().zip(&*tensor.strides).rev() {
            if n == 1 {
                continue;
            }
            if rows == 1 {
                (rows, row_stride) = (n, stride);
            } else if stride == rows * row_stride {
                rows *= n;
            } else {
                return None;
            }
        }
        let col_stride = if cols == 1 {
            1
        } else {
            tensor.strides[leading.len()]
        };
        Some(Matrix {
            shape: [rows, cols],
            strides: [row_stride, col_stride],
        })
    }

    /// The same, if the columns lie side by side.
    pub(crate) fn with_contiguous_columns(tensor: &TensorOperand) -> Option<Matrix> {
        Matrix::of(tensor).filter(|matrix| matrix.strides[1] == 1)
    }

    /// A row-major output.
    pub(crate) fn of_output(output: &OutputSpec) -> Matrix {
        let cols = output.shape.last().copied().unwrap_or(1);
        let leading = &output.shape[..output.shape.len().saturating_sub(1)];
        Matrix {
            shape: [leading.iter().product(), cols],
            strides: [cols, 1],
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.shape[0]
    }

    pub(crate) fn cols(&self) -> usize {
        self.shape[1]
    }

    /// Over the elements of a launch.
    pub(crate) fn view<T>(self, elements: &[T]) -> Result<MatRef<'_, T>> {
        Ok(MatRef::new(elements, self.shape, self.strides)?)
    }

    /// Over the elements of a launch, to write.
    pub(crate) fn view_mut<T>(self, elements: &mut [T]) -> Result<MatMut<'_, T>> {
        Ok(MatMut::new(elements, self.shape, self.strides)?)
    }
}

/// A tensor of four axes of which the last is contiguous.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Heads {
    pub(crate) shape: [usize; 4],
    outer: [usize; 3],
}

impl Heads {
    /// None for another rank, or if the last axis is not contiguous.
    pub(crate) fn of(tensor: &TensorOperand) -> Option<Heads> {
        Heads::new(&tensor.shape, &tensor.strides)
    }

    /// As [`Heads::of`], for given sizes and strides.
    pub(crate) fn new(shape: &[usize], strides: &[usize]) -> Option<Heads> {
        let shape: [usize; 4] = shape.try_into().ok()?;
        let &[b, h, s, d] = strides else { return None };
        (d == 1 || shape[3] <= 1 || shape.contains(&0)).then_some(Heads {
            shape,
            outer: [b, h, s],
        })
    }

    /// Over the elements of a launch.
    pub(crate) fn view<T>(self, elements: &[T]) -> Result<HeadsRef<'_, T>> {
        Ok(HeadsRef::new(elements, self.shape, self.outer)?)
    }

    /// Over the elements of a launch, to write.
    pub(crate) fn view_mut<T>(self, elements: &mut [T]) -> Result<HeadsMut<'_, T>> {
        Ok(HeadsMut::new(elements, self.shape, self.outer)?)
    }
}

/// Strides of `[B, H, S, D]` in the order `[B, S, H, D]`, so that the heads of
/// a position lie side by side and merging them moves nothing.
pub(crate) fn heads_innermost(shape: Dims) -> Option<Dims> {
    let &[_, h, s, d] = &*shape else { return None };
    let row = h.saturating_mul(d);
    Dims::new(&[s.saturating_mul(row), d, row, 1]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    fn operand(shape: &[usize], strides: &[usize]) -> TensorOperand {
        TensorOperand {
            shape: Dims::new(shape).unwrap(),
            strides: Dims::new(strides).unwrap(),
            dtype: DType::F32,
            mutable: false,
            constant: false,
        }
    }

    #[test]
    fn leading_axes_merge_only_if_they_are_one_walk() {
        let matrix = |shape: &[usize], strides: &[usize]| Matrix::of(&operand(shape, strides));
        let expect = |shape, strides| Some(Matrix { shape, strides });
        assert_eq!(matrix(&[2, 3, 4], &[12, 4, 1]), expect([6, 4], [4, 1]));
        assert_eq!(matrix(&[2, 3, 4], &[30, 10, 1]), expect([6, 4], [10, 1]));
        assert_eq!(matrix(&[2, 3, 4], &[4, 8, 1]), None);
        assert_eq!(matrix(&[2, 1, 4], &[12, 99, 1]), expect([2, 4], [12, 1]));
        assert_eq!(matrix(&[3, 4], &[1, 3]), expect([3, 4], [1, 3]));
        assert_eq!(matrix(&[], &[]), expect([1, 1], [1, 1]));
        assert_eq!(matrix(&[0, 4], &[4, 1]), expect([0, 4], [4, 1]));
        assert_eq!(
            Matrix::with_contiguous_columns(&operand(&[3, 4], &[1, 3])),
            None
        );
    }

    #[test]
    fn heads_need_a_contiguous_last_axis() {
        assert!(Heads::of(&operand(&[2, 3, 4, 5], &[60, 5, 15, 1])).is_some());
        assert!(Heads::of(&operand(&[2, 3, 4, 5], &[60, 20, 1, 4])).is_none());
        assert!(Heads::of(&operand(&[3, 4, 5], &[20, 5, 1])).is_none());
        let strides = heads_innermost(Dims::new(&[2, 3, 4, 5]).unwrap()).unwrap();
        assert_eq!(&*strides, [60, 5, 15, 1]);
    }
}
