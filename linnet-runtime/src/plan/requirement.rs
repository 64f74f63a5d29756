//! Requirements over data: what `#[require]` checks when a call runs.

use crate::descriptor::DimExpr;
use crate::dtype::ScalarValue;
use crate::env::Env;
use crate::error::{Error, Result};

use super::ScalarId;
use super::graph::ScalarRef;

/// An integer expression over scalars of the call; dimensions are numbers in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RuntimeDim {
    Const(i64),
    Scalar(ScalarId),
    Binary(DimOp, Box<(RuntimeDim, RuntimeDim)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DimOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
}

impl RuntimeDim {
    /// The expression with dimensions from `env` and scalar parameters from `scalars`.
    pub(crate) fn new(
        dim: &DimExpr,
        env: &Env,
        scalars: &dyn Fn(&str) -> Option<ScalarRef>,
    ) -> Result<RuntimeDim> {
        if !dim.has_scalar() {
            return Ok(RuntimeDim::Const(env.eval(dim)?));
        }
        let (op, a, b) = match *dim {
            DimExpr::Scalar(name) => {
                return match scalars(name) {
                    Some(ScalarRef::Known(value)) => Ok(RuntimeDim::Const(value.to_i64())),
                    Some(ScalarRef::Slot(scalar, _)) => Ok(RuntimeDim::Scalar(scalar)),
                    None => Err(Error::Descriptor(format!(
                        "`{name}` is no scalar parameter"
                    ))),
                };
            }
            DimExpr::Const(_) | DimExpr::Generic(_) => {
                return Ok(RuntimeDim::Const(env.eval(dim)?));
            }
            DimExpr::Add(a, b) => (DimOp::Add, a, b),
            DimExpr::Sub(a, b) => (DimOp::Sub, a, b),
            DimExpr::Mul(a, b) => (DimOp::Mul, a, b),
            DimExpr::Div(a, b) => (DimOp::Div, a, b),
            DimExpr::Rem(a, b) => (DimOp::Rem, a, b),
            DimExpr::Min(a, b) => (DimOp::Min, a, b),
            DimExpr::Max(a, b) => (DimOp::Max, a, b),
        };
        let operands = (
            RuntimeDim::new(a, env, scalars)?,
            RuntimeDim::new(b, env, scalars)?,
        );
        if let (RuntimeDim::Const(a), RuntimeDim::Const(b)) = &operands
            && let Some(value) = op.apply(*a, *b)
        {
            return Ok(RuntimeDim::Const(value));
        }
        Ok(RuntimeDim::Binary(op, Box::new(operands)))
    }

    /// Its value; None if it does not fit `i64` or divides by zero.
    pub(crate) fn eval(&self, scalars: &[ScalarValue]) -> Option<i64> {
        match self {
            RuntimeDim::Const(value) => Some(*value),
            RuntimeDim::Scalar(scalar) => Some(scalars[*scalar].to_i64()),
            RuntimeDim::Binary(op, operands) => {
                op.apply(operands.0.eval(scalars)?, operands.1.eval(scalars)?)
            }
        }
    }
}

impl DimOp {
    fn apply(self, a: i64, b: i64) -> Option<i64> {
        match self {
            DimOp::Add => a.checked_add(b),
            DimOp::Sub => a.checked_sub(b),
            DimOp::Mul => a.checked_mul(b),
            DimOp::Div if b > 0 => Some(a.div_euclid(b)),
            DimOp::Rem if b > 0 => Some(a.rem_euclid(b)),
            DimOp::Div | DimOp::Rem => None,
            DimOp::Min => Some(a.min(b)),
            DimOp::Max => Some(a.max(b)),
        }
    }
}
