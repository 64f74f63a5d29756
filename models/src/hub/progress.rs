//! What a person sees of a download.

use std::io::Write;

use indicatif::{ProgressBar, ProgressStyle};

/// What is shown of downloads, on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Progress {
    /// A bar per file in a terminal, a line per file elsewhere.
    #[default]
    Bars,
    /// Nothing.
    Silent,
}

impl Progress {
    /// A bar for a file, of which `done` bytes are there already.
    pub(super) fn file(self, name: &str, size: u64, done: u64) -> ProgressBar {
        if self == Self::Silent {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new(size);
        if bar.is_hidden() {
            // The draw target hides itself where standard error is no terminal.
            line(&format!(
                "downloading {name} ({})",
                indicatif::HumanBytes(size)
            ));
        }
        let template = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(name.to_owned());
        bar.set_position(done);
        bar.reset_eta();
        bar
    }

    /// A line of text.
    pub(super) fn message(self, text: &str) {
        if self == Self::Bars {
            line(text);
        }
    }
}

/// A line on standard error. It is lost where that is closed.
fn line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
