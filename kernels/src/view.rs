//! Strided views over slices. A view is checked when it is made; kernels rely on it.
//!
//! Strides count elements and are never negative. A stride of 0 repeats an
//! element and is allowed for reading only.

use std::marker::PhantomData;

use crate::error::{KernelError, Result};

/// The number of elements from the first to past the last one that `shape` with
/// `strides` reaches: 0 for an empty shape, `None` if it does not fit a `usize`.
pub(crate) fn extent(shape: &[usize], strides: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let mut last = 0usize;
    for (&n, &stride) in shape.iter().zip(strides) {
        last = last.checked_add((n - 1).checked_mul(stride)?)?;
    }
    last.checked_add(1)
}

/// Whether no element is named twice. Sufficient, not necessary: every stride
/// must step over all that the smaller strides reach together.
pub(crate) fn distinct(shape: &[usize], strides: &[usize]) -> bool {
    if shape.contains(&0) {
        return true;
    }
    // Ranks are small, so a selection by growing stride needs no allocation.
    let mut done = [false; MAX_RANK];
    let mut reached = 0usize;
    for _ in 0..shape.len() {
        let mut next = None;
        for axis in 0..shape.len() {
            if !done[axis] && next.is_none_or(|n: usize| strides[axis] < strides[n]) {
                next = Some(axis);
            }
        }
        let Some(axis) = next else { return true };
        done[axis] = true;
        if shape[axis] == 1 {
            continue;
        }
        if strides[axis] <= reached {
            return false;
        }
        reached += (shape[axis] - 1) * strides[axis];
    }
    true
}

/// The largest rank of a view.
pub const MAX_RANK: usize = 8;

fn check(
    kernel: &'static str,
    what: &'static str,
    shape: &[usize],
    strides: &[usize],
    len: usize,
) -> Result<()> {
    let needed = extent(shape, strides).unwrap_or(usize::MAX);
    if needed > len {
        return Err(KernelError::OutOfBounds {
            kernel,
            what,
            needed,
            len,
        });
    }
    Ok(())
}

macro_rules! view_struct {
    ($(#[$doc:meta])* $name:ident, $pointer:ty, $slice:ty, $n:literal) => {
        $(#[$doc])*
        pub struct $name<'a, T> {
            data: $pointer,
            shape: [usize; $n],
            strides: [usize; $n],
            life: PhantomData<$slice>,
        }
    };
}

view_struct!(
    /// A matrix to read: element (r, c) is at `r * row_stride + c * col_stride`.
    MatRef, *const T, &'a [T], 2
);
view_struct!(
    /// A matrix to write. No element is named twice.
    MatMut, *mut T, &'a mut [T], 2
);
view_struct!(
    /// A tensor `[B, H, S, D]` to read whose last axis is contiguous.
    HeadsRef, *const T, &'a [T], 4
);
view_struct!(
    /// A tensor `[B, H, S, D]` to write whose last axis is contiguous. No element is named twice.
    HeadsMut, *mut T, &'a mut [T], 4
);

impl<T> Clone for MatRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for MatRef<'_, T> {}
impl<T> Clone for HeadsRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for HeadsRef<'_, T> {}

// SAFETY: a view is a shared slice in other clothes.
unsafe impl<T: Sync> Send for MatRef<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for MatRef<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Send for HeadsRef<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for HeadsRef<'_, T> {}
// SAFETY: a view is a mutable slice in other clothes.
unsafe impl<T: Send> Send for MatMut<'_, T> {}
// SAFETY: as above; a shared reference to the view gives no access to the elements within safe code.
unsafe impl<T: Send> Sync for MatMut<'_, T> {}
// SAFETY: as for `MatMut`.
unsafe impl<T: Send> Send for HeadsMut<'_, T> {}
// SAFETY: as for `MatMut`.
unsafe impl<T: Send> Sync for HeadsMut<'_, T> {}

macro_rules! mat_getters {
    ($name:ident) => {
        impl<T> $name<'_, T> {
            /// The number of rows.
            pub fn rows(&self) -> usize {
                self.shape[0]
            }
            /// The number of columns.
            pub fn cols(&self) -> usize {
                self.shape[1]
            }
            /// Elements from one row to the next.
            pub fn row_stride(&self) -> usize {
                self.strides[0]
            }
            /// Elements from one column to the next.
            pub fn col_stride(&self) -> usize {
                self.strides[1]
            }
        }
    };
}
mat_getters!(MatRef);
mat_getters!(MatMut);

impl<'a, T> MatRef<'a, T> {
    /// A view of `shape = [rows, cols]` with `strides = [row_stride, col_stride]`,
    /// whose element (0, 0) is `data[0]`.
    ///
    /// # Errors
    /// If the view reaches past the end of `data`.
    pub fn new(data: &'a [T], shape: [usize; 2], strides: [usize; 2]) -> Result<Self> {
        check("MatRef::new", "the matrix", &shape, &strides, data.len())?;
        Ok(Self {
            data: data.as_ptr(),
            shape,
            strides,
            life: PhantomData,
        })
    }

    /// A matrix that lies row after row.
    ///
    /// # Errors
    /// If `data` is shorter than `rows * cols`.
    pub fn contiguous(data: &'a [T], rows: usize, cols: usize) -> Result<Self> {
        Self::new(data, [rows, cols], [cols, 1])
    }

    /// One row that stands for `rows` equal ones.
    pub fn repeated_row(row: &'a [T], rows: usize) -> Self {
        Self {
            data: row.as_ptr(),
            shape: [rows, row.len()],
            strides: [0, 1],
            life: PhantomData,
        }
    }

    /// The same elements with rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        let ([rows, cols], [row_stride, col_stride]) = (self.shape, self.strides);
        Self {
            shape: [cols, rows],
            strides: [col_stride, row_stride],
            ..self
        }
    }

    /// The elements, if they lie row after row without gaps.
    pub fn as_slice(&self) -> Option<&'a [T]> {
        let [rows, cols] = self.shape;
        if (cols > 1 && self.strides[1] != 1) || (rows > 1 && self.strides[0] != cols) {
            return None;
        }
        // SAFETY: the constructor checked that the view, which has no gaps, lies within a slice of this lifetime.
        Some(unsafe { std::slice::from_raw_parts(self.data, rows * cols) })
    }

    pub(crate) fn as_ptr(&self) -> *const T {
        self.data
    }
}

impl<'a, T> MatMut<'a, T> {
    /// A view of `shape = [rows, cols]` with `strides = [row_stride, col_stride]`,
    /// whose element (0, 0) is `data[0]`.
    ///
    /// # Errors
    /// If the view reaches past the end of `data`, or its strides name an element twice.
    pub fn new(data: &'a mut [T], shape: [usize; 2], strides: [usize; 2]) -> Result<Self> {
        check("MatMut::new", "the matrix", &shape, &strides, data.len())?;
        if !distinct(&shape, &strides) {
            return Err(KernelError::Aliased {
                kernel: "MatMut::new",
                what: "the matrix",
            });
        }
        Ok(Self {
            data: data.as_mut_ptr(),
            shape,
            strides,
            life: PhantomData,
        })
    }

    /// A matrix that lies row after row.
    ///
    /// # Errors
    /// If `data` is shorter than `rows * cols`.
    pub fn contiguous(data: &'a mut [T], rows: usize, cols: usize) -> Result<Self> {
        Self::new(data, [rows, cols], [cols, 1])
    }

    /// The same elements with rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Self {
        let ([rows, cols], [row_stride, col_stride]) = (self.shape, self.strides);
        Self {
            shape: [cols, rows],
            strides: [col_stride, row_stride],
            ..self
        }
    }

    /// The view for a shorter time.
    pub fn reborrow(&mut self) -> MatMut<'_, T> {
        MatMut {
            data: self.data,
            shape: self.shape,
            strides: self.strides,
            life: PhantomData,
        }
    }

    /// The view for reading.
    pub fn as_ref(&self) -> MatRef<'_, T> {
        MatRef {
            data: self.data,
            shape: self.shape,
            strides: self.strides,
            life: PhantomData,
        }
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut T {
        self.data
    }
}

macro_rules! heads_getters {
    ($name:ident) => {
        impl<T> $name<'_, T> {
            /// `[B, H, S, D]`.
            pub fn shape(&self) -> [usize; 4] {
                self.shape
            }
            /// Elements from one entry to the next along each axis; the last is 1.
            pub fn strides(&self) -> [usize; 4] {
                self.strides
            }
            /// The offset of element (b, h, s, 0).
            #[inline(always)]
            pub(crate) fn offset(&self, b: usize, h: usize, s: usize) -> usize {
                b * self.strides[0] + h * self.strides[1] + s * self.strides[2]
            }
        }
    };
}
heads_getters!(HeadsRef);
heads_getters!(HeadsMut);

impl<'a, T> HeadsRef<'a, T> {
    /// A view of `shape = [B, H, S, D]` with strides for B, H and S (D is
    /// contiguous), whose first element is `data[0]`.
    ///
    /// # Errors
    /// If the view reaches past the end of `data`.
    pub fn new(data: &'a [T], shape: [usize; 4], outer_strides: [usize; 3]) -> Result<Self> {
        let [b, h, s] = outer_strides;
        let strides = [b, h, s, 1];
        check("HeadsRef::new", "the tensor", &shape, &strides, data.len())?;
        Ok(Self {
            data: data.as_ptr(),
            shape,
            strides,
            life: PhantomData,
        })
    }

    /// A tensor `[B, H, S, D]` without gaps.
    ///
    /// # Errors
    /// If `data` is too short.
    pub fn contiguous(data: &'a [T], shape: [usize; 4]) -> Result<Self> {
        Self::new(data, shape, contiguous_outer(shape))
    }

    pub(crate) fn as_ptr(&self) -> *const T {
        self.data
    }
}

impl<'a, T> HeadsMut<'a, T> {
    /// A view of `shape = [B, H, S, D]` with strides for B, H and S (D is
    /// contiguous), whose first element is `data[0]`.
    ///
    /// # Errors
    /// If the view reaches past the end of `data`, or its strides name an element twice.
    pub fn new(data: &'a mut [T], shape: [usize; 4], outer_strides: [usize; 3]) -> Result<Self> {
        let [b, h, s] = outer_strides;
        let strides = [b, h, s, 1];
        check("HeadsMut::new", "the tensor", &shape, &strides, data.len())?;
        if !distinct(&shape, &strides) {
            return Err(KernelError::Aliased {
                kernel: "HeadsMut::new",
                what: "the tensor",
            });
        }
        Ok(Self {
            data: data.as_mut_ptr(),
            shape,
            strides,
            life: PhantomData,
        })
    }

    /// A tensor `[B, H, S, D]` without gaps.
    ///
    /// # Errors
    /// If `data` is too short.
    pub fn contiguous(data: &'a mut [T], shape: [usize; 4]) -> Result<Self> {
        Self::new(data, shape, contiguous_outer(shape))
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut T {
        self.data
    }
}

/// Strides of a tensor without gaps; saturating, so that a shape that overflows fails the length check.
fn contiguous_outer(shape: [usize; 4]) -> [usize; 3] {
    let [_, h, s, d] = shape;
    [
        h.saturating_mul(s).saturating_mul(d),
        s.saturating_mul(d),
        d,
    ]
}

/// A pointer that tasks of one parallel run share. Each task must touch its own part only.
pub(crate) struct Shared<T>(*mut T);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

// SAFETY: dereferencing stays unsafe, and every user says why its tasks touch disjoint parts.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }
    /// The pointer (a method, so that closures capture the whole wrapper).
    #[inline(always)]
    pub(crate) fn get(self) -> *mut T {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_checked() {
        let data = [0.0f32; 12];
        assert!(MatRef::new(&data, [3, 4], [4, 1]).is_ok());
        assert!(MatRef::new(&data, [3, 4], [1, 3]).is_ok());
        assert!(MatRef::new(&data, [3, 4], [0, 1]).is_ok());
        assert!(MatRef::new(&data, [0, 400], [4, 1]).is_ok());
        assert_eq!(
            MatRef::new(&data, [4, 4], [4, 1]).err(),
            Some(KernelError::OutOfBounds {
                kernel: "MatRef::new",
                what: "the matrix",
                needed: 16,
                len: 12
            })
        );
        assert!(MatRef::new(&data, [usize::MAX, 2], [usize::MAX, 1]).is_err());
        assert!(HeadsRef::contiguous(&data, [usize::MAX, usize::MAX, 2, 2]).is_err());
        let mut data = data;
        assert!(MatMut::new(&mut data, [3, 4], [4, 1]).is_ok());
        assert!(MatMut::new(&mut data, [3, 4], [1, 3]).is_ok());
        assert!(matches!(
            MatMut::new(&mut data, [3, 4], [0, 1]),
            Err(KernelError::Aliased { .. })
        ));
        assert!(matches!(
            MatMut::new(&mut data, [3, 4], [3, 1]),
            Err(KernelError::Aliased { .. })
        ));
        assert!(HeadsMut::new(&mut data, [1, 2, 3, 2], [12, 2, 4]).is_ok());
        assert!(matches!(
            HeadsMut::new(&mut data, [1, 2, 3, 2], [12, 2, 2]),
            Err(KernelError::Aliased { .. })
        ));
    }
}
