//! The linear layer over weights in few bits.

use linnet_kernels::quant::{
    GroupLayout, Int4Groups, int4_group_linear, int4_group_linear_scratch, int4_linear,
    int4_linear_scratch, int8_linear, int8_linear_scratch,
};
use linnet_kernels::{Cpu, MatMut, MatRef};

use crate::timing::{POOL_BYTES, against_fma, against_reads};

const INNER: usize = 4096;
const OUTPUTS: usize = 4096;
const GROUP: usize = 128;

#[derive(Clone, Copy, Debug)]
enum Format {
    Int8,
    Int4,
    Groups,
}

struct Layer {
    format: Format,
    rows: usize,
    x: Vec<f32>,
    out: Vec<f32>,
    scale: Vec<f32>,
    zero: Vec<u8>,
    scratch: Vec<f32>,
}

impl Layer {
    const GROUPS: GroupLayout = GroupLayout {
        outputs: OUTPUTS,
        groups: INNER / GROUP,
        group: GROUP,
    };

    fn new(cpu: &Cpu, format: Format, rows: usize) -> Self {
        let n_scratch = match format {
            Format::Int8 => int8_linear_scratch(cpu, rows, INNER, OUTPUTS),
            Format::Int4 => int4_linear_scratch(cpu, rows, INNER, OUTPUTS),
            Format::Groups => int4_group_linear_scratch(cpu, rows, Self::GROUPS, false),
        };
        Self {
            format,
            rows,
            x: vec![0.5; rows * INNER],
            out: vec![0.0; rows * OUTPUTS],
            scale: vec![0.5; OUTPUTS * INNER / GROUP],
            zero: vec![8; OUTPUTS * INNER / GROUP],
            scratch: vec![0.0; n_scratch],
        }
    }

    /// Bytes of a layer's codes.
    fn bytes(format: Format) -> usize {
        match format {
            Format::Int8 => INNER * OUTPUTS,
            _ => INNER / 2 * OUTPUTS,
        }
    }

    fn run(&mut self, cpu: &Cpu, codes: &[i8], bytes: &[u8]) {
        let x = MatRef::contiguous(&self.x, self.rows, INNER).expect("lengths fit");
        let out = MatMut::contiguous(&mut self.out, self.rows, OUTPUTS).expect("lengths fit");
        let scale = &self.scale[..OUTPUTS];
        match self.format {
            Format::Int8 => int8_linear(cpu, x, codes, scale, None, out, &mut self.scratch),
            Format::Int4 => int4_linear(cpu, x, codes, scale, None, out, &mut self.scratch),
            Format::Groups => {
                let weights = Int4Groups {
                    codes: bytes,
                    scale: &self.scale,
                    zero: &self.zero,
                    order: None,
                    layout: Self::GROUPS,
                };
                int4_group_linear(cpu, x, weights, None, out, &mut self.scratch)
            }
        }
        .expect("lengths fit");
    }
}

/// Few rows against a read of the codes' bytes, many against the FMA rate.
pub fn all(cpu: &Cpu, memory: &[f32]) {
    let signed: Vec<i8> = (0..POOL_BYTES).map(|i| (i % 251) as i8).collect();
    let unsigned: Vec<u8> = (0..POOL_BYTES).map(|i| (i % 251) as u8).collect();
    for format in [Format::Int8, Format::Int4, Format::Groups] {
        let bytes = Layer::bytes(format);
        let part = |i: usize| {
            let at = i % (POOL_BYTES / bytes) * bytes;
            (&signed[at..at + bytes], &unsigned[at..at + bytes])
        };
        for rows in [1, 4, 8, 12] {
            let mut layer = Layer::new(cpu, format, rows);
            let (time, read) = against_reads(cpu, 30, bytes, memory, |i| {
                let (signed, unsigned) = part(i);
                layer.run(cpu, signed, unsigned);
            });
            println!(
                "{format:?} {rows:3} x {INNER} x {OUTPUTS}: {:8.1} us, {:5.2} GB/s, {:.2} of a read ({:.2} GB/s)",
                time * 1e6,
                bytes as f64 / time / 1e9,
                read / time,
                bytes as f64 / read / 1e9,
            );
        }
        for rows in [16, 64, 256] {
            let mut layer = Layer::new(cpu, format, rows);
            let (time, fma) = against_fma(cpu, 6, |i| {
                let (signed, unsigned) = part(i);
                layer.run(cpu, signed, unsigned);
            });
            let rate = (2 * rows * INNER * OUTPUTS) as f64 / time;
            println!(
                "{format:?} {rows:3} x {INNER} x {OUTPUTS}: {:6.2} ms, {:5.1} GFLOP/s, {:.2} of the FMA rate",
                time * 1e3,
                rate / 1e9,
                rate / fma
            );
        }
    }
}
