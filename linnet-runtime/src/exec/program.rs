//! The expression of a loop nest as a list of steps, each over a chunk of
//! elements at a time.
//!
//! Registers hold [`CHUNK`] floats (as `f32`) or integers (as `i64`). A step
//! that may fail has a mask: elements of which the register `mask` is 0 are not
//! asked for, and come to 0.

use std::cell::Cell;

use crate::descriptor::{BinaryOp, UnaryOp};
use crate::dtype::{DType, ScalarValue};

use super::primitive::{
    Lane, Undefined, float_binary, float_compare, float_to_int, float_unary, int_binary, int_unary,
    round, wrap,
};

/// The elements that a step computes at once. A register of floats is 1 KiB,
/// so that a dozen of them stay in the first-level cache.
pub(crate) const CHUNK: usize = 256;

/// The number of a register.
pub(crate) type Reg = u16;

/// A step of a program. `out`, `a`, `b` are registers of floats or integers as the step's name says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Step {
    ConstF {
        out: Reg,
        value: f32,
    },
    ConstI {
        out: Reg,
        value: i64,
    },
    ScalarF {
        out: Reg,
        scalar: usize,
    },
    ScalarI {
        out: Reg,
        scalar: usize,
    },
    Var {
        out: Reg,
        dim: usize,
    },
    LoadF {
        out: Reg,
        access: usize,
    },
    LoadI {
        out: Reg,
        access: usize,
    },
    GatherF {
        out: Reg,
        access: usize,
        mask: Option<Reg>,
    },
    GatherI {
        out: Reg,
        access: usize,
        mask: Option<Reg>,
    },
    UnaryF {
        op: UnaryOp,
        out: Reg,
        a: Reg,
        dtype: DType,
    },
    UnaryI {
        op: UnaryOp,
        out: Reg,
        a: Reg,
        dtype: DType,
    },
    BinaryF {
        op: BinaryOp,
        out: Reg,
        a: Reg,
        b: Reg,
        dtype: DType,
    },
    CompareF {
        op: BinaryOp,
        out: Reg,
        a: Reg,
        b: Reg,
    },
    BinaryI {
        op: BinaryOp,
        out: Reg,
        a: Reg,
        b: Reg,
        dtype: DType,
        mask: Option<Reg>,
    },
    SelectF {
        out: Reg,
        condition: Reg,
        a: Reg,
        b: Reg,
    },
    SelectI {
        out: Reg,
        condition: Reg,
        a: Reg,
        b: Reg,
    },
    RoundF {
        out: Reg,
        a: Reg,
        dtype: DType,
    },
    FloatToInt {
        out: Reg,
        a: Reg,
        dtype: DType,
    },
    IntToFloat {
        out: Reg,
        a: Reg,
        dtype: DType,
    },
    WrapI {
        out: Reg,
        a: Reg,
        dtype: DType,
    },
    /// 1 where `mask` is not 0 and `condition` is (or, if `negate`, is not) 1.
    Mask {
        out: Reg,
        mask: Option<Reg>,
        condition: Reg,
        negate: bool,
    },
}

/// Steps in order. Those of `head` do not change within a nest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    pub(crate) head: Vec<Step>,
    pub(crate) body: Vec<Step>,
    pub(crate) n_floats: usize,
    pub(crate) n_ints: usize,
    pub(crate) result: Reg,
}

/// The registers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    floats: Vec<f32>,
    ints: Vec<i64>,
}

impl Registers {
    /// Makes room for a program.
    pub(crate) fn reserve(&mut self, n_floats: usize, n_ints: usize) {
        if self.floats.len() < n_floats * CHUNK {
            self.floats.resize(n_floats * CHUNK, 0.0);
        }
        if self.ints.len() < n_ints * CHUNK {
            self.ints.resize(n_ints * CHUNK, 0);
        }
    }

    /// The registers as cells, since a step may read the register it writes.
    pub(crate) fn cells(&mut self) -> Cells<'_> {
        Cells {
            floats: Cell::from_mut(&mut self.floats[..]).as_slice_of_cells(),
            ints: Cell::from_mut(&mut self.ints[..]).as_slice_of_cells(),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Cells<'a> {
    floats: &'a [Cell<f32>],
    ints: &'a [Cell<i64>],
}

impl<'a> Cells<'a> {
    /// The first `n` elements of a register of floats.
    #[inline(always)]
    pub(crate) fn f(&self, reg: Reg, n: usize) -> &'a [Cell<f32>] {
        &self.floats[usize::from(reg) * CHUNK..][..n]
    }

    /// The first `n` elements of a register of integers.
    #[inline(always)]
    pub(crate) fn i(&self, reg: Reg, n: usize) -> &'a [Cell<i64>] {
        &self.ints[usize::from(reg) * CHUNK..][..n]
    }
}

/// Runs a step that reads no memory, on the first `n` elements of its registers.
///
/// Returns false for the steps that do read memory or loop variables: the nest
/// runs those.
pub(crate) fn run_step(
    step: &Step,
    cells: Cells<'_>,
    n: usize,
    scalars: &[ScalarValue],
) -> Result<bool, Undefined> {
    match *step {
        Step::ConstF { out, value } => fill(cells.f(out, n), value),
        Step::ConstI { out, value } => fill(cells.i(out, n), value),
        Step::ScalarF { out, scalar } => fill(cells.f(out, n), Lane::of(scalars[scalar]).f()),
        Step::ScalarI { out, scalar } => fill(cells.i(out, n), Lane::of(scalars[scalar]).i()),
        Step::UnaryF { op, out, a, dtype } => unary_f(op, cells.f(out, n), cells.f(a, n), dtype),
        Step::UnaryI { op, out, a, dtype } => {
            map1(cells.i(out, n), cells.i(a, n), |x| {
                wrap(int_unary(op, x, dtype), dtype)
            });
        }
        Step::BinaryF {
            op,
            out,
            a,
            b,
            dtype,
        } => {
            binary_f(op, cells.f(out, n), cells.f(a, n), cells.f(b, n), dtype);
        }
        Step::CompareF { op, out, a, b } => {
            for ((out, a), b) in cells.i(out, n).iter().zip(cells.f(a, n)).zip(cells.f(b, n)) {
                out.set(i64::from(float_compare(op, a.get(), b.get())));
            }
        }
        Step::BinaryI {
            op,
            out,
            a,
            b,
            dtype,
            mask,
        } => {
            let (out, a, b) = (cells.i(out, n), cells.i(a, n), cells.i(b, n));
            binary_i(op, out, a, b, dtype, mask.map(|mask| cells.i(mask, n)))?;
        }
        Step::SelectF {
            out,
            condition,
            a,
            b,
        } => {
            let (condition, a, b) = (cells.i(condition, n), cells.f(a, n), cells.f(b, n));
            for (((out, c), a), b) in cells.f(out, n).iter().zip(condition).zip(a).zip(b) {
                out.set(if c.get() != 0 { a.get() } else { b.get() });
            }
        }
        Step::SelectI {
            out,
            condition,
            a,
            b,
        } => {
            let (condition, a, b) = (cells.i(condition, n), cells.i(a, n), cells.i(b, n));
            for (((out, c), a), b) in cells.i(out, n).iter().zip(condition).zip(a).zip(b) {
                out.set(if c.get() != 0 { a.get() } else { b.get() });
            }
        }
        Step::RoundF { out, a, dtype } => map1(cells.f(out, n), cells.f(a, n), |x| round(x, dtype)),
        Step::FloatToInt { out, a, dtype } => {
            for (out, a) in cells.i(out, n).iter().zip(cells.f(a, n)) {
                out.set(float_to_int(a.get(), dtype));
            }
        }
        Step::IntToFloat { out, a, dtype } => {
            for (out, a) in cells.f(out, n).iter().zip(cells.i(a, n)) {
                out.set(round(a.get() as f32, dtype));
            }
        }
        Step::WrapI { out, a, dtype } => map1(cells.i(out, n), cells.i(a, n), |x| wrap(x, dtype)),
        Step::Mask {
            out,
            mask,
            condition,
            negate,
        } => {
            let mask = mask.map(|mask| cells.i(mask, n));
            for (k, (out, condition)) in cells
                .i(out, n)
                .iter()
                .zip(cells.i(condition, n))
                .enumerate()
            {
                let active = mask.is_none_or(|mask| mask[k].get() != 0);
                out.set(i64::from(active && (condition.get() != 0) != negate));
            }
        }
        Step::Var { .. }
        | Step::LoadF { .. }
        | Step::LoadI { .. }
        | Step::GatherF { .. }
        | Step::GatherI { .. } => {
            return Ok(false);
        }
    }
    Ok(true)
}

fn fill<T: Copy>(out: &[Cell<T>], value: T) {
    for out in out {
        out.set(value);
    }
}

#[inline(always)]
fn map1<T: Copy>(out: &[Cell<T>], a: &[Cell<T>], f: impl Fn(T) -> T) {
    for (out, a) in out.iter().zip(a) {
        out.set(f(a.get()));
    }
}

#[inline(always)]
fn map2<T: Copy>(out: &[Cell<T>], a: &[Cell<T>], b: &[Cell<T>], f: impl Fn(T, T) -> T) {
    for ((out, a), b) in out.iter().zip(a).zip(b) {
        out.set(f(a.get(), b.get()));
    }
}

/// One loop for each operation, so that the compiler can use vector instructions.
fn unary_f(op: UnaryOp, out: &[Cell<f32>], a: &[Cell<f32>], dtype: DType) {
    macro_rules! each {
        ($($name:ident),*) => {
            match op {
                $(UnaryOp::$name => map1(out, a, |x| float_unary(UnaryOp::$name, x)),)*
            }
        };
    }
    each!(
        Neg, Not, Abs, Exp, Log, Sqrt, Rsqrt, Sin, Cos, Tanh, Erf, Floor
    );
    round_all(out, dtype);
}

fn binary_f(op: BinaryOp, out: &[Cell<f32>], a: &[Cell<f32>], b: &[Cell<f32>], dtype: DType) {
    match op {
        BinaryOp::Add => map2(out, a, b, |a, b| a + b),
        BinaryOp::Sub => map2(out, a, b, |a, b| a - b),
        BinaryOp::Mul => map2(out, a, b, |a, b| a * b),
        BinaryOp::Div => map2(out, a, b, |a, b| a / b),
        _ => map2(out, a, b, |a, b| float_binary(op, a, b)),
    }
    round_all(out, dtype);
}

fn round_all(out: &[Cell<f32>], dtype: DType) {
    if dtype != DType::F32 {
        for out in out {
            out.set(round(out.get(), dtype));
        }
    }
}

fn binary_i(
    op: BinaryOp,
    out: &[Cell<i64>],
    a: &[Cell<i64>],
    b: &[Cell<i64>],
    dtype: DType,
    mask: Option<&[Cell<i64>]>,
) -> Result<(), Undefined> {
    // One loop for each operation that cannot fail, as for floats.
    macro_rules! each {
        ($($name:ident),*) => {
            match op {
                $(BinaryOp::$name => {
                    map2(out, a, b, |a, b| int_binary(BinaryOp::$name, a, b).unwrap_or_default());
                    wrap_all(out, dtype);
                    return Ok(());
                })*
                BinaryOp::Div | BinaryOp::Rem | BinaryOp::Pow => {}
            }
        };
    }
    each!(
        Add, Sub, Mul, Min, Max, Eq, Ne, Lt, Le, Gt, Ge, And, Or, BitAnd, BitOr, BitXor, Shl, Shr
    );
    for (k, ((out, a), b)) in out.iter().zip(a).zip(b).enumerate() {
        let active = mask.is_none_or(|mask| mask[k].get() != 0);
        out.set(if active {
            wrap(int_binary(op, a.get(), b.get())?, dtype)
        } else {
            0
        });
    }
    Ok(())
}

fn wrap_all(out: &[Cell<i64>], dtype: DType) {
    match dtype {
        // Comparisons and operations on bools give 0 or 1.
        DType::I64 | DType::Bool => {}
        DType::I32 => map1(out, out, |x| i64::from(x as i32)),
        _ => map1(out, out, |x| wrap(x, dtype)),
    }
}
