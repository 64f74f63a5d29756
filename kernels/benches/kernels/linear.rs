//! The linear layer at the shapes of GPT-2.

use linnet_kernels::linear::{Epilogue, linear, linear_scratch};
use linnet_kernels::{Cpu, Element, MatMut, MatRef};

use crate::timing::{POOL_BYTES, against_fma, against_reads};

/// Everything a call needs but the weights.
struct Layer {
    rows: usize,
    inner: usize,
    outputs: usize,
    transposed: bool,
    x: Vec<f32>,
    out: Vec<f32>,
    scratch: Vec<f32>,
}

impl Layer {
    fn new(cpu: &Cpu, rows: usize, inner: usize, outputs: usize, transposed: bool) -> Self {
        Self {
            rows,
            inner,
            outputs,
            transposed,
            x: vec![0.5; rows * inner],
            out: vec![0.0; rows * outputs],
            scratch: vec![0.0; linear_scratch(cpu, rows, inner, outputs)],
        }
    }

    fn run<W: Element>(&mut self, cpu: &Cpu, w: &[W]) {
        let Self {
            rows,
            inner,
            outputs,
            ..
        } = *self;
        let strides = if self.transposed {
            [1, outputs]
        } else {
            [inner, 1]
        };
        let x = MatRef::contiguous(&self.x, rows, inner).expect("lengths fit");
        let w = MatRef::new(w, [outputs, inner], strides).expect("lengths fit");
        let out = MatMut::contiguous(&mut self.out, rows, outputs).expect("lengths fit");
        linear(cpu, x, w, Epilogue::default(), out, &mut self.scratch).expect("lengths fit");
    }

    fn name<W: Element>(&self) -> String {
        let layout = if self.transposed { "[I, O]" } else { "[O, I]" };
        format!(
            "linear {:3} x {:4} x {:5} {:4} {layout}",
            self.rows,
            self.inner,
            self.outputs,
            W::NAME
        )
    }
}

/// Few rows: against a read of the weights' bytes.
pub fn streaming<W: Element>(cpu: &Cpu, memory: &[f32]) {
    let shapes = [
        (768, 2304, true),
        (768, 768, true),
        (768, 3072, true),
        (3072, 768, true),
    ];
    for (inner, outputs, transposed) in shapes.into_iter().chain([
        (768, 768, false),
        (768, 3072, false),
        (3072, 768, false),
        (768, 50257, false),
    ]) {
        let size = inner * outputs;
        let n = (POOL_BYTES / (size * size_of::<W>())).max(1);
        let w = vec![W::from_f32(0.5); size * n];
        let mut one_row = f64::NAN;
        for rows in [1, 2, 8, 16] {
            let mut layer = Layer::new(cpu, rows, inner, outputs, transposed);
            let bytes = size * size_of::<W>();
            let repeats = (2_000_000_000 / bytes / 10).clamp(20, 400);
            let (time, read) = against_reads(cpu, repeats, bytes, memory, |i| {
                layer.run(cpu, &w[i % n * size..][..size])
            });
            if rows == 1 {
                one_row = time;
            }
            println!(
                "{}: {:8.1} us, {:5.2} GB/s, {:.2} of a read ({:.2} GB/s), {:.2} steps of one row",
                layer.name::<W>(),
                time * 1e6,
                bytes as f64 / time / 1e9,
                read / time,
                bytes as f64 / read / 1e9,
                time / one_row,
            );
        }
    }
}

/// Many rows: against the FMA rate.
pub fn products<W: Element>(cpu: &Cpu) {
    for (rows, inner, outputs) in [
        (512, 768, 3072),
        (512, 3072, 768),
        (512, 768, 2304),
        (512, 768, 768),
        (128, 768, 3072),
        (32, 768, 3072),
        (17, 768, 3072),
    ] {
        for transposed in [true, false] {
            let w = vec![W::from_f32(0.5); inner * outputs];
            let mut layer = Layer::new(cpu, rows, inner, outputs, transposed);
            let (time, fma) = against_fma(cpu, 25, |_| layer.run(cpu, &w));
            let rate = (2 * rows * inner * outputs) as f64 / time;
            println!(
                "{}: {:6.2} ms, {:5.1} GFLOP/s, {:.2} of the FMA rate",
                layer.name::<W>(),
                time * 1e3,
                rate / 1e9,
                rate / fma
            );
        }
    }
}
