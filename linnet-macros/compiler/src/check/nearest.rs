//! "Did you mean": the nearest of the names that exist.

/// The candidate that is fewest edits away from `name`, if it is near enough
/// to be what the author meant. The first wins among equals.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let length = name.chars().count();
    let most = (length / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .map(|candidate| {
            (
                edits(&name.to_lowercase(), &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(edits, candidate)| {
            *edits <= most && *edits < candidate.chars().count().min(length)
        })
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate.to_owned())
}

/// The edit distance in which swapping two neighbours counts once
/// (Damerau 1964, in its restricted form).
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (rows[i - 1][j] + 1)
                .min(row[j - 1] + 1)
                .min(rows[i - 1][j - 1] + changed);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(rows[i - 2][j - 2] + 1);
            }
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_another_word_does_not() {
        let names = ["weight", "bias", "forward"];
        assert_eq!(nearest("wieght", names), Some("weight".to_owned()));
        assert_eq!(nearest("Forward", names), Some("forward".to_owned()));
        assert_eq!(nearest("gamma", names), None);
        assert_eq!(nearest("x", ["y"]), None);
    }

    #[test]
    fn distance_counts_insertions_deletions_changes_and_swaps() {
        for (a, b, n) in [
            ("", "", 0),
            ("ab", "", 2),
            ("ab", "ba", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edits(a, b), n, "{a} {b}");
            assert_eq!(edits(b, a), n, "{b} {a}");
        }
    }
}
