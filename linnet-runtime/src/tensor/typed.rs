//! A tensor whose dtype, and as much of its shape as is known, are in its type.

use std::fmt;
use std::marker::PhantomData;

use super::ErasedTensor;
use crate::dim::Const;
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::shape::{AnyShape, Shape};

/// A row-major tensor of shape `S` with elements of type `T`.
///
/// ```
/// use linnet_runtime::{Const, Dyn, Tensor};
/// let x = Tensor::<(Dyn, Const<2>), f32>::from_slice(&[3, 2], &[1., 2., 3., 4., 5., 6.])?;
/// assert_eq!(x.shape(), [3, 2]);
/// assert!(Tensor::<(Dyn, Const<4>), f32>::from_slice(&[3, 2], &[0.; 6]).is_err());
/// # Ok::<(), linnet_runtime::Error>(())
/// ```
#[repr(transparent)]
pub struct Tensor<S: Shape, T: Element> {
    erased: ErasedTensor,
    kind: PhantomData<fn() -> (S, T)>,
}

impl<S: Shape, T: Element> Tensor<S, T> {
    /// A copy of `data`, row by row, in the given shape.
    ///
    /// # Errors
    /// If `shape` is not of type `S`, or has another number of elements than `data`.
    pub fn from_slice(shape: &[usize], data: &[T]) -> Result<Self> {
        Self::from_erased(ErasedTensor::from_slice(shape, data)?)
    }

    /// As [`Tensor::from_slice`], from a vector.
    ///
    /// # Errors
    /// As [`Tensor::from_slice`].
    pub fn from_vec(shape: &[usize], data: Vec<T>) -> Result<Self> {
        Self::from_slice(shape, &data)
    }

    /// A tensor of zeros.
    ///
    /// # Errors
    /// If `shape` is not of type `S` or too large.
    pub fn zeros(shape: &[usize]) -> Result<Self> {
        Self::from_erased(ErasedTensor::zeros(T::DTYPE, shape)?)
    }

    /// The size of each axis.
    pub fn shape(&self) -> &[usize] {
        self.erased.shape()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.erased.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.erased.is_empty()
    }

    /// The elements in row-major order, without a copy. None if the tensor lives
    /// where this processor cannot read it.
    pub fn as_slice(&self) -> Option<&[T]> {
        self.erased.as_slice()
    }

    /// The elements to write; copies first if another tensor shares them.
    ///
    /// # Errors
    /// If the copy is too large.
    pub fn as_mut_slice(&mut self) -> Result<&mut [T]> {
        Ok(self
            .erased
            .as_mut_slice()?
            .expect("the dtype is checked when a typed tensor is made"))
    }

    /// A copy of the elements in row-major order.
    pub fn to_vec(&self) -> Vec<T> {
        self.as_slice().map(<[T]>::to_vec).unwrap_or_default()
    }

    /// The element at `index`; None if it is outside.
    pub fn get(&self, index: &[usize]) -> Option<T> {
        let shape = self.shape();
        if index.len() != shape.len() {
            return None;
        }
        let mut flat = 0;
        for (&i, &size) in index.iter().zip(shape) {
            if i >= size {
                return None;
            }
            flat = flat * size + i;
        }
        self.as_slice()?.get(flat).copied()
    }

    /// The same tensor with another shape type.
    ///
    /// # Errors
    /// If the sizes are not of type `S2`.
    pub fn try_into_shape<S2: Shape>(self) -> Result<Tensor<S2, T>> {
        Tensor::from_erased(self.erased)
    }

    /// The elements converted to another type, as `cast` of the language does.
    ///
    /// # Errors
    /// If the copy is too large.
    pub fn cast<U: Element>(&self) -> Result<Tensor<S, U>> {
        Tensor::from_erased(self.erased.cast(U::DTYPE)?)
    }

    /// The tensor without its types; shares the elements.
    pub fn erase(&self) -> ErasedTensor {
        self.erased.clone()
    }

    /// The tensor without its types.
    pub fn into_erased(self) -> ErasedTensor {
        self.erased
    }

    /// The tensor with types.
    ///
    /// # Errors
    /// If dtype or sizes differ from them.
    pub fn from_erased(erased: ErasedTensor) -> Result<Self> {
        if erased.dtype() != T::DTYPE || !S::matches(erased.shape()) {
            return Err(Error::tensor_type(
                T::DTYPE,
                &S::describe(),
                erased.dtype(),
                erased.shape(),
            ));
        }
        Ok(Tensor {
            erased,
            kind: PhantomData,
        })
    }

    /// For arguments that a call updates in place. A call keeps dtype and shape.
    pub(crate) fn erased_mut(&mut self) -> &mut ErasedTensor {
        &mut self.erased
    }
}

impl<S: Shape, T: Element> Clone for Tensor<S, T> {
    /// Shares the elements.
    fn clone(&self) -> Self {
        Tensor {
            erased: self.erased.clone(),
            kind: PhantomData,
        }
    }
}

impl<S: Shape, T: Element> PartialEq for Tensor<S, T> {
    fn eq(&self, other: &Self) -> bool {
        self.erased == other.erased
    }
}

impl<S: Shape, T: Element> fmt::Debug for Tensor<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.erased, f)
    }
}

impl<S: Shape, T: Element> fmt::Display for Tensor<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.erased, f)
    }
}

impl<S: Shape, T: Element> From<Tensor<S, T>> for ErasedTensor {
    fn from(tensor: Tensor<S, T>) -> ErasedTensor {
        tensor.erased
    }
}

impl<S: Shape, T: Element> TryFrom<ErasedTensor> for Tensor<S, T> {
    type Error = Error;
    fn try_from(erased: ErasedTensor) -> Result<Self> {
        Tensor::from_erased(erased)
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Tensor<(Const<N>,), T> {
    fn from(data: [T; N]) -> Self {
        Self::from_slice(&[N], &data).expect("an array has the length of its type")
    }
}

impl<T: Element, const M: usize, const N: usize> From<[[T; N]; M]>
    for Tensor<(Const<M>, Const<N>), T>
{
    fn from(data: [[T; N]; M]) -> Self {
        Self::from_slice(&[M, N], data.as_flattened())
            .expect("an array has the lengths of its type")
    }
}

impl<T: Element> From<Vec<T>> for Tensor<AnyShape, T> {
    /// A tensor of one axis.
    fn from(data: Vec<T>) -> Self {
        Self::from_slice(&[data.len()], &data).expect("a vector has its own length")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dim::Dyn;

    #[test]
    fn static_dimensions_are_checked() {
        let err = Tensor::<(Dyn, Const<4>), f32>::from_slice(&[3, 2], &[0.0; 6]).unwrap_err();
        assert_eq!(
            err.to_string(),
            "expected a tensor of type f32 [_, 4], found f32 [3, 2]"
        );
        let err = Tensor::<AnyShape, f32>::from_slice(&[3, 2], &[0.0; 5]).unwrap_err();
        assert_eq!(
            err.to_string(),
            "invalid tensor: the shape [3, 2] has 6 elements, found 5"
        );
        let t = Tensor::from([[1i32, 2], [3, 4]]);
        assert_eq!(t.get(&[1, 0]), Some(3));
        assert_eq!(t.get(&[2, 0]), None);
        assert!(t.clone().try_into_shape::<(Dyn,)>().is_err());
        assert_eq!(
            t.clone().try_into_shape::<(Dyn, Dyn)>().unwrap().to_vec(),
            [1, 2, 3, 4]
        );
        assert_eq!(t.cast::<f32>().unwrap().to_vec(), [1.0, 2.0, 3.0, 4.0]);
        assert!(Tensor::<AnyShape, i64>::from_erased(t.erase()).is_err());
    }

    #[test]
    fn writing_to_a_clone_leaves_the_other() {
        let a = Tensor::from([1.0f32, 2.0]);
        let mut b = a.clone();
        b.as_mut_slice().unwrap()[0] = 5.0;
        assert_eq!(a.to_vec(), [1.0, 2.0]);
        assert_eq!(b.to_vec(), [5.0, 2.0]);
    }
}
