//! How row-wise and element-wise kernels split their work among threads.

use crate::cpu::Cpu;

/// Elements below which waking another thread costs more than it saves: a
/// dispatch takes about 2 us, in which one core passes some 8,000 elements.
const MIN_TASK: usize = 16 * 1024;

/// Runs `part(first, last)` over consecutive parts of `0..n`, where one unit costs
/// `cost` elements. Every part but the last is a multiple of `align` units long.
pub(crate) fn split(
    cpu: &Cpu,
    n: usize,
    cost: usize,
    align: usize,
    part: &(dyn Fn(usize, usize) + Sync),
) {
    split_indexed(cpu, n, cost, align, &|first, last, _| part(first, last));
}

/// As [`split`]; each part is also told which thread runs it, a number less than `cpu.threads()`.
pub(crate) fn split_indexed(
    cpu: &Cpu,
    n: usize,
    cost: usize,
    align: usize,
    part: &(dyn Fn(usize, usize, usize) + Sync),
) {
    if n == 0 {
        return;
    }
    let total = n.saturating_mul(cost.max(1));
    // A few parts per thread, so that a thread that is held up leaves its share to the others.
    let parts = (total / MIN_TASK).clamp(1, cpu.threads() * 4);
    if parts == 1 || cpu.threads() == 1 {
        return part(0, n, 0);
    }
    let length = n.div_ceil(parts).next_multiple_of(align);
    cpu.pool().run_indexed(n.div_ceil(length), &|i, thread| {
        part(i * length, ((i + 1) * length).min(n), thread)
    });
}
