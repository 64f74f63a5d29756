//! Views: which elements of a buffer a tensor consists of, by stride arithmetic.

use crate::dtype::DType;
use crate::kernel::is_row_major;
use crate::shape::Dims;

use super::{RootId, ScalarId};

/// A tensor as a part of a buffer: element `[i, j, ..]` is element
/// `offset + i * strides[0] + j * strides[1] + ..` of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct View {
    pub(crate) root: RootId,
    pub(crate) dtype: DType,
    pub(crate) shape: Dims,
    pub(crate) strides: Dims,
    pub(crate) offset: usize,
    /// What the values of scalars add to `offset` when it runs.
    pub(crate) dynamic: Vec<DynamicOffset>,
    /// Whether elements that are stored in 16 bits count as f32 where they are read.
    pub(crate) widened: bool,
}

/// `scalar * stride` elements, where a check that runs first sees to it that
/// the scalar is in `0..=max`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DynamicOffset {
    pub(crate) scalar: ScalarId,
    pub(crate) stride: usize,
    pub(crate) max: usize,
}

impl View {
    /// A whole buffer in row-major order.
    pub(crate) fn whole(root: RootId, dtype: DType, shape: Dims) -> View {
        View {
            root,
            dtype,
            shape,
            strides: shape.row_major_strides(),
            offset: 0,
            dynamic: Vec::new(),
            widened: false,
        }
    }

    /// The dtype of its elements where they are read.
    pub(crate) fn value_dtype(&self) -> DType {
        if self.widened { DType::F32 } else { self.dtype }
    }

    /// The same elements as they are stored.
    pub(crate) fn as_stored(&self) -> View {
        View {
            widened: false,
            ..self.clone()
        }
    }

    /// Whether the elements lie in row-major order without gaps.
    pub(crate) fn is_contiguous(&self) -> bool {
        is_row_major(&self.shape, &self.strides)
    }

    /// Whether it is the first `n` elements of its buffer in row-major order.
    pub(crate) fn is_whole(&self) -> bool {
        self.offset == 0 && self.dynamic.is_empty() && self.is_contiguous()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The number of elements from the first to past the last.
    pub(crate) fn extent(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        self.shape
            .iter()
            .zip(&*self.strides)
            .map(|(&size, &stride)| (size - 1) * stride)
            .sum::<usize>()
            + 1
    }

    /// One past the last element of the buffer that it may reach.
    pub(crate) fn end(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        self.offset + self.extent() + self.dynamic.iter().map(|d| d.max * d.stride).sum::<usize>()
    }

    /// The same elements with the axes in a new order; `order` names each axis once.
    pub(crate) fn permute(&self, order: &[usize]) -> View {
        let mut out = self.clone();
        for (to, &from) in order.iter().enumerate() {
            out.shape[to] = self.shape[from];
            out.strides[to] = self.strides[from];
        }
        out
    }

    /// Axes of 1 repeated and new axes in front; None if `shape` is not reached that way.
    pub(crate) fn broadcast_to(&self, shape: Dims) -> Option<View> {
        let new = shape.len().checked_sub(self.shape.len())?;
        let mut strides = shape;
        for axis in 0..shape.len() {
            strides[axis] = match axis.checked_sub(new) {
                None => 0,
                Some(own) if self.shape[own] == shape[axis] => self.strides[own],
                Some(own) if self.shape[own] == 1 => 0,
                Some(_) => return None,
            };
        }
        Some(View {
            shape,
            strides,
            ..self.clone()
        })
    }

    /// The same elements in row-major order as another shape of as many
    /// elements; None if no strides do that.
    pub(crate) fn reshape(&self, shape: Dims) -> Option<View> {
        if shape.contains(&0) {
            return Some(View {
                shape,
                strides: shape.row_major_strides(),
                ..self.clone()
            });
        }
        let mut strides = shape.row_major_strides();
        // Pairs off groups of old and new axes with equal products, from the
        // back. Within a group the old axes must be one walk with one stride.
        let (mut old, mut new) = (self.shape.len(), shape.len());
        loop {
            while old > 0 && self.shape[old - 1] == 1 {
                old -= 1;
            }
            if old == 0 {
                // Only axes of 1 are left, of which any stride is right.
                return Some(View {
                    shape,
                    strides,
                    ..self.clone()
                });
            }
            let stride = self.strides[old - 1];
            let mut old_product = self.shape[old - 1];
            let mut new_product = 1;
            old -= 1;
            while new_product != old_product {
                if new_product < old_product {
                    new = new.checked_sub(1)?;
                    strides[new] = stride * new_product;
                    new_product *= shape[new];
                } else {
                    while self.shape.get(old.wrapping_sub(1)) == Some(&1) {
                        old -= 1;
                    }
                    old = old.checked_sub(1)?;
                    if self.strides[old] != stride * old_product {
                        return None;
                    }
                    old_product *= self.shape[old];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The buffer elements that a view names, in row-major order, one index at a time.
    fn elements(view: &View) -> Vec<usize> {
        let n: usize = view.shape.iter().product();
        (0..n)
            .map(|mut flat| {
                let mut at = view.offset;
                for axis in (0..view.shape.len()).rev() {
                    at += flat % view.shape[axis] * view.strides[axis];
                    flat /= view.shape[axis];
                }
                at
            })
            .collect()
    }

    fn view(shape: &[usize]) -> View {
        View::whole(0, DType::F32, Dims::new(shape).unwrap())
    }

    /// All ways to write `n` as a product of up to four factors.
    fn factorizations(n: usize, most: usize) -> Vec<Vec<usize>> {
        if most == 1 {
            return vec![vec![n]];
        }
        let mut all = vec![vec![n]];
        for first in (1..=n).filter(|d| n.is_multiple_of(*d)) {
            for mut rest in factorizations(n / first, most - 1) {
                rest.insert(0, first);
                all.push(rest);
            }
        }
        all
    }

    #[test]
    fn reshapes_of_contiguous_tensors_are_views() {
        for from in factorizations(12, 3) {
            for to in factorizations(12, 4) {
                let out = view(&from)
                    .reshape(Dims::new(&to).unwrap())
                    .expect("contiguous");
                assert_eq!(
                    elements(&out),
                    (0..12).collect::<Vec<_>>(),
                    "{from:?} to {to:?}"
                );
            }
        }
    }

    proptest! {
        /// A reshape that claims to be a view names the same elements, and one
        /// that does not could not have been one.
        #[test]
        fn reshape_is_right_and_complete(
            shape in prop::collection::vec(1usize..4, 1..4),
            seed in 0usize..1000,
            keep in prop::collection::vec(any::<bool>(), 4),
        ) {
            // A permuted and sliced view.
            let mut order: Vec<usize> = (0..shape.len()).collect();
            order.rotate_left(seed % shape.len());
            let mut start = view(&shape).permute(&order);
            for (axis, _) in keep.iter().enumerate().filter(|(axis, keep)| !**keep && *axis < shape.len()) {
                if start.shape[axis] > 1 {
                    start.offset += start.strides[axis];
                    start.shape[axis] -= 1;
                }
            }
            let n: usize = start.shape.iter().product();
            for to in factorizations(n, 3) {
                let to = Dims::new(&to).unwrap();
                let expected = elements(&start);
                match start.reshape(to) {
                    Some(out) => prop_assert_eq!(elements(&out), expected),
                    None => {
                        // No strides reproduce the elements: the distance
                        // between neighbours along an axis is not constant.
                        let mut strides = Dims::EMPTY;
                        let row_major = to.row_major_strides();
                        for axis in 0..to.len() {
                            let step = if to[axis] > 1 { expected[row_major[axis]].wrapping_sub(expected[0]) } else { 0 };
                            strides.push(step).unwrap();
                        }
                        let guess = View { shape: to, strides, ..start.clone() };
                        let wrapping: Vec<usize> = (0..n).map(|mut flat| {
                            let mut at = guess.offset;
                            for axis in (0..to.len()).rev() {
                                at = at.wrapping_add((flat % to[axis]).wrapping_mul(strides[axis]));
                                flat /= to[axis];
                            }
                            at
                        }).collect();
                        prop_assert_ne!(wrapping, expected);
                    }
                }
            }
        }
    }

    #[test]
    fn broadcasts_repeat_and_reject() {
        let column = view(&[3, 1]);
        let out = column.broadcast_to(Dims::new(&[2, 3, 2]).unwrap()).unwrap();
        assert_eq!(elements(&out), [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
        assert!(column.broadcast_to(Dims::new(&[4, 2]).unwrap()).is_none());
        assert!(column.broadcast_to(Dims::new(&[3]).unwrap()).is_none());
    }
}
