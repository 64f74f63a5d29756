//! Element types: the [`DType`] a tensor carries when it runs and the Rust
//! types that stand for them.

use std::fmt;

pub use half::{bf16, f16};

/// The type of a tensor's elements or of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the Rust type of that name")]
pub enum DType {
    F32,
    F16,
    BF16,
    I8,
    I32,
    I64,
    U8,
    Bool,
}

impl DType {
    /// Every dtype.
    pub const ALL: [DType; 8] = [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::I8,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::Bool,
    ];

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::F32 | DType::I32 => 4,
            DType::F16 | DType::BF16 => 2,
            DType::I8 | DType::U8 | DType::Bool => 1,
            DType::I64 => 8,
        }
    }

    /// The name as written in a model: `f32`, `bf16`, `bool`, ..
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::I8 => "i8",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }

    /// The dtype of this name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Whether it is `f32`, `f16` or `bf16`.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::BF16)
    }

    /// Whether it is `i8`, `i32`, `i64` or `u8`.
    pub const fn is_int(self) -> bool {
        matches!(self, DType::I8 | DType::I32 | DType::I64 | DType::U8)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One value of any dtype.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "each holds the Rust type of that name")]
pub enum ScalarValue {
    F32(f32),
    F16(f16),
    BF16(bf16),
    I8(i8),
    I32(i32),
    I64(i64),
    U8(u8),
    Bool(bool),
}

impl ScalarValue {
    /// Its dtype.
    pub const fn dtype(self) -> DType {
        match self {
            ScalarValue::F32(_) => DType::F32,
            ScalarValue::F16(_) => DType::F16,
            ScalarValue::BF16(_) => DType::BF16,
            ScalarValue::I8(_) => DType::I8,
            ScalarValue::I32(_) => DType::I32,
            ScalarValue::I64(_) => DType::I64,
            ScalarValue::U8(_) => DType::U8,
            ScalarValue::Bool(_) => DType::Bool,
        }
    }

    /// The value as `f64`; a bool is 0 or 1.
    pub fn to_f64(self) -> f64 {
        match self {
            ScalarValue::F32(x) => f64::from(x),
            ScalarValue::F16(x) => x.to_f64(),
            ScalarValue::BF16(x) => x.to_f64(),
            ScalarValue::I8(x) => f64::from(x),
            ScalarValue::I32(x) => f64::from(x),
            ScalarValue::I64(x) => x as f64,
            ScalarValue::U8(x) => f64::from(x),
            ScalarValue::Bool(x) => f64::from(u8::from(x)),
        }
    }

    /// The value as `i64`; a float truncates and saturates, NaN is 0.
    pub fn to_i64(self) -> i64 {
        match self {
            ScalarValue::F32(x) => x as i64,
            ScalarValue::F16(x) => x.to_f32() as i64,
            ScalarValue::BF16(x) => x.to_f32() as i64,
            ScalarValue::I8(x) => i64::from(x),
            ScalarValue::I32(x) => i64::from(x),
            ScalarValue::I64(x) => x,
            ScalarValue::U8(x) => i64::from(x),
            ScalarValue::Bool(x) => i64::from(x),
        }
    }

    /// The value converted to another dtype, as `cast` of the language does:
    /// floats round to nearest, float to integer truncates and saturates,
    /// integer to integer wraps, and anything but zero is `true`.
    pub fn cast(self, dtype: DType) -> ScalarValue {
        let float = self.dtype().is_float();
        match dtype {
            DType::F32 if float => ScalarValue::F32(self.to_f64() as f32),
            DType::F32 => ScalarValue::F32(self.to_i64() as f32),
            DType::F16 => ScalarValue::F16(f16::from_f32(self.cast(DType::F32).to_f64() as f32)),
            DType::BF16 => ScalarValue::BF16(bf16::from_f32(self.cast(DType::F32).to_f64() as f32)),
            DType::I8 if float => ScalarValue::I8(self.to_f64() as i8),
            DType::I8 => ScalarValue::I8(self.to_i64() as i8),
            DType::I32 if float => ScalarValue::I32(self.to_f64() as i32),
            DType::I32 => ScalarValue::I32(self.to_i64() as i32),
            DType::I64 => ScalarValue::I64(self.to_i64()),
            DType::U8 if float => ScalarValue::U8(self.to_f64() as u8),
            DType::U8 => ScalarValue::U8(self.to_i64() as u8),
            DType::Bool => ScalarValue::Bool(self.to_f64() != 0.0),
        }
    }
}

impl fmt::Display for ScalarValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScalarValue::F32(x) => fmt::Display::fmt(x, f),
            ScalarValue::F16(x) => fmt::Display::fmt(x, f),
            ScalarValue::BF16(x) => fmt::Display::fmt(x, f),
            ScalarValue::I8(x) => fmt::Display::fmt(x, f),
            ScalarValue::I32(x) => fmt::Display::fmt(x, f),
            ScalarValue::I64(x) => fmt::Display::fmt(x, f),
            ScalarValue::U8(x) => fmt::Display::fmt(x, f),
            ScalarValue::Bool(x) => fmt::Display::fmt(x, f),
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that a tensor can hold. This is the bound `DType` of the language.
///
/// Sealed: the implementors are plain values without padding whose size and
/// alignment are [`DType::size`], which the tensor code relies on.
pub trait Element:
    sealed::Sealed + Copy + Default + PartialEq + fmt::Debug + fmt::Display + Send + Sync + 'static
{
    /// The dtype it stands for.
    const DTYPE: DType;

    /// The value with its dtype.
    fn to_scalar(self) -> ScalarValue;

    /// The value of this type, converted by [`ScalarValue::cast`] where the dtype differs.
    fn from_scalar(value: ScalarValue) -> Self;
}

/// `f32`, `f16` or `bf16`: the bound `Float` of the language.
pub trait Float: Element {}

/// `i8`, `i32`, `i64` or `u8`: the bound `Int` of the language.
pub trait Int: Element {}

macro_rules! elements {
    ($($ty:ty => $variant:ident),* $(,)?) => {$(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            const DTYPE: DType = DType::$variant;
            fn to_scalar(self) -> ScalarValue {
                ScalarValue::$variant(self)
            }
            fn from_scalar(value: ScalarValue) -> Self {
                match value.cast(DType::$variant) {
                    ScalarValue::$variant(x) => x,
                    _ => unreachable!("cast gives the dtype that was asked for"),
                }
            }
        }
        impl From<$ty> for ScalarValue {
            fn from(value: $ty) -> ScalarValue {
                ScalarValue::$variant(value)
            }
        }
    )*};
}

elements! {
    f32 => F32, f16 => F16, bf16 => BF16, i8 => I8, i32 => I32, i64 => I64, u8 => U8, bool => Bool,
}

impl Float for f32 {}
impl Float for f16 {}
impl Float for bf16 {}
impl Int for i8 {}
impl Int for i32 {}
impl Int for i64 {}
impl Int for u8 {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_alignments_are_those_of_the_types() {
        fn check<T: Element>() {
            assert_eq!(size_of::<T>(), T::DTYPE.size());
            assert_eq!(align_of::<T>(), T::DTYPE.size());
            assert_eq!(DType::from_name(T::DTYPE.name()), Some(T::DTYPE));
        }
        check::<f32>();
        check::<f16>();
        check::<bf16>();
        check::<i8>();
        check::<i32>();
        check::<i64>();
        check::<u8>();
        check::<bool>();
    }

    #[test]
    fn casts_saturate_wrap_and_round() {
        assert_eq!(i32::from_scalar(ScalarValue::F32(3e20)), i32::MAX);
        assert_eq!(i8::from_scalar(ScalarValue::F32(-1000.0)), i8::MIN);
        assert_eq!(i32::from_scalar(ScalarValue::F32(f32::NAN)), 0);
        assert_eq!(u8::from_scalar(ScalarValue::I32(257)), 1);
        assert_eq!(i32::from_scalar(ScalarValue::F32(-1.9)), -1);
        assert_eq!(
            f16::from_scalar(ScalarValue::F32(1.0 + 1.0 / 4096.0)),
            f16::ONE
        );
        assert!(bool::from_scalar(ScalarValue::F32(0.5)));
        assert_eq!(f32::from_scalar(ScalarValue::Bool(true)), 1.0);
        assert_eq!(i64::from_scalar(ScalarValue::I64(i64::MAX)), i64::MAX);
    }
}
