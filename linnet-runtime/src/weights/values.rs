//! The values of a model's generics.

use std::fmt;

use crate::dtype::DType;
use crate::env::GenericValue;

/// The values of a block's generics, in the order of its declaration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GenericValues(Vec<(&'static str, GenericValue)>);

impl GenericValues {
    /// No generics.
    pub fn new() -> GenericValues {
        GenericValues::default()
    }

    /// Binds a generic, or binds it anew.
    pub fn set(&mut self, name: &'static str, value: GenericValue) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// The value of a generic.
    pub fn get(&self, name: &str) -> Option<GenericValue> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, value)| value)
    }

    /// The value of a dimension.
    pub fn dim(&self, name: &str) -> Option<usize> {
        match self.get(name)? {
            GenericValue::Dim(size) => Some(size),
            _ => None,
        }
    }

    /// The value of a dtype generic.
    pub fn dtype(&self, name: &str) -> Option<DType> {
        match self.get(name)? {
            GenericValue::DType(dtype) => Some(dtype),
            _ => None,
        }
    }

    /// The values alone, in order, as [`Instance::new`](crate::Instance::new) takes them.
    pub fn in_order(&self) -> Vec<GenericValue> {
        self.0.iter().map(|&(_, value)| value).collect()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, GenericValue)> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<(&'static str, GenericValue)> for GenericValues {
    fn from_iter<I: IntoIterator<Item = (&'static str, GenericValue)>>(iter: I) -> GenericValues {
        let mut values = GenericValues::new();
        for (name, value) in iter {
            values.set(name, value);
        }
        values
    }
}

impl fmt::Display for GenericValues {
    /// `Vocab = 257, H = 48, T = f32`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{name} = {value}")?;
        }
        Ok(())
    }
}
