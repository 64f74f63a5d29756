//! An affine map with weights of 4 bits, and a scale and a zero point for each
//! group of columns of a row.

use crate::kernel::quant_linear::Int4GroupLinearKernel;
use crate::prelude::*;

/// `x . w^T + bias` over the last axis with `w[o, i] = (code - zero) * scale`,
/// where scale and zero point are those of the group `i / Group` of row `o`.
/// A byte of `weight` holds two codes of 0 to 15, the even column's in its low
/// four bits. With `order`, stored column `i` multiplies `x[order[i]]`. All is
/// computed in `f32` and rounded once to `T`.
#[op(kernel = Int4GroupLinearKernel)]
#[require(Group > 0, Group % 2 == 0, In % Group == 0)]
#[require(0 <= order, order < In)]
pub fn int4_group_linear<S: Shape, In: Dim, Out: Dim, Group: Dim, T: Float>(
    x: Tensor![*S, In; T],
    weight: Tensor![Out, In / Group, Group / 2; u8],
    scale: Tensor![Out, In / Group; T],
    zero: Tensor![Out, In / Group; u8],
    order: Option<Tensor![In; i32]>,
    bias: Option<Tensor![Out; T]>,
) -> Tensor![*S, Out; T] {
    let columns = match order {
        Some(order) => index!([*s, i] = cast::<f32>(x[*s, order[i]])),
        None => cast::<f32>(x),
    };
    let y = index!(
        [*s, o] = sum[g, j]
            cast::<f32>(scale[o, g])
                * (columns[*s, Group * g + 2 * j]
                    * (cast::<f32>(weight[o, g, j] & 15) - cast::<f32>(zero[o, g]))
                    + columns[*s, Group * g + 2 * j + 1]
                        * (cast::<f32>(weight[o, g, j] >> 4) - cast::<f32>(zero[o, g])))
    );
    match bias {
        Some(bias) => cast::<T>(y + cast::<f32>(bias)),
        None => cast::<T>(y),
    }
}

/// An affine map of the last axis whose weights are whole numbers of 4 bits
/// with a scale and a zero point for each group of columns.
#[block]
#[require(Group > 0, Group % 2 == 0, In % Group == 0)]
pub struct Int4GroupLinear<In: Dim, Out: Dim, Group: Dim = Const<128>, T: Float = bf16> {
    #[param]
    weight: Tensor![Out, In / Group, Group / 2; u8],
    #[param]
    scale: Tensor![Out, In / Group; T],
    #[param]
    zero: Tensor![Out, In / Group; u8],
    #[param]
    order: Option<Tensor![In; i32]>,
    #[param]
    bias: Option<Tensor![Out; T]>,
}

#[block]
impl Int4GroupLinear {
    /// `x . w^T + bias`.
    pub fn forward<S: Shape>(&self, x: Tensor![*S, In; T]) -> Tensor![*S, Out; T] {
        int4_group_linear::<_, _, _, Group, _>(
            x,
            self.weight,
            self.scale,
            self.zero,
            self.order,
            self.bias,
        )
    }
}
