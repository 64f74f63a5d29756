//! Tests over the whole of linnet; see `tests/`. Here: the examples of the README
//! and of CONTRIBUTING.md compile and run.

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../CONTRIBUTING.md")]
pub struct Contributing;
