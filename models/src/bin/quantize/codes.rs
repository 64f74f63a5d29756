//! Rows of floats as whole numbers with scales, rounded to nearest, ties to even.
//!
//! int8 and int4 are symmetric: the largest magnitude of a row becomes 127 or 7.
//! A group of `int4_group` spans from its least to its greatest weight, zero
//! included, in 15 steps; its scale is rounded to the stored type first, and the
//! codes are made for the scale that is stored.

use linnet_runtime::quant::{Format, Scheme};
use linnet_runtime::weights::StoredDType;
use linnet_runtime::{bf16, f16};

/// The quantised tensors of some rows, little-endian, in the order of the rows.
#[derive(Debug, Default)]
pub struct Codes {
    /// The codes, two a byte for 4 bits, the even column's low.
    pub weight: Vec<u8>,
    /// One scale a row or group.
    pub scale: Vec<u8>,
    /// One zero point a group; empty for formats without.
    pub zero: Vec<u8>,
}

/// How far the stored weights are from the floats.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Difference {
    /// The sum of the squares of the differences.
    pub squares: f64,
    /// The sum of the squares of the floats.
    pub of: f64,
    /// The largest difference.
    pub largest: f64,
}

impl Difference {
    /// The root of the mean square of the differences, relative to that of the floats.
    pub fn relative_rms(&self) -> f64 {
        match self.of > 0.0 {
            true => (self.squares / self.of).sqrt(),
            false => 0.0,
        }
    }

    /// Takes in that of other weights.
    pub fn add(&mut self, other: &Difference) {
        self.squares += other.squares;
        self.of += other.of;
        self.largest = self.largest.max(other.largest);
    }

    fn note(&mut self, float: f32, stored: f32) {
        let difference = f64::from(float) - f64::from(stored);
        self.squares += difference * difference;
        self.of += f64::from(float) * f64::from(float);
        self.largest = self.largest.max(difference.abs());
    }
}

/// A float type that scales can be stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScaleType {
    /// 32 bits.
    F32,
    /// 16 bits.
    F16,
    /// 16 bits with the range of f32.
    Bf16,
}

impl ScaleType {
    /// The type of the scales beside a weight that was stored as `dtype`.
    pub fn beside(dtype: StoredDType, format: Format) -> ScaleType {
        match (format, dtype) {
            (Format::Int4Group, StoredDType::F16) => ScaleType::F16,
            (Format::Int4Group, StoredDType::BF16) => ScaleType::Bf16,
            _ => ScaleType::F32,
        }
    }

    /// Its name in a file.
    pub fn stored(self) -> StoredDType {
        match self {
            ScaleType::F32 => StoredDType::F32,
            ScaleType::F16 => StoredDType::F16,
            ScaleType::Bf16 => StoredDType::BF16,
        }
    }

    /// Rounds a scale, appends its bytes, and gives the value that they hold.
    fn put(self, scale: f32, bytes: &mut Vec<u8>) -> f32 {
        match self {
            ScaleType::F32 => {
                bytes.extend(scale.to_le_bytes());
                scale
            }
            ScaleType::F16 => {
                let rounded = f16::from_f32(scale);
                bytes.extend(rounded.to_le_bytes());
                rounded.to_f32()
            }
            ScaleType::Bf16 => {
                let rounded = bf16::from_f32(scale);
                bytes.extend(rounded.to_le_bytes());
                rounded.to_f32()
            }
        }
    }
}

/// Quantises one row and appends it to `codes`.
///
/// # Errors
///
/// A weight, by its column, that is not finite or too large for the type of the scales.
pub fn quantise_row(
    row: &[f32],
    scheme: &Scheme,
    scales: ScaleType,
    codes: &mut Codes,
    difference: &mut Difference,
) -> Result<(), (usize, &'static str)> {
    if let Some(at) = row.iter().position(|x| !x.is_finite()) {
        return Err((at, "is not finite"));
    }
    match (scheme.format, scheme.group_size) {
        (Format::Int8, _) => {
            let scale = scales.put(largest(row) / 127.0, &mut codes.scale);
            for &x in row {
                let code = nearest(x, scale).clamp(-127.0, 127.0);
                difference.note(x, code * scale);
                codes.weight.push(code as i8 as u8);
            }
        }
        (Format::Int4Group, Some(group)) => {
            for (g, columns) in row.chunks(group).enumerate() {
                let low = columns.iter().fold(0.0f32, |low, &x| low.min(x));
                let high = columns.iter().fold(0.0f32, |high, &x| high.max(x));
                let scale = scales.put(high / 15.0 - low / 15.0, &mut codes.scale);
                if !scale.is_finite() {
                    let at = g * group;
                    return Err((at, "begins a group too wide for the type of its scale"));
                }
                let zero = nearest(-low, scale).clamp(0.0, 15.0);
                codes.zero.push(zero as u8);
                pack(columns, &mut codes.weight, |x| {
                    let code = (nearest(x, scale) + zero).clamp(0.0, 15.0);
                    difference.note(x, (code - zero) * scale);
                    code as u8
                });
            }
        }
        _ => {
            let scale = scales.put(largest(row) / 7.0, &mut codes.scale);
            pack(row, &mut codes.weight, |x| {
                let code = nearest(x, scale).clamp(-7.0, 7.0);
                difference.note(x, code * scale);
                code as i8 as u8
            });
        }
    }
    Ok(())
}

fn largest(row: &[f32]) -> f32 {
    row.iter().fold(0.0, |largest, x| x.abs().max(largest))
}

/// `x / scale` as the nearest whole number; 0 where no scale is left of it.
fn nearest(x: f32, scale: f32) -> f32 {
    match scale > 0.0 {
        true => (x / scale).round_ties_even(),
        false => 0.0,
    }
}

/// Two codes a byte, the even column's in the low four bits.
fn pack(columns: &[f32], bytes: &mut Vec<u8>, mut code: impl FnMut(f32) -> u8) {
    for pair in columns.chunks(2) {
        let low = code(pair[0]) & 15;
        let high = pair.get(1).map_or(0, |&x| code(x));
        bytes.push(low | high << 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantised(
        row: &[f32],
        format: Format,
        group: Option<usize>,
        scales: ScaleType,
    ) -> (Codes, Difference) {
        let scheme = Scheme {
            format,
            group_size: group,
        };
        let (mut codes, mut difference) = Default::default();
        quantise_row(row, &scheme, scales, &mut codes, &mut difference).unwrap();
        (codes, difference)
    }

    fn f32s(bytes: &[u8]) -> Vec<f32> {
        let (words, _) = bytes.as_chunks();
        words.iter().map(|&word| f32::from_le_bytes(word)).collect()
    }

    #[test]
    fn int8_maps_the_largest_to_127_and_rounds_ties_to_even() {
        let row = [127.0, -127.0, 0.5, 1.5, 2.5, -0.5, -1.5, 3.4];
        let (codes, difference) = quantised(&row, Format::Int8, None, ScaleType::F32);
        assert_eq!(f32s(&codes.scale), [1.0]);
        let values: Vec<i8> = codes.weight.iter().map(|&b| b as i8).collect();
        assert_eq!(values, [127, -127, 0, 2, 2, 0, -2, 3]);
        assert_eq!(difference.largest, 0.5);
        assert!(codes.zero.is_empty());
    }

    #[test]
    fn int4_packs_the_even_column_low() {
        let row = [7.0, -7.0, -1.0, 2.0];
        let (codes, difference) = quantised(&row, Format::Int4, None, ScaleType::F32);
        assert_eq!(f32s(&codes.scale), [1.0]);
        assert_eq!(codes.weight, [0x97, 0x2f]);
        assert_eq!(difference.squares, 0.0);
        assert_eq!(difference.of, 103.0);
    }

    #[test]
    fn groups_have_their_own_scale_and_zero() {
        // The first group spans -5 to 10, the second lies on one side of zero.
        let row = [-5.0, 10.0, 0.0, 1.0, 15.0, 30.0, 14.0, 2.0];
        let (codes, difference) = quantised(&row, Format::Int4Group, Some(4), ScaleType::F32);
        assert_eq!(f32s(&codes.scale), [1.0, 2.0]);
        assert_eq!(codes.zero, [5, 0]);
        // 15 / 2 is a tie and goes to 8.
        assert_eq!(codes.weight, [0xf0, 0x65, 0xf8, 0x17]);
        assert_eq!(difference.largest, 1.0);
        let (codes, _) = quantised(&[-3.0, -30.0], Format::Int4Group, Some(2), ScaleType::F32);
        assert_eq!((f32s(&codes.scale), codes.zero), (vec![2.0], vec![15]));
        assert_eq!(codes.weight, [0x0d], "-3 / 2 is a tie and goes to -2");
    }

    #[test]
    fn codes_are_made_for_the_scale_that_is_stored() {
        // 1 / 15 in bf16 is 0.06689453, a little more than it is.
        let row: Vec<f32> = (0..64).map(|i| i as f32 / 63.0).collect();
        for (scales, size) in [
            (ScaleType::Bf16, 2),
            (ScaleType::F16, 2),
            (ScaleType::F32, 4),
        ] {
            let (codes, difference) = quantised(&row, Format::Int4Group, Some(64), scales);
            assert_eq!(codes.scale.len(), size);
            let scale = match scales {
                ScaleType::Bf16 => bf16::from_le_bytes([codes.scale[0], codes.scale[1]]).to_f32(),
                ScaleType::F16 => f16::from_le_bytes([codes.scale[0], codes.scale[1]]).to_f32(),
                ScaleType::F32 => f32s(&codes.scale)[0],
            };
            assert!(
                difference.largest <= f64::from(scale) * 0.5001,
                "{difference:?}"
            );
        }
    }

    #[test]
    fn rows_of_zeros_and_of_the_smallest_numbers() {
        for format in Format::ALL {
            let group = (format == Format::Int4Group).then_some(4);
            for row in [[0.0; 4], [1e-45, -1e-45, 0.0, 0.0]] {
                let (codes, difference) = quantised(&row, format, group, ScaleType::F32);
                assert!(f32s(&codes.scale).iter().all(|scale| scale.is_finite()));
                assert!(difference.largest < 1e-44);
                assert!(difference.relative_rms().is_finite());
            }
        }
    }

    #[test]
    fn what_has_no_codes_is_told_by_its_column() {
        let fail = |row: &[f32], format, scales| {
            let scheme = Scheme {
                format,
                group_size: (format == Format::Int4Group).then_some(2),
            };
            let (mut codes, mut difference) = Default::default();
            quantise_row(row, &scheme, scales, &mut codes, &mut difference).unwrap_err()
        };
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for format in Format::ALL {
                let (at, _) = fail(&[0.0, 1.0, bad, 1.0], format, ScaleType::F32);
                assert_eq!(at, 2, "{format}");
            }
        }
        let row = [0.0, 1.0, -2e6, 0.0];
        let (at, reason) = fail(&row, Format::Int4Group, ScaleType::F16);
        assert_eq!(
            (at, reason),
            (2, "begins a group too wide for the type of its scale")
        );
        let mut codes = Codes::default();
        let scheme = Scheme {
            format: Format::Int4Group,
            group_size: Some(2),
        };
        // The span of a group may be more than f32 holds, its scale is not.
        let wide = [f32::MAX, f32::MIN];
        quantise_row(
            &wide,
            &scheme,
            ScaleType::F32,
            &mut codes,
            &mut Default::default(),
        )
        .unwrap();
        assert!(f32s(&codes.scale)[0].is_finite());
    }
}
