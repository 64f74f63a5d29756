//! Stopping a generation from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that stops a generation; clones share it.
///
/// It is looked at before every token and before every chunk of a prompt.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the generation to stop. May be called from a signal handler's thread.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Cancellation::cancel`] was called since the last [`Cancellation::clear`].
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Makes the flag ready for the next generation.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
