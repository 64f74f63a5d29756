//! Times each kernel family against its floor on this machine.
//!
//! `cargo bench -p linnet-kernels [-- --threads N] [FAMILY ..]`. A figure is the best of many
//! runs; weights are taken in turn from a set several times larger than the last cache, so
//! that "bandwidth" means memory. Nothing here fails: the ratios are for a person to read.

use std::time::Instant;

use half::{bf16, f16};
use linnet_kernels::linear::{Epilogue, linear, linear_scratch};
use linnet_kernels::{Cpu, Element, Isa, MatMut, MatRef, probe};

/// Bytes of the set of weights.
const POOL_BYTES: usize = 192 << 20;

/// Seconds of the best of `repeats` runs. With one thread, seconds on a processor, which other
/// programs disturb less.
fn best(cpu: &Cpu, repeats: usize, mut work: impl FnMut(usize)) -> f64 {
    let mut best = f64::INFINITY;
    for i in 0..repeats {
        let (start, on_cpu) = (Instant::now(), thread_seconds());
        work(i);
        let elapsed = match (cpu.threads(), on_cpu, thread_seconds()) {
            (1, Some(before), Some(after)) => after - before,
            _ => start.elapsed().as_secs_f64(),
        };
        best = best.min(elapsed);
    }
    best
}

/// The seconds this thread has spent on a processor, where the system says.
#[cfg(unix)]
fn thread_seconds() -> Option<f64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `time` only.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    (status == 0).then(|| time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

#[cfg(not(unix))]
fn thread_seconds() -> Option<f64> {
    None
}

struct Floor {
    bandwidth: f64,
    fma: f64,
}

fn streaming<W: Element>(cpu: &Cpu, floor: &Floor) {
    for (inner, outputs) in [
        (768, 2304),
        (768, 768),
        (768, 3072),
        (3072, 768),
        (768, 50257),
    ] {
        for transposed in [true, false] {
            let size = inner * outputs;
            let n = (POOL_BYTES / (size * size_of::<W>())).max(1);
            let w = vec![W::from_f32(0.5); size * n];
            for rows in [1, 8] {
                let x = vec![0.5f32; rows * inner];
                let mut out = vec![0.0f32; rows * outputs];
                let mut scratch = vec![0.0; linear_scratch(cpu, rows, inner, outputs)];
                let strides = if transposed { [1, outputs] } else { [inner, 1] };
                let time = best(cpu, n * 3, |i| {
                    let i = i % n;
                    linear(
                        cpu,
                        MatRef::contiguous(&x, rows, inner).unwrap(),
                        MatRef::new(&w[i * size..(i + 1) * size], [outputs, inner], strides)
                            .unwrap(),
                        Epilogue::default(),
                        MatMut::contiguous(&mut out, rows, outputs).unwrap(),
                        &mut scratch,
                    )
                    .unwrap();
                });
                let rate = (size * size_of::<W>()) as f64 / time;
                println!(
                    "linear {rows} x {inner} x {outputs} {} {}: {:.1} us, {:.2} GB/s, {:.2} of bandwidth, {:.2} of FMA",
                    W::NAME,
                    if transposed { "[I, O]" } else { "[O, I]" },
                    time * 1e6,
                    rate / 1e9,
                    rate / floor.bandwidth,
                    (2 * size * rows) as f64 / time / floor.fma,
                );
            }
        }
    }
}

fn products<W: Element>(cpu: &Cpu, floor: &Floor) {
    for (rows, inner, outputs) in [
        (512, 768, 3072),
        (512, 3072, 768),
        (512, 768, 2304),
        (128, 768, 768),
        (16, 768, 3072),
        (32, 768, 3072),
    ] {
        for transposed in [true, false] {
            let w = vec![W::from_f32(0.5); inner * outputs];
            let x = vec![0.5f32; rows * inner];
            let mut out = vec![0.0f32; rows * outputs];
            let mut scratch = vec![0.0; linear_scratch(cpu, rows, inner, outputs)];
            let strides = if transposed { [1, outputs] } else { [inner, 1] };
            let time = best(cpu, 30, |_| {
                linear(
                    cpu,
                    MatRef::contiguous(&x, rows, inner).unwrap(),
                    MatRef::new(&w, [outputs, inner], strides).unwrap(),
                    Epilogue::default(),
                    MatMut::contiguous(&mut out, rows, outputs).unwrap(),
                    &mut scratch,
                )
                .unwrap();
            });
            let rate = (2 * rows * inner * outputs) as f64 / time;
            println!(
                "linear {rows} x {inner} x {outputs} {} {}: {:.2} ms, {:.1} GFLOP/s, {:.2} of FMA",
                W::NAME,
                if transposed { "[I, O]" } else { "[O, I]" },
                time * 1e3,
                rate / 1e9,
                rate / floor.fma,
            );
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let threads = args
        .iter()
        .position(|a| a == "--threads")
        .and_then(|i| args.get(i + 1)?.parse().ok())
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let wanted = |name: &str| {
        let names: Vec<_> = args
            .iter()
            .filter(|a| !a.starts_with("--") && a.parse::<usize>().is_err())
            .collect();
        names.is_empty() || names.iter().any(|n| *n == name)
    };
    let cpu = Cpu::with_isa(threads, Isa::best()).unwrap();
    let data = vec![1.0f32; POOL_BYTES / 4];
    let floor = Floor {
        bandwidth: probe::read_bandwidth(&cpu, &data, 30),
        fma: probe::fma_rate(&cpu, 60),
    };
    println!(
        "{}, {threads} threads: reads {:.1} GB/s, {:.1} GFLOP/s",
        cpu.isa().name(),
        floor.bandwidth / 1e9,
        floor.fma / 1e9
    );
    if wanted("product") {
        products::<f32>(&cpu, &floor);
        products::<bf16>(&cpu, &floor);
    }
    if wanted("stream") {
        streaming::<f32>(&cpu, &floor);
        streaming::<bf16>(&cpu, &floor);
        streaming::<f16>(&cpu, &floor);
    }
}
