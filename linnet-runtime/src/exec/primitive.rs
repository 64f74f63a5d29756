//! The arithmetic of one element: the meaning of every unary and binary operation.
//!
//! A float of any dtype is held as `f32` and rounded to its dtype after each
//! operation; an integer as `i64`, wrapped to its dtype; a bool as 0 or 1.

use half::{bf16, f16};

use crate::descriptor::{BinaryOp, ReduceOp, UnaryOp};
use crate::dtype::{DType, ScalarValue};

/// An integer operation that has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undefined {
    DivisionByZero,
    NegativeExponent,
}

impl Undefined {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Undefined::DivisionByZero => "division of an integer by zero",
            Undefined::NegativeExponent => "an integer raised to a negative power",
        }
    }
}

/// A value of any dtype in the form it is computed in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Lane {
    F(f32),
    I(i64),
}

impl Lane {
    pub(crate) fn of(value: ScalarValue) -> Lane {
        match value {
            ScalarValue::F32(x) => Lane::F(x),
            ScalarValue::F16(x) => Lane::F(x.to_f32()),
            ScalarValue::BF16(x) => Lane::F(x.to_f32()),
            other => Lane::I(other.to_i64()),
        }
    }

    /// The value of this dtype; `self` must already be rounded or wrapped to it.
    pub(crate) fn to_scalar(self, dtype: DType) -> ScalarValue {
        match self {
            Lane::F(x) => ScalarValue::F32(x).cast(dtype),
            Lane::I(x) => ScalarValue::I64(x).cast(dtype),
        }
    }

    pub(crate) fn f(self) -> f32 {
        match self {
            Lane::F(x) => x,
            Lane::I(x) => x as f32,
        }
    }

    pub(crate) fn i(self) -> i64 {
        match self {
            Lane::F(x) => x as i64,
            Lane::I(x) => x,
        }
    }
}

/// `x` rounded to a float dtype.
#[inline(always)]
pub(crate) fn round(x: f32, dtype: DType) -> f32 {
    match dtype {
        DType::F16 => f16::from_f32(x).to_f32(),
        DType::BF16 => bf16::from_f32(x).to_f32(),
        _ => x,
    }
}

/// `x` wrapped to an integer dtype; for bool, whether it is not zero.
#[inline(always)]
pub(crate) fn wrap(x: i64, dtype: DType) -> i64 {
    match dtype {
        DType::I8 => i64::from(x as i8),
        DType::I32 => i64::from(x as i32),
        DType::U8 => i64::from(x as u8),
        DType::Bool => i64::from(x != 0),
        _ => x,
    }
}

/// A float as an integer dtype: truncated, saturated, NaN as 0.
#[inline(always)]
pub(crate) fn float_to_int(x: f32, dtype: DType) -> i64 {
    match dtype {
        DType::I8 => i64::from(x as i8),
        DType::I32 => i64::from(x as i32),
        DType::U8 => i64::from(x as u8),
        DType::Bool => i64::from(x != 0.0),
        _ => x as i64,
    }
}

/// A function of one float, not yet rounded.
#[inline(always)]
pub(crate) fn float_unary(op: UnaryOp, x: f32) -> f32 {
    match op {
        UnaryOp::Neg => -x,
        UnaryOp::Abs => x.abs(),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Rsqrt => 1.0 / x.sqrt(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Erf => erf(f64::from(x)) as f32,
        UnaryOp::Floor => x.floor(),
        // `!` is not defined on floats, and the planner rejects it.
        UnaryOp::Not => x,
    }
}

/// A function of one integer, not yet wrapped.
#[inline(always)]
pub(crate) fn int_unary(op: UnaryOp, x: i64, dtype: DType) -> i64 {
    match op {
        UnaryOp::Neg => x.wrapping_neg(),
        UnaryOp::Abs => x.wrapping_abs(),
        UnaryOp::Not if dtype == DType::Bool => i64::from(x == 0),
        UnaryOp::Not => !x,
        // The others are not defined on integers, and the planner rejects them.
        _ => x,
    }
}

/// Whether a unary operation is defined on a dtype.
pub(crate) fn unary_defined(op: UnaryOp, dtype: DType) -> bool {
    match op {
        UnaryOp::Neg | UnaryOp::Abs => dtype != DType::Bool,
        UnaryOp::Not => !dtype.is_float(),
        _ => dtype.is_float(),
    }
}

/// Whether an operation results in a bool whatever it is given.
pub(crate) fn is_comparison(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
    )
}

/// Whether a binary operation is defined on operands of a dtype.
pub(crate) fn binary_defined(op: BinaryOp, dtype: DType) -> bool {
    match op {
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::Pow => dtype != DType::Bool,
        BinaryOp::And | BinaryOp::Or => dtype == DType::Bool,
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => !dtype.is_float(),
        BinaryOp::Shl | BinaryOp::Shr => dtype.is_int(),
        _ => true,
    }
}

/// The larger; NaN if either is.
#[inline(always)]
pub(crate) fn float_max(a: f32, b: f32) -> f32 {
    if a.is_nan() || a > b { a } else { b }
}

/// The smaller; NaN if either is.
#[inline(always)]
pub(crate) fn float_min(a: f32, b: f32) -> f32 {
    if a.is_nan() || a < b { a } else { b }
}

/// A function of two floats, not yet rounded.
#[inline(always)]
pub(crate) fn float_binary(op: BinaryOp, a: f32, b: f32) -> f32 {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a - (a / b).floor() * b,
        BinaryOp::Min => float_min(a, b),
        BinaryOp::Max => float_max(a, b),
        BinaryOp::Pow => a.powf(b),
        // Comparisons have their own function; the rest is not defined on
        // floats, and the planner rejects it.
        _ => a,
    }
}

/// A comparison of two floats.
#[inline(always)]
pub(crate) fn float_compare(op: BinaryOp, a: f32, b: f32) -> bool {
    match op {
        BinaryOp::Eq => a == b,
        BinaryOp::Ne => a != b,
        BinaryOp::Lt => a < b,
        BinaryOp::Le => a <= b,
        BinaryOp::Gt => a > b,
        _ => a >= b,
    }
}

/// Whether [`int_binary`] can fail.
pub(crate) fn can_fail(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::Pow)
}

/// A function of two integers or bools, not yet wrapped. Division and remainder
/// round down; a shift by more than the width shifts everything out.
#[inline(always)]
pub(crate) fn int_binary(op: BinaryOp, a: i64, b: i64) -> Result<i64, Undefined> {
    Ok(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => {
            if b == 0 {
                return Err(Undefined::DivisionByZero);
            }
            let quotient = a.wrapping_div(b);
            if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) {
                quotient - 1
            } else {
                quotient
            }
        }
        BinaryOp::Rem => {
            if b == 0 {
                return Err(Undefined::DivisionByZero);
            }
            let rest = a.wrapping_rem(b);
            if rest != 0 && (rest < 0) != (b < 0) {
                rest + b
            } else {
                rest
            }
        }
        BinaryOp::Min => a.min(b),
        BinaryOp::Max => a.max(b),
        BinaryOp::Pow => {
            let Ok(exponent) = u32::try_from(b.min(i64::from(u32::MAX))) else {
                return Err(Undefined::NegativeExponent);
            };
            a.wrapping_pow(exponent)
        }
        BinaryOp::Eq => i64::from(a == b),
        BinaryOp::Ne => i64::from(a != b),
        BinaryOp::Lt => i64::from(a < b),
        BinaryOp::Le => i64::from(a <= b),
        BinaryOp::Gt => i64::from(a > b),
        BinaryOp::Ge => i64::from(a >= b),
        BinaryOp::And | BinaryOp::BitAnd => a & b,
        BinaryOp::Or | BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        BinaryOp::Shl if (0..64).contains(&b) => a << b,
        BinaryOp::Shl => 0,
        BinaryOp::Shr => a >> b.clamp(0, 63),
    })
}

/// What a fold starts from: its value over nothing.
pub(crate) fn fold_start(op: ReduceOp, dtype: DType) -> Lane {
    if dtype.is_float() {
        return Lane::F(match op {
            ReduceOp::Prod => 1.0,
            ReduceOp::Min => f32::INFINITY,
            ReduceOp::Max => f32::NEG_INFINITY,
            _ => 0.0,
        });
    }
    let (least, greatest) = match dtype {
        DType::I8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
        DType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        DType::U8 => (0, i64::from(u8::MAX)),
        DType::Bool => (0, 1),
        _ => (i64::MIN, i64::MAX),
    };
    Lane::I(match op {
        ReduceOp::Sum | ReduceOp::Any => 0,
        ReduceOp::Prod | ReduceOp::All => 1,
        ReduceOp::Min => greatest,
        ReduceOp::Max => least,
    })
}

/// One step of a fold of floats.
#[inline(always)]
pub(crate) fn fold_float(op: ReduceOp, sum: f32, x: f32) -> f32 {
    match op {
        ReduceOp::Prod => sum * x,
        ReduceOp::Min => float_min(sum, x),
        ReduceOp::Max => float_max(sum, x),
        _ => sum + x,
    }
}

/// One step of a fold of integers or bools.
#[inline(always)]
pub(crate) fn fold_int(op: ReduceOp, sum: i64, x: i64) -> i64 {
    match op {
        ReduceOp::Sum => sum.wrapping_add(x),
        ReduceOp::Prod => sum.wrapping_mul(x),
        ReduceOp::Min => sum.min(x),
        ReduceOp::Max => sum.max(x),
        ReduceOp::Any => sum | x,
        ReduceOp::All => sum & x,
    }
}

/// The error function, `2 / sqrt(pi) * integral of exp(-t^2) from 0 to x`, to
/// about 1e-14: its power series near zero (Abramowitz and Stegun, 7.1.6), the
/// continued fraction of its complement elsewhere (7.1.14).
pub(crate) fn erf(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let a = x.abs();
    if a > 6.0 {
        return x.signum();
    }
    if a < 2.5 {
        // erf x = 2 / sqrt(pi) * exp(-x^2) * sum of 2^n x^(2n+1) / (1 * 3 * .. * (2n + 1))
        let (mut term, mut sum, mut n) = (a, a, 1.0);
        while term > sum * 1e-17 {
            term *= 2.0 * a * a / (2.0 * n + 1.0);
            sum += term;
            n += 1.0;
        }
        return (std::f64::consts::FRAC_2_SQRT_PI * (-a * a).exp() * sum).copysign(x);
    }
    // erfc x = exp(-x^2) / sqrt(pi) * 1 / (x + (1/2) / (x + 1 / (x + (3/2) / (x + ..)))), 60 levels from below.
    let fraction = (1..=60)
        .rev()
        .fold(a, |below, k| a + f64::from(k) / 2.0 / below);
    let complement = (-a * a).exp() * std::f64::consts::FRAC_2_SQRT_PI / 2.0 / fraction;
    (1.0 - complement).copysign(x)
}

/// A unary operation on a scalar of the program.
pub(crate) fn scalar_unary(op: UnaryOp, x: ScalarValue) -> ScalarValue {
    let dtype = x.dtype();
    match Lane::of(x) {
        Lane::F(x) => Lane::F(round(float_unary(op, x), dtype)),
        Lane::I(x) => Lane::I(wrap(int_unary(op, x, dtype), dtype)),
    }
    .to_scalar(dtype)
}

/// A binary operation on scalars of one dtype.
pub(crate) fn scalar_binary(
    op: BinaryOp,
    a: ScalarValue,
    b: ScalarValue,
) -> Result<ScalarValue, Undefined> {
    let dtype = a.dtype();
    Ok(match (Lane::of(a), Lane::of(b)) {
        (Lane::F(a), Lane::F(b)) if is_comparison(op) => ScalarValue::Bool(float_compare(op, a, b)),
        (Lane::F(a), Lane::F(b)) => Lane::F(round(float_binary(op, a, b), dtype)).to_scalar(dtype),
        (a, b) => {
            let out = if is_comparison(op) {
                DType::Bool
            } else {
                dtype
            };
            Lane::I(wrap(int_binary(op, a.i(), b.i())?, out)).to_scalar(out)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_and_remainder_round_down() {
        let table = [
            (7, 2, 3, 1),
            (-7, 2, -4, 1),
            (7, -2, -4, -1),
            (-7, -2, 3, -1),
            (6, 3, 2, 0),
            (-6, 3, -2, 0),
        ];
        for (a, b, quotient, rest) in table {
            assert_eq!(int_binary(BinaryOp::Div, a, b), Ok(quotient), "{a} / {b}");
            assert_eq!(int_binary(BinaryOp::Rem, a, b), Ok(rest), "{a} % {b}");
        }
        assert_eq!(
            int_binary(BinaryOp::Div, 1, 0),
            Err(Undefined::DivisionByZero)
        );
        assert_eq!(
            int_binary(BinaryOp::Rem, 1, 0),
            Err(Undefined::DivisionByZero)
        );
        assert_eq!(int_binary(BinaryOp::Div, i64::MIN, -1), Ok(i64::MIN));
        assert_eq!(
            int_binary(BinaryOp::Pow, 2, -1),
            Err(Undefined::NegativeExponent)
        );
        assert_eq!(int_binary(BinaryOp::Pow, 3, 4), Ok(81));
    }

    #[test]
    fn integers_wrap_to_their_dtype() {
        let sum = scalar_binary(BinaryOp::Add, ScalarValue::I8(127), ScalarValue::I8(1));
        assert_eq!(sum, Ok(ScalarValue::I8(-128)));
        let shifted = scalar_binary(BinaryOp::Shl, ScalarValue::U8(3), ScalarValue::U8(7));
        assert_eq!(shifted, Ok(ScalarValue::U8(128)));
        assert_eq!(int_binary(BinaryOp::Shr, -8, 100), Ok(-1));
        assert_eq!(
            scalar_unary(UnaryOp::Not, ScalarValue::Bool(true)),
            ScalarValue::Bool(false)
        );
        assert_eq!(
            scalar_unary(UnaryOp::Not, ScalarValue::U8(1)),
            ScalarValue::U8(254)
        );
    }

    #[test]
    fn floats_round_and_pass_nan_on() {
        let one = ScalarValue::BF16(bf16::ONE);
        let tiny = ScalarValue::BF16(bf16::from_f32(0.001));
        assert_eq!(scalar_binary(BinaryOp::Add, one, tiny), Ok(one));
        assert!(float_max(f32::NAN, 1.0).is_nan() && float_max(1.0, f32::NAN).is_nan());
        assert!(float_min(f32::NAN, 1.0).is_nan() && float_min(1.0, f32::NAN).is_nan());
        assert_eq!(float_binary(BinaryOp::Rem, -1.0, 3.0), 2.0);
    }

    #[test]
    fn erf_matches_known_values() {
        // From tables to 15 digits (Abramowitz and Stegun, table 7.1).
        for (x, expected) in [
            (0.0, 0.0),
            (0.1, 0.112_462_916_018_284_9),
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (2.0, 0.995_322_265_018_952_7),
            (2.5, 0.999_593_047_982_555),
            (3.0, 0.999_977_909_503_001_4),
            (10.0, 1.0),
        ] {
            assert!((erf(x) - expected).abs() < 1e-13, "erf({x}) = {}", erf(x));
            assert_eq!(erf(-x), -erf(x));
        }
        assert!(erf(f64::NAN).is_nan());
    }
}
