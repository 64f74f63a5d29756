//! Elementary functions on vectors.

use super::Simd;

/// e^x to about 1 unit in the last place; 0 below -104, infinity above 89, NaN for NaN.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2; e^r by a polynomial of degree 7 whose first
/// omitted term is below 2^-27; the scale 2^n in two steps, so that results below
/// the smallest normal value are rounded once and 2^128 is never formed.
#[inline(always)]
pub(crate) fn exp<S: Simd>(s: S, x: S::F) -> S::F {
    // The order of the arguments lets NaN through.
    let x = s.min(s.splat(89.0), s.max(s.splat(-104.0), x));
    let n = s.round(s.mul(x, s.splat(std::f32::consts::LOG2_E)));
    // ln 2 in two parts; the first has 9 significant bits, so n times it is exact.
    let r = s.fma(n, s.splat(-0.693_359_4), x);
    let r = s.fma(n, s.splat(2.121_944_4e-4), r);
    let mut p = s.splat(1.0 / 5040.0);
    for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5] {
        p = s.fma(p, r, s.splat(c));
    }
    let p = s.add(s.fma(s.mul(r, r), p, r), s.splat(1.0));
    let half = s.round(s.mul(n, s.splat(0.5)));
    s.mul(s.mul(p, s.pow2(half)), s.pow2(s.sub(n, half)))
}

/// y / (1 + e^-t), as y / (1 + e) for t >= 0 and y e / (1 + e) below, with e = e^-|t|, which
/// neither overflows nor loses small results.
#[inline(always)]
fn logistic<S: Simd>(s: S, y: S::F, t: S::F) -> S::F {
    let (zero, one) = (s.splat(0.0), s.splat(1.0));
    let e = exp(s, s.sub(zero, s.abs(t)));
    s.div(s.mul(y, s.select_lt(t, zero, e, one)), s.add(one, e))
}

/// max(x, 0); NaN for NaN.
#[inline(always)]
pub(crate) fn relu<S: Simd>(s: S, x: S::F) -> S::F {
    s.max(s.splat(0.0), x)
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub(crate) fn sigmoid<S: Simd>(s: S, x: S::F) -> S::F {
    logistic(s, s.splat(1.0), x)
}

/// x / (1 + e^-x).
#[inline(always)]
pub(crate) fn silu<S: Simd>(s: S, x: S::F) -> S::F {
    logistic(s, x, x)
}

/// The tanh form, x / 2 * (1 + tanh u) with u = 0.7978845608 (x + 0.044715 x^3),
/// computed as x / (1 + e^-2u), which loses nothing where tanh u is near -1.
#[inline(always)]
pub(crate) fn gelu<S: Simd>(s: S, x: S::F) -> S::F {
    const A: f32 = 2.0 * 0.797_884_6;
    let inner = s.fma(s.mul(x, x), s.splat(A * 0.044_715), s.splat(A));
    logistic(s, x, s.mul(x, inner))
}

/// tanh x: an odd polynomial near 0, else 1 - 2 / (e^2|x| + 1) with the sign of x.
#[inline(always)]
pub(crate) fn tanh<S: Simd>(s: S, x: S::F) -> S::F {
    let magnitude = s.abs(x);
    let z = s.mul(x, x);
    // Coefficients of Cephes' tanhf for |x| < 0.625.
    let mut p = s.splat(-5.704_988_7e-3);
    for c in [2.063_909e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328e-1] {
        p = s.fma(p, z, s.splat(c));
    }
    let near = s.fma(s.mul(p, z), x, x);
    let one = s.splat(1.0);
    let e = exp(s, s.add(magnitude, magnitude));
    let far = s.sub(one, s.div(s.splat(2.0), s.add(e, one)));
    s.select_lt(magnitude, s.splat(0.625), near, s.copysign(far, x))
}

/// (up + 1) gate / (1 + e^(-alpha gate)) with gate at most `limit` and up between -`limit` and
/// `limit`; NaN if either is.
#[inline(always)]
pub(crate) fn clamped_swiglu<S: Simd>(
    s: S,
    gate: S::F,
    up: S::F,
    alpha: S::F,
    limit: S::F,
) -> S::F {
    // The order of the arguments lets NaN through.
    let gate = s.min(limit, gate);
    let up = s.max(s.sub(s.splat(0.0), limit), s.min(limit, up));
    let y = s.mul(s.add(up, s.splat(1.0)), gate);
    logistic(s, y, s.mul(alpha, gate))
}
