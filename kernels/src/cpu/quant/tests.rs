use half::{bf16, f16};

use super::*;
use crate::cpu::Cpu;
use crate::element::Element;
use crate::isa::Isa;
use crate::testing::{Rng, assert_close, each_cpu};
use crate::view::{MatMut, MatRef};

const SEED: u64 = 0x4b17;

/// The values that codes of MXFP4 stand for, and the powers, one by one.
const E2M1: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

pub(crate) fn mxfp4_value(code: u8, scale: u8) -> f64 {
    let magnitude = E2M1[usize::from(code & 7)];
    let value = if code & 8 == 0 { magnitude } else { -magnitude };
    match scale {
        255 => f64::NAN,
        _ => value * 2f64.powi(i32::from(scale) - 127),
    }
}

/// Element `i` of a row of nibbles.
pub(crate) fn nibble(bytes: &[u8], i: usize) -> u8 {
    if i.is_multiple_of(2) {
        bytes[i / 2] & 15
    } else {
        bytes[i / 2] >> 4
    }
}

pub(crate) fn bytes(rng: &mut Rng, n: usize) -> Vec<u8> {
    (0..n).map(|_| rng.next() as u8).collect()
}

#[test]
fn dequantize_is_exact_for_all_codes_and_scales() {
    // Block i has scale i; its bytes take every value over 16 blocks.
    let scales: Vec<u8> = (0..=255).collect();
    let blocks: Vec<u8> = (0..256 * 16).map(|i| (i % 256) as u8).collect();
    each_cpu(|cpu| {
        let mut out = vec![7.0f32; 256 * 32];
        dequantize(cpu, &blocks, &scales, &mut out).unwrap();
        for (i, &found) in out.iter().enumerate() {
            let (block, element) = (i / 32, i % 32);
            let code = nibble(&blocks[block * 16..], element);
            // One rounding from f64: to infinity, where f32 has no such value.
            let expected = mxfp4_value(code, scales[block]) as f32;
            let same = found.to_bits() == expected.to_bits();
            assert!(
                same || (found.is_nan() && expected.is_nan()),
                "code {code}, scale {block}: {found:e} instead of {expected:e}"
            );
        }
    });
    let cpu = Cpu::new(1).unwrap();
    let mut out = [0.0; 32];
    assert!(dequantize(&cpu, &blocks[..15], &scales[..1], &mut out).is_err());
    assert!(dequantize(&cpu, &blocks[..16], &scales[..1], &mut out[..31]).is_err());
    assert_eq!(dequantize(&cpu, &[], &[], &mut []), Ok(()));
}

#[test]
fn every_code_has_its_value_on_every_instruction_set() {
    // One row of weights against x = one of a kind: the sum is one weight.
    let codes: Vec<u8> = (0..=255).collect();
    each_cpu(|cpu| {
        for zero in [0u8, 1, 7, 8, 15, 16, 200, 255] {
            for at in 0..512 {
                let mut x = vec![0.0f32; 512];
                x[at] = 1.0;
                let code = f64::from(nibble(&codes, at));
                let layout = GroupLayout {
                    outputs: 1,
                    groups: 1,
                    group: 512,
                };
                let weights = Int4Groups {
                    codes: &codes,
                    scale: &[0.5f32],
                    zero: &[zero],
                    order: None,
                    layout,
                };
                let mut out = [0.0f32];
                let mut scratch = vec![0.0; int4_group_linear_scratch(cpu, 1, layout, false)];
                int4_group_linear(
                    cpu,
                    MatRef::contiguous(&x, 1, 512).unwrap(),
                    weights,
                    None,
                    MatMut::contiguous(&mut out, 1, 1).unwrap(),
                    &mut scratch,
                )
                .unwrap();
                assert_eq!(f64::from(out[0]), (code - f64::from(zero)) * 0.5, "{code}");
                if zero > 0 {
                    continue;
                }
                let signed: Vec<i8> = codes.iter().map(|&c| c as i8).collect();
                let x = MatRef::contiguous(&x, 1, 512).unwrap();
                let mut out = [0.0f32];
                let to = MatMut::contiguous(&mut out, 1, 1).unwrap();
                let mut scratch = vec![0.0; int4_linear_scratch(cpu, 1, 512, 1)];
                int4_linear(cpu, x, &signed, &[1.0], None, to, &mut scratch).unwrap();
                assert_eq!(
                    f64::from(out[0]),
                    if code < 8.0 { code } else { code - 16.0 }
                );
                let Some(eight) = x.as_slice().filter(|_| at < 256) else {
                    continue;
                };
                let x = MatRef::contiguous(&eight[..256], 1, 256).unwrap();
                let to = MatMut::contiguous(&mut out, 1, 1).unwrap();
                let mut scratch = vec![0.0; int8_linear_scratch(cpu, 1, 256, 1)];
                int8_linear(cpu, x, &signed, &[1.0], None, to, &mut scratch).unwrap();
                assert_eq!(out[0], f32::from(signed[at]));
            }
        }
    });
}

/// What weights a layer has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Int8,
    Int4,
    /// Columns of a group, and whether they have another order.
    Groups(usize, bool),
}

#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Kind,
    rows: usize,
    inner: usize,
    outputs: usize,
    bias: bool,
    /// Strides of x and out beyond the contiguous ones.
    gap: usize,
}

/// Runs a layer with random weights and compares it with two loops in f64; returns what was stored.
fn check<X: Element>(cpu: &Cpu, case: Case) -> Vec<X> {
    check_mixed::<X, X>(cpu, case)
}

/// The same with the scales of groups, and their bias, in another type.
fn check_mixed<X: Element, W: Element>(cpu: &Cpu, case: Case) -> Vec<X> {
    let Case {
        kind,
        rows,
        inner,
        outputs,
        bias,
        gap,
    } = case;
    let mut rng = Rng::new(SEED);
    let x_stride = inner + gap;
    let x: Vec<X> = rng.vec(1 + rows * x_stride);
    let bias_values: Vec<X> = rng.vec(outputs);
    let group_bias: Vec<W> = bias_values
        .iter()
        .map(|b| W::from_f32(b.to_f32()))
        .collect();
    let bias = bias.then_some(&bias_values[..]);
    let out_stride = outputs + gap;
    let mut out = vec![X::from_f32(7.0); rows * out_stride];
    // Uneven starts for codes too.
    let codes = bytes(&mut rng, 1 + inner * outputs);
    let signed: Vec<i8> = codes.iter().map(|&c| c as i8).collect();
    let row_scale: Vec<f32> = rng.vec(outputs);
    let groups = match kind {
        Kind::Groups(group, _) => inner / group,
        _ => 0,
    };
    let group_scale: Vec<W> = rng.vec(outputs * groups);
    let zero: Vec<u8> = bytes(&mut rng, outputs * groups)
        .iter()
        .map(|z| z % 16)
        .collect();
    let mut order: Vec<i32> = (0..inner as i32).collect();
    for i in (1..inner).rev() {
        order.swap(i, rng.below(i + 1));
    }

    let x_view = MatRef::new(&x[1..], [rows, inner], [x_stride, 1]).unwrap();
    let to = MatMut::new(&mut out, [rows, outputs], [out_stride, 1]).unwrap();
    let scratch = |n: usize| vec![f32::NAN; n];
    let shape = [rows, inner, outputs];
    let ordered = matches!(kind, Kind::Groups(_, true));
    match kind {
        Kind::Int8 => {
            let codes = &signed[1..];
            let mut scratch = scratch(int8_linear_scratch(cpu, rows, inner, outputs));
            int8_linear(cpu, x_view, codes, &row_scale, bias, to, &mut scratch)
        }
        Kind::Int4 => {
            let codes = &signed[1..1 + inner / 2 * outputs];
            let mut scratch = scratch(int4_linear_scratch(cpu, rows, inner, outputs));
            int4_linear(cpu, x_view, codes, &row_scale, bias, to, &mut scratch)
        }
        Kind::Groups(group, _) => {
            let layout = GroupLayout {
                outputs,
                groups,
                group,
            };
            let weights = Int4Groups {
                codes: &codes[1..1 + inner / 2 * outputs],
                scale: &group_scale,
                zero: &zero,
                order: ordered.then_some(&order[..]),
                layout,
            };
            let mut scratch = scratch(int4_group_linear_scratch(cpu, rows, layout, ordered));
            let bias = bias.map(|_| &group_bias[..]);
            int4_group_linear(cpu, x_view, weights, bias, to, &mut scratch)
        }
    }
    .unwrap();

    let weight = |o: usize, i: usize| -> f64 {
        let four = || nibble(&codes[1 + o * (inner / 2)..], i);
        match kind {
            Kind::Int8 => f64::from(signed[1 + o * inner + i]) * f64::from(row_scale[o]),
            Kind::Int4 => {
                let code = f64::from(four());
                (if code < 8.0 { code } else { code - 16.0 }) * f64::from(row_scale[o])
            }
            Kind::Groups(group, _) => {
                let g = o * groups + i / group;
                (f64::from(four()) - f64::from(zero[g])) * f64::from(group_scale[g].to_f32())
            }
        }
    };
    let (mut found, mut expected, mut bounds) = (vec![], vec![], vec![]);
    for r in 0..rows {
        for o in 0..outputs {
            let bias = bias.map_or(0.0, |b| match kind {
                Kind::Groups(..) => f64::from(group_bias[o].to_f32()),
                _ => f64::from(b[o].to_f32()),
            });
            let (mut sum, mut magnitude) = (bias, bias.abs());
            for (i, &column) in order.iter().enumerate() {
                let column = if ordered { column as usize } else { i };
                let term = f64::from(x[1 + r * x_stride + column].to_f32()) * weight(o, i);
                sum += term;
                magnitude += term.abs();
            }
            // As for the linear layer; a weight's scale and its product with it round once more each.
            let bound = (inner + 3) as f64 * f32::UNIT_ROUNDOFF * magnitude;
            bounds.push(bound + X::UNIT_ROUNDOFF * sum.abs() + f64::from(f32::MIN_POSITIVE));
            expected.push(sum);
            found.push(out[r * out_stride + o]);
        }
    }
    let what = format!(
        "{case:?} {shape:?} {} {}, {} threads, seed {SEED}",
        X::NAME,
        cpu.isa().name(),
        cpu.threads()
    );
    assert_close(&what, &found, &expected, |i| bounds[i]);
    for (i, &value) in out.iter().enumerate() {
        assert!(
            i % out_stride < outputs || value == X::from_f32(7.0),
            "{what}: element {i} is outside and was written"
        );
    }
    found
}

const KINDS: [Kind; 6] = [
    Kind::Int8,
    Kind::Int4,
    Kind::Groups(32, false),
    Kind::Groups(128, true),
    Kind::Groups(2, false),
    Kind::Groups(48, true),
];

fn plain(kind: Kind, rows: usize, inner: usize, outputs: usize) -> Case {
    // The next length that the format has.
    let inner = match kind {
        Kind::Int8 => inner,
        Kind::Int4 => inner.next_multiple_of(2),
        Kind::Groups(group, _) => inner.next_multiple_of(group),
    };
    Case {
        kind,
        rows,
        inner,
        outputs,
        bias: false,
        gap: 0,
    }
}

#[test]
fn lengths_around_vectors_and_tiles() {
    each_cpu(|cpu| {
        for kind in KINDS {
            for rows in [0, 1, 2, 3, 4, 7, 12, 13, 25] {
                for inner in [0, 1, 2, 31, 32, 33, 130] {
                    check::<f32>(cpu, plain(kind, rows, inner, 19));
                }
                for outputs in [0, 1, 7, 8, 15, 17, 33, 65] {
                    check::<f32>(cpu, plain(kind, rows, 70, outputs));
                }
            }
        }
    });
}

#[test]
fn types_biases_and_strides() {
    each_cpu(|cpu| {
        for kind in KINDS {
            for rows in [1, 6, 20] {
                let case = Case {
                    bias: true,
                    gap: 3,
                    ..plain(kind, rows, 290, 45)
                };
                check::<f32>(cpu, case);
                check::<f16>(cpu, case);
                check::<bf16>(cpu, case);
                if matches!(kind, Kind::Groups(..)) {
                    check_mixed::<f32, f16>(cpu, case);
                    check_mixed::<f32, bf16>(cpu, case);
                }
            }
        }
    });
}

#[test]
fn blocks_and_threads() {
    // Several strips, parts of the inner axis and items, and the same bits from every number of threads.
    for kind in KINDS {
        for (rows, inner, outputs) in [
            (1, 1000, 600),
            (4, 2000, 100),
            (13, 600, 280),
            (200, 270, 40),
        ] {
            let mut first: Vec<(Isa, Vec<u32>)> = vec![];
            each_cpu(|cpu| {
                let found = check::<f32>(cpu, plain(kind, rows, inner, outputs));
                let bits: Vec<u32> = found.iter().map(|x| x.to_bits()).collect();
                match first.iter().find(|(isa, _)| *isa == cpu.isa()) {
                    Some((_, other)) => assert!(*other == bits, "threads change {kind:?}"),
                    None => first.push((cpu.isa(), bits)),
                }
            });
        }
    }
}

#[test]
fn bad_arguments() {
    let cpu = Cpu::new(1).unwrap();
    let x = vec![0.0f32; 64];
    let mut out = vec![0.0f32; 8];
    let codes = vec![0i8; 256];
    let mut scratch = vec![0.0; 100_000];
    let mut eight =
        |inner: usize, weight: usize, scale: usize, bias: usize, outputs: usize, n: usize| {
            int8_linear(
                &cpu,
                MatRef::contiguous(&x, 1, inner).unwrap(),
                &codes[..weight],
                &x[..scale],
                Some(&x[..bias]),
                MatMut::contiguous(&mut out, 1, outputs).unwrap(),
                &mut scratch[..n],
            )
            .map_err(|e| e.to_string())
        };
    let all = 100_000;
    assert_eq!(eight(9, 36, 4, 4, 4, all), Ok(()));
    let is = |message: &str| Err(message.to_owned());
    assert_eq!(
        eight(9, 35, 4, 4, 4, all),
        is("int8_linear: the length of weight must be 36, found 35")
    );
    assert_eq!(
        eight(9, 36, 4, 3, 4, all),
        is("int8_linear: the length of bias must be 4, found 3")
    );
    assert_eq!(
        eight(9, 36, 4, 4, 5, all),
        is("int8_linear: the columns of out must be 4, found 5")
    );
    let needed = int8_linear_scratch(&cpu, 1, 9, 4);
    assert!(eight(9, 36, 4, 4, 4, needed).is_ok());
    assert!(eight(9, 36, 4, 4, 4, needed - 1).is_err());

    let mut four = |inner: usize, weight: usize| {
        let x = MatRef::contiguous(&x, 1, inner).unwrap();
        let mut out = [0.0; 2];
        let out = MatMut::contiguous(&mut out, 1, 2).unwrap();
        int4_linear(
            &cpu,
            x,
            &codes[..weight],
            &[1.0, 1.0],
            None,
            out,
            &mut scratch,
        )
        .map_err(|e| e.to_string())
    };
    assert_eq!(four(10, 10), Ok(()));
    assert_eq!(
        four(9, 8),
        is("int4_linear: x must have an even number of columns")
    );
    assert!(four(10, 9).is_err());

    let mut groups = |group: usize, groups: usize, zero: usize, order: &[i32]| {
        let layout = GroupLayout {
            outputs: 1,
            groups,
            group,
        };
        let weights = Int4Groups {
            codes: &[1; 4],
            scale: &[1.0f32; 2],
            zero: &[1; 2][..zero],
            order: Some(order),
            layout,
        };
        let x = MatRef::contiguous(&x, 1, 8).unwrap();
        let mut out = [0.0];
        let out = MatMut::contiguous(&mut out, 1, 1).unwrap();
        int4_group_linear(&cpu, x, weights, None, out, &mut scratch).map_err(|e| e.to_string())
    };
    let order = [0, 1, 2, 3, 4, 5, 6, 7];
    assert_eq!(groups(4, 2, 2, &order), Ok(()));
    assert_eq!(
        groups(3, 2, 2, &order),
        is("int4_group_linear: a group must have an even number of columns")
    );
    assert!(groups(2, 2, 2, &order).is_err());
    assert!(groups(4, 2, 1, &order).is_err());
    assert!(groups(4, 2, 2, &order[..7]).is_err());
    assert_eq!(
        groups(4, 2, 2, &[0, 1, 2, 8, 4, 5, 6, 7]),
        is("int4_group_linear: order[3] is 8, which is not in 0..8")
    );
    assert!(groups(4, 2, 2, &[0, 1, 2, -1, 4, 5, 6, 7]).is_err());
}
