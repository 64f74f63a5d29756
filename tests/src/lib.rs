//! Tests over the whole of linnet; see `tests/`.
