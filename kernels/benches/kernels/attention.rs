//! Attention at the shapes of GPT-2 (12 heads of 64) and of a grouped model (64 heads on 8).

use linnet_kernels::attention::{
    AttentionArgs, Mask, PackedArgs, attention, attention_scratch, packed_attention,
    packed_attention_scratch,
};
use linnet_kernels::cache::Positions;
use linnet_kernels::{Cpu, Element, HeadsMut, HeadsRef};

use crate::timing::{POOL_BYTES, against_fma, against_reads};

const DIM: usize = 64;

/// A query block and the caches it attends to.
struct Layer<E> {
    shape: [usize; 4],
    kv_shape: [usize; 4],
    q: Vec<E>,
    out: Vec<E>,
    scratch: Vec<f32>,
}

impl<E: Element> Layer<E> {
    fn new(cpu: &Cpu, heads: usize, kv_heads: usize, length: usize, capacity: usize) -> Self {
        let shape = [1, heads, length, DIM];
        Self {
            shape,
            kv_shape: [1, kv_heads, capacity, DIM],
            q: vec![E::from_f32(0.1); heads * length * DIM],
            out: vec![E::from_f32(0.0); heads * length * DIM],
            scratch: vec![0.0; attention_scratch(cpu, shape, kv_heads)],
        }
    }

    fn run(&mut self, cpu: &Cpu, k: &[E], v: &[E], pos: i32) {
        let args = AttentionArgs {
            scale: 0.125,
            mask: Mask::Causal {
                positions: Positions::All(pos),
                window: None,
            },
            rows: None,
            sinks: None,
        };
        let q = HeadsRef::contiguous(&self.q, self.shape).expect("lengths fit");
        let k = HeadsRef::contiguous(k, self.kv_shape).expect("lengths fit");
        let v = HeadsRef::contiguous(v, self.kv_shape).expect("lengths fit");
        let out = HeadsMut::contiguous(&mut self.out, self.shape).expect("lengths fit");
        attention(cpu, q, k, v, args, out, &mut self.scratch).expect("lengths fit");
    }
}

/// One query over a cache of 1,000: against a read of the cache's bytes.
pub fn decode<E: Element>(cpu: &Cpu, memory: &[f32]) {
    for (heads, kv_heads) in [(12, 12), (64, 8)] {
        let (capacity, keys) = (1024, 1000);
        let size = kv_heads * capacity * DIM;
        let n = (POOL_BYTES / 2 / (size * size_of::<E>())).max(1);
        let k = vec![E::from_f32(0.1); size * n];
        let v = vec![E::from_f32(0.1); size * n];
        let mut layer = Layer::new(cpu, heads, kv_heads, 1, capacity);
        let bytes = 2 * kv_heads * keys * DIM * size_of::<E>();
        let (time, read) = against_reads(cpu, 300, bytes, memory, |i| {
            let part = i % n * size..(i % n + 1) * size;
            layer.run(cpu, &k[part.clone()], &v[part], keys as i32 - 1);
        });
        println!(
            "attention of 1 query, {heads} heads on {kv_heads}, {keys} keys {}: {:.1} us, {:.2} GB/s, {:.2} of a read",
            E::NAME,
            time * 1e6,
            bytes as f64 / time / 1e9,
            read / time
        );
    }
}

/// A prompt of 512: against the FMA rate, counting visible keys only.
pub fn prefill<E: Element>(cpu: &Cpu) {
    for (heads, kv_heads) in [(12, 12), (64, 8)] {
        let length = 512;
        let k = vec![E::from_f32(0.1); kv_heads * length * DIM];
        let mut layer = Layer::new(cpu, heads, kv_heads, length, length);
        let (time, fma) = against_fma(cpu, 25, |_| layer.run(cpu, &k, &k, 0));
        let operations = (4 * heads * DIM * length * (length + 1) / 2) as f64;
        println!(
            "attention of {length} queries, {heads} heads on {kv_heads} {}: {:.2} ms, {:.1} GFLOP/s, {:.2} of the FMA rate",
            E::NAME,
            time * 1e3,
            operations / time / 1e9,
            operations / time / fma
        );
    }
}

/// One token of each of 8 sequences far into their caches, 64 heads on 8: against a read of the
/// keys and values that they see.
pub fn packed_decode<E: Element>(cpu: &Cpu, memory: &[f32]) {
    const TOKENS: usize = 8;
    let (heads, kv_heads, capacity, pos) = (64, 8, 4096, 3000);
    let shape = [1, heads, TOKENS, DIM];
    let kv_shape = [TOKENS, kv_heads, capacity, DIM];
    let k = vec![E::from_f32(0.1); kv_shape.iter().product()];
    let q = vec![E::from_f32(0.1); heads * TOKENS * DIM];
    let mut out = q.clone();
    let mut scratch = vec![0.0; packed_attention_scratch(cpu, shape, kv_heads)];
    let rows: Vec<i32> = (0..TOKENS as i32).collect();
    for window in [Some(128), None] {
        let seen = window.unwrap_or(pos + 1);
        let bytes = 2 * TOKENS * kv_heads * seen * DIM * size_of::<E>();
        let args = PackedArgs {
            scale: 0.125,
            rows: &rows,
            positions: &[pos as i32; TOKENS],
            window,
            sinks: Some(&q[..heads]),
        };
        let (time, read) = against_reads(cpu, 30, bytes, memory, |_| {
            let q = HeadsRef::contiguous(&q, shape).expect("lengths fit");
            let kv = HeadsRef::contiguous(&k, kv_shape).expect("lengths fit");
            let out = HeadsMut::contiguous(&mut out, shape).expect("lengths fit");
            packed_attention(cpu, q, kv, kv, args, out, &mut scratch).expect("lengths fit");
        });
        println!(
            "packed attention of {TOKENS} rows at {pos}, window {window:?} {}: {:.1} us, {:.2} GB/s, {:.2} of a read",
            E::NAME,
            time * 1e6,
            bytes as f64 / time / 1e9,
            read / time
        );
    }
}
