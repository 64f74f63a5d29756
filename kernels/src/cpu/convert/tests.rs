use super::*;
use crate::testing::each_cpu;

/// Every finite 16-bit value, those half way between two neighbours, and their neighbours in f32.
fn values() -> Vec<f32> {
    let mut values = vec![
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN,
        1e-45,
        -1e-45,
        65519.0,
        65520.0,
        3.4e38,
    ];
    for i in 0..=u16::MAX {
        for bits in [
            u32::from(i) << 16,
            u32::from(i) << 16 | 0x7fff,
            u32::from(i) << 16 | 0x8000,
            u32::from(i) << 16 | 0x8001,
        ] {
            values.push(f32::from_bits(bits));
        }
        let h = f16::from_bits(i).to_f32();
        let next = f16::from_bits(i.wrapping_add(1)).to_f32();
        values.extend([h, (h + next) / 2.0]);
    }
    values
}

/// x rounded to nearest even in a format of `bits` significant bits whose smallest normal value
/// is 2^`e_min`, in f64, where every step is exact.
fn rounded(x: f64, bits: i32, e_min: i32, max: f64) -> f64 {
    if bits == 53 || x == 0.0 || !x.is_finite() {
        return x;
    }
    let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let spacing = 2f64.powi(exponent.max(e_min) - (bits - 1));
    let y = (x / spacing).round_ties_even() * spacing;
    if y.abs() > max {
        f64::INFINITY.copysign(x)
    } else {
        y
    }
}

fn check<A: Convertible, B: Convertible>(cpu: &Cpu, x: &[A]) {
    let mut out = vec![B::from_f64(7.0); x.len()];
    convert(cpu, x, &mut out).unwrap();
    let (e_min, max) = match B::BITS {
        11 => (-14, 65504.0),
        8 => (-126, f64::from(bf16::MAX)),
        _ => (-126, f64::from(f32::MAX)),
    };
    for (i, (x, out)) in x.iter().zip(&out).enumerate() {
        let (x, out) = (x.to_f64(), out.to_f64());
        let expected = rounded(x, B::BITS as i32, e_min, max);
        assert!(
            out.to_bits() == expected.to_bits() || (out.is_nan() && x.is_nan()),
            "{} bits {} to {}, element {i}: {x:e} became {out:e}, not {expected:e}",
            cpu.isa().name(),
            A::BITS,
            B::BITS
        );
    }
}

#[test]
fn all_pairs() {
    let wide = values();
    let f16s: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let bf16s: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
    // Doubles just off the point half way between two f16: rounding by way of f32 would be wrong.
    let mut doubles: Vec<f64> = wide.iter().map(|x| f64::from(*x)).collect();
    doubles.extend([
        1.0 + 2f64.powi(-11) + 2f64.powi(-40),
        1.0 + 2f64.powi(-8) + 2f64.powi(-40),
        1e300,
        -1e-300,
    ]);
    each_cpu(|cpu| {
        check::<f32, f16>(cpu, &wide);
        check::<f32, bf16>(cpu, &wide);
        check::<f32, f32>(cpu, &wide);
        check::<f32, f64>(cpu, &wide);
        check::<f16, f32>(cpu, &f16s);
        check::<f16, bf16>(cpu, &f16s);
        check::<f16, f64>(cpu, &f16s);
        check::<bf16, f32>(cpu, &bf16s);
        check::<bf16, f16>(cpu, &bf16s);
        check::<f64, f16>(cpu, &doubles);
        check::<f64, bf16>(cpu, &doubles);
        check::<f64, f32>(cpu, &doubles);
        check::<f64, f64>(cpu, &doubles);
    });
}

#[test]
fn lengths() {
    each_cpu(|cpu| {
        for n in 0..=2 * crate::element::MAX_LANES + 1 {
            let x: Vec<f32> = (0..n).map(|i| i as f32 + 0.3).collect();
            check::<f32, f16>(cpu, &x);
            check::<f32, bf16>(cpu, &x);
        }
        let error = convert(cpu, &[1.0f32], &mut [f16::ZERO; 2]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "convert: the length of out must be 1, found 2"
        );
    });
}
