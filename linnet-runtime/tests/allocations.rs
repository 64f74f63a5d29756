//! After the first call of its sizes, a call makes no heap allocation on any thread.
#![allow(
    missing_docs,
    reason = "the blocks and operations are for these tests only"
)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::noise;
use linnet_runtime::prelude::*;
use linnet_runtime::{
    Argument, Device, ErasedTensor, GenericValue, Instance, Numerics, Parameters,
};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's duty is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's duty is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's duty is the same.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's duty is the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[block]
#[require(N > 0)]
pub struct Step<V: Dim, H: Dim, N: Dim> {
    #[param]
    table: Tensor![V, H; f32],
    #[state]
    cache: Tensor![N, H; f32],
}

#[block]
impl Step {
    #[entry]
    #[require(0 <= ids, ids < V, 0 <= pos, pos < N, distinct(ids))]
    pub fn step(&mut self, ids: Tensor![1; i32], pos: i32) -> Tensor![1, V; f32] {
        let x =
            index!([s, h] = self.table[ids[s], h]) * 0.5 + self.cache.slice(s![pos..pos + 1, ..]);
        self.cache = index!([n, h] = if n == pos { x[0, h] } else { self.cache[n, h] });
        let total = index!([h] = sum[n] tanh(self.cache[n, h]));
        index!([s, v] = sum[h] (x[s, h] + total[h]) * self.table[v, h])
    }
}

/// A program of its own without the test harness, which allocates when it likes.
fn main() {
    let (v, h, n) = (50, 64, 512);
    for (numerics, threads) in [
        (Numerics::Exact, 1),
        (Numerics::Exact, 3),
        (Numerics::Fast, 1),
        (Numerics::Fast, 3),
    ] {
        let mut parameters = Parameters::new();
        parameters.insert(
            "table".into(),
            ErasedTensor::from_slice(&[v, h], &noise(v * h, 1)).unwrap(),
        );
        let generics = [v, h, n].map(GenericValue::Dim);
        let device = Device::cpu_with_threads(threads).unwrap();
        // A thread allocates when it starts, which may be late: this waits for all of them.
        let started = Barrier::new(threads);
        device.pool().run(threads, &|_| {
            started.wait();
        });
        let mut instance = Instance::new(
            Step::<Dyn, Dyn, Dyn>::DESCRIPTOR,
            &generics,
            parameters,
            &device,
        )
        .unwrap();
        instance.set_numerics(numerics);
        let ids: Vec<ErasedTensor> = (0..5)
            .map(|i| ErasedTensor::from_slice(&[1], &[i]).unwrap())
            .collect();
        let mut first = 0.0;
        let mut counts = [0; 20];
        for (pos, count) in counts.iter_mut().enumerate() {
            let before = ALLOCATIONS.load(Ordering::SeqCst);
            let mut args = [
                Argument::Tensor(ids[pos % 5].clone()),
                Argument::Scalar((pos as i32).into()),
            ];
            let logits: Tensor<(Const<1>, Dyn), f32> = instance
                .call("step", &mut args)
                .unwrap()
                .into_typed()
                .unwrap();
            first += logits.as_slice().unwrap()[0];
            *count = ALLOCATIONS.load(Ordering::SeqCst) - before;
        }
        assert!(first.is_finite());
        assert!(counts[0] > 0);
        assert_eq!(counts[1..], [0; 19], "{numerics} on {threads} threads");
    }
    println!("later calls allocate nothing");
}
