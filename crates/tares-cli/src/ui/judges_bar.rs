//! The judge that is asked, as a bar with the time it still needs.

use crate::judges::panel::JudgesProgress;
use crate::ui::terminal::Screen;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// A bar for one judge after the other.
pub fn judges_bar(bars: &MultiProgress) -> ProgressBar {
    let bar = bars.add(ProgressBar::new(0));
    // Judges that stop early are done before their last step.
    let template = "  {prefix} {bar:28} {percent} %, at most {eta} left";
    bar.set_style(ProgressStyle::with_template(template).expect("a fixed template").progress_chars("━╸ "));
    bar
}

/// Shows how far a judge is; `what` is what it is asked for. Where nobody watches a bar, every finished judge is a line.
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
        screen.note(format!("{prefix} has answered"));
    }
}
