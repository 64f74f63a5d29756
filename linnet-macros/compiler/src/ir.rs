//! The lowered form of a block or operation: what the checker hands to the emitter.
//!
//! The same shapes as `linnet_runtime::descriptor`, owned instead of constant.
//! Values are numbered within their function: each [`ValueId`] is defined
//! once, and nested bodies see the ids of the bodies around them.

/// The element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is the Rust type of that name")]
pub enum DType {
    F32,
    F16,
    BF16,
    I8,
    I32,
    I64,
    U8,
    Bool,
}

/// A block that a member names.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockRef {
    /// The path as the author wrote it, without generic arguments.
    pub path: syn::Path,
    /// What each of its generics ranges over: the emitter names the type with
    /// a stand-in for each.
    pub kinds: Vec<GenericKind>,
}

/// The number of a value within its function.
pub type ValueId = u32;

/// An integer expression over dimension generics, in the author's own form.
#[derive(Debug, Clone, PartialEq)]
pub enum DimExpr {
    /// A constant.
    Const(i64),
    /// A `Dim` generic of the function or of its block.
    Generic(String),
    /// An integer scalar parameter of the function (in requirements only).
    Scalar(String),
    /// Sum.
    Add(Box<DimExpr>, Box<DimExpr>),
    /// Difference.
    Sub(Box<DimExpr>, Box<DimExpr>),
    /// Product.
    Mul(Box<DimExpr>, Box<DimExpr>),
    /// Quotient, rounded down.
    Div(Box<DimExpr>, Box<DimExpr>),
    /// Remainder.
    Rem(Box<DimExpr>, Box<DimExpr>),
    /// The smaller.
    Min(Box<DimExpr>, Box<DimExpr>),
    /// The larger.
    Max(Box<DimExpr>, Box<DimExpr>),
}

/// One place in a tensor's shape: a dimension, or a pack of any number of them.
#[derive(Debug, Clone, PartialEq)]
pub enum DimItem {
    /// One dimension.
    One(DimExpr),
    /// A shape pack, `*S`.
    Pack(String),
}

/// A dtype, or the generic that stands for one.
#[derive(Debug, Clone, PartialEq)]
pub enum DTypeExpr {
    /// A dtype by name.
    Concrete(DType),
    /// A dtype generic such as `T`.
    Generic(String),
}

/// The inferred type of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// `Tensor[dims; dtype]`.
    Tensor {
        /// The shape.
        dims: Vec<DimItem>,
        /// The element type.
        dtype: DTypeExpr,
    },
    /// A scalar.
    Scalar(DTypeExpr),
    /// A value that may be absent.
    Option(Box<Type>),
    /// Several values.
    Tuple(Vec<Type>),
    /// No value.
    Unit,
}

/// What a generic parameter ranges over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GenericKind {
    /// A dimension.
    Dim,
    /// A shape pack.
    Shape,
    /// A float dtype (`f32`, `f16`, `bf16`).
    Float,
    /// An integer dtype (`i8`, `i32`, `i64`, `u8`).
    Int,
    /// Any dtype (the bound `DType`).
    AnyDType,
}

/// A generic parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Generic {
    /// Its name.
    pub name: String,
    /// What it ranges over.
    pub kind: GenericKind,
    /// Its default, where it has one.
    pub default: Option<GenericArg>,
}

/// What a generic is bound to.
#[derive(Debug, Clone, PartialEq)]
pub enum GenericArg {
    /// A dimension.
    Dim(DimExpr),
    /// The dimensions of a pack.
    Shape(Vec<DimItem>),
    /// A dtype.
    DType(DTypeExpr),
}

/// How two sides of a requirement compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// One clause of `#[require(..)]`.
#[derive(Debug, Clone, PartialEq)]
pub enum Requirement {
    /// Over dimensions and integer scalar parameters.
    Compare {
        /// Left side.
        left: DimExpr,
        /// How they compare.
        comparison: Comparison,
        /// Right side.
        right: DimExpr,
        /// The clause as written.
        text: String,
    },
    /// Holds of every element of an integer tensor parameter, as in
    /// `0 <= tokens` or `tokens < Vocab`.
    Elements {
        /// The tensor parameter.
        param: String,
        /// How each element compares to `bound`.
        comparison: Comparison,
        /// The bound.
        bound: DimExpr,
        /// The clause as written.
        text: String,
    },
    /// `distinct(slots)`: no value occurs twice in an integer tensor parameter.
    Distinct {
        /// The tensor parameter.
        param: String,
        /// The clause as written.
        text: String,
    },
    /// `packed(rows, positions, segments)`: tokens of several sequences side by
    /// side. Those of one segment (0 or more; a negative one marks padding) lie
    /// in one row at consecutive positions, and no other segment has that row.
    Packed {
        /// The tensor parameters: rows, positions, segments.
        params: [String; 3],
        /// The clause as written.
        text: String,
    },
}

/// A member of a block.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: MemberKind,
}

/// What a member is.
#[derive(Debug, Clone)]
pub enum MemberKind {
    /// A tensor of the checkpoint; `Type::Option` where it may be absent.
    Param(Type),
    /// A tensor that calls update, zero at first.
    State(Type),
    /// A block, an array of them, or an optional one.
    Sub {
        /// The block.
        block: BlockRef,
        /// Its generics, in the order of its declaration.
        args: Vec<GenericArg>,
        /// The length, if it is an array.
        length: Option<DimExpr>,
        /// Whether the checkpoint decides its presence.
        optional: bool,
    },
}

/// A block: its generics, members and functions.
#[derive(Debug, Clone)]
pub struct BlockDescriptor {
    /// Its name.
    pub name: String,
    /// Its generics.
    pub generics: Vec<Generic>,
    /// What must hold of them.
    pub requires: Vec<Requirement>,
    /// Its members, in the order of the source.
    pub members: Vec<Member>,
    /// Its functions, in the order of the source.
    pub functions: Vec<Function>,
}

/// How a function takes its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// Not at all: an operation.
    None,
    /// `&self`.
    Ref,
    /// `&mut self`: it may write state.
    Mut,
}

/// A parameter of a function.
#[derive(Debug, Clone)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether it is `&mut`: a tensor that the function updates.
    pub by_mut: bool,
}

/// A function of a block, or the function of an operation.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether it is public.
    pub public: bool,
    /// Whether it is an entry.
    pub entry: bool,
    /// How it takes its block.
    pub receiver: Receiver,
    /// Its own generics.
    pub generics: Vec<Generic>,
    /// What must hold when it is called.
    pub requires: Vec<Requirement>,
    /// Its parameters without `self`. Parameter `i` is value `i`.
    pub params: Vec<Param>,
    /// What it returns.
    pub ret: Type,
    /// What it does.
    pub body: Body,
    /// The number of values it defines, parameters included.
    pub n_values: u32,
}

/// An operation: a function whose body is its meaning and which a kernel may replace.
#[derive(Debug, Clone)]
pub struct OpDescriptor {
    /// Its function.
    pub function: Function,
    /// The kernel that computes it faster, if any.
    pub kernel: Option<syn::Path>,
}

/// A sequence of nodes and the values it results in.
#[derive(Debug, Clone)]
pub struct Body {
    /// In order of execution.
    pub nodes: Vec<Node>,
    /// None for a body of type unit.
    pub result: Option<ValueId>,
}

/// One operation of a body.
#[derive(Debug, Clone)]
pub struct Node {
    /// The value it defines. A node of type unit defines one that nobody reads.
    pub out: ValueId,
    /// Its inferred type, in the generics of its function and block.
    pub ty: Type,
    /// What it does.
    pub op: NodeOp,
    /// The line of the source.
    pub line: u32,
}

/// A constant of the source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Literal {
    /// A float; infinities and NaN stand for `T::INFINITY`, `T::NEG_INFINITY` and `T::NAN`.
    Float(f64),
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
}

/// Functions of one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the function it is named for")]
pub enum UnaryOp {
    Neg,
    Not,
    Abs,
    Exp,
    Log,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Tanh,
    Erf,
    Floor,
}

/// Functions of two elements. Integer division and remainder round down; a
/// divisor of zero is an error when it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the function it is named for")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
    Pow,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
}

/// Folds over axes or indices. Sums and products of `f16` and `bf16` accumulate
/// in `f32`, those of integers in `i64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the fold it is named for")]
pub enum ReduceOp {
    Sum,
    Prod,
    Min,
    Max,
    Any,
    All,
}

/// An axis, counted from whichever end has no pack between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// From the front: 0 is the first axis.
    Front(u32),
    /// From the back: 0 is the last axis.
    Back(u32),
}

/// Where a slice begins, or which index it picks.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// Known from the dimensions.
    Dim(DimExpr),
    /// An integer scalar known when it runs; checked against the axis then.
    Value(ValueId),
}

/// One entry of `s![..]`.
#[derive(Debug, Clone, PartialEq)]
pub enum SliceItem {
    /// `..`: a whole axis.
    Full,
    /// `...`: as many whole axes as the other entries leave.
    Rest,
    /// `a..b;step`: the length is in the node's type.
    Range {
        /// The first index.
        start: Start,
        /// The distance between indices, at least 1.
        step: i64,
    },
    /// One index; the axis goes.
    Index(Start),
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// A value.
    Value(ValueId),
    /// A tensor that the callee updates in place: a state of `self`, given by
    /// the name of the member.
    State(String),
    /// A `&mut` parameter of this function, handed on.
    MutParam(u32),
}

/// What is called.
#[derive(Debug, Clone)]
pub enum Callee {
    /// An operation.
    Op(syn::Path),
    /// Another function of the same block.
    Own(String),
    /// A function of a sub-block.
    Member {
        /// The member.
        member: String,
        /// The function.
        function: String,
    },
    /// A function of the element of the loop over a block array that binds this name.
    Element {
        /// The value id that stands for the loop's element.
        element: ValueId,
        /// The function.
        function: String,
    },
}

/// A variable carried around a loop.
#[derive(Debug, Clone)]
pub struct Carried {
    /// Its value before the loop.
    pub init: ValueId,
    /// The value inside the body at the start of each turn.
    pub entering: ValueId,
    /// The value at the end of each turn.
    pub leaving: ValueId,
    /// The value after the loop.
    pub out: ValueId,
}

/// A value that depends on which branch ran.
#[derive(Debug, Clone)]
pub struct Merge {
    /// Its value at the end of the first branch.
    pub first: ValueId,
    /// Its value at the end of the second branch.
    pub second: ValueId,
    /// The value afterwards.
    pub out: ValueId,
}

/// What a node does.
#[derive(Debug, Clone)]
pub enum NodeOp {
    /// A scalar of the node's dtype.
    Literal(Literal),
    /// A dimension as a scalar of the node's dtype.
    Dim(DimExpr),
    /// A `#[param]` or `#[state]` of `self`, or of a tensor member of a
    /// sub-block (`path` has two or more names then). With the name of an
    /// optional sub-block and the type `Option<()>`, that block if it is
    /// there: the input of a `MatchOption`.
    Member(Vec<String>),
    /// The same of the element of a loop over a block array.
    ElementMember {
        /// The value id that stands for the loop's element.
        element: ValueId,
        /// The names from the element down.
        path: Vec<String>,
    },
    /// Reads a `&mut` parameter as it is now.
    ReadMut(u32),
    /// Element by element.
    Unary(UnaryOp, ValueId),
    /// Element by element; shapes broadcast, aligned at the right, scalars too.
    Binary(BinaryOp, ValueId, ValueId),
    /// `select(condition, yes, no)`, element by element with broadcast.
    Select(ValueId, ValueId, ValueId),
    /// To the node's dtype: float to integer truncates and saturates.
    Cast(ValueId),
    /// To the node's shape, elements in row-major order.
    Reshape(ValueId),
    /// Axes in a new order.
    Permute(ValueId, Vec<Axis>),
    /// To the node's shape, axes of 1 repeated, new axes in front.
    BroadcastTo(ValueId),
    /// A part.
    Slice(ValueId, Vec<SliceItem>),
    /// Side by side along an axis.
    Concat(Vec<ValueId>, Axis),
    /// 0, 1, 2, .. of the node's one-dimensional type.
    Iota,
    /// The node's shape, filled with a scalar.
    Fill(ValueId),
    /// A fold over axes.
    Reduce {
        /// The fold.
        op: ReduceOp,
        /// What is folded.
        input: ValueId,
        /// Over which axes.
        axes: Vec<Axis>,
        /// Whether they stay, with length 1.
        keep: bool,
    },
    /// `index!(..)`.
    Index(Box<IndexExpr>),
    /// A call.
    Call {
        /// What is called.
        callee: Callee,
        /// The callee's own generics (without its block's), in the order of its declaration.
        generics: Vec<GenericArg>,
        /// Its arguments.
        args: Vec<Arg>,
    },
    /// `Some(x)`.
    Some(ValueId),
    /// `None`, of the node's type.
    None,
    /// Several values as one.
    Tuple(Vec<ValueId>),
    /// One of several.
    Field(ValueId, u32),
    /// Overwrites a state of `self`.
    SetState(String, ValueId),
    /// Overwrites a `&mut` parameter.
    SetMut(u32, ValueId),
    /// `for element in &self.blocks`, one turn for each block in order.
    ForBlocks {
        /// The array member.
        member: String,
        /// Stands for the block of the turn.
        element: ValueId,
        /// Variables that the body assigns.
        carried: Vec<Carried>,
        /// One turn.
        body: Body,
    },
    /// `for i in a..b` over dimensions.
    ForRange {
        /// First index.
        start: DimExpr,
        /// One past the last.
        end: DimExpr,
        /// The index as a scalar of dtype i64.
        index: ValueId,
        /// Variables that the body assigns.
        carried: Vec<Carried>,
        /// One turn.
        body: Body,
    },
    /// `if`; the node's value is the result of the branch that ran.
    If {
        /// A scalar bool.
        condition: ValueId,
        /// Runs if it is true.
        yes: Body,
        /// Runs if it is false.
        no: Body,
        /// Variables that a branch assigns.
        merges: Vec<Merge>,
    },
    /// `match` or `if let` on an optional value.
    MatchOption {
        /// The optional value.
        input: ValueId,
        /// The content within the first branch.
        some: ValueId,
        /// Runs if there is one.
        yes: Body,
        /// Runs if there is none.
        no: Body,
        /// Variables that a branch assigns.
        merges: Vec<Merge>,
    },
}

/// `index!([outputs] = fold[reduced] element)`.
#[derive(Debug, Clone)]
pub struct IndexExpr {
    /// The index variables of the output, in order. Their extents make the node's shape.
    pub outputs: Vec<IndexVar>,
    /// The fold, if any.
    pub reduce: Option<ReduceOp>,
    /// The index variables that are folded over.
    pub reduced: Vec<IndexVar>,
    /// The element for one setting of all variables.
    pub element: Scalar,
}

/// An index variable: variable number `i` is `outputs[i]`, and after the last
/// of them the reduced ones follow.
#[derive(Debug, Clone)]
pub struct IndexVar {
    /// Its name, without the star of a pack.
    pub name: String,
    /// What it runs over.
    pub extent: DimItem,
}

/// A scalar expression inside `index!`.
#[derive(Debug, Clone)]
pub struct Scalar {
    /// What it computes.
    pub op: ScalarOp,
    /// Of which dtype.
    pub dtype: DTypeExpr,
}

/// What a scalar expression computes.
#[derive(Debug, Clone)]
pub enum ScalarOp {
    /// A constant.
    Literal(Literal),
    /// The value of an index variable (not of a pack).
    Var(u32),
    /// A dimension.
    Dim(DimExpr),
    /// A scalar of the function.
    Value(ValueId),
    /// An element of a tensor. A computed index is checked when it runs.
    Element {
        /// The tensor.
        tensor: ValueId,
        /// An index for each axis, or for each pack.
        at: Vec<ElementIndex>,
    },
    /// A function of one element.
    Unary(UnaryOp, Box<Scalar>),
    /// A function of two elements.
    Binary(BinaryOp, Box<Scalar>, Box<Scalar>),
    /// `if c { a } else { b }`: only the branch taken is computed.
    If(Box<Scalar>, Box<Scalar>, Box<Scalar>),
    /// To this expression's dtype.
    Cast(Box<Scalar>),
}

/// How an axis of a tensor is indexed.
#[derive(Debug, Clone)]
pub enum ElementIndex {
    /// By an index variable whose extent equals the axis.
    Var(u32),
    /// Axes of a pack, by the pack's index variable.
    Pack(u32),
    /// By an integer expression, checked when it runs.
    Computed(Scalar),
}
