//! The rows of each expert side by side: a counting sort.

use crate::cpu::quant::product::Item;

/// Puts the numbers `base..` of the choices into `list`, those of expert 0 first and in their
/// order, and returns how many items they make in `items`. `ends` has an element for each
/// expert. Every choice must be an expert.
pub(crate) fn group(
    choices: &[i64],
    base: usize,
    ends: &mut [u32],
    list: &mut [u32],
    items: &mut [Item],
) -> usize {
    ends.fill(0);
    for &expert in choices {
        ends[expert as usize] += 1;
    }
    // Each is where its expert's rows begin, then, as rows come, where the next one goes.
    let mut start = 0;
    for end in ends.iter_mut() {
        start += std::mem::replace(end, start);
    }
    for (i, &expert) in choices.iter().enumerate() {
        let end = &mut ends[expert as usize];
        list[*end as usize] = (base + i) as u32;
        *end += 1;
    }
    let (mut n, mut first) = (0, 0);
    for (expert, &end) in ends.iter().enumerate() {
        for item in Item::divide(expert, first, end as usize - first) {
            items[n] = item;
            n += 1;
        }
        first = end as usize;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_an_expert_lie_side_by_side_in_their_order() {
        let choices = [2, 0, 2, 4, 0, 2];
        let (mut ends, mut list) = ([9; 5], [9; 6]);
        let mut items = [Item {
            matrix: 9,
            first: 9,
            n: 9,
        }; 6];
        let n = group(&choices, 10, &mut ends, &mut list, &mut items);
        assert_eq!(list, [11, 14, 10, 12, 15, 13]);
        let items: Vec<_> = items[..n]
            .iter()
            .map(|i| (i.matrix, i.first, i.n))
            .collect();
        assert_eq!(items, [(0, 0, 2), (2, 2, 3), (4, 5, 1)]);
    }

    #[test]
    fn many_rows_are_divided_evenly() {
        let choices = vec![1; 1000];
        let (mut ends, mut list) = ([0; 2], [0; 1000]);
        let mut items = vec![
            Item {
                matrix: 0,
                first: 0,
                n: 0,
            };
            Item::most(2, 1000)
        ];
        let n = group(&choices, 0, &mut ends, &mut list, &mut items);
        let mut next = 0;
        for item in &items[..n] {
            assert!(item.matrix == 1 && item.first == next && (165..=167).contains(&item.n));
            next += item.n;
        }
        assert_eq!(next, 1000);
    }
}
