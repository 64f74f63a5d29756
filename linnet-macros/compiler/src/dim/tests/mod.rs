//! Tests of the dimension arithmetic.

mod examples;
mod properties;
