//! Experts in MXFP4 at the shapes of gpt-oss: hidden and inner 2,880, 4 experts a token.

use linnet_kernels::experts::{
    ExpertsShape, experts, experts_scratch, experts_sum, experts_sum_scratch,
};
use linnet_kernels::quant::Mxfp4;
use linnet_kernels::{Cpu, MatMut, MatRef};

use crate::timing::{POOL_BYTES, against_fma, against_reads};

const TOP_K: usize = 4;
const BLOCKS: usize = 90;
const INNER: usize = 32 * BLOCKS;

/// Weights of as many experts as fill the set.
struct Weights {
    outputs: usize,
    experts: usize,
    blocks: Vec<u8>,
    scales: Vec<u8>,
}

impl Weights {
    fn new(outputs: usize) -> Self {
        let n = outputs * BLOCKS;
        let experts = POOL_BYTES / (17 * n);
        Self {
            outputs,
            experts,
            blocks: (0..experts * n * 16).map(|i| (i % 251) as u8).collect(),
            scales: vec![120; experts * n],
        }
    }

    fn view(&self) -> Mxfp4<'_> {
        let shape = [self.experts, self.outputs, BLOCKS];
        Mxfp4::new(&self.blocks, &self.scales, shape).expect("lengths fit")
    }

    /// Bytes of one expert.
    fn bytes(&self) -> usize {
        17 * self.outputs * BLOCKS
    }

    fn shape(&self, rows: usize, top_k: usize) -> ExpertsShape {
        ExpertsShape {
            rows,
            top_k,
            experts: self.experts,
            outputs: self.outputs,
            inner: INNER,
        }
    }
}

/// Few tokens for each expert: against a read of the chosen experts' bytes.
pub fn decode(cpu: &Cpu, memory: &[f32]) {
    for outputs in [2 * INNER, INNER] {
        let weights = Weights::new(outputs);
        for rows in [1, 2, 3, 4, 8, 12] {
            let shape = weights.shape(rows, TOP_K);
            let mut scratch = vec![0.0; experts_scratch(cpu, shape)];
            let x = vec![0.5f32; rows * INNER];
            let mut out = vec![0.0; rows * TOP_K * outputs];
            // All tokens choose the same experts, other ones each time.
            let mut expert = vec![0; rows * TOP_K];
            let bytes = TOP_K * weights.bytes();
            let (time, read) = against_reads(cpu, 20, bytes, memory, |i| {
                for (j, e) in expert.iter_mut().enumerate() {
                    *e = ((i * TOP_K + j % TOP_K) % weights.experts) as i64;
                }
                let x = MatRef::contiguous(&x, rows, INNER).expect("lengths fit");
                let out = MatMut::contiguous(&mut out, rows * TOP_K, outputs).expect("lengths fit");
                experts(cpu, x, weights.view(), &expert, TOP_K, out, &mut scratch)
                    .expect("lengths fit");
            });
            report(&format!("experts {outputs}"), rows, bytes, time, read);
        }
        sum(cpu, memory, &weights);
    }
}

/// One token, weighted and added up.
fn sum(cpu: &Cpu, memory: &[f32], weights: &Weights) {
    let outputs = weights.outputs;
    let mut scratch = vec![0.0; experts_sum_scratch(cpu, weights.shape(1, TOP_K))];
    let x = vec![0.5f32; TOP_K * INNER];
    let mut out = vec![0.0; outputs];
    let bytes = TOP_K * weights.bytes();
    let (time, read) = against_reads(cpu, 20, bytes, memory, |i| {
        let expert: [i64; TOP_K] =
            std::array::from_fn(|k| ((i * TOP_K + k) % weights.experts) as i64);
        experts_sum(
            cpu,
            MatRef::contiguous(&x, TOP_K, INNER).expect("lengths fit"),
            weights.view(),
            &expert,
            MatRef::contiguous(&[0.25; TOP_K], 1, TOP_K).expect("lengths fit"),
            MatMut::contiguous(&mut out, 1, outputs).expect("lengths fit"),
            &mut scratch,
        )
        .expect("lengths fit");
    });
    report(&format!("sum of experts {outputs}"), 1, bytes, time, read);
}

fn report(what: &str, rows: usize, bytes: usize, time: f64, read: f64) {
    println!(
        "{what}, {rows} tokens: {:8.1} us, {:5.2} GB/s, {:.2} of a read ({:.2} GB/s)",
        time * 1e6,
        bytes as f64 / time / 1e9,
        read / time,
        bytes as f64 / read / 1e9,
    );
}

/// Many tokens for one expert: against the FMA rate.
pub fn prefill(cpu: &Cpu) {
    let outputs = INNER;
    let weights = Weights::new(outputs);
    for rows in [13, 16, 24, 32, 64, 128, 256, 512] {
        let shape = weights.shape(rows, 1);
        let mut scratch = vec![0.0; experts_scratch(cpu, shape)];
        let x = vec![0.5f32; rows * INNER];
        let mut out = vec![0.0; rows * outputs];
        let (time, fma) = against_fma(cpu, 8, |i| {
            let expert = vec![(i % weights.experts) as i64; rows];
            let x = MatRef::contiguous(&x, rows, INNER).expect("lengths fit");
            let out = MatMut::contiguous(&mut out, rows, outputs).expect("lengths fit");
            experts(cpu, x, weights.view(), &expert, 1, out, &mut scratch).expect("lengths fit");
        });
        let rate = (2 * rows * INNER * outputs) as f64 / time;
        println!(
            "experts {outputs}, {rows:3} tokens for one: {:7.2} ms, {:5.1} GFLOP/s, {:.2} of the FMA rate",
            time * 1e3,
            rate / 1e9,
            rate / fma
        );
    }
}
