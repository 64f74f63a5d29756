//! The names that the language itself defines.
//!
//! A call of one of these never asks another item for a signature, and no
//! operation may take one of these names.

use crate::ir::DType;

/// Functions that the language defines. They are called without an import.
pub const FUNCTIONS: &[&str] = &[
    "abs", "cast", "concat", "cos", "distinct", "erf", "exp", "fill", "floor", "iota", "log",
    "max", "min", "packed", "pow", "rsqrt", "select", "sin", "sqrt", "tanh",
];

/// Constructors that are called like functions.
pub const CONSTRUCTORS: &[&str] = &["Some", "None", "Ok", "Err"];

/// Whether a function of this name is defined by the language.
pub fn is_function(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

/// The dtype of this name.
pub fn dtype(name: &str) -> Option<DType> {
    Some(match name {
        "f32" => DType::F32,
        "f16" => DType::F16,
        "bf16" => DType::BF16,
        "i8" => DType::I8,
        "i32" => DType::I32,
        "i64" => DType::I64,
        "u8" => DType::U8,
        "bool" => DType::Bool,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_no_name_twice() {
        assert!(FUNCTIONS.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
