//! Output: results on stdout, progress and notes on stderr.
//!
//! Class names, file names and cells come from files, and may contain characters that control the terminal. [`plain`] makes
//! those visible instead of printing them.

use crate::ui::failure::{Failure, Outcome};
use anstyle::{AnsiColor, Style};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

/// How output is printed: decided once, from `--quiet`, `--json`, `NO_COLOR` and whether stdout and stderr are terminals.
#[derive(Clone, Debug)]
pub struct Screen {
    /// Results as JSON instead of text.
    pub json: bool,
    /// No notes and no progress.
    pub quiet: bool,
    /// Colours on stdout.
    pub color: bool,
    /// Colours and progress bars on stderr.
    pub live: bool,
    /// Columns of the terminal.
    pub width: usize,
}

impl Screen {
    /// Decides from the options, the environment and the terminal.
    pub fn new(json: bool, quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let (_, columns) = console_size();
        Self {
            json,
            quiet,
            color: io::stdout().is_terminal() && !no_color && !dumb && !json,
            live: io::stderr().is_terminal() && !dumb && !quiet,
            width: columns,
        }
    }

    /// Prints a line of the result to stdout; with `--json` nothing, because [`Self::result`] prints the result then.
    ///
    /// # Errors
    /// Stdout cannot be written.
    pub fn line(&self, text: impl AsRef<str>) -> Outcome<()> {
        if self.json {
            return Ok(());
        }
        print(format!("{}\n", text.as_ref()).as_bytes())
    }

    /// Prints the result to stdout as one JSON document. Without `--json`, `value` is not even computed.
    ///
    /// # Errors
    /// Stdout cannot be written.
    pub fn result<T: serde::Serialize>(&self, value: impl FnOnce() -> T) -> Outcome<()> {
        if !self.json {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&value()).map_err(Failure::new)?;
        print(format!("{text}\n").as_bytes())
    }

    /// Prints a note to stderr: what was chosen, what was found. With `--quiet`, prints nothing.
    pub fn note(&self, text: impl AsRef<str>) {
        if !self.quiet {
            // Work continues even if stderr is closed.
            let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
        }
    }

    /// Prints a warning to stderr, also with `--quiet`.
    pub fn warning(&self, text: impl AsRef<str>) {
        let _ = writeln!(io::stderr().lock(), "{}: {}", self.paint_err("warning", WARNING), text.as_ref());
    }

    /// `text` in `style` if stdout shows colours.
    pub fn paint<'a>(&self, text: &'a str, style: Style) -> Cow<'a, str> {
        paint(text, style, self.color)
    }

    /// `text` in `style` if stderr shows colours.
    pub fn paint_err<'a>(&self, text: &'a str, style: Style) -> Cow<'a, str> {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        paint(text, style, self.live && !no_color)
    }

    /// Where progress bars are drawn: on stderr if it is a terminal, otherwise nowhere.
    pub fn bars(&self) -> MultiProgress {
        let target = if self.live { ProgressDrawTarget::stderr_with_hz(10) } else { ProgressDrawTarget::hidden() };
        MultiProgress::with_draw_target(target)
    }
}

/// Writes to stdout. A broken pipe (`tares … | head`) is ignored: the command does all its work and ends with its usual exit
/// code.
///
/// # Errors
/// Stdout cannot be written for another reason, such as a full disk.
pub fn print(bytes: &[u8]) -> Outcome<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => Ok(outcome?),
    }
}

/// Titles of tables.
pub const TITLE: Style = Style::new().bold();
/// The best of a column.
pub const BEST: Style = AnsiColor::Green.on_default().bold();
/// Less important text.
pub const FAINT: Style = Style::new().dimmed();
/// Warnings.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// Errors.
pub const ERROR: Style = AnsiColor::Red.on_default().bold();

/// Prints a failure once, on stderr.
pub fn print_failure(failure: &Failure) {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let word = if matches!(failure, Failure::Interrupted { .. }) { "tares" } else { "error" };
    let word = paint(word, ERROR, io::stderr().is_terminal() && !no_color);
    let body = failure.to_string();
    let lines: Vec<String> = body.split('\n').map(|line| plain(line).into_owned()).collect();
    let _ = writeln!(io::stderr().lock(), "{word}: {}", lines.join("\n"));
}

/// A progress bar for a run of `epochs` epochs; its message is the latest test accuracy.
pub fn epoch_bar(bars: &MultiProgress, name: &str, width: usize, epochs: u64) -> ProgressBar {
    let bar = bars.add(ProgressBar::new(epochs));
    let style = ProgressStyle::with_template(&format!("  {{prefix:<{width}}} {{bar:28}} {{pos:>4}}/{{len}}  {{msg}}"))
        .expect("a fixed template")
        .progress_chars("━╸ ");
    bar.set_style(style);
    bar.set_prefix(plain(name).into_owned());
    bar
}

/// A spinner for work of unknown length (reading, downloading).
pub fn work_bar(bars: &MultiProgress, what: &str) -> ProgressBar {
    let bar = bars.add(ProgressBar::new_spinner());
    bar.set_style(ProgressStyle::with_template("  {spinner} {prefix} {msg}").expect("a fixed template"));
    bar.set_prefix(plain(what).into_owned());
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// A path as text for JSON. Bytes that are not UTF-8, which paths may contain, become the replacement character.
pub fn json_path(path: &Path) -> String {
    path.display().to_string()
}

/// Text from people or files, made safe to print: control characters, bidirectional overrides and other invisible
/// characters become `\u{…}`.
///
/// ```
/// assert_eq!(tares_cli::ui::terminal::plain("cat\u{1b}[2J"), "cat\\u{1b}[2J");
/// ```
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(unprintable) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::new(), |mut safe, c| {
        if unprintable(c) {
            safe.extend(c.escape_unicode())
        } else {
            safe.push(c)
        }
        safe
    }))
}

/// Whether a character controls the terminal or changes the order of others.
fn unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn paint(text: &str, style: Style, color: bool) -> Cow<'_, str> {
    if color { Cow::Owned(format!("{style}{text}{style:#}")) } else { Cow::Borrowed(text) }
}

/// Rows and columns of the terminal, or 24 × 100 if there is none.
fn console_size() -> (usize, usize) {
    let term = console::Term::stdout();
    match term.size_checked() {
        Some((rows, columns)) => (rows.into(), columns.into()),
        None => (24, 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(plain("a\u{7}b\r\n\u{9b}"), "a\\u{7}b\\u{d}\\u{a}\\u{9b}");
        assert_eq!(plain("\u{202e}abc"), "\\u{202e}abc");
        assert!(matches!(plain("Käse 猫 ±"), Cow::Borrowed("Käse 猫 ±")));
    }
}
