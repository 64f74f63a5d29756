//! `chat` in a pseudo-terminal.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::io::{Read, Write};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pty_process::blocking::{Command, Pty, open};

/// What the line editor sends when it is ready for a line.
const READY: &str = "\x1b[?2004h";
/// What it sends when it has read one.
const ENTERED: &str = "\x1b[?2004l";

/// Nothing here should take this long, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running `chat` and the terminal that it is in.
pub struct Terminal {
    pty: Arc<Pty>,
    child: Child,
    chunks: Receiver<Vec<u8>>,
    /// What came and was not looked at yet.
    unread: Vec<u8>,
    reads: usize,
    data: tempfile::TempDir,
}

impl Terminal {
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, |command| command)
    }

    pub fn start_with(arguments: &[&str], change: impl FnOnce(Command) -> Command) -> Self {
        let data = tempfile::tempdir().unwrap();
        let (pty, pts) = open().unwrap();
        pty.resize(pty_process::Size::new(24, 80)).unwrap();
        let command = Command::new(env!("CARGO_BIN_EXE_chat"))
            .args(arguments)
            .env("TERM", "xterm-256color")
            .env("HOME", data.path())
            .env("XDG_DATA_HOME", data.path())
            .env("NO_COLOR", "1")
            .env_remove("LINNET_CPU");
        let child = change(command).spawn(pts).unwrap();
        let pty = Arc::new(pty);
        let reader = Arc::clone(&pty);
        let (sender, chunks) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 1 << 16];
            // The other side is gone: an error on Linux, an end elsewhere.
            while let Ok(n) = (&*reader).read(&mut buffer)
                && n > 0
                && sender.send(buffer[..n].to_vec()).is_ok()
            {}
        });
        Self {
            pty,
            child,
            chunks,
            unread: Vec::new(),
            reads: 0,
            data,
        }
    }

    /// The folder for the program's data.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    pub fn send(&mut self, keys: &str) {
        self.send_bytes(keys.as_bytes());
    }

    pub fn send_bytes(&mut self, keys: &[u8]) {
        (&*self.pty).write_all(keys).unwrap();
    }

    /// Waits for the editor to be ready, and returns what was shown before.
    #[track_caller]
    pub fn prompt(&mut self) -> String {
        self.reads = 0;
        self.expect(READY)
    }

    /// Waits for the line to be entered; from then on Ctrl-C is a signal.
    #[track_caller]
    pub fn entered(&mut self) {
        self.expect(ENTERED);
        // The terminal's mode changes at about the time of that sequence.
        std::thread::sleep(Duration::from_millis(100));
    }

    /// How many pieces the text before the last [`Terminal::prompt`] came in.
    pub fn reads_since_prompt(&self) -> usize {
        self.reads
    }

    /// Waits for `text`, and returns what was shown up to its end.
    #[track_caller]
    pub fn expect(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut searched = 0;
        loop {
            let found = self.unread[searched..]
                .windows(text.len())
                .position(|window| window == text.as_bytes());
            if let Some(at) = found {
                let shown: Vec<u8> = self.unread.drain(..searched + at + text.len()).collect();
                return String::from_utf8_lossy(&shown).into_owned();
            }
            searched = self.unread.len().saturating_sub(text.len() - 1);
            let left = deadline.saturating_duration_since(Instant::now());
            match self.chunks.recv_timeout(left) {
                Ok(chunk) => {
                    self.reads += 1;
                    self.unread.extend(chunk);
                }
                Err(error) => {
                    let ended = match error {
                        RecvTimeoutError::Timeout => "time is up",
                        RecvTimeoutError::Disconnected => "it ended",
                    };
                    panic!(
                        "{ended}; {text:?} is not in {:?}",
                        String::from_utf8_lossy(&self.unread)
                    );
                }
            }
        }
    }

    /// Waits for the program to end, and returns its exit status.
    #[track_caller]
    pub fn wait(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
