//! [`crate::ir`] as constant data: expressions of `linnet_runtime::descriptor`.
//!
//! Every expression here is a constant that rustc promotes to a static, so
//! nested references need no items of their own. The expressions name the
//! module `linnet_runtime::descriptor` as `__d` (see [`super::DESCRIPTOR_ALIAS`]).

use proc_macro2::{Ident, Literal as Token, Span, TokenStream};
use quote::quote;

use super::rust_type::stand_in;
use crate::ir::*;

/// What becomes an expression of the type of the same name in
/// `linnet_runtime::descriptor`.
pub(super) trait Describe {
    /// The expression.
    fn describe(&self) -> TokenStream;
}

/// `&[a, b]`.
fn list<'a, T: Describe + 'a>(items: impl IntoIterator<Item = &'a T>) -> TokenStream {
    let items = items.into_iter().map(Describe::describe);
    quote!(&[#(#items),*])
}

/// `&a`.
fn boxed(item: &impl Describe) -> TokenStream {
    let item = item.describe();
    quote!(&#item)
}

/// `Some(a)` or `None`.
fn option<T: Describe>(item: &Option<T>) -> TokenStream {
    match item {
        Some(item) => {
            let item = item.describe();
            quote!(::core::option::Option::Some(#item))
        }
        None => quote!(::core::option::Option::None),
    }
}

/// The variant of a fieldless enum, whose names agree on both sides.
fn variant(of: &str, value: &impl std::fmt::Debug) -> TokenStream {
    let of = Ident::new(of, Span::call_site());
    let variant = Ident::new(&format!("{value:?}"), Span::call_site());
    quote!(__d::#of::#variant)
}

impl Describe for String {
    fn describe(&self) -> TokenStream {
        quote!(#self)
    }
}

impl Describe for u32 {
    fn describe(&self) -> TokenStream {
        let token = Token::u32_unsuffixed(*self);
        quote!(#token)
    }
}

impl Describe for i64 {
    fn describe(&self) -> TokenStream {
        let token = Token::u64_unsuffixed(self.unsigned_abs());
        match self {
            // The smallest integer has no literal of its own magnitude.
            &i64::MIN => quote!(::core::primitive::i64::MIN),
            ..0 => quote!(-#token),
            _ => quote!(#token),
        }
    }
}

impl Describe for f64 {
    fn describe(&self) -> TokenStream {
        if self.is_nan() {
            quote!(::core::primitive::f64::NAN)
        } else if *self == f64::INFINITY {
            quote!(::core::primitive::f64::INFINITY)
        } else if *self == f64::NEG_INFINITY {
            quote!(::core::primitive::f64::NEG_INFINITY)
        } else {
            let token = Token::f64_suffixed(self.abs());
            match self.is_sign_negative() {
                true => quote!(-#token),
                false => quote!(#token),
            }
        }
    }
}

macro_rules! describe_plain {
    ($($name:ident)*) => {$(
        impl Describe for $name {
            fn describe(&self) -> TokenStream {
                variant(stringify!($name), self)
            }
        }
    )*};
}

describe_plain! { DType GenericKind Comparison Receiver UnaryOp BinaryOp ReduceOp }

impl Describe for DimExpr {
    fn describe(&self) -> TokenStream {
        let (name, a, b) = match self {
            DimExpr::Const(value) => {
                let value = value.describe();
                return quote!(__d::DimExpr::Const(#value));
            }
            DimExpr::Generic(name) => return quote!(__d::DimExpr::Generic(#name)),
            DimExpr::Scalar(name) => return quote!(__d::DimExpr::Scalar(#name)),
            DimExpr::Add(a, b) => ("Add", a, b),
            DimExpr::Sub(a, b) => ("Sub", a, b),
            DimExpr::Mul(a, b) => ("Mul", a, b),
            DimExpr::Div(a, b) => ("Div", a, b),
            DimExpr::Rem(a, b) => ("Rem", a, b),
            DimExpr::Min(a, b) => ("Min", a, b),
            DimExpr::Max(a, b) => ("Max", a, b),
        };
        let name = Ident::new(name, Span::call_site());
        let (a, b) = (a.describe(), b.describe());
        quote!(__d::DimExpr::#name(&#a, &#b))
    }
}

impl Describe for DimItem {
    fn describe(&self) -> TokenStream {
        match self {
            DimItem::One(dim) => {
                let dim = dim.describe();
                quote!(__d::DimItem::One(#dim))
            }
            DimItem::Pack(name) => quote!(__d::DimItem::Pack(#name)),
        }
    }
}

impl Describe for DTypeExpr {
    fn describe(&self) -> TokenStream {
        match self {
            DTypeExpr::Concrete(dtype) => {
                let dtype = dtype.describe();
                quote!(__d::DTypeExpr::Concrete(#dtype))
            }
            DTypeExpr::Generic(name) => quote!(__d::DTypeExpr::Generic(#name)),
        }
    }
}

impl Describe for Type {
    fn describe(&self) -> TokenStream {
        match self {
            Type::Tensor { dims, dtype } => {
                let (dims, dtype) = (list(dims), dtype.describe());
                quote!(__d::Type::Tensor { dims: #dims, dtype: #dtype })
            }
            Type::Scalar(dtype) => {
                let dtype = dtype.describe();
                quote!(__d::Type::Scalar(#dtype))
            }
            Type::Option(inner) => {
                let inner = inner.describe();
                quote!(__d::Type::Option(&#inner))
            }
            Type::Tuple(parts) => {
                let parts = list(parts);
                quote!(__d::Type::Tuple(#parts))
            }
            Type::Unit => quote!(__d::Type::Unit),
        }
    }
}

impl Describe for Generic {
    fn describe(&self) -> TokenStream {
        let name = &self.name;
        let kind = self.kind.describe();
        let default = option(&self.default);
        quote!(__d::Generic { name: #name, kind: #kind, default: #default })
    }
}

impl Describe for GenericArg {
    fn describe(&self) -> TokenStream {
        match self {
            GenericArg::Dim(dim) => {
                let dim = dim.describe();
                quote!(__d::GenericArg::Dim(#dim))
            }
            GenericArg::Shape(dims) => {
                let dims = list(dims);
                quote!(__d::GenericArg::Shape(#dims))
            }
            GenericArg::DType(dtype) => {
                let dtype = dtype.describe();
                quote!(__d::GenericArg::DType(#dtype))
            }
        }
    }
}

impl Describe for Requirement {
    fn describe(&self) -> TokenStream {
        match self {
            Requirement::Compare {
                left,
                comparison,
                right,
                text,
            } => {
                let (left, right) = (left.describe(), right.describe());
                let comparison = comparison.describe();
                quote!(__d::Requirement::Compare {
                    left: #left, comparison: #comparison, right: #right, text: #text
                })
            }
            Requirement::Elements {
                param,
                comparison,
                bound,
                text,
            } => {
                let (comparison, bound) = (comparison.describe(), bound.describe());
                quote!(__d::Requirement::Elements {
                    param: #param, comparison: #comparison, bound: #bound, text: #text
                })
            }
            Requirement::Distinct { param, text } => {
                quote!(__d::Requirement::Distinct { param: #param, text: #text })
            }
            Requirement::Packed { params, text } => {
                quote!(__d::Requirement::Packed { params: [#(#params),*], text: #text })
            }
        }
    }
}

impl Describe for Member {
    fn describe(&self) -> TokenStream {
        let name = &self.name;
        let kind = self.kind.describe();
        quote!(__d::Member { name: #name, kind: #kind })
    }
}

impl Describe for MemberKind {
    fn describe(&self) -> TokenStream {
        match self {
            MemberKind::Param(ty) => {
                let ty = ty.describe();
                quote!(__d::MemberKind::Param(#ty))
            }
            MemberKind::State(ty) => {
                let ty = ty.describe();
                quote!(__d::MemberKind::State(#ty))
            }
            MemberKind::Sub {
                block,
                args,
                length,
                optional,
            } => {
                let block = block_descriptor(block);
                let (args, length) = (list(args), option(length));
                quote!(__d::MemberKind::Sub {
                    block: #block, args: #args, length: #length, optional: #optional
                })
            }
        }
    }
}

/// The descriptor of a block that is named by its path, with a stand-in for
/// each of its generics: the descriptor is the same whatever they are.
fn block_descriptor(block: &BlockRef) -> TokenStream {
    let path = &block.path;
    let stand_ins = block.kinds.iter().map(|kind| stand_in(*kind));
    quote!(<#path<#(#stand_ins),*> as ::linnet_runtime::Block>::DESCRIPTOR)
}

impl Describe for Param {
    fn describe(&self) -> TokenStream {
        let Param { name, ty, by_mut } = self;
        let ty = ty.describe();
        quote!(__d::Param { name: #name, ty: #ty, by_mut: #by_mut })
    }
}

impl Describe for Function {
    fn describe(&self) -> TokenStream {
        let Function {
            name,
            public,
            entry,
            receiver,
            generics,
            requires,
            params,
            ret,
            body,
            n_values,
        } = self;
        let receiver = receiver.describe();
        let (generics, requires, params) = (list(generics), list(requires), list(params));
        let (ret, body, n_values) = (ret.describe(), body.describe(), n_values.describe());
        quote!(__d::Function {
            name: #name, public: #public, entry: #entry, receiver: #receiver,
            generics: #generics, requires: #requires, params: #params,
            ret: #ret, body: #body, n_values: #n_values,
        })
    }
}

impl Describe for Body {
    fn describe(&self) -> TokenStream {
        let (nodes, result) = (list(&self.nodes), option(&self.result));
        quote!(__d::Body { nodes: #nodes, result: #result })
    }
}

impl Describe for Node {
    fn describe(&self) -> TokenStream {
        let (out, ty, op, line) = (
            self.out.describe(),
            self.ty.describe(),
            self.op.describe(),
            self.line.describe(),
        );
        quote!(__d::Node { out: #out, ty: #ty, op: #op, line: #line })
    }
}

impl Describe for Literal {
    fn describe(&self) -> TokenStream {
        match self {
            Literal::Float(value) => {
                let value = value.describe();
                quote!(__d::Literal::Float(#value))
            }
            Literal::Int(value) => {
                let value = value.describe();
                quote!(__d::Literal::Int(#value))
            }
            Literal::Bool(value) => quote!(__d::Literal::Bool(#value)),
        }
    }
}

impl Describe for Axis {
    fn describe(&self) -> TokenStream {
        match self {
            Axis::Front(axis) => {
                let axis = axis.describe();
                quote!(__d::Axis::Front(#axis))
            }
            Axis::Back(axis) => {
                let axis = axis.describe();
                quote!(__d::Axis::Back(#axis))
            }
        }
    }
}

impl Describe for Start {
    fn describe(&self) -> TokenStream {
        match self {
            Start::Dim(dim) => {
                let dim = dim.describe();
                quote!(__d::Start::Dim(#dim))
            }
            Start::Value(value) => {
                let value = value.describe();
                quote!(__d::Start::Value(#value))
            }
        }
    }
}

impl Describe for SliceItem {
    fn describe(&self) -> TokenStream {
        match self {
            SliceItem::Full => quote!(__d::SliceItem::Full),
            SliceItem::Rest => quote!(__d::SliceItem::Rest),
            SliceItem::Range { start, step } => {
                let (start, step) = (start.describe(), step.describe());
                quote!(__d::SliceItem::Range { start: #start, step: #step })
            }
            SliceItem::Index(start) => {
                let start = start.describe();
                quote!(__d::SliceItem::Index(#start))
            }
        }
    }
}

impl Describe for Arg {
    fn describe(&self) -> TokenStream {
        match self {
            Arg::Value(value) => {
                let value = value.describe();
                quote!(__d::Arg::Value(#value))
            }
            Arg::State(name) => quote!(__d::Arg::State(#name)),
            Arg::MutParam(param) => {
                let param = param.describe();
                quote!(__d::Arg::MutParam(#param))
            }
        }
    }
}

impl Describe for Callee {
    fn describe(&self) -> TokenStream {
        match self {
            Callee::Op(path) => {
                quote!(__d::Callee::Op(<#path as ::linnet_runtime::Op>::DESCRIPTOR))
            }
            Callee::Own(name) => quote!(__d::Callee::Own(#name)),
            Callee::Member { member, function } => {
                quote!(__d::Callee::Member { member: #member, function: #function })
            }
            Callee::Element { element, function } => {
                let element = element.describe();
                quote!(__d::Callee::Element { element: #element, function: #function })
            }
        }
    }
}

impl Describe for Carried {
    fn describe(&self) -> TokenStream {
        let Carried {
            init,
            entering,
            leaving,
            out,
        } = self;
        quote!(__d::Carried { init: #init, entering: #entering, leaving: #leaving, out: #out })
    }
}

impl Describe for Merge {
    fn describe(&self) -> TokenStream {
        let Merge { first, second, out } = self;
        quote!(__d::Merge { first: #first, second: #second, out: #out })
    }
}

impl Describe for NodeOp {
    fn describe(&self) -> TokenStream {
        let op = match self {
            NodeOp::Literal(literal) => {
                let literal = literal.describe();
                quote!(Literal(#literal))
            }
            NodeOp::Dim(dim) => {
                let dim = dim.describe();
                quote!(Dim(#dim))
            }
            NodeOp::Member(path) => {
                let path = list(path);
                quote!(Member(#path))
            }
            NodeOp::ElementMember { element, path } => {
                let (element, path) = (element.describe(), list(path));
                quote!(ElementMember { element: #element, path: #path })
            }
            NodeOp::ReadMut(param) => quote!(ReadMut(#param)),
            NodeOp::Unary(op, a) => {
                let op = op.describe();
                quote!(Unary(#op, #a))
            }
            NodeOp::Binary(op, a, b) => {
                let op = op.describe();
                quote!(Binary(#op, #a, #b))
            }
            NodeOp::Select(condition, yes, no) => quote!(Select(#condition, #yes, #no)),
            NodeOp::Cast(a) => quote!(Cast(#a)),
            NodeOp::Reshape(a) => quote!(Reshape(#a)),
            NodeOp::Permute(a, axes) => {
                let axes = list(axes);
                quote!(Permute(#a, #axes))
            }
            NodeOp::BroadcastTo(a) => quote!(BroadcastTo(#a)),
            NodeOp::Slice(a, items) => {
                let items = list(items);
                quote!(Slice(#a, #items))
            }
            NodeOp::Concat(parts, axis) => {
                let (parts, axis) = (list(parts), axis.describe());
                quote!(Concat(#parts, #axis))
            }
            NodeOp::Iota => quote!(Iota),
            NodeOp::Fill(a) => quote!(Fill(#a)),
            NodeOp::Reduce {
                op,
                input,
                axes,
                keep,
            } => {
                let (op, axes) = (op.describe(), list(axes));
                quote!(Reduce { op: #op, input: #input, axes: #axes, keep: #keep })
            }
            NodeOp::Index(index) => {
                let index = boxed(index.as_ref());
                quote!(Index(#index))
            }
            NodeOp::Call {
                callee,
                generics,
                args,
            } => {
                let (callee, generics, args) = (callee.describe(), list(generics), list(args));
                quote!(Call { callee: #callee, generics: #generics, args: #args })
            }
            NodeOp::Some(a) => quote!(Some(#a)),
            NodeOp::None => quote!(None),
            NodeOp::Tuple(parts) => {
                let parts = list(parts);
                quote!(Tuple(#parts))
            }
            NodeOp::Field(a, field) => quote!(Field(#a, #field)),
            NodeOp::SetState(name, a) => quote!(SetState(#name, #a)),
            NodeOp::SetMut(param, a) => quote!(SetMut(#param, #a)),
            NodeOp::ForBlocks {
                member,
                element,
                carried,
                body,
            } => {
                let (carried, body) = (list(carried), body.describe());
                quote!(ForBlocks {
                    member: #member, element: #element, carried: #carried, body: #body
                })
            }
            NodeOp::ForRange {
                start,
                end,
                index,
                carried,
                body,
            } => {
                let (start, end) = (start.describe(), end.describe());
                let (carried, body) = (list(carried), body.describe());
                quote!(ForRange {
                    start: #start, end: #end, index: #index, carried: #carried, body: #body
                })
            }
            NodeOp::If {
                condition,
                yes,
                no,
                merges,
            } => {
                let (yes, no, merges) = (yes.describe(), no.describe(), list(merges));
                quote!(If { condition: #condition, yes: #yes, no: #no, merges: #merges })
            }
            NodeOp::MatchOption {
                input,
                some,
                yes,
                no,
                merges,
            } => {
                let (yes, no, merges) = (yes.describe(), no.describe(), list(merges));
                quote!(MatchOption {
                    input: #input, some: #some, yes: #yes, no: #no, merges: #merges
                })
            }
        };
        quote!(__d::NodeOp::#op)
    }
}

impl Describe for IndexExpr {
    fn describe(&self) -> TokenStream {
        let (outputs, reduced) = (list(&self.outputs), list(&self.reduced));
        let (reduce, element) = (option(&self.reduce), self.element.describe());
        quote!(__d::IndexExpr {
            outputs: #outputs, reduce: #reduce, reduced: #reduced, element: #element
        })
    }
}

impl Describe for IndexVar {
    fn describe(&self) -> TokenStream {
        let (name, extent) = (&self.name, self.extent.describe());
        quote!(__d::IndexVar { name: #name, extent: #extent })
    }
}

impl Describe for Scalar {
    fn describe(&self) -> TokenStream {
        let (op, dtype) = (self.op.describe(), self.dtype.describe());
        quote!(__d::Scalar { op: #op, dtype: #dtype })
    }
}

impl Describe for ScalarOp {
    fn describe(&self) -> TokenStream {
        let op = match self {
            ScalarOp::Literal(literal) => {
                let literal = literal.describe();
                quote!(Literal(#literal))
            }
            ScalarOp::Var(var) => quote!(Var(#var)),
            ScalarOp::Dim(dim) => {
                let dim = dim.describe();
                quote!(Dim(#dim))
            }
            ScalarOp::Value(value) => quote!(Value(#value)),
            ScalarOp::Element { tensor, at } => {
                let at = list(at);
                quote!(Element { tensor: #tensor, at: #at })
            }
            ScalarOp::Unary(op, a) => {
                let (op, a) = (op.describe(), boxed(a.as_ref()));
                quote!(Unary(#op, #a))
            }
            ScalarOp::Binary(op, a, b) => {
                let (op, a, b) = (op.describe(), boxed(a.as_ref()), boxed(b.as_ref()));
                quote!(Binary(#op, #a, #b))
            }
            ScalarOp::If(condition, yes, no) => {
                let condition = boxed(condition.as_ref());
                let (yes, no) = (boxed(yes.as_ref()), boxed(no.as_ref()));
                quote!(If(#condition, #yes, #no))
            }
            ScalarOp::Cast(a) => {
                let a = boxed(a.as_ref());
                quote!(Cast(#a))
            }
        };
        quote!(__d::ScalarOp::#op)
    }
}

impl Describe for ElementIndex {
    fn describe(&self) -> TokenStream {
        match self {
            ElementIndex::Var(var) => quote!(__d::ElementIndex::Var(#var)),
            ElementIndex::Pack(var) => quote!(__d::ElementIndex::Pack(#var)),
            ElementIndex::Computed(index) => {
                let index = index.describe();
                quote!(__d::ElementIndex::Computed(#index))
            }
        }
    }
}

/// The descriptor of a block, as a value.
pub(super) fn block(block: &BlockDescriptor) -> TokenStream {
    let BlockDescriptor {
        name,
        generics,
        requires,
        members,
        functions,
    } = block;
    let (generics, requires) = (list(generics), list(requires));
    let (members, functions) = (list(members), list(functions));
    quote!(__d::BlockDescriptor {
        name: #name, module: ::core::module_path!(), generics: #generics,
        requires: #requires, members: #members, functions: #functions,
    })
}

/// The descriptor of an operation, as a value.
pub(super) fn op(op: &OpDescriptor) -> TokenStream {
    let function = op.function.describe();
    let kernel = match &op.kernel {
        Some(path) => {
            let path = kernel_path(path);
            quote!(::core::option::Option::Some(&#path))
        }
        None => quote!(::core::option::Option::None),
    };
    quote!(__d::OpDescriptor {
        module: ::core::module_path!(), function: #function, kernel: #kernel,
    })
}

/// A lone name in lower case is a kernel of the runtime; anything else is a
/// path to a constant in the author's scope.
fn kernel_path(path: &syn::Path) -> TokenStream {
    match path.get_ident() {
        Some(name)
            if name
                .to_string()
                .starts_with(|first: char| first.is_lowercase()) =>
        {
            quote!(::linnet_runtime::kernel::#name)
        }
        _ => quote!(#path),
    }
}
