//! [`RunBars`]: one progress bar per run, with its latest test accuracy. It suits a few runs;
//! [`LiveTable`](crate::ui::live_table::LiveTable) suits many.

use crate::judges::panel::JudgesProgress;
use crate::run::runs::{Watch, name};
use crate::run::semantic_noise::NoiseProgress;
use crate::run::spec::Spec;
use crate::ui::terminal::{Screen, epoch_bar};
use indicatif::{MultiProgress, ProgressBar};
use std::sync::OnceLock;

/// A bar per run; it appears when the run starts.
pub struct RunBars<'a> {
    runs: &'a [Spec],
    width: usize,
    bars: MultiProgress,
    shown: Vec<OnceLock<ProgressBar>>,
}

impl<'a> RunBars<'a> {
    /// Bars for these runs.
    pub fn new(runs: &'a [Spec], screen: &Screen) -> Self {
        let width = runs.iter().map(|spec| name(spec).chars().count()).max().unwrap_or(0);
        Self { runs, width, bars: screen.bars(), shown: runs.iter().map(|_| OnceLock::new()).collect() }
    }

    fn bar(&self, run: usize) -> &ProgressBar {
        let spec = &self.runs[run];
        self.shown[run].get_or_init(|| epoch_bar(&self.bars, &name(spec), self.width, spec.plan.epochs as u64))
    }
}

impl Watch for RunBars<'_> {
    fn making_noise(&self, run: usize, progress: NoiseProgress) {
        self.bar(run).set_message(progress.to_string());
    }

    fn estimating(&self, run: usize, JudgesProgress { judge, number, judges, .. }: JudgesProgress) {
        self.bar(run).set_message(format!("estimating the noise rate, judge {number} of {judges} ({judge})"));
    }

    fn reached(&self, run: usize, epochs: usize, accuracy: Option<f64>) {
        let bar = self.bar(run);
        bar.set_position(epochs as u64);
        if let Some(accuracy) = accuracy {
            bar.set_message(format!("test {:.2} %", 100.0 * accuracy));
        }
    }

    fn finished(&self, run: usize, accuracy: Option<f64>) {
        let bar = self.bar(run);
        bar.set_position(self.runs[run].plan.epochs as u64);
        bar.finish_with_message(match accuracy {
            Some(accuracy) => format!("test {:.2} % (mean of the last epochs)", 100.0 * accuracy),
            None => "no test data".to_owned(),
        });
    }

    fn stopped(&self, run: usize) {
        self.bar(run).abandon();
    }
}
