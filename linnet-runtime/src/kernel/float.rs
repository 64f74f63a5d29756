//! From a dtype that a plan knows to the Rust type that a kernel is written for.

use crate::dtype::Float;

/// A float type of the runtime that the kernels know too.
pub(crate) trait KernelFloat: Float + linnet_kernels::Element {}

impl KernelFloat for f32 {}
impl KernelFloat for half::f16 {}
impl KernelFloat for half::bf16 {}

/// `with_float!(dtype, T => expr)`: `Some(expr)` with `T` as the Rust type of a
/// float dtype, `None` for any other dtype.
macro_rules! with_float {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            $crate::dtype::DType::F32 => {
                type $t = f32;
                Some($body)
            }
            $crate::dtype::DType::F16 => {
                type $t = half::f16;
                Some($body)
            }
            $crate::dtype::DType::BF16 => {
                type $t = half::bf16;
                Some($body)
            }
            _ => None,
        }
    };
}

pub(crate) use with_float;
