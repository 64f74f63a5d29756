use linnet_runtime::prelude::*;

#[op]
#[require(ids + 1 < V)]
pub fn example<B: Dim, V: Dim>(ids: Tensor![B; i32]) -> Tensor![B; i32] {
    ids
}

fn main() {}
