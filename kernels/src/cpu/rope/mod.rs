//! Rotary position embedding with the frequencies of YaRN.
//!
//! ```text
//! y[i]       = x[i] cos a - x[i + D/2] sin a
//! y[i + D/2] = x[i + D/2] cos a + x[i] sin a        i < D/2, a = position * frequency[i]
//! ```
//!
//! Layout: x, out (B, H, S, D), D contiguous; positions (B, S). The frequencies are found once a
//! launch, cosines and sines once for each (b, s) and used for all heads. Everything is f32, one
//! operation after the other as the definition of [`Yarn`] has them: at position 100,000 the
//! last bit of a frequency moves the angle by 0.006. Bound by memory with many heads.

use crate::cpu::Cpu;
use crate::cpu::rows::split_indexed;
use crate::cpu::scratch::{ALIGN, aligned, aligned_len};
use crate::element::Element;
use crate::error::{KernelError, Result, expect_len, expect_scratch};
use crate::view::{HeadsMut, HeadsRef, MatRef, Shared};
use token::Token;

#[cfg(test)]
mod tests;
pub(crate) mod token;

/// How frequencies fall and are stretched to a longer context (YaRN, without rounding the
/// bounds of the mixed part to whole dimensions).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Yarn {
    /// The base: frequency i is theta^(-2i / D) before stretching.
    pub theta: f32,
    /// How many times longer the context is than `original`.
    pub factor: f32,
    /// Frequencies that turn more often than this within `original` positions stay.
    pub beta_fast: f32,
    /// Those that turn less often than this are divided by `factor`.
    pub beta_slow: f32,
    /// The positions that the model was first trained for.
    pub original: f32,
}

impl Yarn {
    /// What cosines and sines are multiplied by: 0.1 ln factor + 1.
    pub(crate) fn scale(&self) -> f32 {
        0.1 * self.factor.ln() + 1.0
    }

    /// The frequencies for D of twice the length of `out`.
    pub(crate) fn frequencies(&self, out: &mut [f32]) {
        let n = (2 * out.len()) as f32;
        // The dimension at which a frequency turns beta times in `original` positions.
        let turn = n / (2.0 * self.theta.ln());
        let at = |beta: f32| turn * (self.original / (beta * std::f32::consts::TAU)).ln();
        let low = at(self.beta_fast).max(0.0);
        let high = at(self.beta_slow).min(n - 1.0);
        let width = if high == low { 0.001 } else { high - low };
        for (i, frequency) in out.iter_mut().enumerate() {
            let i = i as f32;
            let stretched = ((i - low) / width).clamp(0.0, 1.0);
            *frequency =
                self.theta.powf(i * -2.0 / n) * (1.0 + (1.0 / self.factor - 1.0) * stretched);
        }
    }
}

/// out = x with element i of each head turned against element i + D/2 by position times
/// frequency i, and scaled by 0.1 ln factor + 1.
///
/// x and out (B, H, S, D), positions (B, S) of any value.
///
/// # Errors
/// If shapes differ, D is odd, or `scratch` is shorter than [`rope_scratch`] says.
pub fn rope<E: Element>(
    cpu: &Cpu,
    x: HeadsRef<'_, E>,
    positions: MatRef<'_, i32>,
    yarn: &Yarn,
    mut out: HeadsMut<'_, E>,
    scratch: &mut [f32],
) -> Result<()> {
    const KERNEL: &str = "rope";
    let [batch, heads, length, dim] = x.shape();
    for (what, expected, found) in [
        ("the batch of out", batch, out.shape()[0]),
        ("the heads of out", heads, out.shape()[1]),
        ("the positions of out", length, out.shape()[2]),
        ("the head dimension of out", dim, out.shape()[3]),
        ("the rows of positions", batch, positions.rows()),
        ("the columns of positions", length, positions.cols()),
    ] {
        expect_len(KERNEL, what, expected, found)?;
    }
    if !dim.is_multiple_of(2) {
        return Err(KernelError::Invalid {
            kernel: KERNEL,
            what: "the head dimension must be even",
        });
    }
    expect_scratch(KERNEL, rope_scratch(cpu, dim), scratch.len())?;
    if x.shape().contains(&0) {
        return Ok(());
    }
    let half = dim / 2;
    let (frequencies, own) = aligned(scratch).split_at_mut(aligned_len(half));
    let frequencies = &mut frequencies[..half];
    yarn.frequencies(frequencies);
    let (frequencies, scale) = (&*frequencies, yarn.scale());
    let own = Shared::new(own.as_mut_ptr());
    let to = Shared::new(out.as_mut_ptr());
    let out = &out;
    // A cosine and a sine cost about as much as eight elements each.
    let cost = 2 * heads * dim + 8 * dim;
    split_indexed(cpu, batch * length, cost, 1, &|first, last, thread| {
        for token in first..last {
            let (b, s) = (token / length, token % length);
            // SAFETY: the views were checked for (b, s), which is this task's own; the scratch
            // space has 2 * half elements for each thread.
            unsafe {
                let position = *positions
                    .as_ptr()
                    .add(b * positions.row_stride() + s * positions.col_stride());
                let turns = own.get().add(thread * aligned_len(dim));
                E::run_rope(
                    cpu.level,
                    Token {
                        heads,
                        half,
                        angle: position as f32,
                        frequencies: frequencies.as_ptr(),
                        scale,
                        turns,
                        x: x.as_ptr().add(x.offset(b, 0, s)),
                        x_step: x.strides()[1],
                        out: to.get().add(out.offset(b, 0, s)),
                        out_step: out.strides()[1],
                    },
                );
            }
        }
    });
    Ok(())
}

/// The f32 elements of scratch space that [`rope`] needs on `cpu` for heads of `dim` elements.
pub fn rope_scratch(cpu: &Cpu, dim: usize) -> usize {
    ALIGN + aligned_len(dim / 2) + cpu.threads() * aligned_len(dim)
}
