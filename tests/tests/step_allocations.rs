//! After the first step, decoding makes no heap allocation on any thread. A
//! program of its own, since it counts every allocation of the process.

mod gpt2_support;
mod gpt_oss_support;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use gpt_oss::GptOssDyn;
use gpt_oss_support::{fixture, golden, load_as};
use gpt2_support::{Checkpoint, DynModel, list, matrix};
use linnet_runtime::{Const, Dyn, Float, Numerics, Tensor, bf16};

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

    gpt2();
    gpt_oss::<f32>();
    gpt_oss::<bf16>();
    println!("decoding allocates nothing after the first step: ok");
}

fn gpt2() {
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
}

fn gpt_oss<T: Float>() {
    let golden = golden("tiny-gpt-oss");
    for numerics in [Numerics::Fast, Numerics::Exact] {
        for threads in [1, 2] {
            let what = format!("{numerics}, {} and {threads} threads", T::DTYPE);
            let mut model: GptOssDyn<T> =
                load_as(&fixture("tiny-gpt-oss"), 2, 64, numerics, threads);
            let prompt: Tensor<(Dyn, Dyn), i32> =
                matrix(&[&golden.row(0)[..24], &golden.row(1)[..24]]);
            let token: Tensor<(Dyn, Const<1>), i32> = matrix(&[&[1], &[2]]);
            drop(model.prefill(&prompt, 0).unwrap());
            drop(model.decode(&token, 24).unwrap());
            let n = count(|| {
                for pos in 25..35 {
                    drop(model.decode(&token, pos).unwrap());
                }
            });
            assert_eq!(n, 0, "gpt-oss decode, {what}");

            let positions: Tensor<(Dyn,), i32> = list(&[30, -1]);
            drop(model.decode_rows(&token, &positions).unwrap());
            let n = count(|| {
                for _ in 0..5 {
                    drop(model.decode_rows(&token, &positions).unwrap());
                }
            });
            assert_eq!(n, 0, "gpt-oss decode_rows, {what}");

            // A chunk for row 1 beside a step of row 0, and padding.
            let tokens: Tensor<(Dyn,), i32> = list(&[3, 4, 5, 0]);
            let rows: Tensor<(Dyn,), i32> = list(&[1, 1, 1, 0]);
            let places: Tensor<(Dyn,), i32> = list(&[24, 25, 26, 0]);
            let segments: Tensor<(Dyn,), i32> = list(&[0, 0, 0, -1]);
            let last: Tensor<(Dyn,), i32> = list(&[0, 2]);
            let mut step = || {
                let logits = model.step_packed(
                    &tokens, &rows, &places, &segments, &last, &token, &positions,
                );
                drop(logits.unwrap());
            };
            step();
            let n = count(|| (0..5).for_each(|_| step()));
            assert_eq!(n, 0, "gpt-oss step_packed, {what}");
        }
    }
}
