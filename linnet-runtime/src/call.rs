//! Arguments and results of calls, erased and back.

use crate::dtype::{DType, Element, ScalarValue};
use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::tensor::{ErasedTensor, Tensor};

/// An argument of a call.
#[derive(Debug)]
pub enum Argument<'a> {
    /// A tensor to read.
    Tensor(ErasedTensor),
    /// A tensor that the call updates.
    Mut(&'a mut ErasedTensor),
    /// A scalar.
    Scalar(ScalarValue),
    /// An optional argument that is absent.
    None,
}

/// Turns what plain Rust passes into an [`Argument`]: `&Tensor`, `&mut Tensor`,
/// a scalar, or an `Option` of one.
pub trait IntoArgument<'a> {
    /// The argument.
    fn into_argument(self) -> Argument<'a>;
}

impl<'a, S: Shape, T: Element> IntoArgument<'a> for &'a Tensor<S, T> {
    fn into_argument(self) -> Argument<'a> {
        Argument::Tensor(self.erase())
    }
}

impl<'a, S: Shape, T: Element> IntoArgument<'a> for &'a mut Tensor<S, T> {
    fn into_argument(self) -> Argument<'a> {
        Argument::Mut(self.erased_mut())
    }
}

impl<'a, T: Element> IntoArgument<'a> for T {
    fn into_argument(self) -> Argument<'a> {
        Argument::Scalar(self.to_scalar())
    }
}

impl<'a, A: IntoArgument<'a>> IntoArgument<'a> for Option<A> {
    fn into_argument(self) -> Argument<'a> {
        self.map_or(Argument::None, A::into_argument)
    }
}

/// One result of a call.
#[derive(Debug, Clone, Default)]
pub enum OutputValue {
    /// A tensor.
    Tensor(ErasedTensor),
    /// A scalar.
    Scalar(ScalarValue),
    /// An optional result that is absent, or one that was taken.
    #[default]
    None,
}

/// The largest number of results of a call, those within tuples counted singly.
pub const MAX_OUTPUTS: usize = 8;

/// What a call results in: its tuples' fields side by side, in order. Held in
/// place, so that a call allocates nothing.
#[derive(Debug, Default)]
pub struct Output {
    values: [OutputValue; MAX_OUTPUTS],
    len: usize,
    next: usize,
}

impl Output {
    /// Appends a result.
    pub(crate) fn push(&mut self, value: OutputValue) -> Result<()> {
        let Some(slot) = self.values.get_mut(self.len) else {
            return Err(Error::Descriptor(format!(
                "a call has at most {MAX_OUTPUTS} results"
            )));
        };
        *slot = value;
        self.len += 1;
        Ok(())
    }

    /// The number of results.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The results not taken yet.
    pub fn values(&self) -> &[OutputValue] {
        &self.values[self.next..self.len]
    }

    /// Takes the next result.
    ///
    /// # Errors
    /// If there is none left.
    pub fn take(&mut self) -> Result<OutputValue> {
        if self.next == self.len {
            return Err(Error::Descriptor(format!(
                "the call has {} results, and one more was asked for",
                self.len
            )));
        }
        self.next += 1;
        Ok(std::mem::take(&mut self.values[self.next - 1]))
    }

    /// The results as the Rust type that the function's declaration becomes.
    ///
    /// # Errors
    /// If they are of another type.
    pub fn into_typed<R: FromOutput>(mut self) -> Result<R> {
        R::from_output(&mut self)
    }
}

/// A Rust type that results of a call convert to: `Tensor`, `ErasedTensor`, a
/// scalar, an `Option`, a tuple, or `()`.
pub trait FromOutput: Sized {
    /// Takes from `output` what this type needs.
    ///
    /// # Errors
    /// If it is of another type.
    fn from_output(output: &mut Output) -> Result<Self>;
}

impl FromOutput for ErasedTensor {
    fn from_output(output: &mut Output) -> Result<Self> {
        match output.take()? {
            OutputValue::Tensor(tensor) => Ok(tensor),
            other => Err(unexpected("a tensor", &other)),
        }
    }
}

impl<S: Shape, T: Element> FromOutput for Tensor<S, T> {
    fn from_output(output: &mut Output) -> Result<Self> {
        Tensor::from_erased(ErasedTensor::from_output(output)?)
    }
}

impl<T: Element> FromOutput for T {
    fn from_output(output: &mut Output) -> Result<Self> {
        match output.take()? {
            OutputValue::Scalar(value) if value.dtype() == T::DTYPE => Ok(T::from_scalar(value)),
            other => Err(unexpected(T::DTYPE.name(), &other)),
        }
    }
}

impl<R: FromOutput> FromOutput for Option<R> {
    fn from_output(output: &mut Output) -> Result<Self> {
        if let Some(OutputValue::None) = output.values().first() {
            output.take()?;
            return Ok(None);
        }
        R::from_output(output).map(Some)
    }
}

impl FromOutput for () {
    fn from_output(_: &mut Output) -> Result<Self> {
        Ok(())
    }
}

macro_rules! tuples {
    ($(($($r:ident),*);)*) => {$(
        impl<$($r: FromOutput),*> FromOutput for ($($r,)*) {
            fn from_output(output: &mut Output) -> Result<Self> {
                Ok(($($r::from_output(output)?,)*))
            }
        }
    )*};
}

tuples! {
    (A);
    (A, B);
    (A, B, C);
    (A, B, C, D);
    (A, B, C, D, E);
    (A, B, C, D, E, F);
    (A, B, C, D, E, F, G);
    (A, B, C, D, E, F, G, H);
}

fn unexpected(expected: &str, found: &OutputValue) -> Error {
    Error::TensorType {
        expected: expected.to_owned(),
        found: describe(found),
    }
}

fn describe(value: &OutputValue) -> String {
    match value {
        OutputValue::Tensor(tensor) => describe_tensor(tensor.dtype(), tensor.shape()),
        OutputValue::Scalar(value) => format!("the {} {value}", value.dtype()),
        OutputValue::None => "none".to_owned(),
    }
}

/// A tensor's type with its actual sizes: `Tensor[2, 3; f32]`.
pub(crate) fn describe_tensor(dtype: DType, shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("Tensor[{}; {dtype}]", sizes.join(", "))
}
