//! Clocks and floors.

use std::time::Instant;

use linnet_kernels::{Cpu, probe};

/// Bytes of the set of weights: several times the last cache.
pub const POOL_BYTES: usize = 192 << 20;

/// Seconds of the best of `repeats` runs. With one thread, seconds on a processor, which other
/// programs disturb less.
pub fn best(cpu: &Cpu, repeats: usize, mut work: impl FnMut(usize)) -> f64 {
    (0..repeats)
        .map(|i| once(cpu, || work(i)))
        .fold(f64::INFINITY, f64::min)
}

/// Seconds of the best run of each of two, run in turn.
pub fn best_of_two(
    cpu: &Cpu,
    repeats: usize,
    mut a: impl FnMut(usize),
    mut b: impl FnMut(usize),
) -> (f64, f64) {
    let mut times = (f64::INFINITY, f64::INFINITY);
    for i in 0..repeats {
        times.0 = times.0.min(once(cpu, || a(i)));
        times.1 = times.1.min(once(cpu, || b(i)));
    }
    times
}

/// A kernel that reads `bytes` of its own, against a plain read of as many bytes of `memory`:
/// seconds of each.
pub fn against_reads(
    cpu: &Cpu,
    repeats: usize,
    bytes: usize,
    memory: &[f32],
    kernel: impl FnMut(usize),
) -> (f64, f64) {
    let length = (bytes / size_of::<f32>()).clamp(1, memory.len());
    let places = (memory.len() / length).max(1);
    let read = |i: usize| {
        let at = i % places * length;
        probe::read_bandwidth(cpu, &memory[at..at + length], 1);
    };
    best_of_two(cpu, repeats, kernel, read)
}

/// A kernel against FMAs on registers: seconds, and the rate of the latter in operations per second.
pub fn against_fma(cpu: &Cpu, repeats: usize, mut kernel: impl FnMut(usize)) -> (f64, f64) {
    let (mut time, mut rate) = (f64::INFINITY, 0.0f64);
    for i in 0..repeats {
        time = time.min(once(cpu, || kernel(i)));
        rate = rate.max(probe::fma_rate(cpu, 1));
    }
    (time, rate)
}

fn once(cpu: &Cpu, work: impl FnOnce()) -> f64 {
    let (start, on_cpu) = (Instant::now(), thread_seconds());
    work();
    match (cpu.threads(), on_cpu, thread_seconds()) {
        (1, Some(before), Some(after)) => after - before,
        _ => start.elapsed().as_secs_f64(),
    }
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
    (status == 0).then_some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

#[cfg(not(unix))]
fn thread_seconds() -> Option<f64> {
    None
}
