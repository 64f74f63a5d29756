//! What the macros emit: every block, function and operation as constant data.
//!
//! A `#[block]` or `#[op]` compiles to one of these descriptors. The executor
//! plans and runs them, `inspect` prints them, and nothing else knows how a
//! model was written. All references are `'static`, so a descriptor costs no
//! work when a program starts. Values are numbered within their function:
//! each [`ValueId`] is defined once, and nested bodies see the ids of the
//! bodies around them.

pub use crate::dtype::DType;
use crate::kernel::Kernel;

/// The number of a value within its function.
pub type ValueId = u32;

/// An integer expression over dimension generics, in the author's own form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DimExpr {
    /// A constant.
    Const(i64),
    /// A `Dim` generic of the function or of its block.
    Generic(&'static str),
    /// An integer scalar parameter of the function (in requirements only).
    Scalar(&'static str),
    /// Sum.
    Add(&'static DimExpr, &'static DimExpr),
    /// Difference.
    Sub(&'static DimExpr, &'static DimExpr),
    /// Product.
    Mul(&'static DimExpr, &'static DimExpr),
    /// Quotient, rounded down.
    Div(&'static DimExpr, &'static DimExpr),
    /// Remainder.
    Rem(&'static DimExpr, &'static DimExpr),
    /// The smaller.
    Min(&'static DimExpr, &'static DimExpr),
    /// The larger.
    Max(&'static DimExpr, &'static DimExpr),
}

/// One place in a tensor's shape: a dimension, or a pack of any number of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DimItem {
    /// One dimension.
    One(DimExpr),
    /// A shape pack, `*S`.
    Pack(&'static str),
}

/// A dtype, or the generic that stands for one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DTypeExpr {
    /// A dtype by name.
    Concrete(DType),
    /// A dtype generic such as `T`.
    Generic(&'static str),
}

/// The inferred type of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Type {
    /// `Tensor[dims; dtype]`.
    Tensor {
        /// The shape.
        dims: &'static [DimItem],
        /// The element type.
        dtype: DTypeExpr,
    },
    /// A scalar.
    Scalar(DTypeExpr),
    /// A value that may be absent.
    Option(&'static Type),
    /// Several values.
    Tuple(&'static [Type]),
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Generic {
    /// Its name.
    pub name: &'static str,
    /// What it ranges over.
    pub kind: GenericKind,
    /// Its default, where it has one.
    pub default: Option<GenericArg>,
}

/// What a generic is bound to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GenericArg {
    /// A dimension.
    Dim(DimExpr),
    /// The dimensions of a pack.
    Shape(&'static [DimItem]),
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
#[derive(Debug, Clone, Copy, PartialEq)]
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
        text: &'static str,
    },
    /// Holds of every element of an integer tensor parameter, as in
    /// `0 <= tokens` or `tokens < Vocab`.
    Elements {
        /// The tensor parameter.
        param: &'static str,
        /// How each element compares to `bound`.
        comparison: Comparison,
        /// The bound.
        bound: DimExpr,
        /// The clause as written.
        text: &'static str,
    },
    /// `distinct(slots)`: no value occurs twice in an integer tensor parameter.
    Distinct {
        /// The tensor parameter.
        param: &'static str,
        /// The clause as written.
        text: &'static str,
    },
    /// `packed(rows, positions, segments)`: tokens of several sequences side by
    /// side. Those of one segment (0 or more; a negative one marks padding) lie
    /// in one row at consecutive positions, and no other segment has that row.
    Packed {
        /// The tensor parameters: rows, positions, segments.
        params: [&'static str; 3],
        /// The clause as written.
        text: &'static str,
    },
}

/// A member of a block.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: MemberKind,
}

/// What a member is.
#[derive(Debug, Clone, Copy)]
pub enum MemberKind {
    /// A tensor of the checkpoint; `Type::Option` where it may be absent.
    Param(Type),
    /// A tensor that calls update, zero at first.
    State(Type),
    /// A block, an array of them, or an optional one.
    Sub {
        /// The block.
        block: &'static BlockDescriptor,
        /// Its generics, in the order of its declaration.
        args: &'static [GenericArg],
        /// The length, if it is an array.
        length: Option<DimExpr>,
        /// Whether the checkpoint decides its presence.
        optional: bool,
    },
}

/// A block: its generics, members and functions.
#[derive(Debug)]
pub struct BlockDescriptor {
    /// Its name.
    pub name: &'static str,
    /// The path of its Rust module.
    pub module: &'static str,
    /// Its generics.
    pub generics: &'static [Generic],
    /// What must hold of them.
    pub requires: &'static [Requirement],
    /// Its members, in the order of the source.
    pub members: &'static [Member],
    /// Its functions, in the order of the source.
    pub functions: &'static [Function],
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
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: Type,
    /// Whether it is `&mut`: a tensor that the function updates.
    pub by_mut: bool,
}

/// A function of a block, or the function of an operation.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Whether it is public.
    pub public: bool,
    /// Whether it is an entry.
    pub entry: bool,
    /// How it takes its block.
    pub receiver: Receiver,
    /// Its own generics.
    pub generics: &'static [Generic],
    /// What must hold when it is called.
    pub requires: &'static [Requirement],
    /// Its parameters without `self`. Parameter `i` is value `i`.
    pub params: &'static [Param],
    /// What it returns.
    pub ret: Type,
    /// What it does.
    pub body: Body,
    /// The number of values it defines, parameters included.
    pub n_values: u32,
}

/// An operation: a function whose body is its meaning and which a kernel may replace.
#[derive(Debug)]
pub struct OpDescriptor {
    /// The path of its Rust module.
    pub module: &'static str,
    /// Its function.
    pub function: Function,
    /// The kernel that computes it faster, if any.
    pub kernel: Option<&'static dyn Kernel>,
}

/// A sequence of nodes and the values it results in.
#[derive(Debug, Clone, Copy)]
pub struct Body {
    /// In order of execution.
    pub nodes: &'static [Node],
    /// None for a body of type unit.
    pub result: Option<ValueId>,
}

/// One operation of a body.
#[derive(Debug, Clone, Copy)]
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
    /// A float; infinities stand for `T::INFINITY` and `T::NEG_INFINITY`.
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start {
    /// Known from the dimensions.
    Dim(DimExpr),
    /// An integer scalar known when it runs; checked against the axis then.
    Value(ValueId),
}

/// One entry of `s![..]`.
#[derive(Debug, Clone, Copy, PartialEq)]
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arg {
    /// A value.
    Value(ValueId),
    /// A tensor that the callee updates in place: a state of `self`, given by
    /// the name of the member.
    State(&'static str),
    /// A `&mut` parameter of this function, handed on.
    MutParam(u32),
}

/// What is called.
#[derive(Debug, Clone, Copy)]
pub enum Callee {
    /// An operation.
    Op(&'static OpDescriptor),
    /// Another function of the same block.
    Own(&'static str),
    /// A function of a sub-block.
    Member {
        /// The member.
        member: &'static str,
        /// The function.
        function: &'static str,
    },
    /// A function of the element of the loop over a block array that binds this name.
    Element {
        /// The value id that stands for the loop's element.
        element: ValueId,
        /// The function.
        function: &'static str,
    },
}

/// A variable carried around a loop.
#[derive(Debug, Clone, Copy)]
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
#[derive(Debug, Clone, Copy)]
pub struct Merge {
    /// Its value at the end of the first branch.
    pub first: ValueId,
    /// Its value at the end of the second branch.
    pub second: ValueId,
    /// The value afterwards.
    pub out: ValueId,
}

/// What a node does.
#[derive(Debug, Clone, Copy)]
pub enum NodeOp {
    /// A scalar of the node's dtype.
    Literal(Literal),
    /// A dimension as a scalar of the node's dtype.
    Dim(DimExpr),
    /// A `#[param]` or `#[state]` of `self`, or of a tensor member of a
    /// sub-block (`path` has two or more names then).
    Member(&'static [&'static str]),
    /// The same of the element of a loop over a block array.
    ElementMember {
        /// The value id that stands for the loop's element.
        element: ValueId,
        /// The names from the element down.
        path: &'static [&'static str],
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
    Permute(ValueId, &'static [Axis]),
    /// To the node's shape, axes of 1 repeated, new axes in front.
    BroadcastTo(ValueId),
    /// A part.
    Slice(ValueId, &'static [SliceItem]),
    /// Side by side along an axis.
    Concat(&'static [ValueId], Axis),
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
        axes: &'static [Axis],
        /// Whether they stay, with length 1.
        keep: bool,
    },
    /// `index!(..)`.
    Index(&'static IndexExpr),
    /// A call.
    Call {
        /// What is called.
        callee: Callee,
        /// The callee's own generics (without its block's), in the order of its declaration.
        generics: &'static [GenericArg],
        /// Its arguments.
        args: &'static [Arg],
    },
    /// `Some(x)`.
    Some(ValueId),
    /// `None`, of the node's type.
    None,
    /// Several values as one.
    Tuple(&'static [ValueId]),
    /// One of several.
    Field(ValueId, u32),
    /// Overwrites a state of `self`.
    SetState(&'static str, ValueId),
    /// Overwrites a `&mut` parameter.
    SetMut(u32, ValueId),
    /// `for element in &self.blocks`, one turn for each block in order.
    ForBlocks {
        /// The array member.
        member: &'static str,
        /// Stands for the block of the turn.
        element: ValueId,
        /// Variables that the body assigns.
        carried: &'static [Carried],
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
        carried: &'static [Carried],
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
        merges: &'static [Merge],
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
        merges: &'static [Merge],
    },
}

/// `index!([outputs] = fold[reduced] element)`.
#[derive(Debug, Clone, Copy)]
pub struct IndexExpr {
    /// The index variables of the output, in order. Their extents make the node's shape.
    pub outputs: &'static [IndexVar],
    /// The fold, if any.
    pub reduce: Option<ReduceOp>,
    /// The index variables that are folded over.
    pub reduced: &'static [IndexVar],
    /// The element for one setting of all variables.
    pub element: Scalar,
}

/// An index variable: variable number `i` is `outputs[i]`, and after the last
/// of them the reduced ones follow.
#[derive(Debug, Clone, Copy)]
pub struct IndexVar {
    /// Its name, without the star of a pack.
    pub name: &'static str,
    /// What it runs over.
    pub extent: DimItem,
}

/// A scalar expression inside `index!`.
#[derive(Debug, Clone, Copy)]
pub struct Scalar {
    /// What it computes.
    pub op: ScalarOp,
    /// Of which dtype.
    pub dtype: DTypeExpr,
}

/// What a scalar expression computes.
#[derive(Debug, Clone, Copy)]
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
        at: &'static [ElementIndex],
    },
    /// A function of one element.
    Unary(UnaryOp, &'static Scalar),
    /// A function of two elements.
    Binary(BinaryOp, &'static Scalar, &'static Scalar),
    /// `if c { a } else { b }`: only the branch taken is computed.
    If(&'static Scalar, &'static Scalar, &'static Scalar),
    /// To this expression's dtype.
    Cast(&'static Scalar),
}

/// How an axis of a tensor is indexed.
#[derive(Debug, Clone, Copy)]
pub enum ElementIndex {
    /// By an index variable whose extent equals the axis.
    Var(u32),
    /// Axes of a pack, by the pack's index variable.
    Pack(u32),
    /// By an integer expression, checked when it runs.
    Computed(Scalar),
}
