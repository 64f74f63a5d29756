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

/// Writes tokens that name their places, and checks every element of the cache.
fn check_packed_write(cpu: &Cpu, heads: usize, cache_shape: [usize; 4], tokens: &[(i32, i32)]) {
    let [_, _, capacity, dim] = cache_shape;
    let (rows, positions): (Vec<i32>, Vec<i32>) = tokens.iter().copied().unzip();
    // x is [1, P, H, D] in memory.
    let x: Vec<u32> = (1..=(tokens.len() * heads * dim) as u32).collect();
    let shape = [1, heads, tokens.len(), dim];
    let x_view = HeadsRef::new(&x, shape, [x.len(), dim, heads * dim]).unwrap();
    let mut cache = vec![0u32; cache_shape.iter().product()];
    let view = HeadsMut::contiguous(&mut cache, cache_shape).unwrap();
    write_packed(cpu, x_view, &rows, &positions, view).unwrap();
    let mut expected = vec![0u32; cache.len()];
    for (p, &(row, pos)) in tokens.iter().enumerate() {
        if pos == -1 {
            continue;
        }
        for h in 0..heads {
            let at = ((row as usize * heads + h) * capacity + pos as usize) * dim;
            expected[at..at + dim].copy_from_slice(&x[(p * heads + h) * dim..][..dim]);
        }
    }
    assert_eq!(cache, expected, "{cache_shape:?} {tokens:?}");
}

#[test]
fn packed_places() {
    each_cpu(|cpu| {
        check_packed_write(cpu, 3, [2, 3, 10, 4], &[]);
        check_packed_write(cpu, 3, [2, 3, 10, 4], &[(1, 9)]);
        // Prompts, a step, an idle row, and a place written three times: the last token stays.
        let tokens = [
            (0, 0),
            (0, 1),
            (2, 5),
            (1, -1),
            (2, 4),
            (2, 5),
            (3, 9),
            (2, 5),
        ];
        check_packed_write(cpu, 2, [4, 2, 10, 5], &tokens);
        let long: Vec<(i32, i32)> = (0..300).map(|p| (p % 3, p / 3)).collect();
        check_packed_write(cpu, 64, [3, 64, 100, 8], &long);
    });
}

#[test]
fn bad_packed_arguments() {
    let cpu = Cpu::new(1).unwrap();
    let x = [1u8; 100];
    let mut cache = [0u8; 200];
    let mut call = |shape: [usize; 4], heads: usize, rows: &[i32], positions: &[i32]| {
        write_packed(
            &cpu,
            HeadsRef::contiguous(&x, shape).unwrap(),
            rows,
            positions,
            HeadsMut::contiguous(&mut cache, [2, heads, 8, 4]).unwrap(),
        )
        .map_err(|e| e.to_string())
    };
    let is = |message: &str| Err(message.to_string());
    let shape = [1, 2, 3, 4];
    for (result, message) in [
        (
            call(shape, 2, &[0, 1, 2], &[0, 0, 0]),
            "write_packed: rows[2] is 2, which is not in 0..2",
        ),
        (
            call(shape, 2, &[0, 1, 1], &[0, 8, 0]),
            "write_packed: pos[1] is 8, which is not in 0..8",
        ),
        (
            call(shape, 2, &[0, 1, 1], &[0, 0, -2]),
            "write_packed: pos[2] is -2, which is not in 0..8",
        ),
        (
            call(shape, 2, &[0, 1], &[0, 0, 0]),
            "write_packed: the length of rows must be 3, found 2",
        ),
        (
            call(shape, 2, &[0, 1, 1], &[0, 0]),
            "write_packed: the number of positions must be 3, found 2",
        ),
        (
            call(shape, 3, &[0, 1, 1], &[0, 0, 0]),
            "write_packed: the heads of the cache must be 2, found 3",
        ),
        (
            call([2, 2, 3, 4], 2, &[0, 1, 1], &[0, 0, 0]),
            "write_packed: the batch of x must be 1, found 2",
        ),
    ] {
        assert_eq!(result, is(message));
    }
    assert!(
        cache.iter().all(|c| *c == 0),
        "nothing is written after an error"
    );
}
