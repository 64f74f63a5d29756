//! Tests of the checker: sources that pass, with what they lower to, and
//! sources that fail, with the exact text.

mod harness;
mod models;
