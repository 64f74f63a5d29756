//! How much memory this process took.

/// The most memory that this process held at a time, in bytes, mapped files
/// that were touched included. `None` where the system does not tell.
#[cfg(unix)]
pub fn peak_memory_bytes() -> Option<u64> {
    use nix::sys::resource::{UsageWho, getrusage};
    let peak = u64::try_from(getrusage(UsageWho::RUSAGE_SELF).ok()?.max_rss()).ok()?;
    // Apple's systems count bytes, the others kilobytes.
    Some(if cfg!(target_vendor = "apple") {
        peak
    } else {
        peak * 1024
    })
}

/// The most memory that this process held at a time, in bytes. `None` where
/// the system does not tell.
#[cfg(not(unix))]
pub fn peak_memory_bytes() -> Option<u64> {
    None
}
