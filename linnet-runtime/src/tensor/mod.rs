//! Tensors as programs hold them: typed ([`Tensor`]) and erased ([`ErasedTensor`]).
//!
//! Both are row-major and contiguous. Views exist only inside a plan.

mod display;
mod erased;
mod typed;

pub use erased::ErasedTensor;
pub use typed::Tensor;
