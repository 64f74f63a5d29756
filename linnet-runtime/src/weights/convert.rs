//! Stored floats into a model's dtype, in parallel.
//!
//! Every conversion rounds once, to nearest, ties to even. NaN stays NaN. A
//! finite number that the target can only hold as an infinity is reported: it
//! would ruin every later result without a word.

use std::sync::{Mutex, PoisonError};

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use linnet_kernels::ThreadPool;

use super::checkpoint::StoredDType;
use crate::dtype::DType;

/// Elements of one task: enough to be worth a hand-over, few enough that the
/// threads finish together.
const TASK: usize = 1 << 17;

/// Elements that are converted at once, on the stack.
const BLOCK: usize = 512;

/// One tensor to convert or copy.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub from: StoredDType,
    /// Little-endian, at any address.
    pub source: &'a [u8],
    pub to: DType,
    /// The same number of elements, in the machine's byte order.
    pub target: &'a mut [u8],
}

/// A finite number that its new dtype cannot hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Overflow {
    /// The number of the job.
    pub job: usize,
    /// The first such element of the job, in row-major order.
    pub element: usize,
    /// Its value.
    pub value: f64,
}

/// Whether floats stored as `from` can become `to`, or the bytes can stay as they are.
pub(super) fn is_supported(from: StoredDType, to: DType) -> bool {
    same(from) == Some(to) || (is_float(from) && to.is_float())
}

/// The dtype of a model whose elements look the same in memory.
pub(super) fn same(stored: StoredDType) -> Option<DType> {
    Some(match stored {
        StoredDType::F32 => DType::F32,
        StoredDType::F16 => DType::F16,
        StoredDType::BF16 => DType::BF16,
        StoredDType::I8 => DType::I8,
        StoredDType::I32 => DType::I32,
        StoredDType::I64 => DType::I64,
        StoredDType::U8 => DType::U8,
        StoredDType::BOOL => DType::Bool,
        _ => return None,
    })
}

/// The floats that can be read into any float of a model.
pub(super) fn is_float(stored: StoredDType) -> bool {
    matches!(
        stored,
        StoredDType::F32 | StoredDType::F16 | StoredDType::BF16 | StoredDType::F64
    )
}

/// Runs all jobs. Returns the first overflow of each job that has one, in order.
///
/// # Panics
///
/// If a job's lengths do not fit each other or [`is_supported`] denies it.
pub(super) fn run(pool: &ThreadPool, jobs: Vec<Job<'_>>) -> Vec<Overflow> {
    let mut tasks = Vec::new();
    for (number, job) in jobs.into_iter().enumerate() {
        assert!(
            is_supported(job.from, job.to),
            "{} into {}",
            job.from,
            job.to
        );
        let (width, out_width) = (job.from.bitsize() / 8, job.to.size());
        assert_eq!(job.source.len() / width, job.target.len() / out_width);
        let sources = job.source.chunks(TASK * width);
        let targets = job.target.chunks_mut(TASK * out_width);
        for (i, (source, target)) in sources.zip(targets).enumerate() {
            let part = Job {
                from: job.from,
                source,
                to: job.to,
                target,
            };
            tasks.push(Mutex::new(Some((number, i * TASK, part))));
        }
    }
    let overflows = Mutex::new(Vec::new());
    pool.run(tasks.len(), &|i| {
        let task = tasks[i]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some((job, start, part)) = task
            && let Some((element, value)) = convert(part)
        {
            let overflow = Overflow {
                job,
                element: start + element,
                value,
            };
            overflows
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(overflow);
        }
    });
    let mut overflows = overflows
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    overflows.sort_by_key(|overflow: &Overflow| (overflow.job, overflow.element));
    overflows.dedup_by_key(|overflow| overflow.job);
    overflows
}

/// Converts one task; the first overflow, if there is one.
fn convert(job: Job<'_>) -> Option<(usize, f64)> {
    if same(job.from) == Some(job.to) {
        job.target.copy_from_slice(job.source);
        return None;
    }
    if job.from == StoredDType::F64 {
        return match job.to {
            DType::F32 => from_f64(
                job.source,
                job.target,
                |x| x as f32,
                f32::is_finite,
                f32::to_ne_bytes,
            ),
            DType::F16 => from_f64(
                job.source,
                job.target,
                f16::from_f64,
                f16::is_finite,
                f16::to_ne_bytes,
            ),
            _ => from_f64(
                job.source,
                job.target,
                bf16::from_f64,
                bf16::is_finite,
                bf16::to_ne_bytes,
            ),
        };
    }
    let width = job.from.bitsize() / 8;
    let out_width = job.to.size();
    let blocks = job
        .source
        .chunks(BLOCK * width)
        .zip(job.target.chunks_mut(BLOCK * out_width));
    let mut overflow = None;
    for (i, (source, target)) in blocks.enumerate() {
        let mut floats = [0.0; BLOCK];
        let floats = &mut floats[..source.len() / width];
        load(job.from, source, floats);
        if let Some(element) = store(job.to, floats, target) {
            overflow = overflow.or(Some((i * BLOCK + element, f64::from(floats[element]))));
        }
    }
    overflow
}

fn from_f64<T: Copy, const N: usize>(
    source: &[u8],
    target: &mut [u8],
    round: impl Fn(f64) -> T,
    is_finite: impl Fn(T) -> bool,
    to_bytes: impl Fn(T) -> [u8; N],
) -> Option<(usize, f64)> {
    let mut overflow = None;
    let (source, _) = source.as_chunks::<8>();
    for (i, (bytes, out)) in source.iter().zip(target.chunks_exact_mut(N)).enumerate() {
        let value = f64::from_le_bytes(*bytes);
        let rounded = round(value);
        if value.is_finite() && !is_finite(rounded) {
            overflow = overflow.or(Some((i, value)));
        }
        out.copy_from_slice(&to_bytes(rounded));
    }
    overflow
}

/// At most [`BLOCK`] stored elements as `f32`, exactly.
fn load(from: StoredDType, source: &[u8], floats: &mut [f32]) {
    match from {
        StoredDType::F32 => {
            let (words, _) = source.as_chunks::<4>();
            for (x, bytes) in floats.iter_mut().zip(words) {
                *x = f32::from_le_bytes(*bytes);
            }
        }
        StoredDType::F16 => {
            let mut halves = [f16::ZERO; BLOCK];
            let halves = &mut halves[..floats.len()];
            let (words, _) = source.as_chunks::<2>();
            for (x, bytes) in halves.iter_mut().zip(words) {
                *x = f16::from_le_bytes(*bytes);
            }
            halves.convert_to_f32_slice(floats);
        }
        _ => {
            let (words, _) = source.as_chunks::<2>();
            for (x, bytes) in floats.iter_mut().zip(words) {
                *x = f32::from_bits(u32::from(u16::from_le_bytes(*bytes)) << 16);
            }
        }
    }
}

/// At most [`BLOCK`] elements rounded and written; the first that overflows.
fn store(to: DType, floats: &[f32], target: &mut [u8]) -> Option<usize> {
    /// The smallest magnitudes that round to infinity: halfway to the next
    /// power of two from the largest finite number, where the tie is even.
    const F16_OVERFLOW: f32 = 65520.0;
    const BF16_OVERFLOW: f32 = f32::from_bits(0x7f7f_8000);

    let overflows = |limit: f32| {
        floats
            .iter()
            .position(|x| x.abs() >= limit && x.is_finite())
    };
    match to {
        DType::F32 => {
            let (words, _) = target.as_chunks_mut::<4>();
            for (bytes, x) in words.iter_mut().zip(floats) {
                *bytes = x.to_ne_bytes();
            }
            None
        }
        DType::F16 => {
            let mut halves = [f16::ZERO; BLOCK];
            let halves = &mut halves[..floats.len()];
            halves.convert_from_f32_slice(floats);
            let (words, _) = target.as_chunks_mut::<2>();
            for (bytes, x) in words.iter_mut().zip(halves) {
                *bytes = x.to_ne_bytes();
            }
            overflows(F16_OVERFLOW)
        }
        _ => {
            let (words, _) = target.as_chunks_mut::<2>();
            for (bytes, x) in words.iter_mut().zip(floats) {
                *bytes = bf16::from_f32(*x).to_ne_bytes();
            }
            overflows(BF16_OVERFLOW)
        }
    }
}

#[cfg(test)]
mod tests;
