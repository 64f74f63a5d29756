//! The types of values while they are checked, and how they print.

use std::fmt::Display;

use crate::dim::{DimTree, Poly};
use crate::ir;

/// The type of a value in the generics of the function that is checked.
pub(crate) type Ty = Type<Poly>;

/// A type as declared, in the generics of its declaration.
pub(crate) type Pattern = Type<DimTree>;

/// One place in a tensor's shape.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item<D = Poly> {
    /// A dimension.
    One(D),
    /// A shape pack, `*S`.
    Pack(String),
}

/// The type of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tensor<D = Poly> {
    /// Its shape.
    pub(crate) dims: Vec<Item<D>>,
    /// Its element type.
    pub(crate) dtype: ir::DTypeExpr,
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Type<D> {
    /// `Tensor[dims; dtype]`.
    Tensor(Tensor<D>),
    /// A scalar.
    Scalar(ir::DTypeExpr),
    /// A value that may be absent.
    Option(Box<Type<D>>),
    /// Several values.
    Tuple(Vec<Type<D>>),
    /// No value.
    Unit,
    /// Not known, because of an error that has been reported. It agrees with everything.
    Unknown,
}

impl<D> Type<D> {
    /// A tensor.
    pub(crate) fn tensor(dims: Vec<Item<D>>, dtype: ir::DTypeExpr) -> Self {
        Type::Tensor(Tensor { dims, dtype })
    }

    /// Whether an error has been reported about it or a part of it.
    pub(crate) fn is_unknown(&self) -> bool {
        match self {
            Type::Unknown => true,
            Type::Option(inner) => inner.is_unknown(),
            Type::Tuple(parts) => parts.iter().any(Type::is_unknown),
            Type::Tensor(_) | Type::Scalar(_) | Type::Unit => false,
        }
    }

    /// The dtype of a tensor or scalar.
    pub(crate) fn dtype(&self) -> Option<&ir::DTypeExpr> {
        match self {
            Type::Tensor(tensor) => Some(&tensor.dtype),
            Type::Scalar(dtype) => Some(dtype),
            _ => None,
        }
    }
}

impl Ty {
    /// The same tensor or scalar with another dtype.
    pub(crate) fn with_dtype(&self, dtype: ir::DTypeExpr) -> Self {
        match self {
            Ty::Tensor(tensor) => Ty::tensor(tensor.dims.clone(), dtype),
            _ => Ty::Scalar(dtype),
        }
    }

    /// As the descriptor has it. An unknown type becomes unit: nothing is
    /// emitted where one is left.
    pub(crate) fn to_ir(&self) -> ir::Type {
        match self {
            Ty::Tensor(tensor) => ir::Type::Tensor {
                dims: tensor.dims.iter().map(Item::to_ir).collect(),
                dtype: tensor.dtype.clone(),
            },
            Ty::Scalar(dtype) => ir::Type::Scalar(dtype.clone()),
            Ty::Option(inner) => ir::Type::Option(Box::new(inner.to_ir())),
            Ty::Tuple(parts) => ir::Type::Tuple(parts.iter().map(Ty::to_ir).collect()),
            Ty::Unit | Ty::Unknown => ir::Type::Unit,
        }
    }
}

impl Item {
    /// As the descriptor has it.
    pub(crate) fn to_ir(&self) -> ir::DimItem {
        match self {
            Item::One(dim) => ir::DimItem::One(dim_to_ir(dim)),
            Item::Pack(name) => ir::DimItem::Pack(name.clone()),
        }
    }
}

/// A dimension as the descriptor has it.
pub(crate) fn dim_to_ir(dim: &Poly) -> ir::DimExpr {
    // Only element counts mention the count of a pack, and those stay within
    // the comparison of two counts.
    dim.to_expr().unwrap_or(ir::DimExpr::Const(0))
}

/// The name of a dtype.
pub(crate) fn dtype_name(dtype: ir::DType) -> &'static str {
    match dtype {
        ir::DType::F32 => "f32",
        ir::DType::F16 => "f16",
        ir::DType::BF16 => "bf16",
        ir::DType::I8 => "i8",
        ir::DType::I32 => "i32",
        ir::DType::I64 => "i64",
        ir::DType::U8 => "u8",
        ir::DType::Bool => "bool",
    }
}

/// A dtype as it prints.
pub(crate) fn show_dtype(dtype: &ir::DTypeExpr) -> String {
    match dtype {
        ir::DTypeExpr::Concrete(dtype) => dtype_name(*dtype).to_owned(),
        ir::DTypeExpr::Generic(name) => plain(name),
    }
}

/// A shape as it prints, without brackets.
pub(crate) fn show_dims<D: Display>(dims: &[Item<D>]) -> String {
    dims.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A name without the mark of a generic that is still to be inferred.
pub(crate) fn plain(name: &str) -> String {
    name.replace(UNBOUND, "")
}

/// Marks the name of a callee's generic that is not bound yet, so that it is
/// never taken for the caller's of the same name.
pub(crate) const UNBOUND: char = '?';

impl<D: Display> Display for Item<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Item::One(dim) => f.write_str(&plain(&dim.to_string())),
            Item::Pack(name) => write!(f, "*{}", plain(name)),
        }
    }
}

impl<D: Display> Display for Type<D> {
    /// As the author writes it, `Tensor[B, S, 3 * H; T]`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Tensor(tensor) => {
                write!(
                    f,
                    "Tensor[{}; {}]",
                    show_dims(&tensor.dims),
                    show_dtype(&tensor.dtype)
                )
            }
            Type::Scalar(dtype) => f.write_str(&show_dtype(dtype)),
            Type::Option(inner) => write!(f, "Option<{inner}>"),
            Type::Tuple(parts) => {
                f.write_str("(")?;
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{part}")?;
                }
                f.write_str(")")
            }
            Type::Unit => f.write_str("()"),
            Type::Unknown => f.write_str("_"),
        }
    }
}
