//! All that keeps a checkpoint from being a model's, in one message.

use std::fmt;

use super::bind::is_readable;
use super::checkpoint::StoredDType;
use super::quote::{Quoted, QuotedList};
use crate::dtype::DType;
use crate::quant::Format;

/// Every problem between a checkpoint and a model.
#[derive(Debug, Clone, PartialEq)]
pub struct FitReport {
    /// The checkpoint.
    pub origin: String,
    /// The model's block.
    pub model: &'static str,
    /// The values of its generics.
    pub generics: String,
    /// The problems; never empty.
    pub problems: Vec<FitProblem>,
}

/// One problem between a checkpoint and a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FitProblem {
    /// A parameter that is not stored.
    Missing {
        /// The stored name that it should have, without prefix.
        name: String,
        /// The path of the member.
        member: String,
        /// Its type in the model's generics.
        declared: String,
        /// Names without a parameter that may be meant.
        nearest: Vec<String>,
    },
    /// A stored tensor that belongs to no parameter.
    Extra {
        /// Its name.
        name: String,
        /// Its dtype.
        dtype: StoredDType,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A stored tensor of another shape than the parameter's.
    Shape {
        /// Its name.
        name: String,
        /// The path of the member.
        member: String,
        /// The member's type in the model's generics.
        declared: String,
        /// The generics in it, with their values.
        bindings: String,
        /// The member's shape.
        expected: Vec<usize>,
        /// The stored shape.
        found: Vec<usize>,
    },
    /// A stored tensor whose dtype does not become the parameter's.
    DType {
        /// Its name.
        name: String,
        /// The path of the member.
        member: String,
        /// The member's type in the model's generics.
        declared: String,
        /// The member's dtype.
        expected: DType,
        /// The stored dtype.
        found: StoredDType,
    },
    /// A tensor stored both with a prefix and without.
    Twice {
        /// The name without prefix.
        name: String,
        /// The one.
        first: String,
        /// The other.
        second: String,
    },
    /// A tensor that should be another under a second name, and is not.
    TiedDiffers {
        /// The second name.
        name: String,
        /// The first.
        to: String,
    },
    /// A finite number that the parameter's dtype can only hold as an infinity.
    Overflow {
        /// The stored tensor.
        name: String,
        /// The first such element, in row-major order.
        element: usize,
        /// Its value.
        value: f64,
        /// The parameter's dtype.
        dtype: DType,
    },
    /// Rows of weights that do not divide as their stored format asks.
    Rows {
        /// The stored weight.
        name: String,
        /// The path of the affine map.
        member: String,
        /// The weights of a row.
        row: usize,
        /// What it must be a multiple of.
        multiple: usize,
        /// The format.
        format: Format,
    },
    /// A tensor of a quantised map whose elements cannot be used.
    Content {
        /// The stored tensor.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl FitReport {
    /// The problems of one kind that the message lists before it only counts them.
    pub const LISTED: usize = 12;
}

impl std::error::Error for FitReport {}

impl fmt::Display for FitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FitReport {
            origin,
            model,
            generics,
            problems,
        } = self;
        let n = problems.len();
        let noun = if n == 1 { "problem" } else { "problems" };
        write!(f, "{origin} does not fit {model}<{generics}>: {n} {noun}")?;
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for problem in problems {
            let kind = problem.kind();
            if counts.last().is_none_or(|(last, _)| *last != kind) {
                self.write_rest(&counts, f)?;
                counts.push((kind, 0));
            }
            let Some((_, n)) = counts.last_mut() else {
                continue;
            };
            *n += 1;
            if *n <= FitReport::LISTED {
                write!(f, "\n  {problem}")?;
            }
        }
        self.write_rest(&counts, f)
    }
}

impl FitReport {
    /// Says how many problems of the last kind were not listed.
    fn write_rest(&self, counts: &[(&str, usize)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match counts.last() {
            Some((kind, n)) if *n > FitReport::LISTED => {
                write!(f, "\n  {kind}: and {} more", n - FitReport::LISTED)
            }
            _ => Ok(()),
        }
    }
}

impl FitProblem {
    /// The word that its line begins with.
    fn kind(&self) -> &'static str {
        match self {
            FitProblem::Missing { .. } => "missing",
            FitProblem::Extra { .. } => "extra",
            FitProblem::Shape { .. } => "wrong shape",
            FitProblem::DType { .. } => "wrong dtype",
            FitProblem::Twice { .. } => "stored twice",
            FitProblem::TiedDiffers { .. } => "not tied",
            FitProblem::Overflow { .. } => "too large",
            FitProblem::Rows { .. } => "wrong rows",
            FitProblem::Content { .. } => "wrong content",
        }
    }
}

impl fmt::Display for FitProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.kind())?;
        match self {
            FitProblem::Missing {
                name,
                member,
                declared,
                nearest,
            } => {
                write!(f, "{} (for `{member}: {declared}`)", Quoted(name))?;
                match nearest.as_slice() {
                    [] => Ok(()),
                    near => write!(f, "; did you mean {}?", QuotedList(near, 2)),
                }
            }
            FitProblem::Extra { name, dtype, shape } => {
                write!(
                    f,
                    "{}, {dtype} {shape:?}, belongs to no parameter",
                    Quoted(name)
                )
            }
            FitProblem::Shape {
                name,
                member,
                declared,
                bindings,
                expected,
                found,
            } => {
                write!(
                    f,
                    "{} is {found:?}, expected {expected:?} (for `{member}: {declared}`",
                    Quoted(name)
                )?;
                if !bindings.is_empty() {
                    write!(f, " with {bindings}")?;
                }
                f.write_str(")")?;
                let transposed = expected.iter().rev().eq(found.iter());
                if transposed {
                    f.write_str("; it seems to be stored transposed")
                } else {
                    Ok(())
                }
            }
            FitProblem::DType {
                name,
                member,
                declared,
                expected,
                found,
            } => {
                let due = if expected.is_float() {
                    "F32, F16, BF16 or F64"
                } else {
                    stored_name(*expected)
                };
                write!(
                    f,
                    "{} is {found}, expected {due} (for `{member}: {declared}`)",
                    Quoted(name)
                )?;
                if is_readable(*found) {
                    return Ok(());
                }
                write!(
                    f,
                    "; {found} is not supported, so convert the checkpoint first"
                )
            }
            FitProblem::Twice {
                name,
                first,
                second,
            } => {
                write!(
                    f,
                    "{} is there as {} and as {}",
                    Quoted(name),
                    Quoted(first),
                    Quoted(second)
                )
            }
            FitProblem::TiedDiffers { name, to } => write!(
                f,
                "{} must hold the same bytes as {}, which this model uses for both; \
                 a checkpoint with weights of their own is not supported",
                Quoted(name),
                Quoted(to)
            ),
            FitProblem::Overflow {
                name,
                element,
                value,
                dtype,
            } => {
                let instead = match dtype {
                    DType::F16 => "; load it as bf16 or f32 instead",
                    DType::BF16 => "; load it as f32 instead",
                    _ => "",
                };
                write!(
                    f,
                    "element {element} of {} is {value:e}, past the range of {dtype}{instead}",
                    Quoted(name)
                )
            }
            FitProblem::Rows {
                name,
                member,
                row,
                multiple,
                format,
            } => write!(
                f,
                "{} (for `{member}`): a row of {row} weights does not divide into {multiple}s, \
                 as the format {format} has it",
                Quoted(name)
            ),
            FitProblem::Content { name, problem } => write!(f, "{}: {problem}", Quoted(name)),
        }
    }
}

/// The dtype as safetensors files name it.
fn stored_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "F32",
        DType::F16 => "F16",
        DType::BF16 => "BF16",
        DType::I8 => "I8",
        DType::I32 => "I32",
        DType::I64 => "I64",
        DType::U8 => "U8",
        DType::Bool => "BOOL",
    }
}
