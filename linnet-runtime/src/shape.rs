//! Shapes: as types ([`Shape`]) and as values ([`Dims`]).

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::dim::Dim;
use crate::error::{Error, Result};

/// The largest number of axes of a tensor.
pub const MAX_RANK: usize = 8;

/// A list of up to [`MAX_RANK`] sizes, held in place: a shape or strides in elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dims {
    len: u8,
    sizes: [usize; MAX_RANK],
}

impl Dims {
    /// No axes: the shape of a single element.
    pub const EMPTY: Dims = Dims {
        len: 0,
        sizes: [0; MAX_RANK],
    };

    /// A copy of `sizes`.
    ///
    /// # Errors
    /// If there are more than [`MAX_RANK`].
    pub fn new(sizes: &[usize]) -> Result<Dims> {
        let mut dims = Dims::EMPTY;
        for &size in sizes {
            dims.push(size)?;
        }
        Ok(dims)
    }

    /// Appends one size.
    ///
    /// # Errors
    /// If there are [`MAX_RANK`] already.
    pub fn push(&mut self, size: usize) -> Result<()> {
        if usize::from(self.len) == MAX_RANK {
            return Err(Error::Rank { max: MAX_RANK });
        }
        self.sizes[usize::from(self.len)] = size;
        self.len += 1;
        Ok(())
    }

    /// The number of elements of a tensor of this shape.
    ///
    /// # Errors
    /// If it does not fit into `usize`.
    pub fn elements(&self) -> Result<usize> {
        element_count(self)
    }

    /// The strides, in elements, of a row-major tensor of this shape.
    pub fn row_major_strides(&self) -> Dims {
        let mut strides = *self;
        let mut stride = 1usize;
        for axis in (0..self.len()).rev() {
            strides[axis] = stride;
            stride = stride.saturating_mul(self[axis].max(1));
        }
        strides
    }
}

/// The product of `shape`.
///
/// # Errors
/// If it does not fit into `usize`.
pub fn element_count(shape: &[usize]) -> Result<usize> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1usize, |n, &size| n.checked_mul(size))
        .filter(|&n| n <= isize::MAX as usize / 8)
        .ok_or_else(|| Error::TooLarge {
            what: format!("a tensor of shape {shape:?}"),
        })
}

impl Default for Dims {
    fn default() -> Dims {
        Dims::EMPTY
    }
}

impl Deref for Dims {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.sizes[..usize::from(self.len)]
    }
}

impl DerefMut for Dims {
    fn deref_mut(&mut self) -> &mut [usize] {
        &mut self.sizes[..usize::from(self.len)]
    }
}

impl fmt::Debug for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// A shape as a type: a tuple of up to eight [`Dim`]s, or [`AnyShape`].
pub trait Shape: Copy + fmt::Debug + Send + Sync + 'static {
    /// What is known of it at compile time: for each axis its size if that is
    /// known. None if even the number of axes is open.
    const AXES: Option<&'static [Option<usize>]>;

    /// Whether a tensor of the sizes `shape` has this type.
    fn matches(shape: &[usize]) -> bool {
        match Self::AXES {
            None => true,
            Some(axes) => {
                axes.len() == shape.len()
                    && axes
                        .iter()
                        .zip(shape)
                        .all(|(axis, &size)| axis.is_none_or(|known| known == size))
            }
        }
    }

    /// The type in words, unknown sizes as `_`: `[2, _, 768]`, or `[..]`.
    fn describe() -> String {
        match Self::AXES {
            None => "[..]".to_owned(),
            Some(axes) => {
                let axes: Vec<String> = axes
                    .iter()
                    .map(|axis| axis.map_or_else(|| "_".to_owned(), |size| size.to_string()))
                    .collect();
                format!("[{}]", axes.join(", "))
            }
        }
    }
}

/// A shape of any number of axes, known when the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnyShape;

impl Shape for AnyShape {
    const AXES: Option<&'static [Option<usize>]> = None;
}

macro_rules! tuples {
    ($(($($axis:ident),*);)*) => {$(
        impl<$($axis: Dim),*> Shape for ($($axis,)*) {
            const AXES: Option<&'static [Option<usize>]> = Some(&[$($axis::STATIC),*]);
        }
    )*};
}

tuples! {
    ();
    (A);
    (A, B);
    (A, B, C);
    (A, B, C, D);
    (A, B, C, D, E);
    (A, B, C, D, E, F);
    (A, B, C, D, E, F, G);
    (A, B, C, D, E, F, G, H);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dim::{Const, Dyn};

    #[test]
    fn tuples_match_their_sizes() {
        type S = (Dyn, Const<3>);
        assert!(S::matches(&[7, 3]));
        assert!(!S::matches(&[7, 4]));
        assert!(!S::matches(&[7]));
        assert!(AnyShape::matches(&[1, 2, 3]));
        assert!(<() as Shape>::matches(&[]));
        assert_eq!(S::describe(), "[_, 3]");
    }

    #[test]
    fn counts_reject_overflow() {
        assert_eq!(element_count(&[2, 3]).unwrap(), 6);
        assert_eq!(element_count(&[]).unwrap(), 1);
        assert_eq!(element_count(&[usize::MAX, 0]).unwrap(), 0);
        assert!(element_count(&[usize::MAX, 2]).is_err());
        assert!(Dims::new(&[1; 9]).is_err());
        assert_eq!(
            &*Dims::new(&[2, 3, 4]).unwrap().row_major_strides(),
            &[12, 4, 1]
        );
    }
}
