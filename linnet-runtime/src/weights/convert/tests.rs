use super::*;

/// Values whose rounding is easy to get wrong: ties, subnormals, limits, specials.
fn samples() -> Vec<f64> {
    let mut values = vec![
        0.0,
        -0.0,
        1.0,
        -1.5,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        65504.0,
        65519.99,
        -65504.0,
        2048.0 + 1.0,
        6e-8,
        5.9e-8,
        2.98e-8,
        1e-45,
        1.0 + 1.0 / 256.0,
        1.0 + 3.0 / 256.0,
        1.0 + 1.0 / 2048.0,
        1.0 + 1.0 / 2048.0 + 1e-12,
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..3 * BLOCK {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        values.push(((state >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * 16.0);
    }
    values
}

fn encode(values: &[f64], dtype: StoredDType) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &value in values {
        match dtype {
            StoredDType::F64 => bytes.extend(value.to_le_bytes()),
            StoredDType::F32 => bytes.extend((value as f32).to_le_bytes()),
            StoredDType::F16 => bytes.extend(f16::from_f64(value).to_le_bytes()),
            StoredDType::BF16 => bytes.extend(bf16::from_f64(value).to_le_bytes()),
            other => panic!("{other}"),
        }
    }
    bytes
}

/// The exact values of stored floats.
fn decode(bytes: &[u8], dtype: StoredDType) -> Vec<f64> {
    match dtype {
        StoredDType::F64 => bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|b| f64::from_le_bytes(*b))
            .collect(),
        StoredDType::F32 => bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|b| f64::from(f32::from_le_bytes(*b)))
            .collect(),
        StoredDType::F16 => bytes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|b| f16::from_le_bytes(*b).to_f64())
            .collect(),
        StoredDType::BF16 => bytes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|b| bf16::from_le_bytes(*b).to_f64())
            .collect(),
        other => panic!("{other}"),
    }
}

const FLOATS: [(StoredDType, DType); 3] = [
    (StoredDType::F32, DType::F32),
    (StoredDType::F16, DType::F16),
    (StoredDType::BF16, DType::BF16),
];

#[test]
fn every_pair_of_floats_rounds_once() {
    let pool = ThreadPool::new(2).unwrap();
    for from in [
        StoredDType::F64,
        StoredDType::F32,
        StoredDType::F16,
        StoredDType::BF16,
    ] {
        for (stored, to) in FLOATS {
            // As stored, so that a bf16 that rounds past f16's range is left out.
            let mut samples = decode(&encode(&samples(), from), from);
            samples.retain(|x| x.abs() < 65520.0 || !x.is_finite());
            let source = encode(&samples, from);
            let exact = decode(&source, from);
            let mut target = vec![0; exact.len() * to.size()];
            let job = Job {
                from,
                source: &source,
                to,
                target: &mut target,
            };
            let overflows = run(&pool, vec![job]);
            assert_eq!(overflows, [], "{from} into {to}");
            let expected = encode(&exact, stored);
            for (i, (a, b)) in decode(&target, stored)
                .iter()
                .zip(decode(&expected, stored))
                .enumerate()
            {
                let equal = a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                assert!(
                    equal,
                    "{from} into {to}, element {i}: {a} where {b} is due for {}",
                    exact[i]
                );
            }
        }
    }
}

#[test]
fn unaligned_sources_and_short_lengths_convert() {
    let pool = ThreadPool::new(1).unwrap();
    for n in [0, 1, 2, BLOCK - 1, BLOCK, BLOCK + 1] {
        let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let mut bytes = vec![0xff];
        bytes.extend(encode(&values, StoredDType::F16));
        let mut target = vec![0; n * 4];
        let job = Job {
            from: StoredDType::F16,
            source: &bytes[1..],
            to: DType::F32,
            target: &mut target,
        };
        assert_eq!(run(&pool, vec![job]), []);
        assert_eq!(decode(&target, StoredDType::F32), values);
    }
}

#[test]
fn the_first_overflow_of_each_job_is_found() {
    let pool = ThreadPool::new(2).unwrap();
    let n = TASK + BLOCK + 3;
    let mut values = vec![1.0; n];
    values[BLOCK + 1] = 65520.0;
    values[TASK + 2] = -1e30;
    let source = encode(&values, StoredDType::F32);
    let fine = encode(&[f64::INFINITY, f64::NAN, 65519.0], StoredDType::F32);
    let (mut first, mut second) = (vec![0; n * 2], vec![0; 3 * 2]);
    let overflows = run(
        &pool,
        vec![
            Job {
                from: StoredDType::F32,
                source: &fine,
                to: DType::F16,
                target: &mut second,
            },
            Job {
                from: StoredDType::F32,
                source: &source,
                to: DType::F16,
                target: &mut first,
            },
        ],
    );
    assert_eq!(
        overflows,
        [Overflow {
            job: 1,
            element: BLOCK + 1,
            value: 65520.0
        }]
    );
}

#[test]
fn overflow_limits_are_those_of_the_rounding() {
    let pool = ThreadPool::new(1).unwrap();
    let below_bf16 = f64::from(f32::from_bits(0x7f7f_7fff));
    let at_bf16 = f64::from(f32::from_bits(0x7f7f_8000));
    for (from, to, value, overflows) in [
        (StoredDType::F32, DType::F16, 65519.0, false),
        (StoredDType::F32, DType::F16, -65520.0, true),
        (StoredDType::F32, DType::BF16, below_bf16, false),
        (StoredDType::F32, DType::BF16, at_bf16, true),
        (StoredDType::F64, DType::F32, 3.4028235e38, false),
        (StoredDType::F64, DType::F32, 3.5e38, true),
        (StoredDType::F64, DType::F16, 65519.0, false),
        (StoredDType::F64, DType::F16, 65520.0, true),
        (StoredDType::F64, DType::BF16, 1e300, true),
    ] {
        let source = encode(&[value], from);
        let mut target = vec![0; to.size()];
        let found = run(
            &pool,
            vec![Job {
                from,
                source: &source,
                to,
                target: &mut target,
            }],
        );
        assert_eq!(
            !found.is_empty(),
            overflows,
            "{value} from {from} into {to}"
        );
        let stored = FLOATS.iter().find(|(_, dtype)| *dtype == to).unwrap().0;
        assert_eq!(
            decode(&target, stored)[0].is_infinite(),
            overflows,
            "{value} from {from} into {to}"
        );
    }
}
