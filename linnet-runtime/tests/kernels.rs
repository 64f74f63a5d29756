//! What a kernel sees of a call, and what happens when it misbehaves.

mod common;

use common::noise;
use linnet_runtime::descriptor::*;
use linnet_runtime::instance::call_op_with;
use linnet_runtime::kernel::{Kernel, KernelCall, KernelPlan, Operand};
use linnet_runtime::{
    Argument, DType, Device, ErasedTensor, Instance, Numerics, Parameters, Result,
};

const N: DimItem = DimItem::One(DimExpr::Generic("N"));
const M: DimItem = DimItem::One(DimExpr::Generic("M"));
const F32: DTypeExpr = DTypeExpr::Concrete(DType::F32);
const MATRIX: Type = Type::Tensor {
    dims: &[N, M],
    dtype: F32,
};

const fn dim(name: &'static str) -> Generic {
    Generic {
        name,
        kind: GenericKind::Dim,
        default: None,
    }
}

const fn node(out: ValueId, ty: Type, op: NodeOp) -> Node {
    Node {
        out,
        ty,
        op,
        line: 1,
    }
}

const GENERICS: &[Generic] = &[dim("N"), dim("M")];
const SUM: &[Node] = &[node(1, MATRIX, NodeOp::Binary(BinaryOp::Add, 0, 0))];

/// `double(x) = x + x`, whose kernels triple instead, so that it shows which ran.
const fn double(kernel: &'static dyn Kernel) -> OpDescriptor {
    OpDescriptor {
        module: "kernels",
        function: Function {
            name: "double",
            public: true,
            entry: false,
            receiver: Receiver::None,
            generics: GENERICS,
            requires: &[],
            params: &[Param {
                name: "x",
                ty: MATRIX,
                by_mut: false,
            }],
            ret: MATRIX,
            body: Body {
                nodes: SUM,
                result: Some(1),
            },
            n_values: 2,
        },
        kernel: Some(kernel),
    }
}

/// Triples contiguous matrices into a result that lies column by column.
#[derive(Debug)]
struct Transposing;

impl Kernel for Transposing {
    fn name(&self) -> &'static str {
        "transposing"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        let x = *call.tensor(0)?;
        if !x.is_contiguous() {
            return None;
        }
        assert_eq!((x.dtype, x.mutable), (DType::F32, false));
        let (n, m) = (x.shape[0], x.shape[1]);
        let mut plan = KernelPlan::row_major(call, move |launch| {
            let x = launch.input::<f32>(0)?;
            let scratch = launch.scratch::<f32>()?;
            assert_eq!(scratch.len(), n * m);
            assert!(scratch.is_empty() || (scratch.as_ptr() as usize).is_multiple_of(64));
            scratch.copy_from_slice(x);
            let out = launch.output::<f32>(0)?;
            for (flat, x) in scratch.iter().enumerate() {
                out[flat % m * n + flat / m] = 3.0 * x;
            }
            Ok(())
        })
        .with_scratch(n * m * 4);
        plan.outputs[0][0] = 1;
        plan.outputs[0][1] = n;
        Some(plan)
    }
}

static TRANSPOSING: OpDescriptor = double(&Transposing);

fn call(
    op: &'static OpDescriptor,
    numerics: Numerics,
    x: &[f32],
    shape: &[usize],
) -> Result<ErasedTensor> {
    let mut args = [Argument::Tensor(ErasedTensor::from_slice(shape, x)?)];
    call_op_with(op, numerics, &Device::cpu()?, &mut args)?.into_typed()
}

#[test]
fn numerics_choose_between_body_and_kernel() {
    for shape in [[3, 5], [1, 4], [4, 1], [0, 3]] {
        let x = noise(shape[0] * shape[1], 1);
        let exact = call(&TRANSPOSING, Numerics::Exact, &x, &shape).unwrap();
        assert_eq!(
            exact.as_slice::<f32>().unwrap(),
            x.iter().map(|x| x + x).collect::<Vec<_>>()
        );
        let fast = call(&TRANSPOSING, Numerics::Fast, &x, &shape).unwrap();
        assert_eq!(fast.shape(), shape);
        assert_eq!(
            fast.as_slice::<f32>().unwrap(),
            x.iter().map(|x| 3.0 * x).collect::<Vec<_>>()
        );
    }
}

/// A block that applies the operation to a parameter, its transpose, and the
/// result of the one before.
static BLOCK: BlockDescriptor = BlockDescriptor {
    name: "Twice",
    module: "kernels",
    generics: &[dim("N"), dim("M")],
    requires: &[],
    members: &[Member {
        name: "w",
        kind: MemberKind::Param(MATRIX),
    }],
    functions: &[Function {
        name: "run",
        public: true,
        entry: true,
        receiver: Receiver::Ref,
        generics: &[],
        requires: &[],
        params: &[],
        ret: Type::Tuple(&[MATRIX, TRANSPOSED]),
        body: Body {
            nodes: &[
                node(0, MATRIX, NodeOp::Member(&["w"])),
                node(1, MATRIX, CALL_0),
                node(
                    2,
                    TRANSPOSED,
                    NodeOp::Permute(1, &[Axis::Front(1), Axis::Front(0)]),
                ),
                node(3, TRANSPOSED, CALL_2),
                node(
                    4,
                    Type::Tuple(&[MATRIX, TRANSPOSED]),
                    NodeOp::Tuple(&[1, 3]),
                ),
            ],
            result: Some(4),
        },
        n_values: 5,
    }],
};
const TRANSPOSED: Type = Type::Tensor {
    dims: &[M, N],
    dtype: F32,
};
const CALL_0: NodeOp = NodeOp::Call {
    callee: Callee::Op(&TRANSPOSING),
    generics: &[
        GenericArg::Dim(DimExpr::Generic("N")),
        GenericArg::Dim(DimExpr::Generic("M")),
    ],
    args: &[Arg::Value(0)],
};
const CALL_2: NodeOp = NodeOp::Call {
    callee: Callee::Op(&TRANSPOSING),
    generics: &[
        GenericArg::Dim(DimExpr::Generic("M")),
        GenericArg::Dim(DimExpr::Generic("N")),
    ],
    args: &[Arg::Value(2)],
};

#[test]
fn the_order_in_memory_that_a_kernel_chose_is_kept() {
    let (n, m) = (3, 4);
    let w = noise(n * m, 2);
    let mut parameters = Parameters::new();
    parameters.insert("w".into(), ErasedTensor::from_slice(&[n, m], &w).unwrap());
    let generics = [n, m].map(linnet_runtime::GenericValue::Dim);
    let instance = Instance::new(&BLOCK, &generics, parameters, &Device::cpu().unwrap()).unwrap();
    let (tripled, twice): (ErasedTensor, ErasedTensor) =
        instance.call("run", &mut []).unwrap().into_typed().unwrap();
    assert_eq!(
        tripled.as_slice::<f32>().unwrap(),
        w.iter().map(|x| 3.0 * x).collect::<Vec<_>>()
    );
    // The transpose of a result that lies column by column is contiguous, so
    // that the kernel takes the second call as well.
    let expected: Vec<f32> = (0..n * m)
        .map(|i| 3.0 * (3.0 * w[i % n * m + i / n]))
        .collect();
    assert_eq!(twice.as_slice::<f32>().unwrap(), expected);
}

/// Leaves a gap in its result.
#[derive(Debug)]
struct Gaps;

impl Kernel for Gaps {
    fn name(&self) -> &'static str {
        "gaps"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        let mut plan = KernelPlan::row_major(call, |_| Ok(()));
        plan.outputs[0][0] *= 2;
        Some(plan)
    }
}

/// Asks for what it is not due.
#[derive(Debug)]
struct Greedy;

impl Kernel for Greedy {
    fn name(&self) -> &'static str {
        "greedy"
    }

    fn plan(&self, call: &KernelCall<'_>) -> Option<KernelPlan> {
        assert!(matches!(call.operands[0], Operand::Tensor(_)));
        Some(KernelPlan::row_major(call, |launch| {
            assert!(launch.input::<i32>(0).is_err());
            assert!(launch.input::<f32>(1).is_err());
            assert!(launch.mutable::<f32>(0).is_err());
            assert!(launch.scalar::<f32>(0).is_err());
            assert!(launch.scratch::<bool>().is_err());
            assert!(launch.scratch::<f32>()?.is_empty());
            assert!(launch.scratch::<f32>().is_err());
            assert!(launch.output::<i32>(0).is_err());
            launch.output::<f32>(0)?;
            launch.output::<f32>(0)?;
            Ok(())
        }))
    }
}

#[test]
fn a_kernel_that_misbehaves_is_an_error() {
    static GAPS: OpDescriptor = double(&Gaps);
    static GREEDY: OpDescriptor = double(&Greedy);
    let err = call(&GAPS, Numerics::Fast, &noise(6, 3), &[2, 3])
        .unwrap_err()
        .to_string();
    assert_eq!(
        err,
        "kernel `gaps`: strides [6, 1] leave gaps in, or repeat, elements of [2, 3]"
    );
    let err = call(&GREEDY, Numerics::Fast, &noise(6, 3), &[2, 3])
        .unwrap_err()
        .to_string();
    assert!(err.starts_with("kernel `greedy`: output 0 is "), "{err}");
}

/// A descriptor that the macros never emit.
#[test]
fn wrong_descriptors_are_errors() {
    const fn op(nodes: &'static [Node], result: ValueId) -> OpDescriptor {
        let mut op = double(&Transposing);
        op.kernel = None;
        op.function.body = Body {
            nodes,
            result: Some(result),
        };
        op
    }
    const TALL: Type = Type::Tensor {
        dims: &[DimItem::One(DimExpr::Const(100)), M],
        dtype: F32,
    };
    const TOO_LONG: SliceItem = SliceItem::Range {
        start: Start::Dim(DimExpr::Const(0)),
        step: 1,
    };
    const NODES: [&[Node]; 5] = [
        &[node(1, MATRIX, NodeOp::Unary(UnaryOp::Neg, 7))],
        &[node(1, TALL, NodeOp::Unary(UnaryOp::Neg, 0))],
        &[node(
            1,
            TALL,
            NodeOp::Slice(0, &[TOO_LONG, SliceItem::Full]),
        )],
        &[node(1, TALL, NodeOp::Reshape(0))],
        &[node(1, MATRIX, NodeOp::Unary(UnaryOp::Not, 0))],
    ];
    static UNDEFINED: OpDescriptor = op(NODES[0], 1);
    static SHAPE: OpDescriptor = op(NODES[1], 1);
    static SLICE: OpDescriptor = op(NODES[2], 1);
    static RESHAPE: OpDescriptor = op(NODES[3], 1);
    static DTYPE: OpDescriptor = op(NODES[4], 1);
    for (op, expected) in [
        (&UNDEFINED, "value 7 is used before it is defined"),
        (&SHAPE, "f32 [2, 3] where Tensor[100, M; f32] is due"),
        (&SLICE, "the slice 0..100 is outside axis 0 of length 2"),
        (&RESHAPE, "a reshape of [2, 3] to [100, 3]"),
        (&DTYPE, "Not of f32"),
    ] {
        let err = call(op, Numerics::Exact, &noise(6, 4), &[2, 3])
            .unwrap_err()
            .to_string();
        assert!(err.contains(expected), "{err}");
    }
}

#[test]
fn the_oldest_plan_goes() {
    let mut parameters = Parameters::new();
    parameters.insert(
        "w".into(),
        ErasedTensor::zeros(DType::F32, &[1, 1]).unwrap(),
    );
    let generics = [1, 1].map(linnet_runtime::GenericValue::Dim);
    static GROWING: BlockDescriptor = BlockDescriptor {
        functions: &[Function {
            name: "run",
            public: true,
            entry: true,
            receiver: Receiver::Ref,
            generics: &[dim("S")],
            requires: &[],
            params: &[Param {
                name: "x",
                ty: VECTOR,
                by_mut: false,
            }],
            ret: VECTOR,
            body: Body {
                nodes: &[node(1, VECTOR, NodeOp::Unary(UnaryOp::Neg, 0))],
                result: Some(1),
            },
            n_values: 2,
        }],
        ..BLOCK
    };
    const VECTOR: Type = Type::Tensor {
        dims: &[DimItem::One(DimExpr::Generic("S"))],
        dtype: F32,
    };
    let instance = Instance::new(&GROWING, &generics, parameters, &Device::cpu().unwrap()).unwrap();
    for n in (0..200).chain(0..200) {
        let x = noise(n, n as u32);
        let mut args = [Argument::Tensor(
            ErasedTensor::from_slice(&[n], &x).unwrap(),
        )];
        let out: ErasedTensor = instance
            .call("run", &mut args)
            .unwrap()
            .into_typed()
            .unwrap();
        assert_eq!(
            out.as_slice::<f32>().unwrap(),
            x.iter().map(|x| -x).collect::<Vec<_>>()
        );
        assert!(instance.plans() <= 64);
    }
    assert_eq!(instance.plans(), 64);
}
