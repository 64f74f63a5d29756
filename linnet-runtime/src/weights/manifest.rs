//! Every tensor of a model, from its descriptor and the values of its generics.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::quantised::{AffineSite, Replacement};

use super::symbol::{Symbol, SymbolProblem};
use super::values::GenericValues;
use crate::descriptor::{
    BlockDescriptor, DTypeExpr, DimExpr, DimItem, GenericArg, Member, MemberKind, Type,
};
use crate::dtype::DType;
use crate::env::GenericValue;
use crate::quant::affine::Affine;
use crate::quant::reads::Reads;

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
    /// The name that a checkpoint gives it, without prefix, where that does not
    /// follow from its path.
    pub stored: Option<String>,
    /// How many of the model's parameters it holds: its elements, or for the
    /// tensors of a quantised map, those of the float tensor they stand for.
    pub n_parameters: usize,
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
        let walk = Walk::new(values);
        let tensors = walk.run(block)?.tensors;
        Ok(Manifest {
            model: block.name,
            values: values.clone(),
            tensors,
        })
    }

    /// The same where some affine maps, by their paths, are stored in few bits.
    pub(super) fn with_replacements(
        block: &'static BlockDescriptor,
        values: &GenericValues,
        replacements: &BTreeMap<String, Replacement>,
    ) -> Result<Manifest, ManifestProblem> {
        let mut walk = Walk::new(values);
        walk.replacements = replacements;
        let tensors = walk.run(block)?.tensors;
        Ok(Manifest {
            model: block.name,
            values: values.clone(),
            tensors,
        })
    }

    /// The affine maps of `block` for these values of its generics that a
    /// checkpoint may hold in few bits instead. A map one of whose parameters is
    /// read by the blocks around it is none of them.
    ///
    /// # Errors
    ///
    /// As [`Manifest::new`].
    pub fn affine_sites(
        block: &'static BlockDescriptor,
        values: &GenericValues,
    ) -> Result<Vec<AffineSite>, ManifestProblem> {
        let mut walk = Walk::new(values);
        walk.sites = Some(Vec::new());
        Ok(walk.run(block)?.sites.unwrap_or_default())
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

    /// The number of the model's parameters, optional ones included. Those that
    /// are stored in few bits count like any other; their scales do not.
    pub fn n_parameters(&self) -> usize {
        self.params()
            .fold(0, |sum, tensor| sum.saturating_add(tensor.n_parameters))
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
    replacements: &'a BTreeMap<String, Replacement>,
    /// The affine maps met, if anyone asks for them.
    sites: Option<Vec<AffineSite>>,
}

/// No affine map is stored in few bits.
static NO_REPLACEMENTS: BTreeMap<String, Replacement> = BTreeMap::new();

impl<'a> Walk<'a> {
    fn new(values: &'a GenericValues) -> Walk<'a> {
        Walk {
            values,
            tensors: Vec::new(),
            replacements: &NO_REPLACEMENTS,
            sites: None,
        }
    }

    /// Walks a model.
    fn run(mut self, block: &'static BlockDescriptor) -> Result<Self, ManifestProblem> {
        let values = self.values;
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
        self.block(block, &env, "", None, &Reads::default())?;
        Ok(self)
    }

    fn block(
        &mut self,
        block: &'static BlockDescriptor,
        env: &Env,
        path: &str,
        within_optional: Option<&str>,
        outer: &Reads,
    ) -> Result<(), ManifestProblem> {
        // What is read where matters to those alone who look for affine maps.
        let reads = match self.sites {
            Some(_) => Reads::within(block, outer),
            None => Reads::default(),
        };
        for member in block.members {
            let path = join(path, member.name);
            match member.kind {
                MemberKind::Param(ty) => {
                    self.tensor(block, env, path, ty, TensorKind::Param, within_optional)?;
                }
                MemberKind::State(ty) => {
                    self.tensor(block, env, path, ty, TensorKind::State, within_optional)?;
                }
                MemberKind::Sub { .. } => {
                    let reads = reads.below(member.name);
                    self.sub(block, env, path, member, within_optional, &reads)?;
                }
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
        reads: &Reads,
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
            return self.one(block, &inner, &path, within_optional, reads);
        };
        let length = self.size(&path, &*self.dim(outer, env, length)?)?;
        if length > MAX_TENSORS {
            return Err(self.too_many());
        }
        for i in 0..length {
            let path = join(&path, &i.to_string());
            self.one(block, &inner, &path, within_optional, reads)?;
        }
        Ok(())
    }

    /// A sub-block, or the quantised one that is stored in its place.
    fn one(
        &mut self,
        block: &'static BlockDescriptor,
        env: &Env,
        path: &str,
        within_optional: Option<&str>,
        reads: &Reads,
    ) -> Result<(), ManifestProblem> {
        if let Some(replacement) = self.replacements.get(path) {
            return self.quantised(replacement, env, path, within_optional);
        }
        if self.sites.is_some()
            && !reads.reach_in()
            && let Some(affine) = Affine::of(block)
        {
            let inputs = self.feature(block, env, path, affine.inputs)?;
            let outputs = self.feature(block, env, path, affine.outputs)?;
            let site = AffineSite::new(path, inputs, outputs, affine);
            self.sites.get_or_insert_default().push(site);
        }
        self.block(block, env, path, within_optional, reads)
    }

    /// The size of a dimension generic.
    fn feature(
        &self,
        block: &'static BlockDescriptor,
        env: &Env,
        path: &str,
        generic: &'static str,
    ) -> Result<usize, ManifestProblem> {
        let symbol = self.dim(block, env, DimExpr::Generic(generic))?;
        self.size(path, &symbol)
    }

    /// The tensors of a quantised block in the place of an affine map with the
    /// generics `outer`.
    fn quantised(
        &mut self,
        replacement: &Replacement,
        outer: &Env,
        path: &str,
        within_optional: Option<&str>,
    ) -> Result<(), ManifestProblem> {
        let affine = replacement.affine;
        let block = replacement.stored.format.block();
        let mut env = Env::default();
        for generic in block.generics {
            let bound = affine.generic(generic.name);
            let dim = outer.dims.iter().find(|(name, _)| Some(*name) == bound);
            let dtype = outer.dtypes.iter().find(|(name, _)| Some(*name) == bound);
            if let Some((_, symbol)) = dim {
                env.dims.push((generic.name, Rc::clone(symbol)));
            } else if let Some((_, dtype)) = dtype {
                env.dtypes.push((generic.name, *dtype));
            } else {
                let group = Symbol::name(generic.name, replacement.stored.group);
                env.dims.push((generic.name, Rc::new(group)));
            }
        }
        for member in block.members {
            let MemberKind::Param(ty) = member.kind else {
                continue;
            };
            let ty = match (member.name, affine.bias, ty) {
                ("bias", None, _) => continue,
                // Whether the bias may be absent is for the float map to say.
                ("bias", Some(bias), Type::Option(inner)) if !bias.optional => *inner,
                (_, _, ty) => ty,
            };
            let path = join(path, member.name);
            self.tensor(block, &env, path, ty, TensorKind::Param, within_optional)?;
            if let Some(tensor) = self.tensors.last_mut() {
                tensor.stored = replacement.stored_name(member.name);
                tensor.n_parameters = match member.name {
                    "weight" => replacement.n_weights,
                    "bias" => tensor.n_elements(),
                    _ => 0,
                };
            }
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
            n_parameters: shape.iter().product(),
            shape,
            dtype,
            optional: optional || within_optional.is_some(),
            within_optional: within_optional.map(str::to_owned),
            stored: None,
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

pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

#[cfg(test)]
mod tests;
