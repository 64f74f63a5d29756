//! What the author wrote: declarations with their spans. Bodies stay `syn` blocks.

use proc_macro2::{Ident, Span, TokenStream};

/// `#[block] struct`.
#[derive(Debug, Clone)]
pub struct BlockDecl {
    /// Doc comments and other attributes that stay on the Rust struct.
    pub attrs: Vec<syn::Attribute>,
    /// Visibility.
    pub vis: syn::Visibility,
    /// Name.
    pub name: Ident,
    /// Generics in order.
    pub generics: Vec<GenericParam>,
    /// Clauses of `#[require(..)]`.
    pub requires: Vec<Requirement>,
    /// Members in order.
    pub members: Vec<Member>,
}

/// A generic parameter.
#[derive(Debug, Clone)]
pub struct GenericParam {
    /// Name.
    pub name: Ident,
    /// What it ranges over.
    pub kind: crate::ir::GenericKind,
    /// Default, if any.
    pub default: Option<GenericArg>,
}

/// A generic argument as written.
#[derive(Debug, Clone)]
pub enum GenericArg {
    /// `H`, `3`, `{ 3 * H }`; a lone name may also be a dtype or a pack: the
    /// checker decides by the kind of the parameter.
    Dim(Dim),
    /// `f32`.
    DType(crate::ir::DType, Span),
    /// `_`: to be inferred.
    Infer(Span),
}

/// A dimension expression.
#[derive(Debug, Clone)]
pub struct Dim {
    /// What it is.
    pub kind: DimKind,
    /// Its tokens, for spans and messages.
    pub tokens: TokenStream,
}

/// What a dimension expression is.
#[derive(Debug, Clone)]
pub enum DimKind {
    /// A literal.
    Const(i64),
    /// A generic (or, in requirements, a scalar parameter).
    Name(Ident),
    /// `a + b` and so on.
    Binary(DimOp, Box<Dim>, Box<Dim>),
}

/// Operators of dimension arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the operator it is named for")]
pub enum DimOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
}

/// One place in a shape.
#[derive(Debug, Clone)]
pub enum DimItem {
    /// A dimension.
    One(Dim),
    /// `*S`.
    Pack(Ident),
}

/// A dtype as written.
#[derive(Debug, Clone)]
pub enum DTypeExpr {
    /// `f32`.
    Concrete(crate::ir::DType, Span),
    /// `T`.
    Generic(Ident),
}

/// A type as written.
#[derive(Debug, Clone)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// Its tokens.
    pub tokens: TokenStream,
}

/// What a type is.
#[derive(Debug, Clone)]
pub enum TypeKind {
    /// `Tensor![dims; dtype]`.
    Tensor {
        /// Shape.
        dims: Vec<DimItem>,
        /// Element type.
        dtype: DTypeExpr,
    },
    /// `i32`, `T`.
    Scalar(DTypeExpr),
    /// `Option<..>`.
    Option(Box<TypeExpr>),
    /// `(A, B)`; empty is unit.
    Tuple(Vec<TypeExpr>),
}

/// A block type with its arguments, as a member has it.
#[derive(Debug, Clone)]
pub struct BlockType {
    /// The path without arguments.
    pub path: syn::Path,
    /// The arguments as written.
    pub args: Vec<GenericArg>,
    /// All its tokens.
    pub tokens: TokenStream,
}

/// A member of a block.
#[derive(Debug, Clone)]
pub struct Member {
    /// Doc comments.
    pub attrs: Vec<syn::Attribute>,
    /// Visibility.
    pub vis: syn::Visibility,
    /// Name.
    pub name: Ident,
    /// What it is.
    pub kind: MemberKind,
}

/// What a member is.
#[derive(Debug, Clone)]
pub enum MemberKind {
    /// `#[param]`.
    Param(TypeExpr),
    /// `#[state]`.
    State(TypeExpr),
    /// A block: `B<..>`, `[B<..>; N]` or `Option<B<..>>`.
    Sub {
        /// The block.
        ty: BlockType,
        /// The length of an array.
        length: Option<Dim>,
        /// Whether it is optional.
        optional: bool,
    },
}

/// A clause of `#[require(..)]`.
#[derive(Debug, Clone)]
pub struct Requirement {
    /// What it says.
    pub kind: RequirementKind,
    /// Its tokens.
    pub tokens: TokenStream,
}

/// What a clause says.
#[derive(Debug, Clone)]
pub enum RequirementKind {
    /// `H % Heads == 0`. A name may also be a scalar or tensor parameter.
    Compare(Dim, crate::ir::Comparison, Dim),
    /// `distinct(slots)`.
    Distinct(Ident),
    /// `packed(rows, positions, segments)`.
    Packed([Ident; 3]),
}

/// A function of a block or an operation.
#[derive(Debug, Clone)]
pub struct FnDecl {
    /// Doc comments.
    pub attrs: Vec<syn::Attribute>,
    /// Visibility.
    pub vis: syn::Visibility,
    /// Name.
    pub name: Ident,
    /// Whether it has `#[entry]`.
    pub entry: bool,
    /// How it takes its block.
    pub receiver: crate::ir::Receiver,
    /// Generics in order.
    pub generics: Vec<GenericParam>,
    /// Clauses of `#[require(..)]`.
    pub requires: Vec<Requirement>,
    /// Parameters without `self`.
    pub params: Vec<Param>,
    /// Result; the empty tuple where none is written.
    pub ret: TypeExpr,
    /// None in a signature that came from another item.
    pub body: Option<syn::Block>,
}

/// A parameter.
#[derive(Debug, Clone)]
pub struct Param {
    /// Name.
    pub name: Ident,
    /// Type.
    pub ty: TypeExpr,
    /// Whether it is `&mut`.
    pub by_mut: bool,
}

/// `#[block] impl`.
#[derive(Debug, Clone)]
pub struct ImplDecl {
    /// The block's name.
    pub block: Ident,
    /// Its functions in order.
    pub functions: Vec<FnDecl>,
}

/// `#[op] fn`.
#[derive(Debug, Clone)]
pub struct OpDecl {
    /// `#[op(kernel = path)]`.
    pub kernel: Option<syn::Path>,
    /// The function.
    pub function: FnDecl,
}

/// What another item's macro answered, under the path by which this item names it.
#[derive(Debug, Clone)]
pub struct Signature {
    /// The path as the asking author wrote it.
    pub path: syn::Path,
    /// What it is.
    pub kind: SignatureKind,
}

/// What a signature describes.
#[derive(Debug, Clone)]
pub enum SignatureKind {
    /// A block: its declaration and its functions without bodies.
    Block(BlockDecl, Vec<FnDecl>),
    /// An operation without its body.
    Op(OpDecl),
}
