//! Merging element-wise operations into what reads their results.

use crate::plan::RootId;
use crate::plan::expr::{Access, Computed, ExprId, ExprKind, ExprNode, Nest, NestBuilder};
use crate::plan::graph::{Graph, GraphOp, RootKind};

use super::effects::Effects;

/// Expressions above this many nodes are not merged further: their registers
/// would no longer stay in the first-level cache.
const MAX_NODES: usize = 48;
/// Nor those that read more tensors than this.
const MAX_READS: usize = 12;

/// Merges every nest without a fold whose result only one other nest reads.
pub(super) fn fuse(graph: &mut Graph, kept: &[RootId]) {
    let mut uses = Uses::of(graph, kept);
    for consumer in 0..graph.ops.len() {
        // A merge may bring in accesses that can be merged in turn.
        while let Some((access, producer)) = candidate(graph, &uses, consumer) {
            let (GraphOp::Nest(inner), GraphOp::Nest(outer)) =
                (&graph.ops[producer], &graph.ops[consumer])
            else {
                break;
            };
            let root = inner.target.root;
            let Some(mut merged) = substitute(outer, access, inner) else {
                break;
            };
            prune(&mut merged);
            if merged.nodes.len() > MAX_NODES || merged.accesses.len() > MAX_READS {
                uses.blocked.push((consumer, root));
                continue;
            }
            uses.merged(producer, consumer, root, &merged);
            graph.ops[consumer] = GraphOp::Nest(merged);
        }
    }
    // What nothing reads any more goes.
    remove_unread(graph, kept);
}

/// Removes nests and products whose results nothing reads. They cannot fail
/// where they are removed: what can fail stays.
fn remove_unread(graph: &mut Graph, kept: &[RootId]) {
    loop {
        let uses = Uses::of(graph, kept);
        let before = graph.ops.len();
        let roots = &graph.roots;
        graph.ops.retain(|op| {
            let target = match op {
                GraphOp::Nest(nest) if !nest.can_fail() => nest.target.root,
                GraphOp::Product(product) => product.c.root,
                _ => return true,
            };
            roots[target].kind != RootKind::Temporary || !uses.readers[target].is_empty()
        });
        if graph.ops.len() == before {
            return;
        }
    }
}

/// Who reads and writes each root, by the number of the operation.
struct Uses {
    readers: Vec<Vec<usize>>,
    writers: Vec<Vec<usize>>,
    /// Merges that turned out to be too large.
    blocked: Vec<(usize, RootId)>,
}

impl Uses {
    fn of(graph: &Graph, kept: &[RootId]) -> Uses {
        let mut uses = Uses {
            readers: vec![Vec::new(); graph.roots.len()],
            writers: vec![Vec::new(); graph.roots.len()],
            blocked: Vec::new(),
        };
        for (i, op) in graph.ops.iter().enumerate() {
            let effects = Effects::of(op);
            for root in effects.reads {
                if uses.readers[root].last() != Some(&i) {
                    uses.readers[root].push(i);
                }
            }
            for root in effects.writes {
                uses.writers[root].push(i);
            }
        }
        for &root in kept {
            uses.readers[root].push(usize::MAX);
        }
        uses
    }
}

impl Uses {
    /// Notes that `consumer` no longer reads `root` but what `producer`, which computed it, reads.
    fn merged(&mut self, producer: usize, consumer: usize, root: RootId, merged: &Nest) {
        if !merged.accesses.iter().any(|access| access.root == root) {
            self.readers[root].retain(|&reader| reader != consumer);
        }
        let unread = self.readers[root].is_empty();
        for access in &merged.accesses {
            let readers = &mut self.readers[access.root];
            if unread {
                readers.retain(|&reader| reader != producer);
            }
            if !readers.contains(&consumer) {
                readers.push(consumer);
            }
        }
    }
}

/// An access of a nest, and the nest that computes what it reads, that can be merged.
fn candidate(graph: &Graph, uses: &Uses, consumer: usize) -> Option<(usize, usize)> {
    let GraphOp::Nest(outer) = &graph.ops[consumer] else {
        return None;
    };
    for (number, access) in outer.accesses.iter().enumerate() {
        let root = access.root;
        if graph.roots[root].kind != RootKind::Temporary || uses.blocked.contains(&(consumer, root))
        {
            continue;
        }
        let [producer] = uses.writers[root][..] else {
            continue;
        };
        let GraphOp::Nest(inner) = &graph.ops[producer] else {
            continue;
        };
        let cheap = inner.accesses.is_empty();
        let only_reader = uses.readers[root].iter().all(|&reader| reader == consumer);
        if inner.reduce.is_some()
            || inner.can_fail()
            || !(only_reader || cheap)
            || producer >= consumer
            || correspondence(outer, access, inner).is_none()
            || overwritten_between(graph, inner, producer, consumer)
        {
            continue;
        }
        return Some((number, producer));
    }
    None
}

/// Whether something that `inner` reads is overwritten before `consumer` runs,
/// or a branch begins or ends in between.
fn overwritten_between(graph: &Graph, inner: &Nest, producer: usize, consumer: usize) -> bool {
    graph.ops[producer + 1..consumer].iter().any(|op| {
        if matches!(op, GraphOp::If(_) | GraphOp::Else | GraphOp::EndIf) {
            return true;
        }
        let effects = Effects::of(op);
        effects.locations.iter().any(|&location| {
            inner
                .accesses
                .iter()
                .any(|access| graph.roots[access.root].kind == RootKind::Content(location))
        }) || effects
            .writes
            .iter()
            .any(|&root| inner.accesses.iter().any(|access| access.root == root))
    })
}

/// For each loop variable of `inner`, the variable of `outer` that it is where
/// `outer` reads its result through `access`. None if the access does not read
/// just that, or would compute elements again and again.
fn correspondence(outer: &Nest, access: &Access, inner: &Nest) -> Option<Vec<Option<usize>>> {
    if !access.computed.is_empty()
        || !access.dynamic.is_empty()
        || access.offset != inner.target.offset as isize
    {
        return None;
    }
    let mut of = vec![None; inner.extents.len()];
    for (d, &extent) in outer.extents.iter().enumerate() {
        let coef = access.coef[d];
        if coef == 0 {
            if extent > 1 && !inner.accesses.is_empty() {
                return None;
            }
            continue;
        }
        if extent == 1 {
            continue;
        }
        let matching = (0..inner.extents.len()).find(|&i| {
            of[i].is_none() && inner.extents[i] == extent && inner.target.coef[i] as isize == coef
        })?;
        of[matching] = Some(d);
    }
    let complete = of
        .iter()
        .zip(&inner.extents)
        .all(|(of, &extent)| of.is_some() || extent == 1);
    complete.then_some(of)
}

/// `outer` with the expression of `inner` in place of its access number `number`.
fn substitute(outer: &Nest, number: usize, inner: &Nest) -> Option<Nest> {
    let of = correspondence(outer, &outer.accesses[number], inner)?;
    let mut builder = NestBuilder {
        extents: outer.extents.clone(),
        ..NestBuilder::default()
    };
    // The inner expression first, on the outer variables.
    let mut new_inner: Vec<ExprId> = Vec::with_capacity(inner.nodes.len());
    for node in &inner.nodes {
        let id = match node.kind {
            ExprKind::Const(value) => builder.constant(value),
            ExprKind::Var(d) => match of[d] {
                Some(d) => builder.push(ExprKind::Var(d), node.dtype),
                None => builder.constant(crate::ScalarValue::I64(0).cast(node.dtype)),
            },
            ExprKind::Access(access) => {
                let access = &inner.accesses[access];
                let mut coef = vec![0; outer.extents.len()];
                for (d, of) in of.iter().enumerate() {
                    if let Some(of) = of {
                        coef[*of] += access.coef[d];
                    }
                }
                builder.access(Access {
                    coef,
                    computed: Vec::new(),
                    ..access.clone()
                })
            }
            _ => {
                let node = renumbered(node, &new_inner);
                builder.push(node.kind, node.dtype)
            }
        };
        new_inner.push(id);
    }
    let result = new_inner[inner.result];
    let mut new_outer: Vec<ExprId> = Vec::with_capacity(outer.nodes.len());
    for node in &outer.nodes {
        let id = match node.kind {
            ExprKind::Const(value) => builder.constant(value),
            ExprKind::Access(access) if access == number => result,
            ExprKind::Access(access) => {
                let access = &outer.accesses[access];
                let computed = access
                    .computed
                    .iter()
                    .map(|computed| Computed {
                        index: new_outer[computed.index],
                        ..computed.clone()
                    })
                    .collect();
                builder.access(Access {
                    computed,
                    ..access.clone()
                })
            }
            _ => {
                let node = renumbered(node, &new_outer);
                builder.push(node.kind, node.dtype)
            }
        };
        new_outer.push(id);
    }
    Some(Nest {
        nodes: builder.nodes,
        accesses: builder.accesses,
        result: new_outer[outer.result],
        ..outer.clone()
    })
}

/// A node whose operands have new numbers.
fn renumbered(node: &ExprNode, new: &[ExprId]) -> ExprNode {
    let kind = match node.kind {
        ExprKind::Unary(op, a) => ExprKind::Unary(op, new[a]),
        ExprKind::Binary(op, a, b) => ExprKind::Binary(op, new[a], new[b]),
        ExprKind::If(c, a, b) => ExprKind::If(new[c], new[a], new[b]),
        ExprKind::Cast(a) => ExprKind::Cast(new[a]),
        kind => kind,
    };
    ExprNode {
        kind,
        dtype: node.dtype,
    }
}

/// Removes nodes and accesses that the result does not depend on.
pub(super) fn prune(nest: &mut Nest) {
    let mut needed = vec![false; nest.nodes.len()];
    needed[nest.result] = true;
    for id in (0..nest.nodes.len()).rev() {
        if !needed[id] {
            continue;
        }
        match nest.nodes[id].kind {
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => needed[a] = true,
            ExprKind::Binary(_, a, b) => {
                needed[a] = true;
                needed[b] = true;
            }
            ExprKind::If(c, a, b) => {
                needed[c] = true;
                needed[a] = true;
                needed[b] = true;
            }
            ExprKind::Access(access) => {
                for computed in &nest.accesses[access].computed {
                    needed[computed.index] = true;
                }
            }
            ExprKind::Const(_) | ExprKind::Scalar(_) | ExprKind::Var(_) => {}
        }
    }
    let mut new: Vec<ExprId> = Vec::with_capacity(nest.nodes.len());
    let mut nodes = Vec::new();
    let mut accesses: Vec<Access> = Vec::new();
    let mut new_access: Vec<Option<usize>> = vec![None; nest.accesses.len()];
    for (id, node) in nest.nodes.iter().enumerate() {
        if !needed[id] {
            new.push(usize::MAX);
            continue;
        }
        let mut node = renumbered(node, &new);
        if let ExprKind::Access(access) = node.kind {
            let number = *new_access[access].get_or_insert_with(|| {
                let mut access = nest.accesses[access].clone();
                for computed in &mut access.computed {
                    computed.index = new[computed.index];
                }
                accesses.push(access);
                accesses.len() - 1
            });
            node.kind = ExprKind::Access(number);
        }
        new.push(nodes.len());
        nodes.push(node);
    }
    nest.result = new[nest.result];
    nest.nodes = nodes;
    nest.accesses = accesses;
}
