//! Lowered functions as text, one node a line.

use crate::check::types::dtype_name;
use crate::dim::DimTree;
use crate::ir::{
    Arg, Body, Callee, DTypeExpr, DimExpr, DimItem, ElementIndex, Function, GenericArg, IndexVar,
    Literal, Merge, Node, NodeOp, Scalar, ScalarOp, SliceItem, Start, Type,
};
use crate::syntax;

/// A type, `Tensor[B, S; T]`.
pub(super) fn ty(ty: &Type) -> String {
    match ty {
        Type::Tensor { dims, dtype: of } => format!("Tensor[{}; {}]", items(dims), dtype(of)),
        Type::Scalar(of) => dtype(of),
        Type::Option(inner) => format!("Option<{}>", self::ty(inner)),
        Type::Tuple(parts) => {
            format!(
                "({})",
                parts.iter().map(self::ty).collect::<Vec<_>>().join(", ")
            )
        }
        Type::Unit => "()".to_owned(),
    }
}

fn items(items: &[DimItem]) -> String {
    items.iter().map(item).collect::<Vec<_>>().join(", ")
}

fn item(item: &DimItem) -> String {
    match item {
        DimItem::One(expr) => dim(expr),
        DimItem::Pack(name) => format!("*{name}"),
    }
}

fn dim(expr: &DimExpr) -> String {
    DimTree::from(expr).to_string()
}

fn dtype(of: &DTypeExpr) -> String {
    match of {
        DTypeExpr::Concrete(of) => dtype_name(*of).to_owned(),
        DTypeExpr::Generic(name) => name.clone(),
    }
}

/// The nodes of a function, and its result.
pub(super) fn function(function: &Function) -> String {
    let mut lines = Vec::new();
    body(&function.body, 0, &mut lines);
    lines.join("\n")
}

fn body(body: &Body, depth: usize, lines: &mut Vec<String>) {
    for one in &body.nodes {
        node(one, depth, lines);
    }
    if let Some(result) = body.result {
        lines.push(format!("{}-> %{result}", "  ".repeat(depth)));
    }
}

fn ids(ids: &[u32]) -> String {
    ids.iter()
        .map(|id| format!("%{id}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn node(node: &Node, depth: usize, lines: &mut Vec<String>) {
    let pad = "  ".repeat(depth);
    let text = match &node.op {
        NodeOp::Literal(value) => literal(value),
        NodeOp::Dim(expr) => format!("dim {}", dim(expr)),
        NodeOp::Member(path) => format!("self.{}", path.join(".")),
        NodeOp::ElementMember { element, path } => format!("%{element}.{}", path.join(".")),
        NodeOp::ReadMut(param) => format!("read {param}"),
        NodeOp::Unary(op, a) => format!("{op:?} %{a}"),
        NodeOp::Binary(op, a, b) => format!("{op:?} %{a}, %{b}"),
        NodeOp::Select(c, a, b) => format!("select %{c}, %{a}, %{b}"),
        NodeOp::Cast(a) => format!("cast %{a}"),
        NodeOp::Reshape(a) => format!("reshape %{a}"),
        NodeOp::Permute(a, axes) => format!("permute %{a} {axes:?}"),
        NodeOp::BroadcastTo(a) => format!("broadcast_to %{a}"),
        NodeOp::Slice(a, entries) => {
            let entries: Vec<String> = entries.iter().map(slice).collect();
            format!("slice %{a} [{}]", entries.join(", "))
        }
        NodeOp::Concat(parts, axis) => format!("concat {} {axis:?}", ids(parts)),
        NodeOp::Iota => "iota".to_owned(),
        NodeOp::Fill(a) => format!("fill %{a}"),
        NodeOp::Reduce {
            op,
            input,
            axes,
            keep,
        } => {
            format!(
                "{op:?} %{input} {axes:?}{}",
                if *keep { " keep" } else { "" }
            )
        }
        NodeOp::Index(index) => {
            let vars = |vars: &[IndexVar]| {
                let vars: Vec<String> = vars
                    .iter()
                    .map(|var| format!("{}: {}", var.name, item(&var.extent)))
                    .collect();
                vars.join(", ")
            };
            let fold = match &index.reduce {
                Some(op) => format!("{op:?}[{}] ", vars(&index.reduced)),
                None => String::new(),
            };
            format!(
                "index [{}] = {fold}{}",
                vars(&index.outputs),
                scalar(&index.element)
            )
        }
        NodeOp::Call {
            callee,
            generics,
            args,
        } => {
            let callee = match callee {
                Callee::Op(path) => syntax::text(path),
                Callee::Own(name) => format!("self.{name}"),
                Callee::Member { member, function } => format!("self.{member}.{function}"),
                Callee::Element { element, function } => format!("%{element}.{function}"),
            };
            let generics: Vec<String> = generics
                .iter()
                .map(|generic| match generic {
                    GenericArg::Dim(expr) => dim(expr),
                    GenericArg::Shape(shape) => format!("[{}]", items(shape)),
                    GenericArg::DType(of) => dtype(of),
                })
                .collect();
            let args: Vec<String> = args
                .iter()
                .map(|arg| match arg {
                    Arg::Value(id) => format!("%{id}"),
                    Arg::State(name) => format!("&mut self.{name}"),
                    Arg::MutParam(param) => format!("&mut {param}"),
                })
                .collect();
            format!("{callee}::<{}>({})", generics.join(", "), args.join(", "))
        }
        NodeOp::Some(a) => format!("some %{a}"),
        NodeOp::None => "none".to_owned(),
        NodeOp::Tuple(parts) => format!("tuple {}", ids(parts)),
        NodeOp::Field(a, field) => format!("%{a}.{field}"),
        NodeOp::SetState(name, a) => format!("self.{name} = %{a}"),
        NodeOp::SetMut(param, a) => format!("write {param} = %{a}"),
        NodeOp::ForBlocks {
            member,
            element,
            carried,
            ..
        } => {
            let carried: Vec<String> = carried.iter().map(carry).collect();
            format!("for %{element} in self.{member} [{}]", carried.join(", "))
        }
        NodeOp::ForRange {
            start,
            end,
            index,
            carried,
            ..
        } => {
            let carried: Vec<String> = carried.iter().map(carry).collect();
            format!(
                "for %{index} in {}..{} [{}]",
                dim(start),
                dim(end),
                carried.join(", ")
            )
        }
        NodeOp::If {
            condition, merges, ..
        } => format!("if %{condition} [{}]", merge(merges)),
        NodeOp::MatchOption {
            input,
            some,
            merges,
            ..
        } => {
            format!("match %{input} some %{some} [{}]", merge(merges))
        }
    };
    lines.push(format!("{pad}%{}: {} = {text}", node.out, ty(&node.ty)));
    match &node.op {
        NodeOp::ForBlocks { body: turn, .. } | NodeOp::ForRange { body: turn, .. } => {
            body(turn, depth + 1, lines);
        }
        NodeOp::If { yes, no, .. } | NodeOp::MatchOption { yes, no, .. } => {
            body(yes, depth + 1, lines);
            lines.push(format!("{pad}else"));
            body(no, depth + 1, lines);
        }
        _ => {}
    }
}

fn carry(carried: &crate::ir::Carried) -> String {
    let crate::ir::Carried {
        init,
        entering,
        leaving,
        out,
    } = carried;
    format!("%{init} -> %{entering} .. %{leaving} -> %{out}")
}

fn merge(merges: &[Merge]) -> String {
    let merges = merges
        .iter()
        .map(|m| format!("%{} | %{} -> %{}", m.first, m.second, m.out));
    merges.collect::<Vec<_>>().join(", ")
}

fn literal(value: &Literal) -> String {
    match value {
        Literal::Float(value) => format!("{value:?}"),
        Literal::Int(value) => value.to_string(),
        Literal::Bool(value) => value.to_string(),
    }
}

fn start(start: &Start) -> String {
    match start {
        Start::Dim(expr) => dim(expr),
        Start::Value(id) => format!("%{id}"),
    }
}

fn slice(item: &SliceItem) -> String {
    match item {
        SliceItem::Full => "..".to_owned(),
        SliceItem::Rest => "...".to_owned(),
        SliceItem::Range {
            start: from,
            step: 1,
        } => format!("{}..", start(from)),
        SliceItem::Range { start: from, step } => format!("{}..;{step}", start(from)),
        SliceItem::Index(at) => start(at),
    }
}

fn scalar(value: &Scalar) -> String {
    match &value.op {
        ScalarOp::Literal(value) => literal(value),
        ScalarOp::Var(var) => format!("#{var}"),
        ScalarOp::Dim(expr) => format!("dim {}", dim(expr)),
        ScalarOp::Value(id) => format!("%{id}"),
        ScalarOp::Element { tensor, at } => {
            let at: Vec<String> = at
                .iter()
                .map(|index| match index {
                    ElementIndex::Var(var) => format!("#{var}"),
                    ElementIndex::Pack(var) => format!("*#{var}"),
                    ElementIndex::Computed(value) => format!("({})", scalar(value)),
                })
                .collect();
            format!("%{tensor}[{}]", at.join(", "))
        }
        ScalarOp::Unary(op, a) => format!("{op:?}({})", scalar(a)),
        ScalarOp::Binary(op, a, b) => format!("{op:?}({}, {})", scalar(a), scalar(b)),
        ScalarOp::If(c, a, b) => {
            format!("if({}, {}, {})", scalar(c), scalar(a), scalar(b))
        }
        ScalarOp::Cast(a) => format!("cast::<{}>({})", dtype(&value.dtype), scalar(a)),
    }
}
