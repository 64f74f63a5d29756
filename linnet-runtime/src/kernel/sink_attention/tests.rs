use std::fmt::Write as _;

use crate::device::Device;
use crate::dtype::DType;
use crate::env::Env;
use crate::nn::attention::{merge_heads, split_heads};
use crate::nn::cache::write_packed;
use crate::nn::rope::yarn_rope;
use crate::nn::sink_attention::packed_sink_attention;
use crate::numerics::Numerics;
use crate::plan::bind::{ArgumentKind, bind_arguments};
use crate::plan::lower::{Instruction, lower};
use crate::plan::trace::Tracer;
use crate::prelude::*;
use crate::shape::Dims;

/// What a model does between its projections.
#[op]
#[require(KvHeads > 0, Heads % KvHeads == 0, D > 0, D % 2 == 0)]
#[require(0 <= rows, rows < B, -1 <= positions, positions < M)]
pub fn attend<B: Dim, Heads: Dim, KvHeads: Dim, P: Dim, M: Dim, D: Dim, T: Float>(
    cache_k: &mut Tensor![B, KvHeads, M, D; T],
    cache_v: &mut Tensor![B, KvHeads, M, D; T],
    q: Tensor![1, P, Heads * D; T],
    k: Tensor![1, P, KvHeads * D; T],
    v: Tensor![1, P, KvHeads * D; T],
    sinks: Tensor![Heads; T],
    rows: Tensor![P; i32],
    positions: Tensor![P; i32],
) -> Tensor![1, P, Heads * D; T] {
    let q = split_heads::<1, P, Heads, D, T>(q);
    let k = split_heads::<1, P, KvHeads, D, T>(k);
    let v = split_heads::<1, P, KvHeads, D, T>(v);
    let places = positions.reshape([1, P]);
    let k = yarn_rope(k, places, 150000.0, 32.0, 32.0, 1.0, 4096.0);
    write_packed(cache_k, k, rows, positions);
    write_packed(cache_v, v, rows, positions);
    let q = yarn_rope(q, places, 150000.0, 32.0, 32.0, 1.0, 4096.0);
    merge_heads(packed_sink_attention(
        q, *cache_k, *cache_v, sinks, rows, positions, 128,
    ))
}

/// Rotating, writing, attending and merging is those four kernels: nothing is
/// copied between them.
#[test]
fn nothing_is_copied_between_kernels() {
    let op = <attend as crate::Op>::DESCRIPTOR;
    let device = Device::cpu_with_threads(1).unwrap();
    let (b, heads, kv_heads, p, m, d) = (3, 16, 2, 7, 20, 64);
    let dims = |shape: &[usize]| Dims::new(shape).unwrap();
    let float = |shape: &[usize]| ArgumentKind::Tensor {
        dtype: DType::BF16,
        shape: dims(shape),
    };
    let cache = || ArgumentKind::Mutable {
        dtype: DType::BF16,
        shape: dims(&[b, kv_heads, m, d]),
    };
    let ids = || ArgumentKind::Tensor {
        dtype: DType::I32,
        shape: dims(&[p]),
    };
    let kinds = [
        cache(),
        cache(),
        float(&[1, p, heads * d]),
        float(&[1, p, kv_heads * d]),
        float(&[1, p, kv_heads * d]),
        float(&[heads]),
        ids(),
        ids(),
    ];
    let mut env = Env::default();
    bind_arguments(&op.function, "attend", &kinds, &mut env).unwrap();
    let graph = Tracer::new(&[], device.cpu_context(), Numerics::Fast)
        .entry_op(op, "attend".into(), env, &kinds)
        .unwrap();
    let mut work = String::new();
    for instruction in lower(graph).unwrap().instructions {
        match instruction {
            Instruction::Check { .. } => {}
            Instruction::Kernel(call) => writeln!(work, "{}", call.name).unwrap(),
            other => writeln!(work, "{other:?}").unwrap(),
        }
    }
    assert_eq!(
        work,
        "yarn_rope\nwrite_packed\nwrite_packed\nyarn_rope\npacked_sink_attention\n"
    );
}
