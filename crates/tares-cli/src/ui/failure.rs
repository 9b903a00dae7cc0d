//! [`Failure`]: the program's error message. One line says what is wrong and where; a second says what the user can do.

use std::fmt;
use std::io;
use std::path::Path;

/// The result of anything that can fail.
pub type Outcome<T> = Result<T, Failure>;

/// Why a command stopped.
#[derive(Debug)]
pub enum Failure {
    /// An error, printed as `error: …` with the way out below it.
    Message {
        /// What was wrong.
        text: String,
        /// What to do about it.
        way_out: Option<String>,
    },
    /// The user pressed Ctrl-C. Everything done so far is kept.
    Interrupted {
        /// How to continue.
        way_out: String,
    },
}

impl Failure {
    /// A failure whose text says everything.
    pub fn new(text: impl fmt::Display) -> Self {
        Self::Message { text: text.to_string(), way_out: None }
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn way_out(self, hint: impl fmt::Display) -> Self {
        match self {
            Self::Message { text, .. } => Self::Message { text, way_out: Some(hint.to_string()) },
            other => other,
        }
    }

    /// Puts the place in front of the text: `runs/a/spec.toml: …`.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        match self {
            Self::Message { text, way_out } => Self::Message { text: format!("{place}: {text}"), way_out },
            other => other,
        }
    }

    /// A failed file operation, with its path and, for a full disk or missing permission, the way out.
    pub fn file(path: &Path, doing: &str, error: &io::Error) -> Self {
        let failure = Self::new(format!("{}: cannot {doing}: {}", path.display(), reason(error)));
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                failure.way_out("free some space or choose another directory with --out; finished work is kept")
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                failure.way_out("choose a directory you may write to with --out")
            }
            _ => failure,
        }
    }

    /// The program's exit code: 130 for Ctrl-C (as shells expect), otherwise 2.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Message { .. } => 2,
            Self::Interrupted { .. } => 130,
        }
    }
}

/// The system's message without "(os error 28)", which Rust adds.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message { text, way_out: None } => write!(f, "{text}"),
            Self::Message { text, way_out: Some(hint) } => write!(f, "{text}\n  {hint}"),
            Self::Interrupted { way_out } => write!(f, "interrupted\n  {way_out}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<tares_core::Error> for Failure {
    fn from(error: tares_core::Error) -> Self {
        Self::new(error)
    }
}

impl From<tares::Error> for Failure {
    fn from(error: tares::Error) -> Self {
        Self::new(error)
    }
}

impl From<tares_judges::Error> for Failure {
    fn from(error: tares_judges::Error) -> Self {
        match error {
            tares_judges::Error::Interrupted => Self::Interrupted { way_out: String::new() },
            other => Self::new(other),
        }
    }
}

impl From<tares_data::DataError> for Failure {
    fn from(error: tares_data::DataError) -> Self {
        match error {
            tares_data::DataError::Io { path, action, source } => Self::file(&path, action, &source),
            other => Self::new(other),
        }
    }
}

/// Output that failed. (A broken pipe does not come here: [`crate::ui::terminal`] ignores it.)
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(format!("cannot write the output: {}", reason(&error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_names_the_file_and_the_way_out() {
        let error = io::Error::from_raw_os_error(28);
        let failure = Failure::file(Path::new("runs/a/epochs.jsonl"), "write", &error);
        let text = failure.to_string();
        assert!(text.starts_with("runs/a/epochs.jsonl: cannot write: no space left on device"), "{text}");
        assert!(text.contains("--out"), "{text}");
        assert_eq!(failure.exit_code(), 2);
    }
}
