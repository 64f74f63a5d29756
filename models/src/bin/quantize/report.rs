//! What became of each tensor, as a table.

use std::fmt::Write;

use crate::codes::Difference;
use crate::convert::Converted;

/// The table, and the totals below it.
pub fn table(converted: &[Converted], unchanged: u64) -> String {
    let width = converted
        .iter()
        .map(|one| one.name.len())
        .chain([TOTAL.len()])
        .max()
        .unwrap_or(0);
    let mut text = format!(
        "{:width$}  {:>16}  {:>13}  {:>13}  {:>9}  {:>9}\n",
        "tensor", "rows x weights", "bytes before", "bytes after", "rms error", "largest"
    );
    let mut line = |name: &str, shape: &str, before: u64, after: u64, difference: &Difference| {
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "{name:width$}  {shape:>16}  {before:>13}  {after:>13}  {:>8.3}%  {:>9.3e}",
            100.0 * difference.relative_rms(),
            difference.largest
        );
    };
    let mut all = Difference::default();
    let (mut before, mut after) = (0, 0);
    for one in converted {
        let [rows, weights] = one.shape;
        let shape = format!("{rows} x {weights}");
        line(&one.name, &shape, one.before, one.after, &one.difference);
        before += one.before;
        after += one.after;
        all.add(&one.difference);
    }
    line(TOTAL, "", before, after, &all);
    let (whole_before, whole_after) = (before + unchanged, after + unchanged);
    let _ = writeln!(
        text,
        "\nThe checkpoint: {whole_before} bytes before, {whole_after} after ({:.1}%), \
         {unchanged} of them unchanged.",
        100.0 * whole_after as f64 / (whole_before as f64).max(1.0)
    );
    text
}

/// The name of the line of totals.
const TOTAL: &str = "all that is quantised";
