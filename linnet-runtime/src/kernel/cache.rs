//! Kernels of `nn::cache`. They write the new entries and touch nothing else.

use linnet_kernels::cache::{Positions, write_packed, write_rows};

use super::float::{KernelFloat, with_float};
use super::layout::Heads;
use super::{Kernel, KernelCall, KernelPlan, Launch};
use crate::error::Result;

/// Computes `nn::cache::write_at`.
#[derive(Debug, Clone, Copy)]
pub struct WriteAtKernel;

/// Computes `nn::cache::write_rows`.
#[derive(Debug, Clone, Copy)]
pub struct WriteRowsKernel;

/// Computes `nn::cache::write_slots`.
#[derive(Debug, Clone, Copy)]
pub struct WriteSlotsKernel;

/// Computes `nn::cache::write_packed`.
#[derive(Debug, Clone, Copy)]
pub struct WritePackedKernel;

impl Kernel for WriteAtKernel {
    fn name(&self) -> &'static str {
        "write_at"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        plan(call, Place::Position)
    }
}

impl Kernel for WriteRowsKernel {
    fn name(&self) -> &'static str {
        "write_rows"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        plan(call, Place::Positions)
    }
}

impl Kernel for WriteSlotsKernel {
    fn name(&self) -> &'static str {
        "write_slots"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        plan(call, Place::Slots)
    }
}

impl Kernel for WritePackedKernel {
    fn name(&self) -> &'static str {
        "write_packed"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        if !call.tensor(2)?.is_contiguous() || !call.tensor(3)?.is_contiguous() {
            return None;
        }
        with_float!(call.tensor(0)?.dtype, T => plan_packed::<T>(call))?
    }
}

/// Where the new entries go, by operand 2.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// It is the position in every row.
    Position,
    /// It holds the position in each row.
    Positions,
    /// It holds the row for each entry of `x`, from position 0.
    Slots,
}

impl Place {
    /// The positions, and the rows if they are not in order.
    fn read<'a>(self, launch: &Launch<'a>) -> Result<(Positions<'a>, Option<&'a [i32]>)> {
        Ok(match self {
            Place::Position => (Positions::All(launch.scalar::<i32>(2)?), None),
            Place::Positions => (Positions::Each(launch.input::<i32>(2)?), None),
            Place::Slots => (Positions::All(0), Some(launch.input::<i32>(2)?)),
        })
    }
}

fn plan(call: &KernelCall<'_>, place: Place) -> Option<KernelPlan> {
    if !matches!(place, Place::Position) && !call.tensor(2)?.is_contiguous() {
        return None;
    }
    with_float!(call.tensor(0)?.dtype, T => plan_for::<T>(call, place))?
}

fn plan_for<T: KernelFloat>(call: &KernelCall<'_>, place: Place) -> Option<KernelPlan> {
    let cache = Heads::of(call.tensor(0)?)?;
    let x = Heads::of(call.tensor(1)?)?;
    Some(KernelPlan::row_major(call, move |launch| {
        let elements = launch.mutable::<T>(0)?;
        let (positions, rows) = place.read(launch)?;
        let x = x.view(launch.input::<T>(1)?)?;
        Ok(write_rows(
            launch.cpu(),
            x,
            positions,
            rows,
            cache.view_mut(elements)?,
        )?)
    }))
}

fn plan_packed<T: KernelFloat>(call: &KernelCall<'_>) -> Option<KernelPlan> {
    let cache = Heads::of(call.tensor(0)?)?;
    let x = Heads::of(call.tensor(1)?)?;
    Some(KernelPlan::row_major(call, move |launch| {
        let elements = launch.mutable::<T>(0)?;
        let (rows, positions) = (launch.input::<i32>(2)?, launch.input::<i32>(3)?);
        let x = x.view(launch.input::<T>(1)?)?;
        Ok(write_packed(
            launch.cpu(),
            x,
            rows,
            positions,
            cache.view_mut(elements)?,
        )?)
    }))
}
