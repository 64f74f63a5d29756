//! Ctrl-C: once stops the answer, twice leaves.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use linnet_models::Cancellation;

use crate::INTERRUPTED;
use crate::output::Failure;

/// Nothing is under way that could be stopped: leave at once.
const LOADING: u8 = 0;
/// The line editor reads the keys; it sees Ctrl-C as a key, and a signal that
/// comes from elsewhere must not leave the terminal in the editor's mode.
const EDITING: u8 = 1;
/// The model writes: stop it.
const WRITING: u8 = 2;
/// It was asked to stop and has not yet: leave at once.
const STOPPING: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(LOADING);

/// The flag that ends an answer.
pub fn cancellation() -> &'static Cancellation {
    static CANCELLATION: OnceLock<Cancellation> = OnceLock::new();
    CANCELLATION.get_or_init(Cancellation::new)
}

/// Takes over Ctrl-C.
pub fn install() -> Result<(), Failure> {
    let cancellation = cancellation();
    ctrlc::set_handler(move || match STATE.load(Ordering::SeqCst) {
        EDITING => {}
        WRITING => {
            STATE.store(STOPPING, Ordering::SeqCst);
            cancellation.cancel();
        }
        _ => std::process::exit(INTERRUPTED.into()),
    })
    .map_err(|e| Failure::Message(format!("cannot handle Ctrl-C: {e}")))
}

/// Runs `write` so that Ctrl-C stops it; the flag is clear when it begins.
pub fn stoppable<T>(write: impl FnOnce() -> T) -> T {
    cancellation().clear();
    STATE.store(WRITING, Ordering::SeqCst);
    let result = write();
    STATE.store(LOADING, Ordering::SeqCst);
    result
}

/// Runs `edit`, which sees Ctrl-C as a key.
pub fn editing<T>(edit: impl FnOnce() -> T) -> T {
    STATE.store(EDITING, Ordering::SeqCst);
    let result = edit();
    STATE.store(LOADING, Ordering::SeqCst);
    result
}
