//! Which known name an unknown one may have been meant to be.

/// Names compared at most: a guard for checkpoints of very many tensors.
const COMPARED: usize = 4096;

/// At most two of `candidates` that `name` may have been meant to be, nearest
/// first: those within a third of its length in single-character edits.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    let mut found: Vec<(usize, &str)> = candidates
        .into_iter()
        .take(COMPARED)
        .filter_map(|candidate| Some((edits(name, candidate, limit)?, candidate)))
        .collect();
    found.sort();
    found
        .into_iter()
        .map(|(_, candidate)| candidate)
        .take(2)
        .collect()
}

/// The insertions, deletions and replacements from `a` to `b`, if at most `limit`.
fn edits(a: &str, b: &str, limit: usize) -> Option<usize> {
    let b: Vec<char> = b.chars().collect();
    if a.chars().count().abs_diff(b.len()) > limit {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
        if row.iter().min().is_some_and(|&least| least > limit) {
            return None;
        }
    }
    row.last().copied().filter(|&n| n <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_count_single_characters() {
        assert_eq!(edits("kitten", "sitting", 9), Some(3));
        assert_eq!(edits("", "abc", 9), Some(3));
        assert_eq!(edits("abc", "", 9), Some(3));
        assert_eq!(edits("same", "same", 0), Some(0));
        assert_eq!(edits("kitten", "sitting", 2), None);
    }

    #[test]
    fn the_nearest_come_first_and_the_far_do_not() {
        let names = [
            "h.0.attn.c_attn.weigth",
            "h.1.attn.c_attn.weight",
            "ln_f.bias",
        ];
        let found = nearest("h.0.attn.c_attn.weight", names);
        assert_eq!(found, ["h.1.attn.c_attn.weight", "h.0.attn.c_attn.weigth"]);
        assert!(nearest("wte", names).is_empty());
    }
}
