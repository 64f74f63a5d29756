//! Linear feasibility by the simplex method over exact fractions.

use super::rational::Rational;

/// Whether `x >= 0` with `A x = (0, .., 0, 1)` exists, where `columns` are the
/// columns of `A`. A yes is checked by substitution; no means no, or not found
/// within `fuel` steps or within the numbers that fit.
pub(super) fn is_feasible(columns: &[Vec<i64>], n_rows: usize, fuel: &mut u64) -> bool {
    let solution = solve(columns, n_rows, fuel);
    solution.is_some_and(|solution| satisfies(columns, n_rows, &solution) == Some(true))
}

/// Phase one of the simplex method with Bland's rule, which cannot cycle.
fn solve(columns: &[Vec<i64>], n_rows: usize, fuel: &mut u64) -> Option<Vec<Rational>> {
    let n_columns = columns.len();
    // One row per equation, its right side last. Each begins with an artificial
    // variable in the basis, which is numbered `n_columns + row` and has no
    // column: once it has left, it does not return.
    let mut rows: Vec<Vec<Rational>> = (0..n_rows)
        .map(|row| {
            let entries = columns
                .iter()
                .map(|column| Rational::integer(column[row].into()));
            let right = Rational::integer((row + 1 == n_rows).into());
            entries.chain([right]).collect()
        })
        .collect();
    let mut basis: Vec<usize> = (0..n_rows).map(|row| n_columns + row).collect();
    // What is left of the artificial variables' sum, and how each column lowers it.
    let mut cost = vec![Rational::ZERO; n_columns + 1];
    for row in &rows {
        for (total, entry) in cost.iter_mut().zip(row) {
            *total = total.add(*entry)?;
        }
    }
    loop {
        if cost[n_columns].is_zero() {
            let mut solution = vec![Rational::ZERO; n_columns];
            for (row, variable) in rows.iter().zip(&basis) {
                if let Some(value) = solution.get_mut(*variable) {
                    *value = row[n_columns];
                }
            }
            return Some(solution);
        }
        let entering = cost[..n_columns]
            .iter()
            .position(|gain| gain.is_positive())?;
        let mut leaving: Option<(usize, Rational)> = None;
        for (at, row) in rows.iter().enumerate() {
            if !row[entering].is_positive() {
                continue;
            }
            let ratio = row[n_columns].div(row[entering])?;
            let better = match leaving {
                None => true,
                Some((best, least)) => {
                    ratio.less_than(least)? || (ratio == least && basis[at] < basis[best])
                }
            };
            if better {
                leaving = Some((at, ratio));
            }
        }
        let (pivot, _) = leaving?;
        *fuel = fuel.checked_sub(u64::try_from(n_rows * (n_columns + 1)).ok()?)?;
        let unit = rows[pivot][entering];
        for entry in &mut rows[pivot] {
            *entry = entry.div(unit)?;
        }
        let pivot_row = rows[pivot].clone();
        let others = rows.iter_mut().enumerate().filter(|(at, _)| *at != pivot);
        for row in others.map(|(_, row)| row).chain([&mut cost]) {
            let factor = row[entering];
            if factor.is_zero() {
                continue;
            }
            for (entry, pivot_entry) in row.iter_mut().zip(&pivot_row) {
                if !pivot_entry.is_zero() {
                    *entry = entry.sub(factor.mul(*pivot_entry)?)?;
                }
            }
        }
        basis[pivot] = entering;
    }
}

fn satisfies(columns: &[Vec<i64>], n_rows: usize, solution: &[Rational]) -> Option<bool> {
    for row in 0..n_rows {
        let mut sum = Rational::ZERO;
        for (column, value) in columns.iter().zip(solution) {
            sum = sum.add(value.mul(Rational::integer(column[row].into()))?)?;
        }
        let right = if row + 1 == n_rows {
            Rational::ONE
        } else {
            Rational::ZERO
        };
        if sum != right {
            return Some(false);
        }
    }
    Some(solution.iter().all(|value| !value.is_negative()))
}

#[cfg(test)]
mod tests {
    use super::is_feasible;

    #[test]
    fn finds_a_combination_where_there_is_one() {
        // x0 * (1, -1) + x1 * (-1, 2) = (0, 1)
        assert!(is_feasible(&[vec![1, -1], vec![-1, 2]], 2, &mut 1000));
        assert!(is_feasible(&[vec![3, 2], vec![-2, 1]], 2, &mut 1000));
    }

    #[test]
    fn finds_none_where_there_is_none() {
        assert!(!is_feasible(&[vec![1, -1], vec![-1, 1]], 2, &mut 1000));
        assert!(!is_feasible(&[vec![1, 1]], 2, &mut 1000));
        assert!(!is_feasible(&[], 1, &mut 1000));
    }

    #[test]
    fn gives_up_without_fuel_and_on_overflow() {
        assert!(!is_feasible(&[vec![1, -1], vec![-1, 2]], 2, &mut 1));
        let huge = i64::MAX;
        let columns: Vec<Vec<i64>> = (0..6)
            .map(|i: i64| {
                (0..6)
                    .map(|j: i64| huge - 7919 * i * j - 13 * i - 3 * j * j)
                    .collect()
            })
            .collect();
        // No matter what it answers, it returns.
        is_feasible(&columns, 6, &mut 100_000);
    }
}
