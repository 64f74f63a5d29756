use linnet_runtime::prelude::*;

/// The rows of the tokens whose segment is none.
#[op]
#[require(packed(rows, positions, segments))]
pub fn padding<P: Dim, Q: Dim>(
    rows: Tensor![P; i32],
    positions: Tensor![P; i32],
    segments: Tensor![P; i32],
    other: Tensor![Q; i32],
) -> (Tensor![P; i32], Tensor![Q; i32]) {
    (
        index!([p] = if positions[p] < 0 { -1 } else { rows[p] }),
        other,
    )
}

fn main() {}
