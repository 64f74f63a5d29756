use super::*;
use crate::testing::each_cpu;

#[test]
fn gathers_rows_as_f32() {
    each_cpu(|cpu| {
        let table: Vec<half::bf16> = (0..7 * 21)
            .map(|i| half::bf16::from_f32(i as f32 - 70.5))
            .collect();
        let view = MatRef::contiguous(&table, 7, 21).unwrap();
        let ids = [6, 0, 3, 3];
        let mut out = vec![0.0; ids.len() * 21];
        let to = MatMut::contiguous(&mut out, ids.len(), 21).unwrap();
        embedding_widened(cpu, &ids, view, to).unwrap();
        for (row, id) in out.chunks(21).zip(ids) {
            let expected = table[id as usize * 21..][..21].iter().map(|v| v.to_f32());
            assert!(row.iter().copied().eq(expected));
        }
        let to = MatMut::contiguous(&mut out, ids.len(), 21).unwrap();
        assert!(embedding_widened(cpu, &[0, 7, 1, 2], view, to).is_err());
    });
}

#[test]
fn gathers_rows() {
    each_cpu(|cpu| {
        let (vocab, n) = (7, 5);
        let table: Vec<i32> = (0..vocab * 8).collect();
        let table = MatRef::new(&table, [vocab as usize, n], [8, 1]).unwrap();
        for ids in [&[][..], &[0], &[6, 0, 0, 3, 5]] {
            let mut out = vec![-1; ids.len() * 6];
            embedding(
                cpu,
                ids,
                table,
                MatMut::new(&mut out, [ids.len(), n], [6, 1]).unwrap(),
            )
            .unwrap();
            for (i, id) in ids.iter().enumerate() {
                let expected: Vec<i32> = (0..n as i32).map(|c| id * 8 + c).chain([-1]).collect();
                assert_eq!(out[i * 6..][..6], expected);
            }
        }
        let long: Vec<i32> = (0..30_000).map(|i| i % 7).collect();
        let mut out = vec![0; 30_000 * n];
        embedding(
            cpu,
            &long,
            table,
            MatMut::contiguous(&mut out, 30_000, n).unwrap(),
        )
        .unwrap();
        assert!(
            out.chunks(n)
                .zip(&long)
                .all(|(row, id)| row[4] == id * 8 + 4)
        );
    });
}

#[test]
fn bad_ids() {
    let cpu = Cpu::new(1).unwrap();
    let table = [0.0f32; 20];
    let mut out = [1.0f32; 10];
    let mut call = |ids: &[i32]| {
        let out = MatMut::contiguous(&mut out, 2, 5).unwrap();
        embedding(&cpu, ids, MatRef::contiguous(&table, 4, 5).unwrap(), out)
            .map_err(|e| e.to_string())
    };
    assert_eq!(
        call(&[0, 4]),
        Err("embedding: ids[1] is 4, which is not in 0..4".into())
    );
    assert_eq!(
        call(&[-1, 9]),
        Err("embedding: ids[0] is -1, which is not in 0..4".into())
    );
    assert_eq!(
        call(&[i32::MIN, 0]),
        Err("embedding: ids[0] is -2147483648, which is not in 0..4".into())
    );
    assert_eq!(
        call(&[1]),
        Err("embedding: the rows of out must be 1, found 2".into())
    );
    assert!(
        out.iter().all(|o| *o == 1.0),
        "nothing is written after an error"
    );
}
