//! After the first step, decoding makes no heap allocation on any thread. A
//! program of its own, since it counts every allocation of the process.

mod gpt2_support;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use gpt2_support::{Checkpoint, DynModel, list, matrix};
use linnet_runtime::{Const, Dyn, Numerics, Tensor};

/// The system's allocator with a count of the calls that obtain memory.
struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's duties are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; the pointer came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, n_bytes: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, n_bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations during `steps`.
fn count(mut steps: impl FnMut()) -> usize {
    let before = COUNT.load(Ordering::SeqCst);
    steps();
    COUNT.load(Ordering::SeqCst) - before
}

// A plain program: the threads of a test harness allocate on their own.
fn main() {
    assert!(
        count(|| drop(std::hint::black_box(vec![1u8; 100]))) > 0,
        "the counter must count"
    );

    let checkpoint = Checkpoint::read("tiny-gpt2");
    for numerics in [Numerics::Fast, Numerics::Exact] {
        for threads in [1, 2] {
            let mut model: DynModel = checkpoint.load(2, 64, numerics, threads);
            let prompt: Tensor<(Dyn, Dyn), i32> = matrix(&[checkpoint.row(0), checkpoint.row(1)]);
            let token: Tensor<(Dyn, Const<1>), i32> = matrix(&[&[1], &[2]]);
            let positions: Tensor<(Dyn,), i32> = list(&[30, 24]);
            drop(model.prefill(&prompt, 0).unwrap());
            drop(model.decode(&token, 24).unwrap());
            let n = count(|| {
                for pos in 25..60 {
                    let logits = model.decode(&token, pos).unwrap();
                    assert!(logits.as_slice().unwrap()[0].is_finite());
                }
            });
            assert_eq!(n, 0, "decode, {numerics}, {threads} threads");

            drop(model.decode_rows(&token, &positions).unwrap());
            let n = count(|| {
                for _ in 0..10 {
                    drop(model.decode_rows(&token, &positions).unwrap());
                }
            });
            assert_eq!(n, 0, "decode_rows, {numerics}, {threads} threads");
        }
    }
    println!("decoding allocates nothing after the first step: ok");
}
