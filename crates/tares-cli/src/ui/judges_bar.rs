//! A progress bar for the judge that is being trained, with an estimate of the time left.

use crate::judges::panel::JudgesProgress;
use crate::ui::terminal::Screen;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// One bar that shows the judges one after the other.
pub fn judges_bar(bars: &MultiProgress) -> ProgressBar {
    let bar = bars.add(ProgressBar::new(0));
    // Some judges stop before their last step, hence "at most".
    let template = "  {prefix} {bar:28} {percent} %, at most {eta} left";
    bar.set_style(ProgressStyle::with_template(template).expect("a fixed template").progress_chars("━╸ "));
    bar
}

/// Updates the bar; `what` says what the judges are trained for. If stderr is not a terminal, prints a line for each finished
/// judge instead.
pub fn show_judge(bar: &ProgressBar, what: &str, progress: &JudgesProgress, screen: &Screen) {
    let JudgesProgress { judge, number, judges, done, total, finished } = progress;
    let prefix = format!("{what}: judge {number} of {judges} ({judge})");
    if bar.prefix() != prefix {
        bar.set_prefix(prefix.clone());
        bar.reset();
    }
    bar.set_length(*total);
    bar.set_position(*done);
    if *finished && !screen.live {
        screen.note(format!("{prefix} is finished"));
    }
}
