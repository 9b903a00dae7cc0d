//! [`LiveTable`]: the table of a comparison while its runs are trained. It has a row per method and a column per noise. A
//! cell shows the mean over seeds so far and, until all seeds are finished, how many per cent of its epochs are done.

use crate::judges::panel::JudgesProgress;
use crate::record::in_order;
use crate::run::runs::{Watch, name};
use crate::run::semantic_noise::NoiseProgress;
use crate::run::spec::Spec;
use crate::ui::terminal::{FAINT, Screen, plain};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, MutexGuard};
use tares_core::metric::MeanStd;

/// Redrawn in place on stderr, at most ten times a second; not drawn at all if stderr is not a terminal.
pub struct LiveTable<'a> {
    screen: &'a Screen,
    runs: &'a [Spec],
    state: Mutex<Vec<Seen>>,
    /// The lines of the table. Below them, `whole` counts the epochs of all runs and `now` names the runs being trained.
    lines: Vec<ProgressBar>,
    whole: ProgressBar,
    now: ProgressBar,
    bars: MultiProgress,
}

/// How far a run has come.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    epochs: usize,
    accuracy: Option<f64>,
    /// Set while the network that makes its noise is trained.
    making_noise: Option<NoiseProgress>,
    /// Set while its noise rate is being estimated.
    estimating: Option<JudgesProgress>,
    under_way: bool,
    finished: bool,
}

impl<'a> LiveTable<'a> {
    /// An empty table for these runs.
    pub fn new(runs: &'a [Spec], screen: &'a Screen) -> Self {
        let bars = screen.bars();
        let text = || {
            let line = bars.add(ProgressBar::new(1));
            line.set_style(ProgressStyle::with_template("{msg}").expect("a fixed template"));
            line
        };
        let state = vec![Seen::default(); runs.len()];
        let lines = grid(runs, &state).iter().map(|_| text()).collect();
        let whole = bars.add(ProgressBar::new(runs.iter().map(|spec| spec.plan.epochs as u64).sum()));
        let style = "  {bar:28} {pos}/{len} epochs, {elapsed} so far, about {eta} left";
        whole.set_style(ProgressStyle::with_template(style).expect("a fixed template").progress_chars("━╸ "));
        let now = bars.add(ProgressBar::new(1));
        now.set_style(ProgressStyle::with_template("  {wide_msg}").expect("a fixed template"));
        let table = Self { screen, runs, state: Mutex::new(state), lines, whole, now, bars };
        table.draw(&table.state());
        table
    }

    /// Removes the table from the screen, because the final one is printed to stdout.
    pub fn clear(&self) {
        // If the terminal cannot be cleared, the old table merely stays visible.
        let _ = self.bars.clear();
        // Otherwise the lines would be drawn once more when they are dropped.
        self.bars.set_draw_target(ProgressDrawTarget::hidden());
    }

    fn state(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn draw(&self, state: &[Seen]) {
        for (line, cells) in self.lines.iter().zip(aligned(&grid(self.runs, state))) {
            let (name, rest) = cells.split_first().expect("a line begins with the name of its row");
            let rest = rest.iter().map(|(text, settled)| match settled {
                true => text.clone(),
                false => self.screen.paint_err(text, FAINT).into_owned(),
            });
            line.set_message(format!("  {}{}", name.0, rest.collect::<String>()));
        }
        let under_way = state.iter().zip(self.runs).filter(|(seen, _)| seen.under_way).map(|(seen, spec)| {
            if let Some(progress) = &seen.making_noise {
                return format!("{}: {progress}", plain(&name(spec)));
            }
            if let Some(JudgesProgress { judge, number, judges, done, total, .. }) = &seen.estimating {
                let far = format!("judge {number} of {judges} ({judge}), step {done} of {total}");
                return format!("{}: estimating the noise rate, {far}", plain(&name(spec)));
            }
            let accuracy = seen.accuracy.map_or(String::new(), |part| format!(", test {:.2} %", 100.0 * part));
            format!("{}: epoch {} of {}{accuracy}", plain(&name(spec)), seen.epochs, spec.plan.epochs)
        });
        self.now.set_message(under_way.collect::<Vec<_>>().join("; "));
    }
}

impl Watch for LiveTable<'_> {
    fn making_noise(&self, run: usize, progress: NoiseProgress) {
        if !self.screen.live && progress.is_worth_a_line() {
            self.screen.note(format!("{}: {progress}", plain(&name(&self.runs[run]))));
        }
        let mut state = self.state();
        (state[run].making_noise, state[run].under_way) = (Some(progress), true);
        self.draw(&state);
    }

    fn estimating(&self, run: usize, progress: JudgesProgress) {
        let mut state = self.state();
        state[run].making_noise = None;
        (state[run].estimating, state[run].under_way) = (Some(progress), true);
        self.draw(&state);
    }

    fn reached(&self, run: usize, epochs: usize, accuracy: Option<f64>) {
        let mut state = self.state();
        let before = state[run].epochs;
        state[run] = Seen { epochs, accuracy, under_way: true, ..Seen::default() };
        self.whole.inc((epochs - before.min(epochs)) as u64);
        // Epochs from a checkpoint took no time, so they must not count in the estimate of the time left.
        if epochs > before + 1 {
            self.whole.reset_eta();
        }
        self.draw(&state);
    }

    fn finished(&self, run: usize, accuracy: Option<f64>) {
        let mut state = self.state();
        let (before, epochs) = (state[run].epochs, self.runs[run].plan.epochs);
        state[run] = Seen { epochs, accuracy, finished: true, ..Seen::default() };
        self.whole.inc((epochs - before.min(epochs)) as u64);
        if before < epochs {
            self.whole.reset_eta();
        }
        self.draw(&state);
    }

    fn stopped(&self, run: usize) {
        let mut state = self.state();
        state[run].under_way = false;
        self.draw(&state);
        self.whole.abandon();
        self.now.abandon();
        self.lines.iter().for_each(ProgressBar::abandon);
    }
}

/// The table as text, line by line; `true` marks a cell that will not change any more.
fn grid(runs: &[Spec], state: &[Seen]) -> Vec<Vec<(String, bool)>> {
    let methods = in_order(runs.iter().map(|spec| spec.called()));
    let noises = in_order(runs.iter().map(|spec| spec.noise.to_string()));
    let mut lines = vec![vec![("method".to_owned(), true)]];
    lines[0].extend(noises.iter().map(|noise| (plain(noise).into_owned(), true)));
    for method in &methods {
        let mut line = vec![(plain(method).into_owned(), true)];
        for noise in &noises {
            let here = |spec: &Spec| spec.called() == *method && spec.noise.to_string() == *noise;
            let seeds: Vec<(&Seen, usize)> = runs
                .iter()
                .zip(state)
                .filter(|(spec, _)| here(spec))
                .map(|(spec, seen)| (seen, spec.plan.epochs))
                .collect();
            line.push((cell(&seeds), seeds.iter().all(|(seen, _)| seen.finished)));
        }
        lines.push(line);
    }
    lines
}

/// `94.51 ± 0.30` when all seeds are finished, `94.40  52 %` before, `·` when none has begun.
fn cell(seeds: &[(&Seen, usize)]) -> String {
    let accuracies: Vec<f64> = seeds.iter().filter_map(|(seen, _)| Some(100.0 * seen.accuracy?)).collect();
    let done: usize = seeds.iter().map(|(seen, _)| seen.epochs).sum();
    let all: usize = seeds.iter().map(|(_, epochs)| epochs).sum();
    let part = 100 * done / all.max(1);
    match MeanStd::of(&accuracies) {
        _ if done == 0 => "·".to_owned(),
        Ok(MeanStd { mean, std, .. }) if seeds.iter().all(|(seen, _)| seen.finished) => match std {
            Some(std) => format!("{mean:.2} ± {std:.2}"),
            None => format!("{mean:.2}"),
        },
        Ok(MeanStd { mean, .. }) => format!("{mean:.2} {part:>3} %"),
        Err(_) => format!("{part:>3} %"),
    }
}

/// Pads the cells with spaces, so that columns are aligned: names to the left, numbers to the right.
fn aligned(grid: &[Vec<(String, bool)>]) -> Vec<Vec<(String, bool)>> {
    let width = |text: &str| console::measure_text_width(text);
    // Columns are as wide as `100.00 ± 10.00` from the start, so that they do not move while cells fill.
    let widest = |column: usize| {
        let least = if column == 0 { 0 } else { 14 };
        grid.iter().map(|line| width(&line[column].0)).max().unwrap_or(0).max(least)
    };
    let widths: Vec<usize> = (0..grid.first().map_or(0, Vec::len)).map(widest).collect();
    let fill = |(column, (text, settled)): (usize, &(String, bool))| {
        let blanks = " ".repeat(widths[column] - width(text));
        let text = if column == 0 { format!("{text}{blanks}") } else { format!("   {blanks}{text}") };
        (text, *settled)
    };
    grid.iter().map(|line| line.iter().enumerate().map(fill).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::experiment::Experiment;
    use crate::run::load::Load;
    use crate::run::noise_rate::NoiseRate;
    use crate::run::spec_file::VERSION;
    use tares::Plan;

    fn runs() -> Vec<Spec> {
        Experiment {
            version: VERSION,
            data: "digits".into(),
            noises: vec!["symmetric:0.5".parse().unwrap(), "pair:0.35".parse().unwrap()],
            noise_seed: None,
            seeds: vec![1, 2],
            noise_rate: NoiseRate::Known,
            device: "cpu".into(),
            network: None,
            methods: vec!["standard".parse().unwrap(), "npcl".parse().unwrap()],
            load: Load::default(),
            plan: Plan { epochs: 10, ..Plan::default() },
        }
        .runs()
        .unwrap()
    }

    fn text(runs: &[Spec], state: &[Seen]) -> Vec<String> {
        aligned(&grid(runs, state)).iter().map(|line| line.iter().map(|cell| cell.0.as_str()).collect()).collect()
    }

    #[test]
    fn cells_fill_as_runs_get_on() {
        let runs = runs();
        let screen = Screen { json: false, quiet: true, color: false, live: false, width: 100 };
        let table = LiveTable::new(&runs, &screen);
        let position = |noise: &str, method: &str, seed| {
            runs.iter().position(|spec| name(spec) == format!("{noise} {method} seed {seed}")).unwrap()
        };
        table.finished(position("symmetric:0.5", "standard", 1), Some(0.87));
        table.finished(position("symmetric:0.5", "standard", 2), Some(0.89));
        table.finished(position("pair:0.35", "standard", 1), Some(0.76));
        table.reached(position("pair:0.35", "standard", 2), 5, Some(0.80));
        table.reached(position("symmetric:0.5", "npcl", 1), 0, None);
        let expected = [
            "method      symmetric:0.5        pair:0.35",
            "standard     88.00 ± 1.41       78.00  75 %",
            "npcl                    ·                ·",
        ];
        let shown = text(&runs, &table.state());
        let squeeze = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(shown.iter().map(|line| squeeze(line)).collect::<Vec<_>>(), expected.map(squeeze));
        let widths: Vec<usize> = shown.iter().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{shown:#?}");
        let settled: Vec<bool> = grid(&runs, &table.state())[1].iter().map(|cell| cell.1).collect();
        assert_eq!(settled, [true, true, false]);
        assert_eq!(table.whole.position(), 35, "three whole runs and half of one");
    }

    #[test]
    fn a_resumed_run_counts_each_epoch_once() {
        let runs = runs();
        let screen = Screen { json: false, quiet: true, color: false, live: false, width: 100 };
        let table = LiveTable::new(&runs, &screen);
        table.reached(0, 4, None);
        table.reached(0, 5, Some(0.5));
        table.finished(0, Some(0.6));
        assert_eq!(table.whole.position(), 10);
    }
}
