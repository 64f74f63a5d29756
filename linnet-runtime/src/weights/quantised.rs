//! Which affine maps of a model a checkpoint holds in few bits.

use std::collections::BTreeMap;

use super::checkpoint::{Checkpoint, StoredTensor};
use super::convert;
use super::error::WeightsError;
use super::manifest::{Manifest, join};
use super::names::NameRules;
use super::report::{FitProblem, FitReport};
use super::values::GenericValues;
use crate::descriptor::BlockDescriptor;
use crate::quant::affine::Affine;
use crate::quant::format::Stored;
use crate::quant::{Format, Scheme};

/// The group size where neither the config nor a shape says it: the default of
/// [`Int4GroupLinear`](crate::quant::int4_group::Int4GroupLinear).
const DEFAULT_GROUP: usize = 128;

/// An affine map within a model, whose weight a checkpoint may hold in few bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffineSite {
    /// The path of its block.
    pub path: String,
    /// The features that it takes: the weights of a row.
    pub inputs: usize,
    /// The features that it gives: the rows.
    pub outputs: usize,
    /// The path of its weight.
    pub weight: String,
    /// Whether the float weight is stored as `[In, Out]` and not as `[Out, In]`.
    pub transposed: bool,
    affine: Affine,
}

impl AffineSite {
    pub(super) fn new(path: &str, inputs: usize, outputs: usize, affine: Affine) -> AffineSite {
        AffineSite {
            path: path.to_owned(),
            inputs,
            outputs,
            weight: join(path, affine.weight),
            transposed: affine.transposed,
            affine,
        }
    }

    /// The name, without prefix, under which a checkpoint holds the float weight.
    pub fn float_name(&self, rules: &NameRules) -> String {
        rules
            .stored_name(&self.weight)
            .unwrap_or_else(|| self.weight.clone())
    }

    /// The name, without prefix, under which a quantised checkpoint holds the
    /// `weight`, `scale`, `zero` or `order` of this map: the float weight's with
    /// its last part replaced. None if that has but one part.
    pub fn quantised_name(&self, rules: &NameRules, member: &str) -> Option<String> {
        let name = self.float_name(rules);
        let (map, _) = name.rsplit_once('.')?;
        Some(format!("{map}.{member}"))
    }
}

/// A quantised block in the place of an affine map.
#[derive(Debug, Clone)]
pub(super) struct Replacement {
    pub(super) affine: Affine,
    pub(super) stored: Stored,
    /// The number of weights.
    pub(super) n_weights: usize,
    /// The stored names of its members.
    names: Vec<(&'static str, String)>,
}

impl Replacement {
    /// The name, without prefix, that the checkpoint gives one of its members.
    pub(super) fn stored_name(&self, member: &str) -> Option<String> {
        let known = self.names.iter().find(|(name, _)| *name == member);
        known.map(|(_, stored)| stored.clone())
    }
}

impl Manifest {
    /// Lists the tensors of `block` where the checkpoint holds affine maps in the
    /// format of `scheme`: those for which it has a weight of integers or a scale.
    ///
    /// # Errors
    ///
    /// As [`Manifest::new`], and if a row does not divide as the format asks.
    pub fn of_quantised(
        block: &'static BlockDescriptor,
        values: &GenericValues,
        checkpoint: &Checkpoint,
        rules: &NameRules,
        scheme: &Scheme,
    ) -> Result<Manifest, WeightsError> {
        let sites = Manifest::affine_sites(block, values).map_err(Box::new)?;
        let by_name: BTreeMap<&str, StoredTensor<'_>> = checkpoint
            .tensors()
            .map(|tensor| (rules.without_prefix(tensor.name), tensor))
            .collect();
        let mut replacements = BTreeMap::new();
        let mut problems = Vec::new();
        for site in &sites {
            let Some(replacement) = replacement(site, &by_name, rules, scheme) else {
                continue;
            };
            let Stored { format, group } = replacement.stored;
            let multiple = format.row_multiple(group);
            if multiple == 0 || !site.inputs.is_multiple_of(multiple) {
                problems.push(FitProblem::Rows {
                    name: replacement.stored_name("weight").unwrap_or_default(),
                    member: site.path.clone(),
                    row: site.inputs,
                    multiple,
                    format,
                });
                continue;
            }
            replacements.insert(site.path.clone(), replacement);
        }
        if !problems.is_empty() {
            return Err(WeightsError::Fit(Box::new(FitReport {
                origin: checkpoint.origin().to_owned(),
                model: block.name,
                generics: values.to_string(),
                problems,
            })));
        }
        let manifest = Manifest::with_replacements(block, values, &replacements);
        Ok(manifest.map_err(Box::new)?)
    }
}

/// The quantised block that the checkpoint holds for an affine map, if it does.
fn replacement(
    site: &AffineSite,
    by_name: &BTreeMap<&str, StoredTensor<'_>>,
    rules: &NameRules,
    scheme: &Scheme,
) -> Option<Replacement> {
    let affine = site.affine;
    let mut names = Vec::new();
    for member in ["weight", "scale", "zero", "order"] {
        names.push((member, site.quantised_name(rules, member)?));
    }
    let get = |i: usize| by_name.get(names[i].1.as_str());
    let (weight, scale) = (get(0), get(1));
    let is_float = |tensor: &&StoredTensor<'_>| convert::is_float(tensor.dtype);
    if scale.is_none() && weight.as_ref().is_none_or(is_float) {
        return None;
    }
    let group = match scheme.format {
        Format::Int4Group => scheme.group_size.unwrap_or_else(|| {
            let bytes = weight.and_then(|weight| weight.shape.last());
            bytes.map_or(DEFAULT_GROUP, |bytes| bytes.saturating_mul(2))
        }),
        Format::Int8 | Format::Int4 => 0,
    };
    if let Some(bias) = affine.bias {
        let path = join(&site.path, bias.name);
        names.push(("bias", rules.stored_name(&path).unwrap_or(path)));
    }
    Some(Replacement {
        affine,
        stored: Stored {
            format: scheme.format,
            group,
        },
        n_weights: site.inputs.saturating_mul(site.outputs),
        names,
    })
}

#[cfg(test)]
mod tests;
