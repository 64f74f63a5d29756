//! Random programs against a naive interpreter.
//!
//! Programs read, slice, permute, reshape, fold and overwrite states in any
//! order, with branches on run-time scalars, so that wrong strides, buffers
//! that overlap while both are needed, and states overwritten too early show.
//! All numbers are small integers, for which `f32` is exact in any order.

mod common;

use linnet_runtime::descriptor::*;
use linnet_runtime::{
    Argument, DType, Device, ErasedTensor, Instance, Numerics, Parameters, ScalarValue,
};
use proptest::prelude::*;

const F32: DTypeExpr = DTypeExpr::Concrete(DType::F32);
const BOOL: DTypeExpr = DTypeExpr::Concrete(DType::Bool);
const STATES: [(&str, &[usize]); 3] = [("a", &[2, 3]), ("b", &[3, 2]), ("c", &[4, 3])];

fn leak<T>(values: Vec<T>) -> &'static [T] {
    Vec::leak(values)
}

fn tensor_type(shape: &[usize], dtype: DTypeExpr) -> Type {
    let dims = shape
        .iter()
        .map(|&n| DimItem::One(DimExpr::Const(n as i64)))
        .collect();
    Type::Tensor {
        dims: leak(dims),
        dtype,
    }
}

/// Makes a program out of a list of random numbers.
struct Builder {
    random: std::vec::IntoIter<u32>,
    nodes: Vec<Node>,
    next: ValueId,
    /// The tensors made so far, with their shapes.
    tensors: Vec<(ValueId, Vec<usize>)>,
}

impl Builder {
    /// A number below `n`; 0 once the random numbers are used up.
    fn pick(&mut self, n: usize) -> usize {
        self.random.next().unwrap_or(0) as usize % n
    }

    fn push(&mut self, op: NodeOp, ty: Type) -> ValueId {
        self.nodes.push(Node {
            out: self.next,
            ty,
            op,
            line: self.next,
        });
        self.next += 1;
        self.next - 1
    }

    fn tensor(&mut self, op: NodeOp, shape: &[usize]) -> ValueId {
        let id = self.push(op, tensor_type(shape, F32));
        if shape.iter().product::<usize>() <= 200 && shape.len() <= 4 {
            self.tensors.push((id, shape.to_vec()));
        }
        id
    }

    fn literal(&mut self, x: f64) -> ValueId {
        self.push(NodeOp::Literal(Literal::Float(x)), Type::Scalar(F32))
    }

    /// Keeps numbers small.
    fn clamped(&mut self, id: ValueId, shape: &[usize]) -> ValueId {
        let (low, high) = (self.literal(-16.0), self.literal(16.0));
        let id = self.push(
            NodeOp::Binary(BinaryOp::Max, id, low),
            tensor_type(shape, F32),
        );
        self.tensor(NodeOp::Binary(BinaryOp::Min, id, high), shape)
    }

    fn any(&mut self) -> (ValueId, Vec<usize>) {
        let n = self.tensors.len();
        // Recent ones more often.
        let back = self.pick(n).min(self.pick(n));
        self.tensors[n - 1 - back].clone()
    }

    fn step(&mut self, may_branch: bool) {
        let (id, shape) = self.any();
        let rank = shape.len();
        match self.pick(15) {
            0 => {
                let (name, shape) = STATES[self.pick(3)];
                self.tensor(NodeOp::Member(leak(vec![name])), shape);
            }
            1 | 2 => {
                let (name, due) = STATES[self.pick(3)];
                if let Some(value) = self.shaped(due) {
                    self.push(NodeOp::SetState(name, value), Type::Unit);
                }
            }
            3 | 4 => {
                let (other, other_shape) = self.any();
                if let Some(out) = broadcast(&shape, &other_shape) {
                    let op =
                        [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Max][self.pick(4)];
                    let id = self.push(NodeOp::Binary(op, id, other), tensor_type(&out, F32));
                    self.clamped(id, &out);
                }
            }
            5 => {
                let op = [UnaryOp::Neg, UnaryOp::Abs][self.pick(2)];
                self.tensor(NodeOp::Unary(op, id), &shape);
            }
            6 => {
                let mut order: Vec<usize> = (0..rank).collect();
                if rank > 0 {
                    order.rotate_left(self.pick(rank));
                }
                if rank > 1 && self.pick(2) == 1 {
                    order.swap(0, 1);
                }
                let axes = leak(order.iter().map(|&axis| Axis::Front(axis as u32)).collect());
                let out: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
                self.tensor(NodeOp::Permute(id, axes), &out);
            }
            7 => {
                let n: usize = shape.iter().product();
                let divisors: Vec<usize> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
                let first = divisors[self.pick(divisors.len())];
                let out = if self.pick(3) == 0 {
                    vec![n]
                } else {
                    vec![first, n / first]
                };
                self.tensor(NodeOp::Reshape(id), &out);
            }
            8 | 9 => self.slice(id, &shape),
            10 if rank > 0 => {
                let axis = self.pick(rank);
                let keep = self.pick(2) == 0;
                let op = [ReduceOp::Sum, ReduceOp::Max][self.pick(2)];
                let mut out = shape.clone();
                out[axis] = 1;
                if !keep {
                    out.remove(axis);
                }
                let axes = leak(vec![Axis::Back((rank - 1 - axis) as u32)]);
                let id = self.push(
                    NodeOp::Reduce {
                        op,
                        input: id,
                        axes,
                        keep,
                    },
                    tensor_type(&out, F32),
                );
                self.clamped(id, &out);
            }
            11 if rank > 0 => {
                let axis = self.pick(rank);
                let mut out = shape.clone();
                out[axis] *= 2;
                self.tensor(
                    NodeOp::Concat(leak(vec![id, id]), Axis::Front(axis as u32)),
                    &out,
                );
            }
            12 => {
                let (other, other_shape) = self.any();
                if let (&[m, k], &[n, k2]) = (&shape[..], &other_shape[..])
                    && k == k2
                    && n > 0
                {
                    self.contraction(id, other, m, n, k);
                } else if let Some(out) = broadcast(&shape, &other_shape) {
                    let condition = self.push(
                        NodeOp::Binary(BinaryOp::Lt, id, other),
                        tensor_type(&out, BOOL),
                    );
                    self.tensor(NodeOp::Select(condition, id, other), &out);
                }
            }
            13 => {
                if let Some((&n, rest)) = shape.split_first()
                    && n > 0
                {
                    self.reversed(id, n, rest);
                }
            }
            _ if may_branch => self.branch(),
            _ => {}
        }
    }

    /// Some tensor brought to a shape.
    fn shaped(&mut self, due: &[usize]) -> Option<ValueId> {
        let (id, shape) = self.any();
        if shape == due {
            return Some(id);
        }
        if shape.iter().product::<usize>() == due.iter().product::<usize>() {
            return Some(self.tensor(NodeOp::Reshape(id), due));
        }
        if broadcast(&shape, due).as_deref() == Some(due) {
            return Some(self.tensor(NodeOp::BroadcastTo(id), due));
        }
        None
    }

    fn slice(&mut self, id: ValueId, shape: &[usize]) {
        let mut items = Vec::new();
        let mut out = Vec::new();
        for &n in shape {
            match self.pick(4) {
                1 if n > 0 => items.push(SliceItem::Index(Start::Dim(DimExpr::Const(
                    self.pick(n) as i64,
                )))),
                2 if n > 0 => {
                    let start = self.pick(n);
                    let step = 1 + self.pick(2);
                    let length = (n - start).div_ceil(step).min(1 + self.pick(3));
                    out.push(length);
                    items.push(SliceItem::Range {
                        start: Start::Dim(DimExpr::Const(start as i64)),
                        step: step as i64,
                    });
                }
                // The scalar parameter is 0 or 1.
                3 if n > 1 => {
                    out.push(n - 1);
                    items.push(SliceItem::Range {
                        start: Start::Value(1),
                        step: 1,
                    });
                }
                _ => {
                    out.push(n);
                    items.push(SliceItem::Full);
                }
            }
        }
        self.tensor(NodeOp::Slice(id, leak(items)), &out);
    }

    fn contraction(&mut self, a: ValueId, b: ValueId, m: usize, n: usize, k: usize) {
        let var = |name, n: usize| IndexVar {
            name,
            extent: DimItem::One(DimExpr::Const(n as i64)),
        };
        let element = |tensor, i, j| {
            let at = leak(vec![ElementIndex::Var(i), ElementIndex::Var(j)]);
            let op = ScalarOp::Element { tensor, at };
            &*Box::leak(Box::new(Scalar { op, dtype: F32 }))
        };
        let product = Scalar {
            op: ScalarOp::Binary(BinaryOp::Mul, element(a, 0, 2), element(b, 1, 2)),
            dtype: F32,
        };
        let expr = IndexExpr {
            outputs: leak(vec![var("m", m), var("n", n)]),
            reduce: Some(ReduceOp::Sum),
            reduced: leak(vec![var("k", k)]),
            element: product,
        };
        let id = self.push(
            NodeOp::Index(Box::leak(Box::new(expr))),
            tensor_type(&[m, n], F32),
        );
        self.clamped(id, &[m, n]);
    }

    /// `[i, *rest] = x[n - 1 - i, *rest]`.
    fn reversed(&mut self, id: ValueId, n: usize, rest: &[usize]) {
        const I64: DTypeExpr = DTypeExpr::Concrete(DType::I64);
        let scalar = |op| &*Box::leak(Box::new(Scalar { op, dtype: I64 }));
        let last = scalar(ScalarOp::Literal(Literal::Int(n as i64 - 1)));
        let index = Scalar {
            op: ScalarOp::Binary(BinaryOp::Sub, last, scalar(ScalarOp::Var(0))),
            dtype: I64,
        };
        let mut outputs = vec![IndexVar {
            name: "i",
            extent: DimItem::One(DimExpr::Const(n as i64)),
        }];
        let mut at = vec![ElementIndex::Computed(index)];
        for (i, &size) in rest.iter().enumerate() {
            outputs.push(IndexVar {
                name: "j",
                extent: DimItem::One(DimExpr::Const(size as i64)),
            });
            at.push(ElementIndex::Var(i as u32 + 1));
        }
        let element = Scalar {
            op: ScalarOp::Element {
                tensor: id,
                at: leak(at),
            },
            dtype: F32,
        };
        let expr = IndexExpr {
            outputs: leak(outputs),
            reduce: None,
            reduced: &[],
            element,
        };
        let shape: Vec<usize> = std::iter::once(n).chain(rest.iter().copied()).collect();
        self.tensor(NodeOp::Index(Box::leak(Box::new(expr))), &shape);
    }

    /// A branch on whether the scalar parameter is 0, with a variable that both assign.
    fn branch(&mut self) {
        const I32: DTypeExpr = DTypeExpr::Concrete(DType::I32);
        let zero = self.push(NodeOp::Literal(Literal::Int(0)), Type::Scalar(I32));
        let condition = self.push(NodeOp::Binary(BinaryOp::Eq, 1, zero), Type::Scalar(BOOL));
        let outside = std::mem::take(&mut self.nodes);
        let known = self.tensors.len();
        let due = STATES[self.pick(3)].1;
        let mut bodies = Vec::new();
        let mut assigned = Vec::new();
        for _ in 0..2 {
            for _ in 0..3 {
                self.step(false);
            }
            let value = match self.shaped(due) {
                Some(value) => value,
                None => {
                    let name = STATES.iter().find(|(_, shape)| *shape == due).unwrap().0;
                    self.tensor(NodeOp::Member(leak(vec![name])), due)
                }
            };
            assigned.push(value);
            bodies.push(Body {
                nodes: leak(std::mem::take(&mut self.nodes)),
                result: None,
            });
            self.tensors.truncate(known);
        }
        self.nodes = outside;
        let out = self.next;
        self.next += 1;
        let merges = leak(vec![Merge {
            first: assigned[0],
            second: assigned[1],
            out,
        }]);
        self.push(
            NodeOp::If {
                condition,
                yes: bodies[0],
                no: bodies[1],
                merges,
            },
            Type::Unit,
        );
        self.tensors.push((out, due.to_vec()));
    }
}

fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let size = |shape: &[usize], axis: usize| {
        (axis + shape.len())
            .checked_sub(rank)
            .map_or(1, |i| shape[i])
    };
    (0..rank)
        .map(|axis| match (size(a, axis), size(b, axis)) {
            (m, n) if m == n || n == 1 => Some(m),
            (1, n) => Some(n),
            _ => None,
        })
        .collect()
}

/// A block with one function made of random numbers.
fn program(random: Vec<u32>, steps: usize) -> &'static BlockDescriptor {
    let params = [
        Param {
            name: "x",
            ty: tensor_type(&[2, 3], F32),
            by_mut: false,
        },
        Param {
            name: "k",
            ty: Type::Scalar(DTypeExpr::Concrete(DType::I32)),
            by_mut: false,
        },
    ];
    let mut builder = Builder {
        random: random.into_iter(),
        nodes: Vec::new(),
        next: 2,
        tensors: vec![(0, vec![2, 3])],
    };
    for (name, shape) in STATES {
        builder.tensor(NodeOp::Member(leak(vec![name])), shape);
    }
    builder.tensor(NodeOp::Member(&["p"]), &[3]);
    for _ in 0..steps {
        builder.step(true);
    }
    let results: Vec<(ValueId, Vec<usize>)> =
        builder.tensors.iter().rev().take(4).cloned().collect();
    let types: Vec<Type> = results
        .iter()
        .map(|(_, shape)| tensor_type(shape, F32))
        .collect();
    let ret = Type::Tuple(leak(types));
    let result = builder.push(
        NodeOp::Tuple(leak(results.iter().map(|(id, _)| *id).collect())),
        ret,
    );
    let function = Function {
        name: "run",
        public: true,
        entry: true,
        receiver: Receiver::Mut,
        generics: &[],
        requires: &[],
        params: leak(params.to_vec()),
        ret,
        body: Body {
            nodes: leak(builder.nodes),
            result: Some(result),
        },
        n_values: builder.next,
    };
    let mut members: Vec<Member> = STATES
        .iter()
        .map(|(name, shape)| Member {
            name,
            kind: MemberKind::State(tensor_type(shape, F32)),
        })
        .collect();
    members.push(Member {
        name: "p",
        kind: MemberKind::Param(tensor_type(&[3], F32)),
    });
    Box::leak(Box::new(BlockDescriptor {
        name: "Random",
        module: "random_programs",
        generics: &[],
        requires: &[],
        members: leak(members),
        functions: leak(vec![function]),
    }))
}

/// A value of the naive interpreter; every tensor has its own row-major copy.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Tensor(Vec<usize>, Vec<f32>),
    Scalar(f64),
    Tuple(Vec<Value>),
    Unit,
}

struct Naive {
    members: Vec<(&'static str, Value)>,
    values: Vec<Value>,
}

impl Naive {
    fn tensor(&self, id: ValueId) -> (Vec<usize>, Vec<f32>) {
        match &self.values[id as usize] {
            Value::Tensor(shape, data) => (shape.clone(), data.clone()),
            Value::Scalar(x) => (Vec::new(), vec![*x as f32]),
            other => panic!("{other:?}"),
        }
    }

    fn run(&mut self, body: &Body) -> Value {
        for node in body.nodes {
            let value = self.node(node);
            self.values[node.out as usize] = value;
        }
        body.result
            .map_or(Value::Unit, |id| self.values[id as usize].clone())
    }

    fn node(&mut self, node: &Node) -> Value {
        let shape: Vec<usize> = match node.ty {
            Type::Tensor { dims, .. } => dims
                .iter()
                .map(|dim| match dim {
                    DimItem::One(DimExpr::Const(n)) => *n as usize,
                    other => panic!("{other:?}"),
                })
                .collect(),
            _ => Vec::new(),
        };
        let scalar = matches!(node.ty, Type::Scalar(_));
        // One element of the result from its index.
        let each = |f: &dyn Fn(&[usize]) -> f32| {
            let data: Vec<f32> = indices(&shape).map(|index| f(&index)).collect();
            if scalar {
                Value::Scalar(f64::from(data[0]))
            } else {
                Value::Tensor(shape.clone(), data)
            }
        };
        match &node.op {
            NodeOp::Literal(Literal::Float(x)) => Value::Scalar(*x),
            NodeOp::Literal(Literal::Int(n)) => Value::Scalar(*n as f64),
            NodeOp::Member(path) => self
                .members
                .iter()
                .find(|(name, _)| *name == path[0])
                .unwrap()
                .1
                .clone(),
            NodeOp::SetState(name, id) => {
                let value = self.values[*id as usize].clone();
                self.members
                    .iter_mut()
                    .find(|(member, _)| member == name)
                    .unwrap()
                    .1 = value;
                Value::Unit
            }
            NodeOp::Unary(op, id) => {
                let x = self.tensor(*id);
                each(&|index| match op {
                    UnaryOp::Neg => -at(&x, index),
                    _ => at(&x, index).abs(),
                })
            }
            NodeOp::Binary(op, a, b) => {
                let (a, b) = (self.tensor(*a), self.tensor(*b));
                each(&|index| {
                    let (a, b) = (at(&a, index), at(&b, index));
                    match op {
                        BinaryOp::Add => a + b,
                        BinaryOp::Sub => a - b,
                        BinaryOp::Mul => a * b,
                        BinaryOp::Max => a.max(b),
                        BinaryOp::Min => a.min(b),
                        BinaryOp::Lt => f32::from(u8::from(a < b)),
                        BinaryOp::Eq => f32::from(u8::from(a == b)),
                        other => panic!("{other:?}"),
                    }
                })
            }
            NodeOp::Select(c, a, b) => {
                let (c, a, b) = (self.tensor(*c), self.tensor(*a), self.tensor(*b));
                each(&|index| {
                    if at(&c, index) != 0.0 {
                        at(&a, index)
                    } else {
                        at(&b, index)
                    }
                })
            }
            NodeOp::Permute(id, axes) => {
                let x = self.tensor(*id);
                each(&|index| {
                    let mut from = vec![0; index.len()];
                    for (i, axis) in index.iter().zip(*axes) {
                        let Axis::Front(axis) = axis else {
                            panic!("{axis:?}")
                        };
                        from[*axis as usize] = *i;
                    }
                    at(&x, &from)
                })
            }
            NodeOp::Reshape(id) => Value::Tensor(shape, self.tensor(*id).1),
            NodeOp::BroadcastTo(id) => {
                let x = self.tensor(*id);
                each(&|index| at(&x, index))
            }
            NodeOp::Slice(id, items) => {
                let x = self.tensor(*id);
                let scalar = self.tensor(1).1[0] as usize;
                each(&|index| {
                    let mut index = index.iter();
                    let from: Vec<usize> = items
                        .iter()
                        .map(|item| {
                            let start = |start: &Start| match start {
                                Start::Dim(DimExpr::Const(n)) => *n as usize,
                                _ => scalar,
                            };
                            match item {
                                SliceItem::Full => *index.next().unwrap(),
                                SliceItem::Index(at) => start(at),
                                SliceItem::Range { start: at, step } => {
                                    start(at) + index.next().unwrap() * *step as usize
                                }
                                SliceItem::Rest => panic!("not generated"),
                            }
                        })
                        .collect();
                    at(&x, &from)
                })
            }
            NodeOp::Concat(parts, Axis::Front(axis)) => {
                let x = self.tensor(parts[0]);
                each(&|index| {
                    let mut index = index.to_vec();
                    index[*axis as usize] %= x.0[*axis as usize];
                    at(&x, &index)
                })
            }
            NodeOp::Reduce {
                op,
                input,
                axes,
                keep,
            } => {
                let x = self.tensor(*input);
                let Axis::Back(back) = axes[0] else {
                    panic!("{axes:?}")
                };
                let axis = x.0.len() - 1 - back as usize;
                each(&|index| {
                    let mut from = index.to_vec();
                    if !keep {
                        from.insert(axis, 0);
                    }
                    let elements = (0..x.0[axis]).map(|i| {
                        from[axis] = i;
                        at(&x, &from)
                    });
                    match op {
                        ReduceOp::Sum => elements.sum(),
                        _ => elements.fold(f32::NEG_INFINITY, f32::max),
                    }
                })
            }
            NodeOp::Index(expr) if expr.reduce.is_some() => {
                let ScalarOp::Binary(_, a, b) = expr.element.op else {
                    panic!("{expr:?}")
                };
                let tensor = |scalar: &Scalar| match scalar.op {
                    ScalarOp::Element { tensor, .. } => self.tensor(tensor),
                    other => panic!("{other:?}"),
                };
                let (a, b) = (tensor(a), tensor(b));
                each(&|index| {
                    (0..a.0[1])
                        .map(|k| at(&a, &[index[0], k]) * at(&b, &[index[1], k]))
                        .sum()
                })
            }
            NodeOp::Index(expr) => {
                let ScalarOp::Element { tensor, .. } = expr.element.op else {
                    panic!("{expr:?}")
                };
                let x = self.tensor(tensor);
                each(&|index| {
                    let mut index = index.to_vec();
                    index[0] = x.0[0] - 1 - index[0];
                    at(&x, &index)
                })
            }
            NodeOp::Tuple(ids) => Value::Tuple(
                ids.iter()
                    .map(|&id| self.values[id as usize].clone())
                    .collect(),
            ),
            NodeOp::If {
                condition,
                yes,
                no,
                merges,
            } => {
                let first = self.tensor(*condition).1[0] != 0.0;
                self.run(if first { yes } else { no });
                for merge in *merges {
                    let from = if first { merge.first } else { merge.second };
                    self.values[merge.out as usize] = self.values[from as usize].clone();
                }
                Value::Unit
            }
            other => panic!("not generated: {other:?}"),
        }
    }
}

/// The element at an index, of which a tensor uses as many as it has axes, from the right.
fn at((shape, data): &(Vec<usize>, Vec<f32>), index: &[usize]) -> f32 {
    let index = &index[index.len() - shape.len()..];
    let flat = index
        .iter()
        .zip(shape)
        .fold(0, |flat, (&i, &n)| flat * n + if n == 1 { 0 } else { i });
    data[flat]
}

fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..shape.iter().product()).map(|mut flat: usize| {
        let mut index = vec![0; shape.len()];
        for axis in (0..shape.len()).rev() {
            index[axis] = flat % shape[axis];
            flat /= shape[axis];
        }
        index
    })
}

fn integers(n: usize, seed: u32) -> Vec<f32> {
    common::noise(n, seed)
        .into_iter()
        .map(|x| (x * 4.0).round())
        .collect()
}

fn check(random: Vec<u32>, steps: usize) {
    let block = program(random, steps);
    let function = &block.functions[0];
    let p = integers(3, 77);
    let mut naive = Naive {
        members: STATES
            .iter()
            .map(|(name, shape)| {
                (
                    *name,
                    Value::Tensor(shape.to_vec(), vec![0.0; shape.iter().product()]),
                )
            })
            .collect(),
        values: vec![Value::Unit; function.n_values as usize],
    };
    naive.members.push(("p", Value::Tensor(vec![3], p.clone())));
    let mut instances = Vec::new();
    for (numerics, threads) in [(Numerics::Exact, 1), (Numerics::Fast, 1)] {
        let mut parameters = Parameters::new();
        parameters.insert("p".into(), ErasedTensor::from_slice(&[3], &p).unwrap());
        let device = Device::cpu_with_threads(threads).unwrap();
        let mut instance = Instance::new(block, &[], parameters, &device).unwrap();
        instance.set_numerics(numerics);
        instances.push(instance);
    }
    for (turn, k) in [0, 1, 1, 0].into_iter().enumerate() {
        let x = integers(6, turn as u32);
        naive.values[0] = Value::Tensor(vec![2, 3], x.clone());
        naive.values[1] = Value::Scalar(f64::from(k));
        let Value::Tuple(expected) = naive.run(&function.body) else {
            panic!("the result is a tuple")
        };
        for instance in &instances {
            let mut args = [
                Argument::Tensor(ErasedTensor::from_slice(&[2, 3], &x).unwrap()),
                Argument::Scalar(ScalarValue::I32(k)),
            ];
            let mut output = instance.call("run", &mut args).unwrap();
            for (i, expected) in expected.iter().enumerate() {
                let Value::Tensor(shape, data) = expected else {
                    panic!("{expected:?}")
                };
                let linnet_runtime::OutputValue::Tensor(found) = output.take().unwrap() else {
                    panic!("result {i} is no tensor")
                };
                assert_eq!(found.shape(), shape);
                assert_eq!(
                    found.as_slice::<f32>().unwrap(),
                    data,
                    "result {i}, turn {turn}, {}",
                    instance.numerics()
                );
            }
            for (name, expected) in &naive.members[..STATES.len()] {
                let Value::Tensor(_, data) = expected else {
                    panic!("{expected:?}")
                };
                let state = instance.state(name).unwrap();
                assert_eq!(
                    state.as_slice::<f32>().unwrap(),
                    data,
                    "state {name}, turn {turn}, {}",
                    instance.numerics()
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn programs_compute_what_they_say(random in prop::collection::vec(any::<u32>(), 300), steps in 1usize..30) {
        check(random, steps);
    }
}
