use super::*;
use crate::testing::each_cpu;

/// Writes x[b, h, s, d] = a number that names its place, and checks every element of the cache.
fn check(
    cpu: &Cpu,
    shape: [usize; 4],
    cache_shape: [usize; 4],
    positions: Positions<'_>,
    rows: Option<&[i32]>,
) {
    let [batch, heads, length, dim] = shape;
    let [_, _, capacity, _] = cache_shape;
    // x is [B, S, H, D] in memory.
    let x: Vec<u32> = (0..(batch * heads * length * dim) as u32)
        .map(|i| i + 1)
        .collect();
    let strides = [length * heads * dim, dim, heads * dim];
    let mut cache = vec![0u32; cache_shape.iter().product()];
    let x_view = HeadsRef::new(&x, shape, strides).unwrap();
    write_rows(
        cpu,
        x_view,
        positions,
        rows,
        HeadsMut::contiguous(&mut cache, cache_shape).unwrap(),
    )
    .unwrap();
    let mut expected = vec![0u32; cache.len()];
    for b in 0..batch {
        let row = rows.map_or(b, |rows| rows[b] as usize);
        for h in 0..heads {
            for s in 0..length {
                for d in 0..dim {
                    let m = positions.of(b) as usize + s;
                    expected[((row * heads + h) * capacity + m) * dim + d] =
                        x[b * strides[0] + h * strides[1] + s * strides[2] + d];
                }
            }
        }
    }
    assert_eq!(
        cache, expected,
        "{shape:?} {cache_shape:?} {positions:?} {rows:?}"
    );
}

#[test]
fn places() {
    each_cpu(|cpu| {
        check(cpu, [1, 3, 1, 4], [1, 3, 10, 4], Positions::All(9), None);
        check(cpu, [2, 3, 4, 5], [2, 3, 10, 5], Positions::All(6), None);
        check(
            cpu,
            [2, 3, 4, 5],
            [3, 3, 10, 5],
            Positions::Each(&[0, 6]),
            Some(&[2, 0]),
        );
        // Tokens of one sequence as batch entries, and a place written twice: the later entry stays.
        check(
            cpu,
            [3, 2, 1, 2],
            [2, 2, 8, 2],
            Positions::Each(&[3, 4, 5]),
            Some(&[1, 1, 1]),
        );
        check(
            cpu,
            [3, 40, 1, 2],
            [1, 40, 8, 2],
            Positions::All(3),
            Some(&[0, 0, 0]),
        );
        check(
            cpu,
            [0, 2, 1, 2],
            [2, 2, 8, 2],
            Positions::All(0),
            Some(&[]),
        );
        check(cpu, [1, 2, 0, 2], [1, 2, 8, 2], Positions::All(8), None);
        check(
            cpu,
            [1, 64, 300, 8],
            [1, 64, 300, 8],
            Positions::All(0),
            None,
        );
    });
}

#[test]
fn bad_arguments() {
    let cpu = Cpu::new(1).unwrap();
    let x = [1u8; 100];
    let mut cache = [0u8; 200];
    let mut call = |cache_shape: [usize; 4], positions: Positions<'_>, rows: Option<&[i32]>| {
        let x = HeadsRef::contiguous(&x, [2, 2, 3, 4]).unwrap();
        write_rows(
            &cpu,
            x,
            positions,
            rows,
            HeadsMut::contiguous(&mut cache, cache_shape).unwrap(),
        )
        .map_err(|e| e.to_string())
    };
    let is = |message: &str| Err(message.to_string());
    let shape = [2, 2, 8, 4];
    assert_eq!(
        call(shape, Positions::All(6), None),
        is("write_rows: pos[0] is 6, which is not in 0..6")
    );
    assert_eq!(
        call(shape, Positions::Each(&[0, -3]), None),
        is("write_rows: pos[1] is -3, which is not in 0..6")
    );
    assert_eq!(
        call(shape, Positions::All(0), Some(&[0, 2])),
        is("write_rows: rows[1] is 2, which is not in 0..2")
    );
    assert_eq!(
        call(shape, Positions::All(0), Some(&[0])),
        is("write_rows: the length of rows must be 2, found 1")
    );
    assert_eq!(
        call([2, 2, 2, 4], Positions::All(0), None),
        is("write_rows: pos[0] is 0, which is not in 0..0")
    );
    assert_eq!(
        call([2, 3, 8, 4], Positions::All(0), None),
        is("write_rows: the heads of the cache must be 2, found 3")
    );
    assert!(
        cache.iter().all(|c| *c == 0),
        "nothing is written after an error"
    );
}
