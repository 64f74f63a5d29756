//! From a nest to the loop that runs it: merges loop variables, chooses along
//! which to work in chunks, and turns the expression into steps.

use std::collections::HashMap;

use crate::descriptor::{BinaryOp, ReduceOp};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::exec::loops::{Loop, LoopAccess, LoopIndex, LoopTarget, MAX_ACCESSES, MAX_LOOPS, Mode};
use crate::exec::primitive::{Lane, can_fail, is_comparison};
use crate::exec::program::{Program, Reg, Step};
use crate::plan::expr::{ExprId, ExprKind, ExprNode, Nest};

/// Compiles a nest.
///
/// # Errors
/// If it has more loop variables or tensors than a loop can hold.
pub(super) fn compile(nest: &Nest) -> Result<Loop> {
    let mut nest = nest.clone();
    super::fuse::prune(&mut nest);
    merge_variables(&mut nest);
    let place = nest.place.clone();
    let limit = |what: &str, found: usize, most: usize| Error::InvalidDescriptor {
        place: place.to_string(),
        reason: format!("{found} {what}, and at most {most} are supported"),
    };
    if nest.extents.len() > MAX_LOOPS - 2 {
        return Err(limit("loop variables", nest.extents.len(), MAX_LOOPS - 2));
    }
    if nest.accesses.len() > MAX_ACCESSES {
        return Err(limit(
            "tensors in one expression",
            nest.accesses.len(),
            MAX_ACCESSES,
        ));
    }
    let mode = mode(&nest);
    let is_product = is_product(&nest);
    // Chunks need a variable to run along.
    if nest.n_out == 0 {
        insert_variable(&mut nest, 0);
        nest.n_out = 1;
        nest.target.coef.push(1);
    }
    if mode != Mode::Map && nest.extents.len() == nest.n_out {
        let at = nest.extents.len();
        insert_variable(&mut nest, at);
    }
    let mut compiler = Compiler {
        nest: &nest,
        program: Program::default(),
        done: HashMap::new(),
        gathers: Vec::new(),
    };
    let unrounded = matches!(nest.reduce, Some(ReduceOp::Sum | ReduceOp::Prod));
    let result = compiler.value(nest.result, None, unrounded)?;
    let gathers = compiler.gathers;
    let mut program = compiler.program;
    program.result = result;
    let mut accesses = Vec::new();
    for access in &nest.accesses {
        accesses.push(LoopAccess {
            root: access.root,
            dtype: access.dtype,
            offset: access.offset,
            coef: access.coef.clone(),
            dynamic: access.dynamic.clone(),
            computed: Vec::new(),
        });
    }
    for (access, indices) in gathers {
        // Equal gathers under other masks share their index registers only by
        // chance, so each has an access of its own.
        accesses.push(LoopAccess {
            root: accesses[access].root,
            dtype: accesses[access].dtype,
            offset: accesses[access].offset,
            coef: accesses[access].coef.clone(),
            dynamic: accesses[access].dynamic.clone(),
            computed: nest.accesses[access]
                .computed
                .iter()
                .zip(indices)
                .map(|(computed, index)| LoopIndex {
                    index,
                    stride: computed.stride,
                    length: computed.length,
                    axis: computed.axis,
                })
                .collect(),
        });
    }
    if accesses.len() > MAX_ACCESSES {
        return Err(limit(
            "tensors in one expression",
            accesses.len(),
            MAX_ACCESSES,
        ));
    }
    Ok(Loop {
        dtype: nest.dtype(),
        extents: nest.extents,
        n_out: nest.n_out,
        mode,
        is_product,
        reduce: nest.reduce,
        program,
        accesses,
        target: LoopTarget {
            root: nest.target.root,
            offset: nest.target.offset,
            coef: nest.target.coef,
        },
        place: nest.place,
    })
}

/// Adds a loop variable of extent 1 before variable `at`, which is not used in the expression.
fn insert_variable(nest: &mut Nest, at: usize) {
    nest.extents.insert(at, 1);
    for access in &mut nest.accesses {
        access.coef.insert(at, 0);
    }
    for node in &mut nest.nodes {
        if let ExprKind::Var(d) = &mut node.kind
            && *d >= at
        {
            *d += 1;
        }
    }
}

/// Removes variables of extent 1, and merges neighbours that every tensor walks with one stride.
fn merge_variables(nest: &mut Nest) {
    let used = |nest: &Nest, d: usize| nest.nodes.iter().any(|node| node.kind == ExprKind::Var(d));
    let mut d = nest.extents.len();
    while d > 0 {
        d -= 1;
        if nest.extents[d] == 1 {
            remove_variable(nest, d);
        }
    }
    let mut d = nest.extents.len();
    while d > 1 {
        d -= 1;
        let (outer, inner) = (d - 1, d);
        let extent = nest.extents[inner];
        let apart = inner == nest.n_out
            || used(nest, outer)
            || used(nest, inner)
            || nest
                .accesses
                .iter()
                .any(|access| access.coef[outer] != access.coef[inner] * extent as isize)
            || (inner < nest.n_out && nest.target.coef[outer] != nest.target.coef[inner] * extent);
        if !apart {
            let coef: Vec<isize> = nest
                .accesses
                .iter()
                .map(|access| access.coef[inner])
                .collect();
            let target = nest.target.coef.get(inner).copied();
            nest.extents[inner] *= nest.extents[outer];
            remove_variable(nest, outer);
            for (access, coef) in nest.accesses.iter_mut().zip(coef) {
                access.coef[outer] = coef;
            }
            if let Some(target) = target {
                nest.target.coef[outer] = target;
            }
        }
    }
}

/// Removes a variable; where the expression uses it, it is 0.
fn remove_variable(nest: &mut Nest, d: usize) {
    nest.extents.remove(d);
    for access in &mut nest.accesses {
        access.coef.remove(d);
    }
    if d < nest.n_out {
        nest.n_out -= 1;
        nest.target.coef.remove(d);
    }
    for node in &mut nest.nodes {
        match &mut node.kind {
            ExprKind::Var(other) if *other == d => {
                node.kind = ExprKind::Const(crate::ScalarValue::I64(0).cast(node.dtype));
            }
            ExprKind::Var(other) if *other > d => *other -= 1,
            _ => {}
        }
    }
}

/// How to run a nest.
fn mode(nest: &Nest) -> Mode {
    if nest.reduce.is_none() {
        return Mode::Map;
    }
    let (Some(last_out), Some(last)) =
        (nest.n_out.checked_sub(1), nest.extents.len().checked_sub(1))
    else {
        return Mode::FoldAlong;
    };
    if last < nest.n_out {
        return Mode::FoldAcross;
    }
    // Across the results if all tensors lie well that way.
    let across = nest
        .accesses
        .iter()
        .all(|access| matches!(access.coef[last_out], 0 | 1));
    let along = nest
        .accesses
        .iter()
        .all(|access| matches!(access.coef[last], 0 | 1));
    let short = nest.extents[last_out] < 8 && nest.extents[last] > nest.extents[last_out];
    match (across && !(along && short), is_product(nest)) {
        (true, _) => Mode::FoldAcross,
        (false, true) => Mode::Dot,
        (false, false) => Mode::FoldAlong,
    }
}

/// Whether a nest sums the products of two `f32` elements at places that are
/// known without computing an index.
fn is_product(nest: &Nest) -> bool {
    let plain = |id: ExprId| match nest.nodes[id].kind {
        ExprKind::Access(access) => nest.accesses[access].computed.is_empty(),
        _ => false,
    };
    match nest.nodes[nest.result] {
        ExprNode {
            kind: ExprKind::Binary(BinaryOp::Mul, a, b),
            dtype: DType::F32,
        } => nest.reduce == Some(ReduceOp::Sum) && plain(a) && plain(b),
        _ => false,
    }
}

struct Compiler<'a> {
    nest: &'a Nest,
    program: Program,
    /// The register of an expression under a mask.
    done: HashMap<(ExprId, Option<Reg>), Reg>,
    /// For each gather its access and the registers of its indices.
    gathers: Vec<(usize, Vec<Reg>)>,
}

impl Compiler<'_> {
    fn float(&mut self) -> Reg {
        self.program.n_floats += 1;
        (self.program.n_floats - 1) as Reg
    }

    fn int(&mut self) -> Reg {
        self.program.n_ints += 1;
        (self.program.n_ints - 1) as Reg
    }

    /// Whether computing an expression can fail, so that it needs its mask.
    fn can_fail(&self, id: ExprId) -> bool {
        let node = &self.nest.nodes[id];
        match node.kind {
            ExprKind::Const(_) | ExprKind::Scalar(_) | ExprKind::Var(_) => false,
            ExprKind::Access(access) => !self.nest.accesses[access].computed.is_empty(),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => self.can_fail(a),
            ExprKind::Binary(op, a, b) => {
                (can_fail(op) && !self.nest.nodes[a].dtype.is_float())
                    || self.can_fail(a)
                    || self.can_fail(b)
            }
            ExprKind::If(c, a, b) => self.can_fail(c) || self.can_fail(a) || self.can_fail(b),
        }
    }

    /// The register that holds an expression. `unrounded` keeps the precision of
    /// `f32` in the outermost operation, for a fold that accumulates in it.
    fn value(&mut self, id: ExprId, mask: Option<Reg>, unrounded: bool) -> Result<Reg> {
        let mask = if self.can_fail(id) { mask } else { None };
        if let (Some(&reg), false) = (self.done.get(&(id, mask)), unrounded) {
            return Ok(reg);
        }
        let node = self.nest.nodes[id];
        let float = node.dtype.is_float();
        let round_to = if unrounded { DType::F32 } else { node.dtype };
        let reg = match node.kind {
            ExprKind::Const(value) => match Lane::of(value) {
                Lane::F(value) => {
                    let out = self.float();
                    self.program.head.push(Step::ConstF { out, value });
                    out
                }
                Lane::I(value) => {
                    let out = self.int();
                    self.program.head.push(Step::ConstI { out, value });
                    out
                }
            },
            ExprKind::Scalar(scalar) if float => {
                let out = self.float();
                self.program.head.push(Step::ScalarF { out, scalar });
                out
            }
            ExprKind::Scalar(scalar) => {
                let out = self.int();
                self.program.head.push(Step::ScalarI { out, scalar });
                out
            }
            ExprKind::Var(dim) => {
                let out = self.int();
                self.program.body.push(Step::Var { out, dim });
                match node.dtype {
                    DType::I64 => out,
                    dtype => {
                        let wrapped = self.int();
                        self.program.body.push(Step::WrapI {
                            out: wrapped,
                            a: out,
                            dtype,
                        });
                        wrapped
                    }
                }
            }
            ExprKind::Access(access) => self.access(access, mask, float)?,
            ExprKind::Unary(op, a) => {
                let a = self.value(a, mask, false)?;
                if float {
                    let out = self.float();
                    self.program.body.push(Step::UnaryF {
                        op,
                        out,
                        a,
                        dtype: round_to,
                    });
                    out
                } else {
                    let out = self.int();
                    self.program.body.push(Step::UnaryI {
                        op,
                        out,
                        a,
                        dtype: node.dtype,
                    });
                    out
                }
            }
            ExprKind::Binary(op, a, b) => {
                let of = self.nest.nodes[a].dtype;
                let left = self.value(a, mask, false)?;
                // The right side of `&&` and `||` counts only where the left leaves it open.
                let right_mask = match op {
                    BinaryOp::And | BinaryOp::Or if self.can_fail(b) => {
                        Some(self.mask(mask, left, op == BinaryOp::Or))
                    }
                    _ => mask,
                };
                let right = self.value(b, right_mask, false)?;
                if of.is_float() && is_comparison(op) {
                    let out = self.int();
                    self.program.body.push(Step::CompareF {
                        op,
                        out,
                        a: left,
                        b: right,
                    });
                    out
                } else if of.is_float() {
                    let out = self.float();
                    self.program.body.push(Step::BinaryF {
                        op,
                        out,
                        a: left,
                        b: right,
                        dtype: round_to,
                    });
                    out
                } else {
                    let out = self.int();
                    let mask = if can_fail(op) { mask } else { None };
                    self.program.body.push(Step::BinaryI {
                        op,
                        out,
                        a: left,
                        b: right,
                        dtype: node.dtype,
                        mask,
                    });
                    out
                }
            }
            ExprKind::If(c, a, b) => {
                let condition = self.value(c, mask, false)?;
                let yes_mask = if self.can_fail(a) {
                    Some(self.mask(mask, condition, false))
                } else {
                    None
                };
                let yes = self.value(a, yes_mask, false)?;
                let no_mask = if self.can_fail(b) {
                    Some(self.mask(mask, condition, true))
                } else {
                    None
                };
                let no = self.value(b, no_mask, false)?;
                if float {
                    let out = self.float();
                    self.program.body.push(Step::SelectF {
                        out,
                        condition,
                        a: yes,
                        b: no,
                    });
                    out
                } else {
                    let out = self.int();
                    self.program.body.push(Step::SelectI {
                        out,
                        condition,
                        a: yes,
                        b: no,
                    });
                    out
                }
            }
            ExprKind::Cast(a) => {
                let from = self.nest.nodes[a].dtype;
                let a = self.value(a, mask, false)?;
                let dtype = node.dtype;
                match (from.is_float(), float) {
                    (true, true) if dtype == DType::F32 => a,
                    (true, true) => {
                        let out = self.float();
                        self.program.body.push(Step::RoundF {
                            out,
                            a,
                            dtype: round_to,
                        });
                        out
                    }
                    (true, false) => {
                        let out = self.int();
                        self.program.body.push(Step::FloatToInt { out, a, dtype });
                        out
                    }
                    (false, true) => {
                        let out = self.float();
                        self.program.body.push(Step::IntToFloat {
                            out,
                            a,
                            dtype: round_to,
                        });
                        out
                    }
                    (false, false) => {
                        let out = self.int();
                        self.program.body.push(Step::WrapI { out, a, dtype });
                        out
                    }
                }
            }
        };
        if !unrounded {
            self.done.insert((id, mask), reg);
        }
        Ok(reg)
    }

    fn mask(&mut self, mask: Option<Reg>, condition: Reg, negate: bool) -> Reg {
        let out = self.int();
        self.program.body.push(Step::Mask {
            out,
            mask,
            condition,
            negate,
        });
        out
    }

    fn access(&mut self, access: usize, mask: Option<Reg>, float: bool) -> Result<Reg> {
        if self.nest.accesses[access].computed.is_empty() {
            let out = if float { self.float() } else { self.int() };
            self.program.body.push(match float {
                true => Step::LoadF { out, access },
                false => Step::LoadI { out, access },
            });
            return Ok(out);
        }
        let indices: Vec<ExprId> = self.nest.accesses[access]
            .computed
            .iter()
            .map(|c| c.index)
            .collect();
        let indices = indices
            .into_iter()
            .map(|index| self.value(index, mask, false))
            .collect::<Result<Vec<_>>>()?;
        let number = self.nest.accesses.len() + self.gathers.len();
        self.gathers.push((access, indices));
        let out = if float { self.float() } else { self.int() };
        self.program.body.push(match float {
            true => Step::GatherF {
                out,
                access: number,
                mask,
            },
            false => Step::GatherI {
                out,
                access: number,
                mask,
            },
        });
        Ok(out)
    }
}
