//! A checkpoint's tensors as a model's parameters: everything is checked
//! first, and every problem stands in one report.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use linnet_kernels::ThreadPool;

use super::checkpoint::{Checkpoint, StoredDType, StoredTensor};
use super::convert::{self, Job};
use super::error::WeightsError;
use super::manifest::{Manifest, ManifestTensor};
use super::names::NameRules;
use super::nearest::nearest;
use super::report::{FitProblem, FitReport};
use crate::error::{Error, Result};
use crate::quant::format::content_problem;
use crate::storage::{AlignedBytes, Storage};
use crate::tensor::ErasedTensor;

/// Which stored tensor each parameter of a model is read from.
#[derive(Debug)]
pub struct Binding<'a> {
    /// Every parameter that the checkpoint has, in the order of the manifest.
    pub tensors: Vec<(&'a ManifestTensor, StoredTensor<'a>)>,
    /// Stored tensors that hold no parameters and are not read.
    pub ignored: Vec<&'a str>,
}

/// How the parameters of a model came into memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadSummary {
    /// Bytes that lie where the checkpoint has them: mapped, or in the program.
    pub shared_bytes: usize,
    /// Bytes of parameters that were converted or moved into memory of their own.
    pub owned_bytes: usize,
}

impl<'a> Binding<'a> {
    /// Finds the tensor of every parameter and checks names, shapes and dtypes.
    ///
    /// # Errors
    ///
    /// [`WeightsError::Fit`] with every problem: parameters that are missing,
    /// stored tensors that belong to none, and those of the wrong shape or dtype.
    pub fn new(
        checkpoint: &'a Checkpoint,
        manifest: &'a Manifest,
        rules: &NameRules,
    ) -> std::result::Result<Binding<'a>, WeightsError> {
        let mut problems = Vec::new();
        let stored = Stored::collect(checkpoint, rules, &mut problems);
        check_tied(&stored, rules, &mut problems);

        let mut tensors = Vec::new();
        let mut missing = Vec::new();
        let mut used = BTreeSet::new();
        for param in manifest.params() {
            let name = param.stored.clone();
            let name = name
                .or_else(|| rules.stored_name(&param.path))
                .unwrap_or_else(|| param.path.clone());
            match stored.find(&name, rules) {
                Some((key, tensor)) => {
                    used.insert(key);
                    check_tensor(param, &tensor, &mut problems);
                    tensors.push((param, tensor));
                }
                None => missing.push((param, name)),
            }
        }
        for (second, first) in rules.tied {
            if used.contains(first) || used.contains(second) {
                used.extend([*first, *second]);
            }
        }
        let present: BTreeSet<&str> = tensors
            .iter()
            .filter_map(|(param, _)| param.within_optional.as_deref())
            .collect();
        missing.retain(|(param, _)| is_due(param, &present));

        let mut ignored = Vec::new();
        let mut extra = Vec::new();
        for (&name, tensor) in &stored.by_name {
            if used.contains(name) {
            } else if rules.is_ignored(name) {
                ignored.push(tensor.name);
            } else {
                extra.push(*tensor);
            }
        }
        report_missing(&missing, &extra, rules, &mut problems);
        problems.extend(extra.iter().map(|tensor| FitProblem::Extra {
            name: tensor.name.to_owned(),
            dtype: tensor.dtype,
            shape: tensor.shape.to_vec(),
        }));
        if problems.is_empty() {
            return Ok(Binding { tensors, ignored });
        }
        Err(fit_error(checkpoint, manifest, problems))
    }

    /// Brings the parameters into memory: those that are stored in the model's
    /// dtype, at an address that fits it, stay where they are; the others are
    /// converted on the pool's threads.
    ///
    /// # Errors
    ///
    /// When memory does not suffice, a stored bool is neither 0 nor 1, or a
    /// finite number is too large for the model's dtype.
    pub fn read(
        &self,
        checkpoint: &Checkpoint,
        manifest: &Manifest,
        pool: &ThreadPool,
    ) -> Result<(BTreeMap<String, ErasedTensor>, ReadSummary)> {
        let mut parameters = BTreeMap::new();
        let mut summary = ReadSummary::default();
        let mut to_convert = Vec::new();
        for (param, tensor) in &self.tensors {
            match shared(param, tensor)? {
                Some(erased) => {
                    summary.shared_bytes += param.n_bytes();
                    parameters.insert(param.path.clone(), erased);
                }
                None => {
                    summary.owned_bytes += param.n_bytes();
                    to_convert.push((*param, *tensor, AlignedBytes::zeroed(param.n_bytes())?));
                }
            }
        }
        let jobs = to_convert
            .iter_mut()
            .map(|(param, tensor, target)| Job {
                from: tensor.dtype,
                source: tensor.bytes(),
                to: param.dtype,
                target: target.as_mut_slice(),
            })
            .collect();
        let overflows = convert::run(pool, jobs);
        if !overflows.is_empty() {
            let problems = overflows.iter().map(|overflow| {
                let (param, tensor, _) = &to_convert[overflow.job];
                FitProblem::Overflow {
                    name: tensor.name.to_owned(),
                    element: overflow.element,
                    value: overflow.value,
                    dtype: param.dtype,
                }
            });
            return Err(fit_error(checkpoint, manifest, problems.collect()).into());
        }
        for (param, _, target) in to_convert {
            let storage = Arc::new(Storage::Owned(target));
            let erased = ErasedTensor::from_storage(storage, param.dtype, &param.shape)
                .map_err(|e| parameter_error(param, &e))?;
            parameters.insert(param.path.clone(), erased);
        }
        let problems = self.content_problems(&parameters);
        if !problems.is_empty() {
            return Err(fit_error(checkpoint, manifest, problems).into());
        }
        Ok((parameters, summary))
    }

    /// What keeps the content of quantised maps from being used.
    fn content_problems(&self, parameters: &BTreeMap<String, ErasedTensor>) -> Vec<FitProblem> {
        let of_quantised = self
            .tensors
            .iter()
            .filter(|(param, _)| param.stored.is_some());
        let problem = |(param, stored): &(&ManifestTensor, StoredTensor<'_>)| {
            let (_, member) = param.path.rsplit_once('.')?;
            let problem = content_problem(member, parameters.get(&param.path)?)?;
            Some(FitProblem::Content {
                name: stored.name.to_owned(),
                problem,
            })
        };
        of_quantised.filter_map(problem).collect()
    }
}

/// The tensors of a checkpoint by their names without prefix.
struct Stored<'a> {
    by_name: BTreeMap<&'a str, StoredTensor<'a>>,
}

impl<'a> Stored<'a> {
    fn collect(
        checkpoint: &'a Checkpoint,
        rules: &NameRules,
        problems: &mut Vec<FitProblem>,
    ) -> Stored<'a> {
        let mut by_name: BTreeMap<&str, StoredTensor<'_>> = BTreeMap::new();
        for tensor in checkpoint.tensors() {
            let name = rules.without_prefix(tensor.name);
            match by_name.get(name) {
                Some(first) => problems.push(FitProblem::Twice {
                    name: name.to_owned(),
                    first: first.name.to_owned(),
                    second: tensor.name.to_owned(),
                }),
                None => {
                    by_name.insert(name, tensor);
                }
            }
        }
        Stored { by_name }
    }

    /// The tensor of this name, or of a name tied to it.
    fn find(&self, name: &str, rules: &NameRules) -> Option<(&'a str, StoredTensor<'a>)> {
        let get = |name: &str| {
            self.by_name
                .get_key_value(name)
                .map(|(&key, &tensor)| (key, tensor))
        };
        get(name).or_else(|| {
            let (second, _) = rules.tied.iter().find(|(_, first)| *first == name)?;
            get(second)
        })
    }
}

/// Tensors stored under two names must be one.
fn check_tied(stored: &Stored<'_>, rules: &NameRules, problems: &mut Vec<FitProblem>) {
    for (second, first) in rules.tied {
        let (Some(a), Some(b)) = (stored.by_name.get(second), stored.by_name.get(first)) else {
            continue;
        };
        if a.dtype != b.dtype || a.shape != b.shape || a.bytes() != b.bytes() {
            problems.push(FitProblem::TiedDiffers {
                name: a.name.to_owned(),
                to: b.name.to_owned(),
            });
        }
    }
}

/// Whether a parameter that is not stored should be.
fn is_due(param: &ManifestTensor, present: &BTreeSet<&str>) -> bool {
    match &param.within_optional {
        // An optional block is there as a whole or not at all.
        Some(block) => present.contains(block.as_str()) && !param.declared.ends_with('?'),
        None => !param.optional,
    }
}

fn check_tensor(param: &ManifestTensor, tensor: &StoredTensor<'_>, problems: &mut Vec<FitProblem>) {
    if tensor.shape != param.shape {
        problems.push(FitProblem::Shape {
            name: tensor.name.to_owned(),
            member: param.path.clone(),
            declared: param.declared.clone(),
            bindings: param.bindings.clone(),
            expected: param.shape.clone(),
            found: tensor.shape.to_vec(),
        });
    }
    if !convert::is_supported(tensor.dtype, param.dtype) {
        problems.push(FitProblem::DType {
            name: tensor.name.to_owned(),
            member: param.path.clone(),
            declared: param.declared.clone(),
            expected: param.dtype,
            found: tensor.dtype,
        });
    }
}

fn report_missing(
    missing: &[(&ManifestTensor, String)],
    extra: &[StoredTensor<'_>],
    rules: &NameRules,
    problems: &mut Vec<FitProblem>,
) {
    for (i, (param, name)) in missing.iter().enumerate() {
        let candidates = extra.iter().map(|tensor| rules.without_prefix(tensor.name));
        // Only what is printed is worth a search.
        let near = if i < FitReport::LISTED {
            nearest(name, candidates)
        } else {
            Vec::new()
        };
        problems.push(FitProblem::Missing {
            name: name.clone(),
            member: param.path.clone(),
            declared: param.declared.clone(),
            nearest: near.into_iter().map(str::to_owned).collect(),
        });
    }
}

fn fit_error(
    checkpoint: &Checkpoint,
    manifest: &Manifest,
    problems: Vec<FitProblem>,
) -> WeightsError {
    WeightsError::Fit(Box::new(FitReport {
        origin: checkpoint.origin().to_owned(),
        model: manifest.model,
        generics: manifest.values.to_string(),
        problems,
    }))
}

/// The parameter without a copy, where dtype, address and storage allow.
fn shared(param: &ManifestTensor, tensor: &StoredTensor<'_>) -> Result<Option<ErasedTensor>> {
    let aligned = (tensor.bytes().as_ptr() as usize).is_multiple_of(param.dtype.size());
    let same = convert::same(tensor.dtype) == Some(param.dtype);
    if !(same && aligned && cfg!(target_endian = "little")) {
        return Ok(None);
    }
    let (file, range) = tensor.place();
    let Some(storage) = file.storage(range)? else {
        return Ok(None);
    };
    let erased = ErasedTensor::from_storage(Arc::new(storage), param.dtype, &param.shape);
    erased.map(Some).map_err(|e| parameter_error(param, &e))
}

fn parameter_error(param: &ManifestTensor, error: &Error) -> Error {
    Error::InvalidTensor {
        reason: format!("the parameter `{}`: {error}", param.path),
    }
}

/// Whether a stored dtype is one that a model can read at all.
pub(super) fn is_readable(dtype: StoredDType) -> bool {
    convert::is_float(dtype) || convert::same(dtype).is_some()
}

#[cfg(test)]
mod tests;
