//! Every tensor of a model, from its descriptor and the values of its generics.

use std::rc::Rc;

use super::symbol::{Symbol, SymbolProblem};
use super::values::GenericValues;
use crate::descriptor::{
    BlockDescriptor, DTypeExpr, DimExpr, DimItem, GenericArg, Member, MemberKind, Type,
};
use crate::dtype::DType;
use crate::env::GenericValue;

/// The most tensors that a model may have: a guard against a damaged config.
const MAX_TENSORS: usize = 1 << 20;

/// The tensors of a model.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The name of the model's block.
    pub model: &'static str,
    /// The values of its generics.
    pub values: GenericValues,
    /// Parameters and states, in the order of the source.
    pub tensors: Vec<ManifestTensor>,
}

/// A parameter or state of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestTensor {
    /// Its path from the model down, indices of block arrays as names:
    /// `blocks.0.attn.qkv.weight`.
    pub path: String,
    /// The block that declares it.
    pub block: &'static str,
    /// Whether the checkpoint has it or calls update it.
    pub kind: TensorKind,
    /// Its type in the model's generics: `Tensor[H, 3 * H; T]`.
    pub declared: String,
    /// The generics that occur in `declared`, with their values: `H = 768, T = f32`.
    pub bindings: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its element type.
    pub dtype: DType,
    /// Whether the checkpoint may lack it.
    pub optional: bool,
    /// The path of the innermost optional block that it lies in: present or
    /// absent with all of it.
    pub within_optional: Option<String>,
}

impl ManifestTensor {
    /// The number of its elements.
    pub fn n_elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Its size in bytes.
    pub fn n_bytes(&self) -> usize {
        self.n_elements() * self.dtype.size()
    }
}

/// What a tensor of a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorKind {
    /// `#[param]`: the checkpoint has it.
    Param,
    /// `#[state]`: zero at first.
    State,
}

/// Why a model's tensors cannot be listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestProblem {
    /// A generic without a value.
    #[error("the generic `{generic}` of `{block}` has no value")]
    Unbound {
        /// The block.
        block: &'static str,
        /// The generic.
        generic: &'static str,
    },
    /// A dimension that is no size.
    #[error("`{path}`: the dimension `{dim}` {problem} ({values})")]
    Dimension {
        /// The member.
        path: String,
        /// The dimension in the model's generics.
        dim: String,
        /// What is wrong with it.
        problem: SymbolProblem,
        /// The values of the model's generics.
        values: String,
    },
    /// A tensor larger than the address space.
    #[error("`{path}: {declared}` has the shape {shape:?}, which no memory holds ({values})")]
    TooLarge {
        /// The member.
        path: String,
        /// Its type in the model's generics.
        declared: String,
        /// Its shape.
        shape: Vec<usize>,
        /// The values of the model's generics.
        values: String,
    },
    /// More tensors than any model has.
    #[error("the model would have more than {MAX_TENSORS} tensors ({values})")]
    TooMany {
        /// The values of the model's generics.
        values: String,
    },
    /// A member that no checkpoint can hold.
    #[error("`{path}` is no tensor of known rank, so no checkpoint can hold it")]
    NotATensor {
        /// The member.
        path: String,
    },
}

impl Manifest {
    /// Lists the tensors of `block` for these values of its generics.
    ///
    /// # Errors
    ///
    /// When a generic has no value, or a dimension is negative, divides by zero
    /// or is larger than any tensor can be.
    pub fn new(
        block: &'static BlockDescriptor,
        values: &GenericValues,
    ) -> Result<Manifest, ManifestProblem> {
        let mut env = Env::default();
        for generic in block.generics {
            let missing = ManifestProblem::Unbound {
                block: block.name,
                generic: generic.name,
            };
            match values.get(generic.name).ok_or(missing)? {
                GenericValue::Dim(size) => env
                    .dims
                    .push((generic.name, Rc::new(Symbol::name(generic.name, size)))),
                GenericValue::DType(dtype) => {
                    env.dtypes.push((generic.name, (generic.name, dtype)))
                }
                // A block has no packs.
                GenericValue::Shape(_) => {}
            }
        }
        let mut walk = Walk {
            values,
            tensors: Vec::new(),
        };
        walk.block(block, &env, "", None)?;
        Ok(Manifest {
            model: block.name,
            values: values.clone(),
            tensors: walk.tensors,
        })
    }

    /// The tensors that a checkpoint holds.
    pub fn params(&self) -> impl Iterator<Item = &ManifestTensor> {
        self.tensors
            .iter()
            .filter(|tensor| tensor.kind == TensorKind::Param)
    }

    /// The tensors that calls update.
    pub fn states(&self) -> impl Iterator<Item = &ManifestTensor> {
        self.tensors
            .iter()
            .filter(|tensor| tensor.kind == TensorKind::State)
    }

    /// The number of the model's parameters, optional ones included.
    pub fn n_parameters(&self) -> usize {
        self.params()
            .fold(0, |sum, tensor| sum.saturating_add(tensor.n_elements()))
    }

    /// The size of the model's states, in bytes.
    pub fn state_bytes(&self) -> usize {
        self.states()
            .fold(0, |sum, tensor| sum.saturating_add(tensor.n_bytes()))
    }
}

/// What the generics of a block are bound to, in the model's own generics.
#[derive(Debug, Default)]
struct Env {
    dims: Vec<(&'static str, Rc<Symbol>)>,
    dtypes: Vec<(&'static str, (&'static str, DType))>,
}

struct Walk<'a> {
    values: &'a GenericValues,
    tensors: Vec<ManifestTensor>,
}

impl Walk<'_> {
    fn block(
        &mut self,
        block: &'static BlockDescriptor,
        env: &Env,
        path: &str,
        within_optional: Option<&str>,
    ) -> Result<(), ManifestProblem> {
        for member in block.members {
            let path = join(path, member.name);
            match member.kind {
                MemberKind::Param(ty) => {
                    self.tensor(block, env, path, ty, TensorKind::Param, within_optional)?;
                }
                MemberKind::State(ty) => {
                    self.tensor(block, env, path, ty, TensorKind::State, within_optional)?;
                }
                MemberKind::Sub { .. } => self.sub(block, env, path, member, within_optional)?,
            }
        }
        Ok(())
    }

    fn sub(
        &mut self,
        outer: &'static BlockDescriptor,
        env: &Env,
        path: String,
        member: &Member,
        within_optional: Option<&str>,
    ) -> Result<(), ManifestProblem> {
        let MemberKind::Sub {
            block,
            args,
            length,
            optional,
        } = member.kind
        else {
            return Ok(());
        };
        let mut inner = Env::default();
        for (i, generic) in block.generics.iter().enumerate() {
            let unbound = ManifestProblem::Unbound {
                block: block.name,
                generic: generic.name,
            };
            match args.get(i).copied().or(generic.default).ok_or(unbound)? {
                GenericArg::Dim(dim) => {
                    let symbol = self.dim(outer, env, dim)?;
                    inner.dims.push((generic.name, symbol));
                }
                GenericArg::DType(dtype) => {
                    inner
                        .dtypes
                        .push((generic.name, self.dtype(outer, env, dtype)?));
                }
                GenericArg::Shape(_) => return Err(ManifestProblem::NotATensor { path }),
            }
        }
        let within_optional = if optional {
            Some(path.as_str())
        } else {
            within_optional
        };
        let Some(length) = length else {
            return self.block(block, &inner, &path, within_optional);
        };
        let length = self.size(&path, &*self.dim(outer, env, length)?)?;
        if length > MAX_TENSORS {
            return Err(self.too_many());
        }
        for i in 0..length {
            self.block(block, &inner, &join(&path, &i.to_string()), within_optional)?;
        }
        Ok(())
    }

    fn tensor(
        &mut self,
        block: &'static BlockDescriptor,
        env: &Env,
        path: String,
        ty: Type,
        kind: TensorKind,
        within_optional: Option<&str>,
    ) -> Result<(), ManifestProblem> {
        let (ty, optional) = match ty {
            Type::Option(inner) => (*inner, true),
            other => (other, false),
        };
        let Type::Tensor { dims, dtype } = ty else {
            return Err(ManifestProblem::NotATensor { path });
        };
        let mut shape = Vec::with_capacity(dims.len());
        let mut axes = Vec::with_capacity(dims.len());
        let mut used = GenericValues::new();
        for item in dims {
            let DimItem::One(dim) = *item else {
                return Err(ManifestProblem::NotATensor { path });
            };
            let symbol = self.dim(block, env, dim)?;
            shape.push(self.size(&path, &symbol)?);
            axes.push(symbol.to_string());
            symbol.visit_names(&mut |name, size| used.set(name, GenericValue::Dim(size)));
        }
        let (dtype_name, dtype) = self.dtype(block, env, dtype)?;
        if self.values.get(dtype_name).is_some() {
            used.set(dtype_name, GenericValue::DType(dtype));
        }
        let option = if optional { "?" } else { "" };
        let declared = format!("Tensor[{}; {dtype_name}]{option}", axes.join(", "));
        let n_bytes = shape
            .iter()
            .try_fold(dtype.size(), |product, &axis| product.checked_mul(axis));
        if n_bytes.is_none_or(|n| n > isize::MAX as usize) {
            return Err(ManifestProblem::TooLarge {
                path,
                declared,
                shape,
                values: self.values.to_string(),
            });
        }
        if self.tensors.len() == MAX_TENSORS {
            return Err(self.too_many());
        }
        self.tensors.push(ManifestTensor {
            path,
            block: block.name,
            kind,
            declared,
            bindings: used.to_string(),
            shape,
            dtype,
            optional: optional || within_optional.is_some(),
            within_optional: within_optional.map(str::to_owned),
        });
        Ok(())
    }

    fn dim(
        &self,
        block: &'static BlockDescriptor,
        env: &Env,
        dim: DimExpr,
    ) -> Result<Rc<Symbol>, ManifestProblem> {
        let lookup = |name: &str| {
            env.dims
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, s)| Rc::clone(s))
        };
        Symbol::substitute(dim, &lookup).map_err(|generic| ManifestProblem::Unbound {
            block: block.name,
            generic,
        })
    }

    fn dtype(
        &self,
        block: &'static BlockDescriptor,
        env: &Env,
        dtype: DTypeExpr,
    ) -> Result<(&'static str, DType), ManifestProblem> {
        match dtype {
            DTypeExpr::Concrete(dtype) => Ok((dtype.name(), dtype)),
            DTypeExpr::Generic(generic) => env
                .dtypes
                .iter()
                .find(|(known, _)| *known == generic)
                .map(|&(_, bound)| bound)
                .ok_or(ManifestProblem::Unbound {
                    block: block.name,
                    generic,
                }),
        }
    }

    fn size(&self, path: &str, symbol: &Symbol) -> Result<usize, ManifestProblem> {
        symbol.size().map_err(|problem| ManifestProblem::Dimension {
            path: path.to_owned(),
            dim: symbol.to_string(),
            problem,
            values: self.values.to_string(),
        })
    }

    fn too_many(&self) -> ManifestProblem {
        ManifestProblem::TooMany {
            values: self.values.to_string(),
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

#[cfg(test)]
mod tests;
