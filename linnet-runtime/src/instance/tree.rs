//! A loaded block taken apart: its sub-blocks, and the tensors of all of them in one table.

use crate::call::describe_tensor;
use crate::descriptor::{BlockDescriptor, MemberKind, Type};
use crate::dtype::DType;
use crate::env::{Env, GenericValue, sub_env};
use crate::error::{Error, Result};
use crate::quant::affine::Affine;
use crate::quant::format::{Stored, content_problem};
use crate::quant::reads::Reads;
use crate::shape::Dims;
use crate::storage::AlignedBytes;
use crate::tensor::ErasedTensor;

use super::Parameters;

/// The number of a parameter or state in the table of an instance.
pub(crate) type SlotId = usize;

/// A parameter or a state.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The member path.
    pub(crate) path: String,
    pub(crate) dtype: DType,
    pub(crate) shape: Dims,
    pub(crate) content: SlotContent,
}

#[derive(Debug)]
pub(crate) enum SlotContent {
    Parameter(ErasedTensor),
    State(AlignedBytes),
}

/// A block with its generics bound.
#[derive(Debug)]
pub(crate) struct BlockNode {
    pub(crate) block: &'static BlockDescriptor,
    pub(crate) env: Env,
    /// In the order of the declaration.
    pub(crate) members: Vec<NodeMember>,
}

#[derive(Debug)]
pub(crate) enum NodeMember {
    /// A parameter or state; None if it is an absent optional.
    Tensor(Option<SlotId>),
    /// A sub-block; None if it is an absent optional.
    Sub(Option<Box<BlockNode>>),
    /// An array of sub-blocks.
    Array(Vec<BlockNode>),
}

impl BlockNode {
    /// The member of this name.
    pub(crate) fn member(&self, name: &str) -> Result<&NodeMember> {
        self.block
            .members
            .iter()
            .position(|member| member.name == name)
            .map(|i| &self.members[i])
            .ok_or_else(|| {
                Error::Descriptor(format!("`{}` has no member `{name}`", self.block.name))
            })
    }
}

/// Builds the tree of a block and the table of its tensors.
pub(crate) struct TreeBuilder {
    parameters: Parameters,
    pub(crate) slots: Vec<Slot>,
    problems: Vec<String>,
}

impl TreeBuilder {
    pub(crate) fn new(parameters: Parameters) -> TreeBuilder {
        TreeBuilder {
            parameters,
            slots: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// # Errors
    /// If the generics break a requirement, or with every parameter that is
    /// missing, of another type or too many.
    pub(crate) fn build(
        mut self,
        block: &'static BlockDescriptor,
        values: &[GenericValue],
    ) -> Result<(BlockNode, Vec<Slot>)> {
        let env = Env::of_block(block, values)?;
        let root = self.node(block, env, "", &Reads::default())?;
        for path in self.parameters.keys() {
            self.problems
                .push(format!("`{path}`: no member of this path"));
        }
        if !self.problems.is_empty() {
            return Err(Error::Parameters {
                block: block.name.to_owned(),
                problems: self.problems,
            });
        }
        Ok((root, self.slots))
    }

    fn node(
        &mut self,
        block: &'static BlockDescriptor,
        env: Env,
        prefix: &str,
        outer: &Reads,
    ) -> Result<BlockNode> {
        let reads = Reads::within(block, outer);
        let mut members = Vec::with_capacity(block.members.len());
        for member in block.members {
            let path = format!("{prefix}{}", member.name);
            members.push(match &member.kind {
                MemberKind::Param(Type::Option(ty)) => self.parameter(&env, path, ty, true)?,
                MemberKind::Param(ty) => self.parameter(&env, path, ty, false)?,
                MemberKind::State(ty) => self.state(&env, path, ty)?,
                MemberKind::Sub {
                    block: sub,
                    args,
                    length: None,
                    optional,
                } => {
                    let prefix = format!("{path}.");
                    let present = !optional || self.has_below(&prefix);
                    NodeMember::Sub(match present {
                        true => Some(Box::new(self.sub(
                            sub,
                            sub_env(&env, sub, args)?,
                            &prefix,
                            &reads.below(member.name),
                        )?)),
                        false => None,
                    })
                }
                MemberKind::Sub {
                    block: sub,
                    args,
                    length: Some(length),
                    ..
                } => {
                    let inner = sub_env(&env, sub, args)?;
                    let reads = reads.below(member.name);
                    let nodes = (0..env.size(length)?)
                        .map(|i| self.sub(sub, inner.clone(), &format!("{path}.{i}."), &reads))
                        .collect::<Result<Vec<_>>>()?;
                    NodeMember::Array(nodes)
                }
            });
        }
        Ok(BlockNode {
            block,
            env,
            members,
        })
    }

    /// A sub-block, or in its place the quantised one whose parameters are there.
    fn sub(
        &mut self,
        block: &'static BlockDescriptor,
        env: Env,
        prefix: &str,
        reads: &Reads,
    ) -> Result<BlockNode> {
        match self.stored(block, &env, prefix, reads) {
            Some((affine, stored)) => self.quantised(affine, stored, &env, prefix),
            None => self.node(block, env, prefix, reads),
        }
    }

    /// The format of the quantised block that may stand for `block`, by the
    /// weight that is there.
    fn stored(
        &self,
        block: &'static BlockDescriptor,
        env: &Env,
        prefix: &str,
        reads: &Reads,
    ) -> Option<(Affine, Stored)> {
        let weight = self.parameters.get(&format!("{prefix}weight"))?;
        if weight.dtype().is_float() || reads.reach_in() {
            return None;
        }
        let affine = Affine::of(block)?;
        let Some(GenericValue::Dim(inputs)) = env.get(affine.inputs) else {
            return None;
        };
        let stored = Stored::of_weight(weight.dtype(), weight.shape(), inputs)?;
        Some((affine, stored))
    }

    /// A quantised block in the place of an affine map with the generics `outer`.
    /// The two have one signature, so whoever calls the one can call the other.
    fn quantised(
        &mut self,
        affine: Affine,
        stored: Stored,
        outer: &Env,
        prefix: &str,
    ) -> Result<BlockNode> {
        let block = stored.format.block();
        let values: Option<Vec<GenericValue>> = block
            .generics
            .iter()
            .map(|generic| match affine.generic(generic.name) {
                Some(name) => outer.get(name),
                None => Some(GenericValue::Dim(stored.group)),
            })
            .collect();
        let env = Env::of_block(block, &values.unwrap_or_default())?;
        let mut members = Vec::with_capacity(block.members.len());
        for member in block.members {
            let path = format!("{prefix}{}", member.name);
            let MemberKind::Param(ty) = &member.kind else {
                return Err(Error::Descriptor(format!("`{path}` is no parameter")));
            };
            let (ty, optional) = match ty {
                Type::Option(inner) => (*inner, true),
                ty => (ty, false),
            };
            let optional = match (member.name, affine.bias) {
                ("bias", None) => {
                    members.push(NodeMember::Tensor(None));
                    continue;
                }
                ("bias", Some(bias)) => bias.optional,
                _ => optional,
            };
            let tensor = self.parameters.get(&path);
            if let Some(problem) = tensor.and_then(|tensor| content_problem(member.name, tensor)) {
                self.problems.push(format!("`{path}`: {problem}"));
            }
            members.push(self.parameter(&env, path, ty, optional)?);
        }
        Ok(BlockNode {
            block,
            env,
            members,
        })
    }

    fn parameter(
        &mut self,
        env: &Env,
        path: String,
        ty: &Type,
        optional: bool,
    ) -> Result<NodeMember> {
        let (dtype, shape) = tensor_type(env, &path, ty)?;
        let Some(tensor) = self.parameters.remove(&path) else {
            if !optional {
                self.problems.push(format!(
                    "`{path}`: missing, expected {ty} = {}",
                    describe_tensor(dtype, &shape)
                ));
            }
            return Ok(NodeMember::Tensor(None));
        };
        if tensor.dtype() != dtype || *tensor.shape() != *shape {
            self.problems.push(format!(
                "`{path}`: expected {ty} = {}, found {}",
                describe_tensor(dtype, &shape),
                describe_tensor(tensor.dtype(), tensor.shape())
            ));
        }
        Ok(self.slot(Slot {
            path,
            dtype,
            shape,
            content: SlotContent::Parameter(tensor),
        }))
    }

    fn state(&mut self, env: &Env, path: String, ty: &Type) -> Result<NodeMember> {
        let (dtype, shape) = tensor_type(env, &path, ty)?;
        let content = SlotContent::State(AlignedBytes::zeroed(shape.elements()? * dtype.size())?);
        Ok(self.slot(Slot {
            path,
            dtype,
            shape,
            content,
        }))
    }

    fn slot(&mut self, slot: Slot) -> NodeMember {
        self.slots.push(slot);
        NodeMember::Tensor(Some(self.slots.len() - 1))
    }

    /// Whether a parameter's path begins with `prefix`.
    fn has_below(&self, prefix: &str) -> bool {
        self.parameters
            .range(prefix.to_owned()..)
            .next()
            .is_some_and(|(path, _)| path.starts_with(prefix))
    }
}

fn tensor_type(env: &Env, path: &str, ty: &Type) -> Result<(DType, Dims)> {
    match ty {
        Type::Tensor { dims, dtype } => Ok((env.dtype(*dtype)?, env.dims(dims)?)),
        other => Err(Error::Descriptor(format!(
            "member `{path}` is not a tensor but {other}"
        ))),
    }
}
