use linnet_runtime::prelude::*;

#[op]
#[require(0 <= pos, pos + S <= M)]
pub fn example<S: Dim, M: Dim, T: Float>(x: Tensor![M; T], pos: i32, end: i32) -> Tensor![S; T] {
    x.slice(s![pos..pos + S])
}

fn main() {}
