//! Running loop nests: element-wise operations, folds and `index!`.
//!
//! A nest is cut into units, and threads take runs of units. What a unit
//! computes does not depend on which thread runs it, so results are the same
//! for any number of threads.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use half::{bf16, f16};

use crate::descriptor::ReduceOp;
use crate::dtype::{DType, ScalarValue};
use crate::error::{Error, Result};

use super::Machine;
use super::primitive::{Lane, fold_float, fold_int, fold_start, round, wrap};
use super::program::{CHUNK, Cells, Program, Reg, Step, run_step};
use crate::plan::RootId;
use crate::plan::view::DynamicOffset;

/// The most loop variables of a nest.
pub(crate) const MAX_LOOPS: usize = 24;
/// The most tensors that one nest reads.
pub(crate) const MAX_ACCESSES: usize = 24;
/// Elements below which a nest runs on one thread: a parallel loop costs a few
/// microseconds, in which one thread does this many.
const PARALLEL_FROM: usize = 16 * 1024;
/// Parts for each thread, so that one that starts late does not hold up the rest.
const PARTS_PER_THREAD: usize = 4;
/// Sums of products that run side by side in `dot`, to hide the latency of an addition.
const DOTS: usize = 8;

/// How a nest runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// No fold; chunks along the last output variable.
    Map,
    /// A fold; chunks of results along the last output variable.
    FoldAcross,
    /// A fold; chunks along the last folded variable.
    FoldAlong,
    /// The same, where the element is the product of two `f32` elements that are summed.
    Dot,
}

/// A loop nest that is ready to run.
#[derive(Debug)]
pub(crate) struct Loop {
    /// The extents of the output's variables, then of those folded over; at
    /// least one of each kind that `mode` chunks along.
    pub(crate) extents: Vec<usize>,
    pub(crate) n_out: usize,
    pub(crate) mode: Mode,
    /// Whether it sums the products of two `f32` elements of affine places,
    /// which are its first and its last access.
    pub(crate) is_product: bool,
    pub(crate) reduce: Option<ReduceOp>,
    /// Of the element, which is also that of the result.
    pub(crate) dtype: DType,
    pub(crate) program: Program,
    pub(crate) accesses: Vec<LoopAccess>,
    pub(crate) target: LoopTarget,
    pub(crate) place: Arc<str>,
}

/// A tensor that a nest reads.
#[derive(Debug)]
pub(crate) struct LoopAccess {
    pub(crate) root: RootId,
    pub(crate) dtype: DType,
    pub(crate) offset: isize,
    pub(crate) coef: Vec<isize>,
    pub(crate) dynamic: Vec<DynamicOffset>,
    pub(crate) computed: Vec<LoopIndex>,
}

/// An axis indexed by a register.
#[derive(Debug)]
pub(crate) struct LoopIndex {
    pub(crate) index: Reg,
    pub(crate) stride: usize,
    pub(crate) length: usize,
    pub(crate) axis: usize,
}

/// Where a nest writes.
#[derive(Debug)]
pub(crate) struct LoopTarget {
    pub(crate) root: RootId,
    pub(crate) offset: usize,
    /// For each output variable.
    pub(crate) coef: Vec<usize>,
}

/// The addresses of one run.
struct Bases {
    /// Of the element that each access reads when all variables are 0.
    accesses: [*const u8; MAX_ACCESSES],
    target: *mut u8,
}

// SAFETY: the pointers are into buffers that outlive the run. Threads read
// through `accesses` and write disjoint elements through `target`.
unsafe impl Sync for Bases {}

type Index = [usize; MAX_LOOPS];

impl Loop {
    fn chunked(&self) -> usize {
        match self.mode {
            Mode::Map | Mode::FoldAcross => self.n_out - 1,
            Mode::FoldAlong | Mode::Dot => self.extents.len() - 1,
        }
    }

    /// Runs the nest.
    ///
    /// # Safety
    /// Every element that an access reaches for variables within the extents,
    /// run-time offsets within their `max` and computed indices within their
    /// axes must lie in the buffer that `machine` has for its root, and so must
    /// every element of the target. The target's elements must be distinct. No
    /// access may read an element of the target, except the very one that it
    /// computes.
    pub(crate) unsafe fn run(&self, machine: &Machine<'_>) -> Result<()> {
        if self.extents[..self.n_out].contains(&0) {
            return Ok(());
        }
        let mut bases = Bases {
            accesses: [std::ptr::null(); MAX_ACCESSES],
            target: std::ptr::null_mut(),
        };
        for (base, access) in bases.accesses.iter_mut().zip(&self.accesses) {
            let mut offset = access.offset;
            for dynamic in &access.dynamic {
                offset +=
                    (machine.scalars[dynamic.scalar].to_i64() as usize * dynamic.stride) as isize;
            }
            // The element may lie outside the buffer if no iteration reads it
            // (an empty fold), so the address is computed without claiming it is inside.
            *base =
                machine.bases[access.root].wrapping_offset(offset * access.dtype.size() as isize);
        }
        bases.target =
            machine.bases[self.target.root].wrapping_add(self.target.offset * self.dtype.size());

        let units = self.units();
        let work = self.extents.iter().product::<usize>().max(1);
        let threads = machine.cpu.threads();
        let parts = match threads {
            1 => 1,
            _ if work < PARALLEL_FROM => 1,
            _ => (threads * PARTS_PER_THREAD)
                .min(units)
                .min(work.div_ceil(PARALLEL_FROM / 4)),
        };
        let failure: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let bases = &bases;
        machine.cpu.pool().run_indexed(parts, &|part, thread| {
            let range = part * units / parts..(part + 1) * units / parts;
            let mut registers = machine.registers[thread]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let run = Run {
                nest: self,
                bases,
                cells: registers.cells(),
                scalars: machine.scalars,
            };
            // SAFETY: the caller vouches for the accesses; parts write disjoint
            // elements, since the target's elements are distinct.
            if let Err(error) = unsafe { run.units(range) } {
                let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                if failure.as_ref().is_none_or(|(first, _)| part < *first) {
                    *failure = Some((part, error));
                }
            }
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// The number of units.
    fn units(&self) -> usize {
        let out: usize = self.extents[..self.n_out].iter().product();
        match self.mode {
            Mode::Map | Mode::FoldAcross => {
                let inner = self.extents[self.n_out - 1];
                out / inner * inner.div_ceil(CHUNK)
            }
            Mode::FoldAlong => out,
            Mode::Dot => out.div_ceil(DOTS),
        }
    }
}

/// A run on one thread.
struct Run<'a> {
    nest: &'a Loop,
    bases: &'a Bases,
    cells: Cells<'a>,
    scalars: &'a [ScalarValue],
}

impl Run<'_> {
    /// # Safety
    /// As [`Loop::run`], and no other thread may run a unit of the range.
    unsafe fn units(&self, range: std::ops::Range<usize>) -> Result<()> {
        for step in &self.nest.program.head {
            self.step(step, CHUNK)?;
        }
        // SAFETY: the caller's duty, for each mode alike.
        unsafe {
            match self.nest.mode {
                Mode::Map => self.map(range),
                Mode::FoldAcross => self.fold_across(range),
                Mode::FoldAlong => self.fold_along(range),
                Mode::Dot => {
                    self.dot(range);
                    Ok(())
                }
            }
        }
    }

    fn step(&self, step: &Step, n: usize) -> Result<bool> {
        run_step(step, self.cells, n, self.scalars).map_err(|undefined| Error::Arithmetic {
            place: self.nest.place.to_string(),
            what: undefined.message().to_owned(),
        })
    }

    /// The output variables of unit `unit` when chunks run along the last of
    /// them, and the length of its chunk.
    fn chunk_of(&self, unit: usize) -> (Index, usize) {
        let nest = self.nest;
        let last = nest.n_out - 1;
        let inner = nest.extents[last];
        let blocks = inner.div_ceil(CHUNK);
        let mut index = [0; MAX_LOOPS];
        index[last] = unit % blocks * CHUNK;
        unravel(unit / blocks, &nest.extents[..last], &mut index);
        (index, CHUNK.min(inner - index[last]))
    }

    unsafe fn map(&self, range: std::ops::Range<usize>) -> Result<()> {
        for unit in range {
            let (index, n) = self.chunk_of(unit);
            // SAFETY: the caller's duty: the variables are within their extents.
            unsafe {
                self.chunk(&index, n)?;
                self.store_chunk(&index, n, self.nest.program.result);
            }
        }
        Ok(())
    }

    unsafe fn fold_across(&self, range: std::ops::Range<usize>) -> Result<()> {
        let nest = self.nest;
        let (Some(op), program) = (nest.reduce, &nest.program) else {
            return Ok(());
        };
        // The registers after the program's own hold the results.
        let float = nest.dtype.is_float();
        let sums = if float {
            program.n_floats
        } else {
            program.n_ints
        } as Reg;
        let folded = &nest.extents[nest.n_out..];
        for unit in range {
            let (mut index, n) = self.chunk_of(unit);
            match fold_start(op, nest.dtype) {
                Lane::F(start) => self.cells.f(sums, n).iter().for_each(|sum| sum.set(start)),
                Lane::I(start) => self.cells.i(sums, n).iter().for_each(|sum| sum.set(start)),
            }
            let turns = folded.iter().product();
            for turn in 0..turns {
                if turn > 0 {
                    advance(folded, &mut index[nest.n_out..]);
                }
                // SAFETY: the caller's duty.
                if nest.is_product && unsafe { self.add_products(&index, self.cells.f(sums, n)) } {
                    continue;
                }
                // SAFETY: the caller's duty.
                unsafe { self.chunk(&index, n)? };
                if float {
                    let (sums, xs) = (self.cells.f(sums, n), self.cells.f(program.result, n));
                    match op {
                        ReduceOp::Sum => sums
                            .iter()
                            .zip(xs)
                            .for_each(|(sum, x)| sum.set(sum.get() + x.get())),
                        _ => sums
                            .iter()
                            .zip(xs)
                            .for_each(|(sum, x)| sum.set(fold_float(op, sum.get(), x.get()))),
                    }
                } else {
                    let (sums, xs) = (self.cells.i(sums, n), self.cells.i(program.result, n));
                    sums.iter()
                        .zip(xs)
                        .for_each(|(sum, x)| sum.set(fold_int(op, sum.get(), x.get())));
                }
            }
            if float {
                self.cells
                    .f(sums, n)
                    .iter()
                    .for_each(|sum| sum.set(round(sum.get(), nest.dtype)));
            } else {
                self.cells
                    .i(sums, n)
                    .iter()
                    .for_each(|sum| sum.set(wrap(sum.get(), nest.dtype)));
            }
            // SAFETY: the caller's duty.
            unsafe { self.store_chunk(&index, n, sums) };
        }
        Ok(())
    }

    /// Adds the products of a chunk to `sums` in one pass, if one factor is the
    /// same for all of it and the other lies side by side. The same arithmetic
    /// as by way of registers.
    ///
    /// # Safety
    /// As [`Loop::run`], for the variables of the chunk.
    unsafe fn add_products(&self, index: &Index, sums: &[Cell<f32>]) -> bool {
        let along = self.nest.chunked();
        let (first, _, first_stride) = self.place(0, index, along);
        let (second, _, second_stride) = self.place(self.nest.accesses.len() - 1, index, along);
        let (one, many) = match (first_stride, second_stride) {
            (0, 1) => (first, second),
            (1, 0) => (second, first),
            _ => return false,
        };
        // SAFETY: the caller's duty: `one` and, for each sum, an element from
        // `many` on are in their buffers.
        unsafe {
            let one = one.cast::<f32>().read();
            let many = std::slice::from_raw_parts(many.cast::<f32>(), sums.len());
            for (sum, x) in sums.iter().zip(many) {
                sum.set(sum.get() + one * x);
            }
        }
        true
    }

    unsafe fn fold_along(&self, range: std::ops::Range<usize>) -> Result<()> {
        let nest = self.nest;
        let (Some(op), program) = (nest.reduce, &nest.program) else {
            return Ok(());
        };
        let last = nest.extents.len() - 1;
        let inner = nest.extents[last];
        let folded = &nest.extents[nest.n_out..last];
        let mut index = [0; MAX_LOOPS];
        unravel(range.start, &nest.extents[..nest.n_out], &mut index);
        let first = range.start;
        for unit in range {
            if unit > first {
                advance(&nest.extents[..nest.n_out], &mut index[..nest.n_out]);
            }
            index[nest.n_out..].fill(0);
            let mut sum = fold_start(op, nest.dtype);
            let turns: usize = if inner == 0 {
                0
            } else {
                folded.iter().product()
            };
            for turn in 0..turns {
                if turn > 0 {
                    advance(folded, &mut index[nest.n_out..last]);
                }
                let mut at = 0;
                while at < inner {
                    index[last] = at;
                    let n = CHUNK.min(inner - at);
                    // SAFETY: the caller's duty.
                    unsafe { self.chunk(&index, n)? };
                    sum = match sum {
                        Lane::F(mut sum) => {
                            let xs = self.cells.f(program.result, n);
                            match op {
                                ReduceOp::Sum => xs.iter().for_each(|x| sum += x.get()),
                                _ => xs.iter().for_each(|x| sum = fold_float(op, sum, x.get())),
                            }
                            Lane::F(sum)
                        }
                        Lane::I(mut sum) => {
                            let xs = self.cells.i(program.result, n);
                            xs.iter().for_each(|x| sum = fold_int(op, sum, x.get()));
                            Lane::I(sum)
                        }
                    };
                    at += n;
                }
            }
            let offset = self.target_offset(&index);
            // SAFETY: the caller's duty; the offset is that of this unit's result.
            unsafe {
                match sum {
                    Lane::F(sum) => {
                        store_floats(self.bases.target, nest.dtype, offset, 1, 1, |_| {
                            round(sum, nest.dtype)
                        });
                    }
                    Lane::I(sum) => {
                        store_ints(self.bases.target, nest.dtype, offset, 1, 1, |_| {
                            wrap(sum, nest.dtype)
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// Sums of products of two `f32` elements, some results side by side; each
    /// adds in the order of its indices.
    unsafe fn dot(&self, range: std::ops::Range<usize>) {
        let nest = self.nest;
        let results: usize = nest.extents[..nest.n_out].iter().product();
        let last = nest.extents.len() - 1;
        let inner = nest.extents[last];
        let folded = &nest.extents[nest.n_out..last];
        let turns: usize = folded.iter().product();
        let (a, b) = (&nest.accesses[0], &nest.accesses[nest.accesses.len() - 1]);
        let (a_base, b_base) = (
            self.bases.accesses[0].cast::<f32>(),
            self.bases.accesses[nest.accesses.len() - 1].cast::<f32>(),
        );
        let (a_step, b_step) = (a.coef[last], b.coef[last]);
        for unit in range {
            let first = unit * DOTS;
            let n = DOTS.min(results - first);
            let mut indices = [[0; MAX_LOOPS]; DOTS];
            for (k, index) in indices.iter_mut().enumerate() {
                // Beyond the last result the last one is computed again and not stored.
                unravel(first + k.min(n - 1), &nest.extents[..nest.n_out], index);
            }
            let mut sums = [0.0f32; DOTS];
            let mut inner_index = [0; MAX_LOOPS];
            for turn in 0..turns {
                if turn > 0 {
                    advance(folded, &mut inner_index[..folded.len()]);
                }
                let mut from: [(*const f32, *const f32); DOTS] = [(a_base, b_base); DOTS];
                for (k, from) in from.iter_mut().enumerate() {
                    indices[k][nest.n_out..last].copy_from_slice(&inner_index[..folded.len()]);
                    let place = |access: &LoopAccess| -> isize {
                        access
                            .coef
                            .iter()
                            .zip(&indices[k])
                            .map(|(&coef, &i)| coef * i as isize)
                            .sum()
                    };
                    *from = (
                        a_base.wrapping_offset(place(a)),
                        b_base.wrapping_offset(place(b)),
                    );
                }
                // SAFETY: the caller's duty: every element for variables within
                // the extents lies in its buffer, and `i` is below the last one.
                unsafe {
                    if a_step == 1 && b_step == 1 {
                        for i in 0..inner {
                            for (sum, from) in sums.iter_mut().zip(&from) {
                                *sum += *from.0.add(i) * *from.1.add(i);
                            }
                        }
                    } else {
                        for i in 0..inner as isize {
                            for (sum, from) in sums.iter_mut().zip(&from) {
                                *sum += *from.0.wrapping_offset(i * a_step)
                                    * *from.1.wrapping_offset(i * b_step);
                            }
                        }
                    }
                }
            }
            for (sum, index) in sums.iter().zip(&indices).take(n) {
                // SAFETY: the caller's duty; results of other units are at other offsets.
                unsafe {
                    self.bases
                        .target
                        .cast::<f32>()
                        .add(self.target_offset(index))
                        .write(*sum)
                };
            }
        }
    }

    fn target_offset(&self, index: &Index) -> usize {
        self.nest
            .target
            .coef
            .iter()
            .zip(index)
            .map(|(&coef, &i)| coef * i)
            .sum()
    }

    /// Computes a chunk of `n` elements that begins at `index`.
    ///
    /// # Safety
    /// As [`Loop::run`], for the variables of the chunk.
    unsafe fn chunk(&self, index: &Index, n: usize) -> Result<()> {
        let nest = self.nest;
        let along = nest.chunked();
        for step in &nest.program.body {
            // The most frequent steps first; `run_step` knows the others.
            match *step {
                Step::LoadF { out, access } => {
                    let (base, dtype, stride) = self.place(access, index, along);
                    // SAFETY: the caller's duty.
                    unsafe { load_floats(base, dtype, stride, self.cells.f(out, n)) };
                }
                Step::LoadI { out, access } => {
                    let (base, dtype, stride) = self.place(access, index, along);
                    // SAFETY: the caller's duty.
                    unsafe { load_ints(base, dtype, stride, self.cells.i(out, n)) };
                }
                Step::GatherF { out, access, mask } => {
                    let out = self.cells.f(out, n);
                    // SAFETY: the caller's duty; `gather` checks the computed indices.
                    unsafe {
                        self.gather(access, index, along, mask, n, |k, element, dtype| {
                            out[k].set(element.map_or(0.0, |element| load_float(element, dtype)));
                        })?;
                    }
                }
                Step::GatherI { out, access, mask } => {
                    let out = self.cells.i(out, n);
                    // SAFETY: as above.
                    unsafe {
                        self.gather(access, index, along, mask, n, |k, element, dtype| {
                            out[k].set(element.map_or(0, |element| load_int(element, dtype)));
                        })?;
                    }
                }
                Step::Var { out, dim } => {
                    let start = index[dim] as i64;
                    for (k, out) in self.cells.i(out, n).iter().enumerate() {
                        out.set(if dim == along {
                            start + k as i64
                        } else {
                            start
                        });
                    }
                }
                _ => {
                    self.step(step, n)?;
                }
            }
        }
        Ok(())
    }

    /// The address of an access's element at `index`, its dtype, and its stride along the chunk.
    fn place(&self, access: usize, index: &Index, along: usize) -> (*const u8, DType, isize) {
        let LoopAccess { dtype, coef, .. } = &self.nest.accesses[access];
        let offset: isize = coef
            .iter()
            .zip(index)
            .map(|(&coef, &i)| coef * i as isize)
            .sum();
        (
            self.bases.accesses[access].wrapping_offset(offset * dtype.size() as isize),
            *dtype,
            coef[along],
        )
    }

    /// Calls `put` with the address of each element of a chunk; None where the mask is 0.
    ///
    /// # Safety
    /// As [`Loop::run`].
    unsafe fn gather(
        &self,
        access: usize,
        index: &Index,
        along: usize,
        mask: Option<Reg>,
        n: usize,
        mut put: impl FnMut(usize, Option<*const u8>, DType),
    ) -> Result<()> {
        let (base, dtype, stride) = self.place(access, index, along);
        let mask = mask.map(|mask| self.cells.i(mask, n));
        for k in 0..n {
            if mask.is_some_and(|mask| mask[k].get() == 0) {
                put(k, None, dtype);
                continue;
            }
            let mut offset = stride * k as isize;
            for computed in &self.nest.accesses[access].computed {
                let i = self.cells.i(computed.index, n)[k].get();
                if i < 0 || i as u64 >= computed.length as u64 {
                    return Err(Error::IndexOutOfRange {
                        place: self.nest.place.to_string(),
                        index: i,
                        axis: computed.axis,
                        length: computed.length,
                    });
                }
                offset += (i as usize * computed.stride) as isize;
            }
            put(
                k,
                Some(base.wrapping_offset(offset * dtype.size() as isize)),
                dtype,
            );
        }
        Ok(())
    }

    /// Writes a register to the chunk of the target that begins at `index`.
    ///
    /// # Safety
    /// As [`Loop::run`].
    unsafe fn store_chunk(&self, index: &Index, n: usize, reg: Reg) {
        let nest = self.nest;
        let offset = self.target_offset(index);
        let stride = nest.target.coef[nest.n_out - 1];
        let target = self.bases.target;
        // SAFETY: the caller's duty.
        unsafe {
            if nest.dtype.is_float() {
                let values = self.cells.f(reg, n);
                store_floats(target, nest.dtype, offset, stride, n, |k| values[k].get());
            } else {
                let values = self.cells.i(reg, n);
                store_ints(target, nest.dtype, offset, stride, n, |k| values[k].get());
            }
        }
    }
}

/// Sets `index` to the multi-index of number `flat` in row-major order.
fn unravel(mut flat: usize, extents: &[usize], index: &mut Index) {
    for (i, &extent) in index.iter_mut().zip(extents).rev() {
        *i = flat % extent;
        flat /= extent;
    }
}

/// Moves to the next multi-index in row-major order.
fn advance(extents: &[usize], index: &mut [usize]) {
    for (i, &extent) in index[..extents.len()].iter_mut().zip(extents).rev() {
        *i += 1;
        if *i < extent {
            return;
        }
        *i = 0;
    }
}

/// # Safety
/// `from` must be valid for the elements `0, stride, ..` of `dtype`, one for each of `out`.
unsafe fn load_floats(from: *const u8, dtype: DType, stride: isize, out: &[Cell<f32>]) {
    /// # Safety
    /// As `load_floats`, with elements of `T`.
    #[inline(always)]
    unsafe fn load<T: Copy>(
        from: *const u8,
        stride: isize,
        out: &[Cell<f32>],
        convert: impl Fn(T) -> f32,
    ) {
        let from = from.cast::<T>();
        // SAFETY: the caller's duty.
        unsafe {
            match stride {
                0 => {
                    let value = convert(*from);
                    out.iter().for_each(|out| out.set(value));
                }
                1 => out
                    .iter()
                    .enumerate()
                    .for_each(|(k, out)| out.set(convert(*from.add(k)))),
                _ => out.iter().enumerate().for_each(|(k, out)| {
                    out.set(convert(*from.wrapping_offset(k as isize * stride)))
                }),
            }
        }
    }
    // SAFETY: the caller's duty.
    unsafe {
        match dtype {
            DType::F16 => load(from, stride, out, f16::to_f32),
            DType::BF16 => load(from, stride, out, bf16::to_f32),
            _ => load(from, stride, out, |x: f32| x),
        }
    }
}

/// # Safety
/// `from` must be valid for the elements `0, stride, ..` of `dtype`, one for each of `out`.
unsafe fn load_ints(from: *const u8, dtype: DType, stride: isize, out: &[Cell<i64>]) {
    let step = stride * dtype.size() as isize;
    for (k, out) in out.iter().enumerate() {
        // SAFETY: the caller's duty.
        out.set(unsafe { load_int(from.wrapping_offset(k as isize * step), dtype) });
    }
}

/// # Safety
/// `from` must be valid for an element of the float type `dtype`.
unsafe fn load_float(from: *const u8, dtype: DType) -> f32 {
    // SAFETY: the caller's duty.
    unsafe {
        match dtype {
            DType::F16 => from.cast::<f16>().read().to_f32(),
            DType::BF16 => from.cast::<bf16>().read().to_f32(),
            _ => from.cast::<f32>().read(),
        }
    }
}

/// # Safety
/// `from` must be valid for an element of the integer type `dtype`, or of bool.
#[inline(always)]
unsafe fn load_int(from: *const u8, dtype: DType) -> i64 {
    // SAFETY: the caller's duty.
    unsafe {
        match dtype {
            DType::I8 => i64::from(from.cast::<i8>().read()),
            DType::I32 => i64::from(from.cast::<i32>().read()),
            DType::U8 | DType::Bool => i64::from(from.read()),
            _ => from.cast::<i64>().read(),
        }
    }
}

/// # Safety
/// `to` must be valid for writing the `n` elements `offset + k * stride` of the float type `dtype`.
unsafe fn store_floats(
    to: *mut u8,
    dtype: DType,
    offset: usize,
    stride: usize,
    n: usize,
    value: impl Fn(usize) -> f32,
) {
    // SAFETY: the caller's duty.
    unsafe {
        match dtype {
            DType::F16 => {
                let to = to.cast::<f16>().add(offset);
                (0..n).for_each(|k| to.add(k * stride).write(f16::from_f32(value(k))));
            }
            DType::BF16 => {
                let to = to.cast::<bf16>().add(offset);
                (0..n).for_each(|k| to.add(k * stride).write(bf16::from_f32(value(k))));
            }
            _ => {
                let to = to.cast::<f32>().add(offset);
                if stride == 1 {
                    (0..n).for_each(|k| to.add(k).write(value(k)));
                } else {
                    (0..n).for_each(|k| to.add(k * stride).write(value(k)));
                }
            }
        }
    }
}

/// # Safety
/// `to` must be valid for writing the `n` elements `offset + k * stride` of the integer type `dtype`, or of bool.
unsafe fn store_ints(
    to: *mut u8,
    dtype: DType,
    offset: usize,
    stride: usize,
    n: usize,
    value: impl Fn(usize) -> i64,
) {
    // SAFETY: the caller's duty; values are wrapped to the dtype, so a bool is 0 or 1.
    unsafe {
        for k in 0..n {
            let at = offset + k * stride;
            let x = value(k);
            match dtype {
                DType::I8 => to.cast::<i8>().add(at).write(x as i8),
                DType::I32 => to.cast::<i32>().add(at).write(x as i32),
                DType::U8 => to.add(at).write(x as u8),
                DType::Bool => to.add(at).write(u8::from(x != 0)),
                _ => to.cast::<i64>().add(at).write(x),
            }
        }
    }
}
