//! Kernels allocate nothing: counted on every thread.
//!
//! A program of its own, since the usual test harness has a thread that allocates when it likes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use linnet_kernels::attention::{
    AttentionArgs, Mask, PackedArgs, attention, attention_scratch, packed_attention,
    packed_attention_scratch,
};
use linnet_kernels::binary::{BinaryOp, binary_in_place};
use linnet_kernels::cache::{Positions, write_packed, write_rows};
use linnet_kernels::experts::{
    ExpertsShape, experts, experts_scratch, experts_sum, experts_sum_scratch,
};
use linnet_kernels::linear::{Epilogue, linear, linear_scratch};
use linnet_kernels::norm::layer_norm;
use linnet_kernels::quant::{
    GroupLayout, Int4Groups, Mxfp4, int4_group_linear, int4_group_linear_scratch, int8_linear,
    int8_linear_scratch,
};
use linnet_kernels::ranks::descending_ranks;
use linnet_kernels::reduce::argmax_rows;
use linnet_kernels::rope::{Yarn, rope, rope_scratch};
use linnet_kernels::softmax::softmax_in_place;
use linnet_kernels::swiglu::clamped_swiglu;
use linnet_kernels::unary::{UnaryOp, unary_in_place};
use linnet_kernels::{Cpu, HeadsMut, HeadsRef, MatMut, MatRef};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the caller's duty is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: the caller's duty is the same.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A step of a small layer, for `rows` positions, with every kernel that a step uses.
fn step(
    cpu: &Cpu,
    rows: usize,
    data: &[f32],
    cache: &mut [f32],
    out: &mut [f32],
    wide: &mut [f32],
    scratch: &mut [f32],
) {
    let (h, o, heads, dim) = (256, 512, 4, 64);
    let x = MatRef::contiguous(data, rows, h).unwrap();
    layer_norm(
        cpu,
        x,
        &data[..h],
        Some(&data[..h]),
        1e-5,
        MatMut::contiguous(out, rows, h).unwrap(),
    )
    .unwrap();
    for strides in [[1, o], [h, 1]] {
        let w = MatRef::new(data, [o, h], strides).unwrap();
        let epilogue = Epilogue {
            bias: Some(&data[..o]),
            activation: Some(UnaryOp::Gelu),
        };
        let to = MatMut::contiguous(wide, rows, o).unwrap();
        linear(
            cpu,
            MatRef::contiguous(out, rows, h).unwrap(),
            w,
            epilogue,
            to,
            scratch,
        )
        .unwrap();
    }
    let q_shape = [1, heads, rows, dim];
    let kv_shape = [1, heads, 128, dim];
    let x = HeadsRef::contiguous(data, q_shape).unwrap();
    write_rows(
        cpu,
        x,
        Positions::All(20),
        None,
        HeadsMut::contiguous(cache, kv_shape).unwrap(),
    )
    .unwrap();
    let args = AttentionArgs {
        scale: 0.125,
        mask: Mask::Causal {
            positions: Positions::All(20),
            window: None,
        },
        rows: None,
        sinks: None,
    };
    let kv = HeadsRef::contiguous(cache, kv_shape).unwrap();
    attention(
        cpu,
        x,
        kv,
        kv,
        args,
        HeadsMut::contiguous(out, q_shape).unwrap(),
        scratch,
    )
    .unwrap();
    let x = MatRef::contiguous(data, rows, h).unwrap();
    binary_in_place(
        cpu,
        BinaryOp::Add,
        MatMut::contiguous(out, rows, h).unwrap(),
        x,
    )
    .unwrap();
    unary_in_place(
        cpu,
        UnaryOp::Silu,
        MatMut::contiguous(out, rows, h).unwrap(),
    );
    softmax_in_place(cpu, MatMut::contiguous(wide, rows, o).unwrap()).unwrap();
    let mut places = [0; 64];
    argmax_rows(
        cpu,
        MatRef::contiguous(wide, rows, o).unwrap(),
        &mut places[..rows],
    )
    .unwrap();
}

/// Lengths of the products with packed weights: 256 to 512, 4 experts of which a row takes 2.
const GROUPS: GroupLayout = GroupLayout {
    outputs: 512,
    groups: 8,
    group: 32,
};

fn shape(rows: usize) -> ExpertsShape {
    ExpertsShape {
        rows,
        top_k: 2,
        experts: 4,
        outputs: 512,
        inner: 256,
    }
}

/// The f32 elements of scratch space that [`packed`] needs.
fn packed_scratch(cpu: &Cpu, rows: usize) -> usize {
    [
        experts_scratch(cpu, shape(rows)),
        experts_sum_scratch(cpu, shape(rows)),
        int4_group_linear_scratch(cpu, rows, GROUPS, true),
        int8_linear_scratch(cpu, rows, 256, 512),
    ]
    .into_iter()
    .fold(0, usize::max)
}

/// Products of `rows` rows with packed weights. `codes` and `bytes` have 4 * 512 * 8 * 16 elements.
fn packed(
    cpu: &Cpu,
    rows: usize,
    data: &[f32],
    (codes, bytes): (&[i8], &[u8]),
    out: &mut [f32],
    scratch: &mut [f32],
) {
    let (h, o) = (256, 512);
    let chosen: [i64; 128] = std::array::from_fn(|i| (i % 4) as i64);
    let chosen = &chosen[..2 * rows];
    let w = Mxfp4::new(bytes, &bytes[..4 * o * 8], [4, o, 8]).unwrap();
    let x = MatRef::contiguous(data, rows, h).unwrap();
    let to = MatMut::contiguous(out, 2 * rows, o).unwrap();
    experts(cpu, x, w, chosen, 2, to, scratch).unwrap();
    let wide = MatRef::contiguous(data, 2 * rows, h).unwrap();
    let weight = MatRef::contiguous(data, rows, 2).unwrap();
    let to = MatMut::contiguous(out, rows, o).unwrap();
    experts_sum(cpu, wide, w, chosen, weight, to, scratch).unwrap();
    let order: [i32; 256] = std::array::from_fn(|i| 255 - i as i32);
    let weights = Int4Groups {
        codes: &bytes[..o * h / 2],
        scale: &data[..o * 8],
        zero: &bytes[..o * 8],
        order: Some(&order),
        layout: GROUPS,
    };
    let to = MatMut::contiguous(out, rows, o).unwrap();
    int4_group_linear(cpu, x, weights, None, to, scratch).unwrap();
    let to = MatMut::contiguous(out, rows, o).unwrap();
    int8_linear(cpu, x, &codes[..o * h], &data[..o], None, to, scratch).unwrap();
}

/// What a step of tokens of several sequences has besides: 8 heads on 1.
fn tokens(
    cpu: &Cpu,
    n: usize,
    data: &[f32],
    cache: &mut [f32],
    out: &mut [f32],
    scratch: &mut [f32],
) {
    let (heads, dim) = (8, 32);
    let yarn = Yarn {
        theta: 1e4,
        factor: 4.0,
        beta_fast: 32.0,
        beta_slow: 1.0,
        original: 64.0,
    };
    // A run of tokens in row 1, then an idle one.
    let (mut rows, mut positions) = ([1; 64], [0; 64]);
    (0..n).for_each(|p| positions[p] = p as i32);
    (rows[n - 1], positions[n - 1]) = (0, -1);
    let (rows, positions) = (&rows[..n], &positions[..n]);
    let shape = [1, heads, n, dim];
    let x = HeadsRef::contiguous(data, shape).unwrap();
    rope(
        cpu,
        x,
        MatRef::contiguous(positions, 1, n).unwrap(),
        &yarn,
        HeadsMut::contiguous(out, shape).unwrap(),
        scratch,
    )
    .unwrap();
    let kv_shape = [2, 1, 128, dim];
    let key = HeadsRef::contiguous(data, [1, 1, n, dim]).unwrap();
    let to = HeadsMut::contiguous(cache, kv_shape).unwrap();
    write_packed(cpu, key, rows, positions, to).unwrap();
    let kv = HeadsRef::contiguous(cache, kv_shape).unwrap();
    let args = PackedArgs {
        scale: 0.125,
        rows,
        positions,
        window: Some(16),
        sinks: Some(&data[..heads]),
    };
    let to = HeadsMut::contiguous(out, shape).unwrap();
    packed_attention(cpu, x, kv, kv, args, to, scratch).unwrap();
    let x = MatRef::contiguous(data, n, 64).unwrap();
    let to = MatMut::contiguous(out, n, 32).unwrap();
    clamped_swiglu(cpu, x, 1.7, 7.0, to).unwrap();
    let mut ranks = [0; 64 * 32];
    let x = MatRef::contiguous(data, n, 32).unwrap();
    let to = MatMut::contiguous(&mut ranks, n, 32).unwrap();
    descending_ranks(cpu, x, to).unwrap();
}

fn tokens_scratch(cpu: &Cpu, n: usize) -> usize {
    packed_attention_scratch(cpu, [1, 8, n, 32], 1).max(rope_scratch(cpu, 32))
}

fn main() {
    for threads in [1, 2, 4] {
        let cpu = Cpu::new(threads).unwrap();
        // All workers have started, which allocates, once each holds a task.
        let all = std::sync::Barrier::new(threads);
        cpu.pool().run(threads, &|_| {
            all.wait();
        });
        let data: Vec<f32> = (0..256 * 512).map(|i| (i % 17) as f32 * 0.01).collect();
        let bytes: Vec<u8> = (0..4 * 512 * 8 * 16).map(|i| (i % 128) as u8).collect();
        let codes: Vec<i8> = bytes.iter().map(|&b| b as i8).collect();
        let (mut cache, mut out, mut wide) = (
            vec![0.0; 4 * 128 * 64],
            vec![0.0; 64 * 256],
            vec![0.0; 2 * 64 * 512],
        );
        for rows in [1, 5, 40] {
            let size = linear_scratch(&cpu, rows, 256, 512).max(attention_scratch(
                &cpu,
                [1, 4, rows, 64],
                4,
            ));
            let size = size.max(packed_scratch(&cpu, rows));
            let size = size.max(tokens_scratch(&cpu, rows));
            let mut scratch = vec![0.0; size];
            let mut run = || {
                step(
                    &cpu,
                    rows,
                    &data,
                    &mut cache,
                    &mut out,
                    &mut wide,
                    &mut scratch,
                );
                packed(&cpu, rows, &data, (&codes, &bytes), &mut wide, &mut scratch);
                tokens(&cpu, rows, &data, &mut cache, &mut out, &mut scratch);
            };
            run();
            let before = ALLOCATIONS.load(Ordering::SeqCst);
            (0..20).for_each(|_| run());
            let after = ALLOCATIONS.load(Ordering::SeqCst);
            assert_eq!(
                after - before,
                0,
                "allocations, with {threads} threads and {rows} rows"
            );
        }
    }
    println!("no kernel allocates");
}
