//! The twins of the mistakes in `ui/fail`: that they compile is the test. Each
//! is a module here; see `build.rs`.
#![allow(missing_docs)]

include!(concat!(env!("OUT_DIR"), "/ui_pass.rs"));

/// The sum of two concatenations in different orders has a shape: `M + N` is `N + M`.
#[test]
fn concatenations_commute() {
    use linnet_runtime::{Const, Dyn, Tensor};
    let rows = |n: usize, value: f32| {
        Tensor::<(Dyn, Const<2>), f32>::from_slice(&[n, 2], &vec![value; 2 * n])
    };
    let (a, b) = (
        rows(1, 1.0).expect("1 by 2"),
        rows(2, 10.0).expect("2 by 2"),
    );
    let sum = concat_order::example(&a, &b).expect("both have three rows");
    assert_eq!(sum.shape(), [3, 2]);
    assert_eq!(sum.to_vec(), [11.0, 11.0, 20.0, 20.0, 11.0, 11.0]);
}
