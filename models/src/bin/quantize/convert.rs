//! Every tensor of a checkpoint into the new one.

use std::collections::HashMap;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use linnet_models::{Quantisable, QuantisableMap};
use linnet_runtime::quant::{Format, Scheme};
use linnet_runtime::weights::{StoredDType, StoredTensor};

use crate::codes::{Codes, Difference, ScaleType, quantise_row};
use crate::source::Rows;
use crate::target::{Planned, Target};

/// Weights that are read and quantised at once.
const WEIGHTS_AT_ONCE: usize = 1 << 20;

/// Bytes that are copied at once.
const BYTES_AT_ONCE: usize = 16 << 20;

/// What became of one map.
#[derive(Debug)]
pub struct Converted {
    /// The name of its weight.
    pub name: String,
    /// The rows and the weights of each.
    pub shape: [usize; 2],
    /// The bytes of the float weight.
    pub before: u64,
    /// The bytes of the codes, scales and zero points.
    pub after: u64,
    /// How far the two are apart.
    pub difference: Difference,
}

/// A map that is quantised, and the names and types of what is stored of it.
struct Job<'a> {
    map: &'a QuantisableMap,
    tensor: StoredTensor<'a>,
    scales: ScaleType,
    weight: Planned,
    scale: Planned,
    zero: Option<Planned>,
}

impl<'a> Job<'a> {
    fn new(map: &'a QuantisableMap, tensor: StoredTensor<'a>, scheme: &Scheme) -> Job<'a> {
        let (inputs, outputs) = (map.inputs, map.outputs);
        let scales = ScaleType::beside(tensor.dtype, scheme.format);
        let planned = |member, dtype, shape: &[usize]| Planned {
            name: map.quantised_name(member),
            dtype,
            shape: shape.to_vec(),
        };
        let (codes, per_row) = match (scheme.format, scheme.group_size) {
            (Format::Int8, _) => (planned("weight", StoredDType::I8, &[outputs, inputs]), None),
            (Format::Int4Group, Some(group)) => {
                let shape = [outputs, inputs / group, group / 2];
                let codes = planned("weight", StoredDType::U8, &shape);
                (codes, Some(inputs / group))
            }
            _ => (
                planned("weight", StoredDType::I8, &[outputs, inputs / 2]),
                None,
            ),
        };
        let scale_shape: Vec<usize> = [outputs].into_iter().chain(per_row).collect();
        Job {
            map,
            tensor,
            scales,
            weight: codes,
            scale: planned("scale", scales.stored(), &scale_shape),
            zero: per_row.map(|groups| planned("zero", StoredDType::U8, &[outputs, groups])),
        }
    }

    fn planned(&self) -> impl Iterator<Item = &Planned> {
        [&self.weight, &self.scale].into_iter().chain(&self.zero)
    }

    /// Quantises it block by block.
    fn run(
        &self,
        scheme: &Scheme,
        target: &mut Target,
        bar: &ProgressBar,
    ) -> Result<Converted, String> {
        let QuantisableMap {
            inputs, outputs, ..
        } = *self.map;
        let rows = Rows::new(&self.tensor, self.map);
        let rows_at_once = (WEIGHTS_AT_ONCE / inputs.max(1)).max(1);
        let mut difference = Difference::default();
        let mut written = [0u64; 3];
        let mut first = 0;
        while first < outputs {
            let n = rows_at_once.min(outputs - first);
            let mut codes = Codes::default();
            let floats = rows.read(first, n);
            for (row, floats) in floats.chunks(inputs.max(1)).enumerate() {
                quantise_row(floats, scheme, self.scales, &mut codes, &mut difference).map_err(
                    |(column, reason)| {
                        let (a, b) = self.axes(first + row, column);
                        let value = floats.get(column).copied().unwrap_or(f32::NAN);
                        let name = self.tensor.name;
                        format!("{name}: the weight at [{a}, {b}], {value}, {reason}")
                    },
                )?;
            }
            let parts = [
                (Some(&self.weight), &codes.weight),
                (Some(&self.scale), &codes.scale),
                (self.zero.as_ref(), &codes.zero),
            ];
            for ((planned, bytes), written) in parts.into_iter().zip(&mut written) {
                if let Some(planned) = planned {
                    target.write(&planned.name, *written, bytes)?;
                    *written += bytes.len() as u64;
                }
            }
            first += n;
            bar.inc((n * inputs * self.tensor.dtype.bitsize() / 8) as u64);
        }
        Ok(Converted {
            name: self.tensor.name.to_owned(),
            shape: [outputs, inputs],
            before: self.tensor.bytes().len() as u64,
            after: self.planned().map(Planned::n_bytes).sum(),
            difference,
        })
    }

    /// Where the weight of a row and a column is in the float tensor.
    fn axes(&self, row: usize, column: usize) -> (usize, usize) {
        match self.map.transposed {
            true => (column, row),
            false => (row, column),
        }
    }
}

/// Writes the weights of a checkpoint into `folder`, those of `maps` quantised.
///
/// # Errors
///
/// When rows do not divide as the format asks, weights are not finite, or a file
/// cannot be written.
pub fn convert(
    from: &Quantisable,
    maps: &[&QuantisableMap],
    scheme: &Scheme,
    folder: &Path,
) -> Result<Vec<Converted>, String> {
    check_rows(maps, scheme)?;
    let mut jobs = HashMap::new();
    for map in maps {
        let tensor = from
            .tensor(map)
            .ok_or_else(|| format!("{} is gone", map.weight))?;
        jobs.insert(map.weight.as_str(), Job::new(map, tensor, scheme));
    }
    let mut planned: Vec<Planned> = jobs.values().flat_map(Job::planned).cloned().collect();
    for tensor in from.checkpoint().tensors() {
        if !jobs.contains_key(tensor.name) {
            planned.push(Planned {
                name: tensor.name.to_owned(),
                dtype: tensor.dtype,
                shape: tensor.shape.to_vec(),
            });
        }
    }
    let mut target = Target::create(folder, planned, from.checkpoint().metadata())?;

    let total: usize = from.checkpoint().tensors().map(|t| t.bytes().len()).sum();
    let bar = progress(total as u64);
    let mut converted = Vec::new();
    for tensor in from.checkpoint().tensors() {
        bar.set_message(tensor.name.to_owned());
        match jobs.get(tensor.name) {
            Some(job) => converted.push(job.run(scheme, &mut target, &bar)?),
            None => {
                for (i, bytes) in tensor.bytes().chunks(BYTES_AT_ONCE).enumerate() {
                    target.write(tensor.name, (i * BYTES_AT_ONCE) as u64, bytes)?;
                    bar.inc(bytes.len() as u64);
                }
            }
        }
    }
    bar.set_message("writing to the disk");
    target.finish()?;
    bar.finish_and_clear();
    Ok(converted)
}

/// Whether every row divides as the format asks.
fn check_rows(maps: &[&QuantisableMap], scheme: &Scheme) -> Result<(), String> {
    let multiple = scheme.format.row_multiple(scheme.group_size.unwrap_or(1));
    let bad: Vec<&&QuantisableMap> = maps
        .iter()
        .filter(|map| !map.inputs.is_multiple_of(multiple))
        .collect();
    let Some(first) = bad.first() else {
        return Ok(());
    };
    let more = match bad.len() {
        1 => String::new(),
        n => format!(" (and those of {} more)", n - 1),
    };
    let rows = format!(
        "the rows of {}{more} have {} weights",
        first.weight, first.inputs
    );
    Err(match scheme.format {
        Format::Int4Group => format!(
            "{rows}, which do not divide into groups of {multiple}; a --group-size that divides \
             all rows is {}",
            common_group(maps).map_or_else(|| "not there".to_owned(), |size| size.to_string())
        ),
        format => format!("{rows}, but {format} stores {multiple} in a byte; use int8"),
    })
}

/// The largest power of two up to 128 that divides all rows.
fn common_group(maps: &[&QuantisableMap]) -> Option<usize> {
    [128, 64, 32, 16, 8, 4, 2]
        .into_iter()
        .find(|&size| maps.iter().all(|map| map.inputs.is_multiple_of(size)))
}

/// A bar on standard error; none where that is no terminal.
fn progress(total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let template = "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}\n{wide_msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
