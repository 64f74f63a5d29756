//! Norms, softmax, element-wise functions, conversion, argmax: against a read of as many bytes
//! as they read and write.

use half::bf16;
use linnet_kernels::binary::{BinaryOp, binary};
use linnet_kernels::convert::convert;
use linnet_kernels::norm::{layer_norm, rms_norm};
use linnet_kernels::ranks::descending_ranks;
use linnet_kernels::reduce::argmax_rows;
use linnet_kernels::rope::{Yarn, rope, rope_scratch};
use linnet_kernels::softmax::softmax;
use linnet_kernels::swiglu::clamped_swiglu;
use linnet_kernels::unary::{UnaryOp, unary};
use linnet_kernels::{Cpu, HeadsMut, HeadsRef, MatMut, MatRef};

use crate::timing::against_reads;

/// Times everything on 512 rows of 3,072 (6 MiB of f32: inside the last cache, as between layers).
pub fn all(cpu: &Cpu, memory: &[f32]) {
    let (rows, cols) = (512, 3072);
    let n = rows * cols;
    let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 * 0.01 - 5.0).collect();
    let weight = vec![1.0f32; cols];
    let mut out = vec![0.0f32; n];
    let mut narrow = vec![bf16::ZERO; n];
    let mut places = vec![0i32; rows];
    let report = |name: &str, bytes: usize, kernel: &mut dyn FnMut()| {
        let (time, read) = against_reads(cpu, 30, bytes, memory, |_| kernel());
        println!(
            "{name}: {:.2} ns an element, {:.2} GB/s, {:.2} of a read",
            time / n as f64 * 1e9,
            bytes as f64 / time / 1e9,
            read / time
        );
    };
    let view = MatRef::contiguous(&x, rows, cols).expect("lengths fit");
    macro_rules! out {
        () => {
            MatMut::contiguous(&mut out, rows, cols).expect("lengths fit")
        };
    }
    report("layer_norm f32", 8 * n, &mut || {
        layer_norm(cpu, view, &weight, Some(&weight), 1e-5, out!()).expect("fits")
    });
    report("rms_norm f32", 8 * n, &mut || {
        rms_norm(cpu, view, &weight, 1e-5, out!()).expect("fits")
    });
    report("softmax f32", 8 * n, &mut || {
        softmax(cpu, view, out!()).expect("fits")
    });
    for op in UnaryOp::ALL {
        report(&format!("{op:?} f32"), 8 * n, &mut || {
            unary(cpu, op, view, out!()).expect("fits")
        });
    }
    report("add f32", 12 * n, &mut || {
        binary(cpu, BinaryOp::Add, view, view, out!()).expect("fits")
    });
    let row = MatRef::repeated_row(&weight, rows);
    report("add a row f32", 8 * n, &mut || {
        binary(cpu, BinaryOp::Add, view, row, out!()).expect("fits")
    });
    report("argmax f32", 4 * n, &mut || {
        argmax_rows(cpu, view, &mut places).expect("fits")
    });
    report("clamped_swiglu f32", 6 * n, &mut || {
        let half = MatMut::new(&mut out, [rows, cols / 2], [cols / 2, 1]).expect("lengths fit");
        clamped_swiglu(cpu, view, 1.702, 7.0, half).expect("fits")
    });
    // 512 tokens of 48 heads of 64.
    let yarn = Yarn {
        theta: 150_000.0,
        factor: 32.0,
        beta_fast: 32.0,
        beta_slow: 1.0,
        original: 4096.0,
    };
    let shape = [1, cols / 64, rows, 64];
    let positions: Vec<i32> = (0..rows as i32).collect();
    let mut scratch = vec![0.0; rope_scratch(cpu, 64)];
    report("rope f32", 8 * n, &mut || {
        let x = HeadsRef::new(&x, shape, [n, 64, cols]).expect("lengths fit");
        let to = HeadsMut::new(&mut out, shape, [n, 64, cols]).expect("lengths fit");
        let positions = MatRef::contiguous(&positions, 1, rows).expect("lengths fit");
        rope(cpu, x, positions, &yarn, to, &mut scratch).expect("fits")
    });
    let router = MatRef::contiguous(&x, n / 32, 32).expect("lengths fit");
    let mut ranks = vec![0i32; n];
    report("descending_ranks of 32 f32", 8 * n, &mut || {
        let to = MatMut::contiguous(&mut ranks, n / 32, 32).expect("lengths fit");
        descending_ranks(cpu, router, to).expect("fits")
    });
    report("f32 to bf16", 6 * n, &mut || {
        convert(cpu, &x, &mut narrow).expect("fits")
    });
    let wide = narrow.clone();
    report("bf16 to f32", 6 * n, &mut || {
        convert(cpu, &wide, &mut out).expect("fits")
    });
}
