//! A tensor whose dtype and shape are known when the program runs.

use std::fmt;
use std::sync::Arc;

use crate::dtype::{DType, Element, ScalarValue};
use crate::error::{Error, Result};
use crate::shape::Dims;
use crate::storage::{AlignedBytes, Storage};

/// A row-major, contiguous tensor. Cloning shares the elements and allocates
/// nothing; writing to one of several clones copies first.
#[derive(Clone)]
pub struct ErasedTensor {
    storage: Arc<Storage>,
    /// Where the elements start; a multiple of the element size in memory.
    offset_bytes: usize,
    n_bytes: usize,
    dtype: DType,
    shape: Dims,
}

impl ErasedTensor {
    /// A tensor of zeros (`false`).
    ///
    /// # Errors
    /// If the shape has too many axes or elements.
    pub fn zeros(dtype: DType, shape: &[usize]) -> Result<ErasedTensor> {
        let shape = Dims::new(shape)?;
        let n_bytes = shape.elements()? * dtype.size();
        Ok(ErasedTensor {
            storage: Arc::new(Storage::zeroed(n_bytes)?),
            offset_bytes: 0,
            n_bytes,
            dtype,
            shape,
        })
    }

    /// A copy of `data` in the given shape.
    ///
    /// # Errors
    /// If the shape's element count is not the length of `data`, or it has too many axes.
    pub fn from_slice<T: Element>(shape: &[usize], data: &[T]) -> Result<ErasedTensor> {
        let shape = Dims::new(shape)?;
        let n = shape.elements()?;
        if n != data.len() {
            return Err(Error::InvalidTensor {
                reason: format!("the shape {shape:?} has {n} elements, found {}", data.len()),
            });
        }
        let bytes = AlignedBytes::copy_of(as_bytes(data))?;
        Ok(ErasedTensor {
            storage: Arc::new(Storage::Owned(bytes)),
            offset_bytes: 0,
            n_bytes: size_of_val(data),
            dtype: T::DTYPE,
            shape,
        })
    }

    /// The tensor that the first bytes of `storage` hold, in the machine's byte
    /// order, without copying them.
    ///
    /// # Errors
    /// If there are too few bytes, they start at an address that is not a
    /// multiple of the element size, or a bool is neither 0 nor 1.
    pub fn from_storage(
        storage: Arc<Storage>,
        dtype: DType,
        shape: &[usize],
    ) -> Result<ErasedTensor> {
        let shape = Dims::new(shape)?;
        let n_bytes = shape.elements()? * dtype.size();
        let bytes = storage.bytes();
        if bytes.len() < n_bytes {
            return Err(Error::InvalidTensor {
                reason: format!(
                    "{dtype} {shape:?} needs {n_bytes} bytes, found {}",
                    bytes.len()
                ),
            });
        }
        if n_bytes > 0 && !(bytes.as_ptr() as usize).is_multiple_of(dtype.size()) {
            return Err(Error::InvalidTensor {
                reason: format!(
                    "the elements of {dtype} {shape:?} are not aligned to {} bytes",
                    dtype.size()
                ),
            });
        }
        if dtype == DType::Bool
            && let Some(at) = bytes[..n_bytes].iter().position(|&b| b > 1)
        {
            return Err(Error::InvalidTensor {
                reason: format!(
                    "element {at} of {dtype} {shape:?} is the byte {}, neither 0 nor 1",
                    bytes[at]
                ),
            });
        }
        Ok(ErasedTensor {
            storage,
            offset_bytes: 0,
            n_bytes,
            dtype,
            shape,
        })
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn dims(&self) -> Dims {
        self.shape
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.n_bytes / self.dtype.size()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.n_bytes == 0
    }

    /// The elements as bytes, in the machine's byte order.
    pub fn bytes(&self) -> &[u8] {
        &self.storage.bytes()[self.offset_bytes..self.offset_bytes + self.n_bytes]
    }

    /// The storage that holds the elements, perhaps shared.
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// The elements; None if they are of another type than `T`.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        (T::DTYPE == self.dtype).then(|| {
            let bytes = self.bytes();
            if bytes.is_empty() {
                return &[][..];
            }
            // SAFETY: constructors check that the bytes are aligned for the
            // dtype and that bools are 0 or 1; every other bit pattern is a
            // value of its type. The length is a whole number of elements.
            unsafe {
                std::slice::from_raw_parts(bytes.as_ptr().cast::<T>(), bytes.len() / size_of::<T>())
            }
        })
    }

    /// The elements to write, after a copy if they are shared or not owned;
    /// None if they are of another type than `T`.
    ///
    /// # Errors
    /// If the copy is too large.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<Option<&mut [T]>> {
        if T::DTYPE != self.dtype {
            return Ok(None);
        }
        let bytes = self.bytes_mut()?;
        if bytes.is_empty() {
            return Ok(Some(&mut []));
        }
        // SAFETY: as in `as_slice`; `&mut self` on unshared storage is exclusive.
        Ok(Some(unsafe {
            std::slice::from_raw_parts_mut(
                bytes.as_mut_ptr().cast::<T>(),
                bytes.len() / size_of::<T>(),
            )
        }))
    }

    /// The bytes to write, after a copy if they are shared or not owned. Not
    /// public, since a bool must stay 0 or 1.
    pub(crate) fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        let exclusive =
            Arc::get_mut(&mut self.storage).is_some_and(|storage| storage.bytes_mut().is_some());
        if !exclusive {
            let copy = AlignedBytes::copy_of(self.bytes())?;
            self.storage = Arc::new(Storage::Owned(copy));
            self.offset_bytes = 0;
        }
        let range = self.offset_bytes..self.offset_bytes + self.n_bytes;
        let storage = Arc::get_mut(&mut self.storage).and_then(Storage::bytes_mut);
        Ok(&mut storage.expect("owned and unshared since the lines above")[range])
    }

    /// A tensor over storage that the executor filled.
    pub(crate) fn from_filled(
        storage: Arc<Storage>,
        dtype: DType,
        shape: Dims,
        n_bytes: usize,
    ) -> ErasedTensor {
        debug_assert!(storage.bytes().len() >= n_bytes);
        ErasedTensor {
            storage,
            offset_bytes: 0,
            n_bytes,
            dtype,
            shape,
        }
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    /// If the element counts differ.
    pub fn reshape(&self, shape: &[usize]) -> Result<ErasedTensor> {
        let shape = Dims::new(shape)?;
        if shape.elements()? != self.len() {
            return Err(Error::InvalidTensor {
                reason: format!(
                    "cannot reshape {:?} ({} elements) to {shape:?}",
                    self.shape,
                    self.len()
                ),
            });
        }
        Ok(ErasedTensor {
            shape,
            ..self.clone()
        })
    }

    /// The elements converted as [`ScalarValue::cast`] does.
    ///
    /// # Errors
    /// If the copy is too large.
    pub fn cast(&self, dtype: DType) -> Result<ErasedTensor> {
        if dtype == self.dtype {
            return Ok(self.clone());
        }
        match dtype {
            DType::F32 => self.cast_to::<f32>(),
            DType::F16 => self.cast_to::<half::f16>(),
            DType::BF16 => self.cast_to::<half::bf16>(),
            DType::I8 => self.cast_to::<i8>(),
            DType::I32 => self.cast_to::<i32>(),
            DType::I64 => self.cast_to::<i64>(),
            DType::U8 => self.cast_to::<u8>(),
            DType::Bool => self.cast_to::<bool>(),
        }
    }

    fn cast_to<T: Element>(&self) -> Result<ErasedTensor> {
        let mut out = ErasedTensor::zeros(T::DTYPE, &self.shape)?;
        if let Some(elements) = out.as_mut_slice::<T>()? {
            for (i, element) in elements.iter_mut().enumerate() {
                *element = T::from_scalar(self.element(i));
            }
        }
        Ok(out)
    }

    /// Element `i` in row-major order.
    ///
    /// # Panics
    /// If `i` is not below [`ErasedTensor::len`].
    pub fn element(&self, i: usize) -> ScalarValue {
        fn at<T: Element>(tensor: &ErasedTensor, i: usize) -> ScalarValue {
            tensor
                .as_slice::<T>()
                .expect("called with the tensor's dtype")[i]
                .to_scalar()
        }
        match self.dtype {
            DType::F32 => at::<f32>(self, i),
            DType::F16 => at::<half::f16>(self, i),
            DType::BF16 => at::<half::bf16>(self, i),
            DType::I8 => at::<i8>(self, i),
            DType::I32 => at::<i32>(self, i),
            DType::I64 => at::<i64>(self, i),
            DType::U8 => at::<u8>(self, i),
            DType::Bool => at::<bool>(self, i),
        }
    }
}

/// The bytes of a slice of elements.
pub(crate) fn as_bytes<T: Element>(data: &[T]) -> &[u8] {
    // SAFETY: elements are plain values without padding (`Element` is sealed),
    // so each of their bytes is initialised.
    unsafe { std::slice::from_raw_parts(data.as_ptr().cast::<u8>(), size_of_val(data)) }
}

impl PartialEq for ErasedTensor {
    /// Whether dtype, shape and every element are equal; NaN equals nothing.
    fn eq(&self, other: &ErasedTensor) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && (0..self.len()).all(|i| self.element(i) == other.element(i))
    }
}

impl fmt::Debug for ErasedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor{:?}; {} ", self.shape, self.dtype)?;
        super::display::write_elements(self, f)
    }
}

impl fmt::Display for ErasedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        super::display::write_elements(self, f)
    }
}
