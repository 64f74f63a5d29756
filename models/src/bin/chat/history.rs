//! The lines that were typed, kept for the next time.

use std::path::PathBuf;

use etcetera::BaseStrategy;
use rustyline::Editor;
use rustyline::history::FileHistory;

use crate::output::note;

/// A longer line (a pasted book) is not worth keeping.
const LONGEST_KEPT: usize = 4096;

/// The history file; a problem with it is told once and ends its use.
pub struct History {
    path: Option<PathBuf>,
}

impl History {
    /// Reads the history of earlier conversations into the editor.
    pub fn load(editor: &mut Editor<(), FileHistory>) -> Self {
        let mut history = Self { path: None };
        match history_path() {
            Ok(path) => {
                history.path = Some(path.clone());
                if path.exists()
                    && let Err(error) = editor.load_history(&path)
                {
                    history.give_up("read", &error);
                }
            }
            Err(error) => note(&format!("warning: no history is kept: {error}")),
        }
        history
    }

    /// Adds a line.
    pub fn add(&mut self, editor: &mut Editor<(), FileHistory>, line: &str) {
        if line.trim().is_empty() || line.len() > LONGEST_KEPT {
            return;
        }
        let added = editor.add_history_entry(line).unwrap_or(false);
        if !added {
            return; // the same as the one before
        }
        if let Some(path) = &self.path
            && let Err(error) = editor.append_history(path)
        {
            self.give_up("write", &error);
        }
    }

    fn give_up(&mut self, action: &str, error: &dyn std::fmt::Display) {
        if let Some(path) = self.path.take() {
            note(&format!(
                "warning: cannot {action} the history {}: {error}; no history is kept",
                path.display()
            ));
        }
    }
}

/// `linnet/chat_history` in the folder that this system keeps programs' data in.
fn history_path() -> Result<PathBuf, String> {
    let base = etcetera::choose_base_strategy().map_err(|e| e.to_string())?;
    let folder = base.data_dir().join("linnet");
    std::fs::create_dir_all(&folder)
        .map_err(|e| format!("cannot create the folder {}: {e}", folder.display()))?;
    Ok(folder.join("chat_history"))
}
