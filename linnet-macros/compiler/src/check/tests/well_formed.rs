//! What every lowered function must satisfy, whatever its source.

use crate::ir::{
    Arg, Body, Callee, ElementIndex, Function, IndexExpr, Node, NodeOp, Scalar, ScalarOp,
    SliceItem, Start, Type, ValueId,
};

/// Panics unless every value is defined once, before it is read, in the body
/// that reads it or one around it.
pub(super) fn assert_well_formed(function: &Function) {
    let mut checker = Checker {
        name: &function.name,
        defined: Vec::new(),
        visible: Vec::new(),
    };
    for i in 0..function.params.len() {
        checker.define(u32::try_from(i).unwrap());
    }
    checker.body(&function.body);
    let most = checker.defined.iter().max().map_or(0, |id| id + 1);
    assert!(
        most <= function.n_values,
        "{}: value {most} of {}",
        function.name,
        function.n_values
    );
    let has_result = function.body.result.is_some();
    assert_eq!(has_result, function.ret != Type::Unit, "{}", function.name);
}

struct Checker<'f> {
    name: &'f str,
    defined: Vec<ValueId>,
    visible: Vec<ValueId>,
}

impl Checker<'_> {
    fn define(&mut self, id: ValueId) {
        assert!(
            !self.defined.contains(&id),
            "{}: value {id} is defined twice",
            self.name
        );
        self.defined.push(id);
        self.visible.push(id);
    }

    fn read(&self, id: ValueId) {
        assert!(
            self.visible.contains(&id),
            "{}: value {id} is not defined here",
            self.name
        );
    }

    fn body(&mut self, body: &Body) {
        for node in &body.nodes {
            self.node(node);
        }
        if let Some(result) = body.result {
            self.read(result);
        }
    }

    /// A nested body, whose values are not seen outside; `ends` are values that
    /// are read where it ends.
    fn nested(&mut self, body: &Body, before: &[ValueId], ends: &[ValueId]) {
        let n = self.visible.len();
        before.iter().for_each(|id| self.define(*id));
        self.body(body);
        ends.iter().for_each(|id| self.read(*id));
        self.visible.truncate(n);
    }

    fn node(&mut self, node: &Node) {
        match &node.op {
            NodeOp::Literal(_)
            | NodeOp::Dim(_)
            | NodeOp::ReadMut(_)
            | NodeOp::Iota
            | NodeOp::None => {}
            NodeOp::Member(path) => assert!(!path.is_empty()),
            NodeOp::ElementMember { element, .. } => self.read(*element),
            NodeOp::Unary(_, a)
            | NodeOp::Cast(a)
            | NodeOp::Reshape(a)
            | NodeOp::Permute(a, _)
            | NodeOp::BroadcastTo(a)
            | NodeOp::Fill(a)
            | NodeOp::Some(a)
            | NodeOp::Field(a, _)
            | NodeOp::SetState(_, a)
            | NodeOp::SetMut(_, a) => self.read(*a),
            NodeOp::Binary(_, a, b) => [a, b].into_iter().for_each(|id| self.read(*id)),
            NodeOp::Select(a, b, c) => [a, b, c].into_iter().for_each(|id| self.read(*id)),
            NodeOp::Slice(a, items) => {
                self.read(*a);
                for item in items {
                    if let SliceItem::Range {
                        start: Start::Value(id),
                        ..
                    }
                    | SliceItem::Index(Start::Value(id)) = item
                    {
                        self.read(*id);
                    }
                }
            }
            NodeOp::Concat(parts, _) | NodeOp::Tuple(parts) => {
                parts.iter().for_each(|id| self.read(*id));
            }
            NodeOp::Reduce { input, .. } => self.read(*input),
            NodeOp::Index(index) => self.index(index),
            NodeOp::Call { callee, args, .. } => {
                if let Callee::Element { element, .. } = callee {
                    self.read(*element);
                }
                for arg in args {
                    if let Arg::Value(id) = arg {
                        self.read(*id);
                    }
                }
            }
            NodeOp::ForBlocks {
                element: first,
                carried,
                body,
                ..
            }
            | NodeOp::ForRange {
                index: first,
                carried,
                body,
                ..
            } => {
                carried.iter().for_each(|carried| self.read(carried.init));
                let mut before = vec![*first];
                before.extend(carried.iter().map(|carried| carried.entering));
                let leaving: Vec<ValueId> = carried.iter().map(|c| c.leaving).collect();
                self.nested(body, &before, &leaving);
                carried.iter().for_each(|carried| self.define(carried.out));
            }
            NodeOp::If {
                condition,
                yes,
                no,
                merges,
            } => {
                self.read(*condition);
                let first: Vec<ValueId> = merges.iter().map(|merge| merge.first).collect();
                let second: Vec<ValueId> = merges.iter().map(|merge| merge.second).collect();
                self.nested(yes, &[], &first);
                self.nested(no, &[], &second);
                merges.iter().for_each(|merge| self.define(merge.out));
            }
            NodeOp::MatchOption {
                input,
                some,
                yes,
                no,
                merges,
            } => {
                self.read(*input);
                let first: Vec<ValueId> = merges.iter().map(|merge| merge.first).collect();
                let second: Vec<ValueId> = merges.iter().map(|merge| merge.second).collect();
                self.nested(yes, &[*some], &first);
                self.nested(no, &[], &second);
                merges.iter().for_each(|merge| self.define(merge.out));
            }
        }
        self.define(node.out);
    }

    fn index(&self, index: &IndexExpr) {
        let n_vars = index.outputs.len() + index.reduced.len();
        assert_eq!(
            index.reduce.is_some(),
            !index.reduced.is_empty(),
            "{}",
            self.name
        );
        self.scalar(&index.element, n_vars);
    }

    fn var(&self, var: u32, n_vars: usize) {
        assert!(
            (var as usize) < n_vars,
            "{}: index variable {var} of {n_vars}",
            self.name
        );
    }

    fn scalar(&self, scalar: &Scalar, n_vars: usize) {
        match &scalar.op {
            ScalarOp::Literal(_) | ScalarOp::Dim(_) => {}
            ScalarOp::Var(var) => self.var(*var, n_vars),
            ScalarOp::Value(id) => self.read(*id),
            ScalarOp::Element { tensor, at } => {
                self.read(*tensor);
                for index in at {
                    match index {
                        ElementIndex::Var(var) | ElementIndex::Pack(var) => self.var(*var, n_vars),
                        ElementIndex::Computed(scalar) => self.scalar(scalar, n_vars),
                    }
                }
            }
            ScalarOp::Unary(_, a) | ScalarOp::Cast(a) => self.scalar(a, n_vars),
            ScalarOp::Binary(_, a, b) => {
                self.scalar(a, n_vars);
                self.scalar(b, n_vars);
            }
            ScalarOp::If(a, b, c) => {
                [a, b, c]
                    .into_iter()
                    .for_each(|scalar| self.scalar(scalar, n_vars));
            }
        }
    }
}
