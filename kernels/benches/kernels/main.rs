//! Times each kernel family against its floor on this machine.
//!
//! `cargo bench -p linnet-kernels -- [--threads N] [FAMILY ..]`, families: `pool`, `stream`,
//! `product`, `attention`, `quant`, `experts`, `rows`. A figure is the best of many runs. The
//! floor (a plain read of as many bytes from memory, or FMAs on registers) is timed in turn with
//! the kernel, since a shared machine's speed changes from one second to the next. With one
//! thread the clock is the thread's own processor time. Weights come in turn from a set several
//! times larger than the last cache. Nothing here fails: the ratios are for a person to read.

mod attention;
mod experts;
mod linear;
mod quant;
mod rows;
mod timing;

use linnet_kernels::{Cpu, Isa, probe};
use timing::{POOL_BYTES, best};

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let value = |i: usize| args.get(i + 1).and_then(|v| v.parse().ok());
    let threads = args
        .iter()
        .position(|a| a == "--threads")
        .and_then(value)
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let families: Vec<&str> = args
        .iter()
        .map(String::as_str)
        .filter(|a| a.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect();
    let wanted = |name: &str| families.is_empty() || families.contains(&name);

    let cpu = match Isa::chosen().and_then(|isa| Cpu::with_isa(threads, isa)) {
        Ok(cpu) => cpu,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    };
    let memory = vec![1.0f32; POOL_BYTES / size_of::<f32>()];
    println!(
        "{}, {threads} threads: reads {:.1} GB/s, {:.1} GFLOP/s f32",
        cpu.isa().name(),
        probe::read_bandwidth(&cpu, &memory, 20) / 1e9,
        probe::fma_rate(&cpu, 50) / 1e9
    );
    if wanted("pool") {
        let time = best(&cpu, 20_000, |_| cpu.pool().run(threads, &|_| {}));
        println!(
            "pool: a loop of {threads} empty tasks takes {:.2} us",
            time * 1e6
        );
    }
    if wanted("stream") {
        linear::streaming::<f32>(&cpu, &memory);
        linear::streaming::<half::bf16>(&cpu, &memory);
        linear::streaming::<half::f16>(&cpu, &memory);
    }
    if wanted("product") {
        linear::products::<f32>(&cpu);
        linear::products::<half::bf16>(&cpu);
    }
    if wanted("attention") {
        attention::decode::<f32>(&cpu, &memory);
        attention::decode::<half::bf16>(&cpu, &memory);
        attention::packed_decode::<f32>(&cpu, &memory);
        attention::packed_decode::<half::bf16>(&cpu, &memory);
        attention::prefill::<f32>(&cpu);
        attention::prefill::<half::bf16>(&cpu);
    }
    if wanted("quant") {
        quant::all(&cpu, &memory);
    }
    if wanted("experts") {
        experts::decode(&cpu, &memory);
        experts::prefill(&cpu);
    }
    if wanted("rows") {
        rows::all(&cpu, &memory);
    }
}
