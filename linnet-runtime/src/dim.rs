//! Dimensions as types: known when the program compiles ([`Const`]), known when
//! a model loads ([`Dyn`]), or computed from others.

use std::fmt::Debug;
use std::marker::PhantomData;

/// A dimension of a tensor: the bound `Dim` of the language.
pub trait Dim: Copy + Debug + Send + Sync + 'static {
    /// Its value where it is known at compile time. None for [`Dyn`], for
    /// anything computed from it, and for a computation without a result
    /// (a negative difference, a division by zero), which loading reports.
    const STATIC: Option<usize>;
}

/// A dimension known at compile time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Const<const N: usize>;

impl<const N: usize> Dim for Const<N> {
    const STATIC: Option<usize> = Some(N);
}

/// A dimension known when the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dyn;

impl Dim for Dyn {
    const STATIC: Option<usize> = None;
}

macro_rules! computed {
    ($($(#[$doc:meta])* $name:ident($a:ident, $b:ident) = $value:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name<A, B>(PhantomData<fn() -> (A, B)>);

        impl<A: Dim, B: Dim> Dim for $name<A, B> {
            const STATIC: Option<usize> = match (A::STATIC, B::STATIC) {
                (Some($a), Some($b)) => $value,
                _ => None,
            };
        }
    )*};
}

computed! {
    /// The sum.
    Add(a, b) = a.checked_add(b);
    /// The difference.
    Sub(a, b) = a.checked_sub(b);
    /// The product.
    Mul(a, b) = a.checked_mul(b);
    /// The quotient, rounded down.
    Div(a, b) = a.checked_div(b);
    /// The remainder.
    Rem(a, b) = a.checked_rem(b);
    /// The smaller.
    Min(a, b) = Some(if a < b { a } else { b });
    /// The larger.
    Max(a, b) = Some(if a > b { a } else { b });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_compute_at_compile_time() {
        const THREE_H: Option<usize> = <Mul<Const<3>, Const<768>> as Dim>::STATIC;
        assert_eq!(THREE_H, Some(2304));
        assert_eq!(<Div<Const<768>, Const<12>> as Dim>::STATIC, Some(64));
        assert_eq!(<Rem<Const<7>, Const<4>> as Dim>::STATIC, Some(3));
        assert_eq!(<Sub<Const<3>, Const<4>> as Dim>::STATIC, None);
        assert_eq!(<Div<Const<3>, Const<0>> as Dim>::STATIC, None);
        assert_eq!(<Min<Const<3>, Const<4>> as Dim>::STATIC, Some(3));
        assert_eq!(<Max<Const<3>, Const<4>> as Dim>::STATIC, Some(4));
        assert_eq!(<Add<Dyn, Const<4>> as Dim>::STATIC, None);
    }
}
