//! Tests of the checker.
//!
//! `cases/*.txt` hold small sources, each with what the checker makes of it:
//! the lowered functions if it passes, the diagnostics if it does not. To add a
//! case, write its source, run the tests with `LINNET_BLESS=1`, and read what
//! was written below it.

mod cases;
mod harness;
mod mangled;
mod models;
mod show;
mod well_formed;
