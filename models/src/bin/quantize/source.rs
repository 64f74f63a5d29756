//! Rows of a stored float weight.

use linnet_models::QuantisableMap;
use linnet_runtime::weights::{StoredDType, StoredTensor};
use linnet_runtime::{bf16, f16};

/// The rows of a map's weight, as `[Out, In]` whichever way they are stored.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    bytes: &'a [u8],
    dtype: StoredDType,
    inputs: usize,
    outputs: usize,
    transposed: bool,
}

impl<'a> Rows<'a> {
    /// The rows of `tensor`, which holds the weight of `map`.
    pub fn new(tensor: &StoredTensor<'a>, map: &QuantisableMap) -> Rows<'a> {
        Rows {
            bytes: tensor.bytes(),
            dtype: tensor.dtype,
            inputs: map.inputs,
            outputs: map.outputs,
            transposed: map.transposed,
        }
    }

    /// Some rows, one after the other.
    pub fn read(&self, first: usize, n: usize) -> Vec<f32> {
        let mut rows = vec![0.0; n * self.inputs];
        match self.dtype {
            StoredDType::F16 => self.fill(first, &mut rows, |b| f16::from_le_bytes(b).to_f32()),
            StoredDType::BF16 => self.fill(first, &mut rows, |b| bf16::from_le_bytes(b).to_f32()),
            StoredDType::F64 => self.fill(first, &mut rows, |b| f64::from_le_bytes(b) as f32),
            _ => self.fill(first, &mut rows, f32::from_le_bytes),
        }
        rows
    }

    fn fill<const N: usize>(&self, first: usize, rows: &mut [f32], value: fn([u8; N]) -> f32) {
        let (elements, _) = self.bytes.as_chunks::<N>();
        if self.inputs == 0 {
            return;
        }
        if !self.transposed {
            let elements = &elements[first * self.inputs..];
            for (out, &bytes) in rows.iter_mut().zip(elements) {
                *out = value(bytes);
            }
            return;
        }
        // Column by column of the result: what lies side by side is read so.
        let n = rows.len() / self.inputs;
        for i in 0..self.inputs {
            let start = i * self.outputs + first;
            for (row, &bytes) in elements[start..start + n].iter().enumerate() {
                rows[row * self.inputs + i] = value(bytes);
            }
        }
    }
}
