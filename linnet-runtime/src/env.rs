//! Generics with their values, and what types and dimensions come to under them.

use std::fmt;

use crate::descriptor::{
    BlockDescriptor, DTypeExpr, DimExpr, DimItem, Generic, GenericArg, GenericKind, Requirement,
};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::Dims;

/// The value of a generic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GenericValue {
    /// A dimension.
    Dim(usize),
    /// The dimensions of a pack.
    Shape(Dims),
    /// A dtype.
    DType(DType),
}

impl fmt::Display for GenericValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GenericValue::Dim(n) => write!(f, "{n}"),
            GenericValue::Shape(dims) => write!(f, "{dims:?}"),
            GenericValue::DType(dtype) => write!(f, "{dtype}"),
        }
    }
}

impl GenericValue {
    /// Whether a generic of this kind can have this value.
    pub fn is_of(&self, kind: GenericKind) -> bool {
        match (self, kind) {
            (GenericValue::Dim(_), GenericKind::Dim)
            | (GenericValue::Shape(_), GenericKind::Shape) => true,
            (GenericValue::DType(_), GenericKind::AnyDType) => true,
            (GenericValue::DType(dtype), GenericKind::Float) => dtype.is_float(),
            (GenericValue::DType(dtype), GenericKind::Int) => dtype.is_int(),
            _ => false,
        }
    }
}

/// The values of the generics in scope.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Env {
    entries: Vec<(&'static str, GenericValue)>,
}

impl Env {
    /// The generics of a block bound to `values`, in the order of their
    /// declaration; trailing ones may be left to their defaults.
    ///
    /// # Errors
    /// If a value is missing, of the wrong kind or too many, or if one of the
    /// block's requirements does not hold.
    pub fn of_block(block: &BlockDescriptor, values: &[GenericValue]) -> Result<Env> {
        let env = Env::default().bound(block.name, block.generics, values)?;
        for requirement in block.requires {
            env.check(block.name, requirement)?;
        }
        Ok(env)
    }

    /// This environment with `generics` bound to `values`.
    pub(crate) fn bound(
        &self,
        place: &str,
        generics: &'static [Generic],
        values: &[GenericValue],
    ) -> Result<Env> {
        let mut env = self.clone();
        if values.len() > generics.len() {
            return Err(Error::Generic {
                block: place.to_owned(),
                reason: format!("takes {} generics, found {}", generics.len(), values.len()),
            });
        }
        for (i, generic) in generics.iter().enumerate() {
            let value = match (values.get(i), &generic.default) {
                (Some(&value), _) => value,
                (None, Some(default)) => env.argument(default)?,
                (None, None) => {
                    return Err(Error::Generic {
                        block: place.to_owned(),
                        reason: format!("`{generic}` has no value"),
                    });
                }
            };
            if !value.is_of(generic.kind) {
                return Err(Error::Generic {
                    block: place.to_owned(),
                    reason: format!("`{generic}` cannot be {value}"),
                });
            }
            env.bind(generic.name, value);
        }
        Ok(env)
    }

    /// The same with generics of 16 bits as f32: what is stored as them is computed as f32.
    pub(crate) fn widened(&self) -> Env {
        let mut env = self.clone();
        for (_, value) in &mut env.entries {
            if let GenericValue::DType(dtype @ (DType::BF16 | DType::F16)) = value {
                *dtype = DType::F32;
            }
        }
        env
    }

    /// Binds one generic, in front of any of the same name.
    pub(crate) fn bind(&mut self, name: &'static str, value: GenericValue) {
        self.entries.push((name, value));
    }

    /// The generics with their values, in the order they were bound.
    pub fn entries(&self) -> &[(&'static str, GenericValue)] {
        &self.entries
    }

    /// The value of a generic.
    pub fn get(&self, name: &str) -> Option<GenericValue> {
        self.entries
            .iter()
            .rev()
            .find(|(entry, _)| *entry == name)
            .map(|(_, value)| *value)
    }

    /// The value of an expression over dimensions.
    ///
    /// # Errors
    /// If a generic has no value, a divisor is zero, or a result does not fit `i64`.
    pub fn eval(&self, dim: &DimExpr) -> Result<i64> {
        self.eval_with(dim, &|_| None)
    }

    /// The same where `scalars` gives the values of integer scalar parameters.
    pub(crate) fn eval_with(
        &self,
        dim: &DimExpr,
        scalars: &dyn Fn(&str) -> Option<i64>,
    ) -> Result<i64> {
        let fail = |reason: String| Error::Generic {
            block: format!("dimension `{dim}`"),
            reason,
        };
        let (a, b) = match *dim {
            DimExpr::Const(n) => return Ok(n),
            DimExpr::Generic(name) => {
                return match self.get(name) {
                    Some(GenericValue::Dim(n)) => {
                        i64::try_from(n).map_err(|_| fail(format!("`{name}` = {n} is too large")))
                    }
                    _ => Err(fail(format!("`{name}` has no value"))),
                };
            }
            DimExpr::Scalar(name) => {
                return scalars(name)
                    .ok_or_else(|| fail(format!("the scalar `{name}` has no value here")));
            }
            DimExpr::Add(a, b)
            | DimExpr::Sub(a, b)
            | DimExpr::Mul(a, b)
            | DimExpr::Div(a, b)
            | DimExpr::Rem(a, b)
            | DimExpr::Min(a, b)
            | DimExpr::Max(a, b) => (self.eval_with(a, scalars)?, self.eval_with(b, scalars)?),
        };
        match dim {
            DimExpr::Add(..) => a.checked_add(b),
            DimExpr::Sub(..) => a.checked_sub(b),
            DimExpr::Mul(..) => a.checked_mul(b),
            DimExpr::Div(..) | DimExpr::Rem(..) if b <= 0 => {
                return Err(fail(format!("the divisor is {b}, which must be positive")));
            }
            DimExpr::Div(..) => Some(a.div_euclid(b)),
            DimExpr::Rem(..) => Some(a.rem_euclid(b)),
            DimExpr::Min(..) => Some(a.min(b)),
            _ => Some(a.max(b)),
        }
        .ok_or_else(|| fail("the result is too large".to_owned()))
    }

    /// The size that an expression comes to.
    ///
    /// # Errors
    /// As [`Env::eval`], or if it is negative.
    pub fn size(&self, dim: &DimExpr) -> Result<usize> {
        let value = self.eval(dim)?;
        usize::try_from(value).map_err(|_| Error::Generic {
            block: format!("dimension `{dim}`"),
            reason: format!(
                "is {value}, which must not be negative{}",
                self.values_note(dim)
            ),
        })
    }

    /// The sizes of a shape.
    ///
    /// # Errors
    /// As [`Env::size`], or if there are too many axes.
    pub fn dims(&self, items: &[DimItem]) -> Result<Dims> {
        let mut dims = Dims::EMPTY;
        for item in items {
            match item {
                DimItem::One(dim) => dims.push(self.size(dim)?)?,
                DimItem::Pack(name) => {
                    for &size in self.pack(name)?.iter() {
                        dims.push(size)?;
                    }
                }
            }
        }
        Ok(dims)
    }

    /// The sizes of a pack.
    ///
    /// # Errors
    /// If it has no value.
    pub fn pack(&self, name: &str) -> Result<Dims> {
        match self.get(name) {
            Some(GenericValue::Shape(dims)) => Ok(dims),
            _ => Err(Error::Generic {
                block: format!("`*{name}`"),
                reason: "has no value".to_owned(),
            }),
        }
    }

    /// The dtype that an expression stands for.
    ///
    /// # Errors
    /// If it is a generic without a value.
    pub fn dtype(&self, dtype: DTypeExpr) -> Result<DType> {
        match dtype {
            DTypeExpr::Concrete(dtype) => Ok(dtype),
            DTypeExpr::Generic(name) => match self.get(name) {
                Some(GenericValue::DType(dtype)) => Ok(dtype),
                _ => Err(Error::Generic {
                    block: format!("dtype `{name}`"),
                    reason: "has no value".to_owned(),
                }),
            },
        }
    }

    /// What a generic argument comes to.
    ///
    /// # Errors
    /// As the functions above.
    pub fn argument(&self, arg: &GenericArg) -> Result<GenericValue> {
        Ok(match arg {
            GenericArg::Dim(dim) => GenericValue::Dim(self.size(dim)?),
            GenericArg::Shape(items) => GenericValue::Shape(self.dims(items)?),
            GenericArg::DType(dtype) => GenericValue::DType(self.dtype(*dtype)?),
        })
    }

    /// Checks a requirement over dimensions alone; others are checked when a call runs.
    ///
    /// # Errors
    /// If it does not hold.
    pub fn check(&self, place: &str, requirement: &Requirement) -> Result<()> {
        let Requirement::Compare {
            left,
            comparison,
            right,
            text,
        } = requirement
        else {
            return Ok(());
        };
        if left.has_scalar() || right.has_scalar() {
            return Ok(());
        }
        if comparison.holds(self.eval(left)?, self.eval(right)?) {
            return Ok(());
        }
        Err(Error::Requirement {
            place: place.to_owned(),
            clause: (*text).to_owned(),
            found: self.values(&[left, right], &|_| None),
        })
    }

    /// The values of the names in some expressions, in words: `S is 2000 and MaxPositions is 1024`.
    pub(crate) fn values(
        &self,
        dims: &[&DimExpr],
        scalars: &dyn Fn(&str) -> Option<i64>,
    ) -> String {
        let mut names = Vec::new();
        for dim in dims {
            dim.names(&mut names);
        }
        let words: Vec<String> = names
            .iter()
            .filter_map(|name| match self.get(name) {
                Some(value) => Some(format!("{name} is {value}")),
                None => scalars(name).map(|value| format!("{name} is {value}")),
            })
            .collect();
        match words.len() {
            0 => "it does not hold".to_owned(),
            _ => words.join(" and "),
        }
    }

    /// ` (H is 5)`, or nothing.
    fn values_note(&self, dim: &DimExpr) -> String {
        let mut names = Vec::new();
        dim.names(&mut names);
        if names.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.values(&[dim], &|_| None))
        }
    }
}

impl DimExpr {
    /// Its operands, if it has two.
    fn operands(&self) -> Option<(&'static DimExpr, &'static DimExpr)> {
        match *self {
            DimExpr::Const(_) | DimExpr::Generic(_) | DimExpr::Scalar(_) => None,
            DimExpr::Add(a, b)
            | DimExpr::Sub(a, b)
            | DimExpr::Mul(a, b)
            | DimExpr::Div(a, b)
            | DimExpr::Rem(a, b)
            | DimExpr::Min(a, b)
            | DimExpr::Max(a, b) => Some((a, b)),
        }
    }

    /// Whether it mentions a scalar parameter.
    pub(crate) fn has_scalar(&self) -> bool {
        match self.operands() {
            Some((a, b)) => a.has_scalar() || b.has_scalar(),
            None => matches!(self, DimExpr::Scalar(_)),
        }
    }

    /// Adds the names it mentions, each once.
    pub(crate) fn names(&self, names: &mut Vec<&'static str>) {
        match (self.operands(), *self) {
            (Some((a, b)), _) => {
                a.names(names);
                b.names(names);
            }
            (None, DimExpr::Generic(name) | DimExpr::Scalar(name)) if !names.contains(&name) => {
                names.push(name)
            }
            _ => {}
        }
    }
}

/// The environment of a sub-block with the generics `args`, which mean something in `env`.
pub(crate) fn sub_env(env: &Env, sub: &BlockDescriptor, args: &[GenericArg]) -> Result<Env> {
    let values = args
        .iter()
        .map(|arg| env.argument(arg))
        .collect::<Result<Vec<_>>>()?;
    Env::of_block(sub, &values)
}
