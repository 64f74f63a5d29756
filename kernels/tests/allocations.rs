//! Kernels allocate nothing: counted on every thread.
//!
//! A program of its own, since the usual test harness has a thread that allocates when it likes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use linnet_kernels::attention::{AttentionArgs, Mask, attention, attention_scratch};
use linnet_kernels::binary::{BinaryOp, binary_in_place};
use linnet_kernels::cache::{Positions, write_rows};
use linnet_kernels::linear::{Epilogue, linear, linear_scratch};
use linnet_kernels::norm::layer_norm;
use linnet_kernels::reduce::argmax_rows;
use linnet_kernels::softmax::softmax_in_place;
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

fn main() {
    for threads in [1, 2, 4] {
        let cpu = Cpu::new(threads).unwrap();
        // All workers have started, which allocates, once each holds a task.
        let all = std::sync::Barrier::new(threads);
        cpu.pool().run(threads, &|_| {
            all.wait();
        });
        let data: Vec<f32> = (0..256 * 512).map(|i| (i % 17) as f32 * 0.01).collect();
        let (mut cache, mut out, mut wide) = (
            vec![0.0; 4 * 128 * 64],
            vec![0.0; 64 * 256],
            vec![0.0; 64 * 512],
        );
        for rows in [1, 5, 40] {
            let size = linear_scratch(&cpu, rows, 256, 512).max(attention_scratch(
                &cpu,
                [1, 4, rows, 64],
                4,
            ));
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
                )
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
