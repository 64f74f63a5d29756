//! The macros of linnet: a model is written with [`macro@block`] and [`macro@op`].
//!
//! They only turn tokens into tokens; everything else is in `linnet-compiler`.
//! Use them through `linnet-runtime`, which re-exports them and which the code
//! that they emit needs.

use std::hash::{DefaultHasher, Hash, Hasher};

use proc_macro::TokenStream;
use proc_macro2::TokenStream as TokenStream2;

/// Declares a block: a part of a neural network with its parameters, states,
/// sub-blocks and functions. Every shape and dtype in it is proved while the
/// crate compiles.
///
/// It stands above a struct, and above one `impl` below that in the same
/// module, which does not repeat the generics (and may be empty).
///
/// ```
/// use linnet_runtime::{nn::linear::Linear, nn::activations::gelu, prelude::*};
///
/// /// Two linear maps with a GELU between.
/// #[block]
/// #[require(H > 0)]
/// pub struct Mlp<H: Dim, T: Float = f32> {
///     up: Linear<H, { 4 * H }, T>,
///     down: Linear<{ 4 * H }, H, T>,
///     #[param]
///     scale: Tensor![H; T],
/// }
///
/// #[block]
/// impl Mlp {
///     /// Applies it to the last axis.
///     pub fn forward<S: Shape>(&self, x: Tensor![*S, H; T]) -> Tensor![*S, H; T] {
///         self.down.forward(gelu(self.up.forward(x))) * self.scale
///     }
///
///     /// The same for a batch, from plain Rust.
///     #[entry]
///     pub fn run<B: Dim>(&self, x: Tensor![B, H; T]) -> Tensor![B, H; T] {
///         self.forward(x)
///     }
/// }
///
/// fn caller(mlp: &Mlp<Const<8>>) -> linnet_runtime::Result<()> {
///     let x = Tensor::<(Dyn, Const<8>), f32>::zeros(&[2, 8])?;
///     let y: Tensor<(Dyn, Const<8>), f32> = mlp.run(&x)?;
///     assert_eq!(y.shape(), [2, 8]);
///     Ok(())
/// }
/// # fn main() {
/// # assert_eq!(Mlp::<Dyn>::DESCRIPTOR.members.len(), 3);
/// # }
/// ```
///
/// # Members
///
/// - `#[param] name: Tensor![..]` comes from the checkpoint; in `Option<..>`
///   it may be absent.
/// - `#[state] name: Tensor![..]` is zero at first, and functions that take
///   `&mut self` write it.
/// - Anything else is a sub-block: `B<..>`, `[B<..>; N]` or `Option<B<..>>`.
///   Its name, like that of every operation that a body calls, must be in
///   scope: a plain `use` brings it there, from any module or crate.
///
/// # Generics
///
/// `N: Dim` is a dimension, `T: Float`, `T: Int` and `T: DType` are dtypes (one of
/// 16 bits is how tensors are stored; values between are `f32`), and
/// a function may have `S: Shape`, a pack of any number of dimensions (`*S`).
/// `#[require(H % Heads == 0)]` on the struct or a function says what holds of
/// dimensions; on a function also of integer parameters (`0 <= pos`,
/// `tokens < Vocab`, `distinct(slots)`, `packed(rows, positions, segments)`),
/// which is checked when it is called.
///
/// # What it becomes
///
/// A Rust struct of the same name and generics that implements
/// `linnet_runtime::Block`, with a typed method for each `#[entry]` function.
/// Wrong ranks, dtypes and constants are then errors of rustc:
///
/// ```compile_fail,E0308
/// # use linnet_runtime::prelude::*;
/// # #[block]
/// # pub struct Scale<H: Dim> { #[param] weight: Tensor![H; f32] }
/// # #[block]
/// # impl Scale {
/// #     #[entry]
/// #     pub fn run(&self, x: Tensor![H; f32]) -> Tensor![H; f32] { x * self.weight }
/// # }
/// fn caller(scale: &Scale<Const<8>>, x: &Tensor<(Const<9>,), f32>) {
///     let _ = scale.run(x);
/// }
/// # fn main() {}
/// ```
#[proc_macro_attribute]
pub fn block(args: TokenStream, item: TokenStream) -> TokenStream {
    let hash = item_hash(&item);
    linnet_compiler::expand::expand_block(args.into(), item.into(), hash).into()
}

/// Declares an operation: a function of tensors whose body is its meaning.
/// With `#[op(kernel = NAME)]` a kernel may compute it faster; the two must agree.
///
/// ```
/// use linnet_runtime::prelude::*;
///
/// /// `x` without what lies outside `low` and `high`.
/// #[op]
/// pub fn clamp<S: Shape, T: Float>(x: Tensor![*S; T], low: T, high: T) -> Tensor![*S; T] {
///     max(low, min(high, x))
/// }
///
/// # fn main() -> linnet_runtime::Result<()> {
/// let x = Tensor::<(Dyn,), f32>::from_slice(&[3], &[-2.0, 0.5, 7.0])?;
/// assert_eq!(clamp(&x, -1.0, 1.0)?.to_vec(), [-1.0, 0.5, 1.0]);
/// # Ok(())
/// # }
/// ```
///
/// Blocks and other operations call it by its name; from plain Rust it is a
/// function that runs on the CPU, unless a parameter is a tuple or no argument
/// tells one of its generics (the `Heads` and `D` of a `Tensor![Heads * D; T]`).
/// A tensor whose shape mixes a pack with other dimensions is a
/// `&Tensor<impl Shape, T>` there, and a `Tensor<AnyShape, T>` as a result.
///
/// `kernel` names a constant that implements `linnet_runtime::kernel::Kernel`.
#[proc_macro_attribute]
pub fn op(args: TokenStream, item: TokenStream) -> TokenStream {
    let hash = item_hash(&item);
    linnet_compiler::expand::expand_op(args.into(), item.into(), hash).into()
}

/// The type of a tensor: `Tensor![B, S, 3 * H; f32]`.
///
/// In a block or operation it is part of the language. In plain Rust it is
/// short for `linnet_runtime::Tensor<(..), T>`:
///
/// ```
/// use linnet_runtime::{Const, Dim, Tensor, dim::Mul};
///
/// fn pairs<H: Dim>(x: Tensor![2, H, 3 * H; f32]) -> Tensor<(Const<2>, H, Mul<Const<3>, H>), f32> {
///     x
/// }
/// # fn main() {}
/// ```
#[proc_macro]
#[allow(non_snake_case, reason = "it reads as the type that it is")]
pub fn Tensor(tokens: TokenStream) -> TokenStream {
    linnet_compiler::expand::expand_tensor(tokens.into()).into()
}

/// Index notation, in the body of a block's function or of an operation.
///
/// ```
/// use linnet_runtime::prelude::*;
///
/// /// The product of two matrices.
/// #[op]
/// pub fn product<M: Dim, K: Dim, N: Dim, T: Float>(
///     a: Tensor![M, K; T],
///     b: Tensor![K, N; T],
/// ) -> Tensor![M, N; T] {
///     index!([m, n] = sum[k] a[m, k] * b[k, n])
/// }
///
/// # fn main() -> linnet_runtime::Result<()> {
/// let a = Tensor::<(Const<2>, Const<2>), f32>::from_slice(&[2, 2], &[1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(product(&a, &a)?.to_vec(), [7.0, 10.0, 15.0, 22.0]);
/// # Ok(())
/// # }
///
/// /// Each row of `x` scaled by what `by` picks for it.
/// #[op]
/// #[require(0 <= rows, rows < N)]
/// pub fn scale_rows<S: Shape, B: Dim, N: Dim, T: Float>(
///     x: Tensor![B, *S; T],
///     rows: Tensor![B; i32],
///     by: Tensor![N; T],
/// ) -> Tensor![B, *S; T] {
///     index!([b, *s] = x[b, *s] * by[rows[b]])
/// }
/// ```
///
/// The outputs stand in brackets (`*s` for a pack), then `=`, then a fold
/// (`sum prod min max any all`) with the indices it folds over, if any, and
/// the element.
#[proc_macro]
pub fn index(_: TokenStream) -> TokenStream {
    linnet_compiler::expand::expand_outside("index").into()
}

/// The entries of a slice, in the body of a block's function or of an operation.
///
/// ```
/// use linnet_runtime::prelude::*;
///
/// /// The even columns of the last row.
/// #[op]
/// #[require(S > 0)]
/// pub fn last_even<S: Dim, H: Dim, T: DType>(x: Tensor![S, 2 * H; T]) -> Tensor![H; T] {
///     x.slice(s![S - 1, 0..2 * H;2])
/// }
///
/// # fn main() -> linnet_runtime::Result<()> {
/// let x = Tensor::<(Const<2>, Const<4>), i32>::from_slice(&[2, 4], &[0, 1, 2, 3, 4, 5, 6, 7])?;
/// assert_eq!(last_even(&x)?.to_vec(), [4, 6]);
/// # Ok(())
/// # }
/// ```
///
/// An entry is a range (`a..b`, `..` for a whole axis, `a..b;step`) or an index,
/// which removes its axis; `...` stands for all axes that are not written.
#[proc_macro]
pub fn s(_: TokenStream) -> TokenStream {
    linnet_compiler::expand::expand_outside("s").into()
}

#[doc(hidden)]
#[proc_macro]
pub fn declare_block(tokens: TokenStream) -> TokenStream {
    linnet_compiler::expand::declare_block(tokens.into()).into()
}

#[doc(hidden)]
#[proc_macro]
pub fn check_block(tokens: TokenStream) -> TokenStream {
    linnet_compiler::expand::check_block(tokens.into()).into()
}

#[doc(hidden)]
#[proc_macro]
pub fn check_op(tokens: TokenStream) -> TokenStream {
    linnet_compiler::expand::check_op(tokens.into()).into()
}

/// Keeps items of one name in a crate apart: by where they stand, and, where a
/// macro writes several at one place, by what they say.
fn item_hash(item: &TokenStream) -> u64 {
    let mut hasher = DefaultHasher::new();
    let tokens = TokenStream2::from(item.clone());
    if let Some(token) = tokens.clone().into_iter().next() {
        let span = token.span().unwrap();
        (span.file(), span.line(), span.column()).hash(&mut hasher);
    }
    tokens.to_string().hash(&mut hasher);
    hasher.finish()
}
