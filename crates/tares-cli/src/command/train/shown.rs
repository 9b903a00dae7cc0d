//! [`Shown`]: a training's progress on the screen.

use crate::learner::Learner;
use crate::run::noise_rate::sensitivity;
use crate::run::spec::Spec;
use crate::run::train::Event;
use crate::ui::judges_bar::{judges_bar, show_judge};
use crate::ui::terminal::{Screen, epoch_bar, plain, work_bar};
use indicatif::{MultiProgress, ProgressBar};
use std::sync::OnceLock;

/// A run's progress on the screen: one bar while the noise rate is estimated, then one that counts epochs,
/// and one that counts pictures while they arrive.
pub(super) struct Shown<'a> {
    spec: &'a Spec,
    screen: &'a Screen,
    bars: MultiProgress,
    judges: ProgressBar,
    arriving: OnceLock<ProgressBar>,
    epochs: OnceLock<ProgressBar>,
}

impl<'a> Shown<'a> {
    pub(super) fn new(spec: &'a Spec, screen: &'a Screen) -> Self {
        let bars = screen.bars();
        let judges = judges_bar(&bars);
        Self { spec, screen, bars, judges, arriving: OnceLock::new(), epochs: OnceLock::new() }
    }

    pub(super) fn hear(&self, event: Event<'_>) {
        let (spec, screen) = (self.spec, self.screen);
        match event {
            Event::MakingNoise(progress) => {
                self.judges.set_prefix(progress.to_string());
                self.judges.set_length(progress.epochs as u64);
                self.judges.set_position(progress.done as u64);
                if !screen.live && progress.is_worth_a_line() {
                    screen.note(progress.to_string());
                }
            }
            Event::Judging(what, progress) => {
                show_judge(&self.judges, what, &progress, screen);
            }
            Event::Arriving { arrived, of } => {
                let bar = self.arriving.get_or_init(|| work_bar(&self.bars, "decoding"));
                bar.set_message(format!("{arrived} of {of} pictures"));
                if arrived == of {
                    bar.finish_and_clear();
                }
            }
            Event::Ready { network, parameters, rate, realised, done } => {
                self.judges.finish_and_clear();
                let size = if parameters == 0 { String::new() } else { format!(", {parameters} parameters") };
                screen.note(format!("network {network}{size}; seed {}", spec.plan.seed));
                if let Some(realised) = realised {
                    screen.note(format!(
                        "{:.2} % of the labels are wrong: they differ from the known truth",
                        100.0 * realised
                    ));
                }
                if let Some(rate) = rate {
                    let interval =
                        rate.interval.map_or(String::new(), |(low, high)| format!(", likely {low:.3} to {high:.3}"));
                    screen.note(format!("noise rate {:.3} ({}{interval})", rate.value, rate.source));
                    match &rate.warning {
                        // `sensitivity` assumes that the rate is roughly right; here it may not be.
                        Some(warning) => screen.warning(format!("{}; --noise-rate R sets the rate", plain(warning))),
                        None if rate.interval.is_some() => screen.note(format!("  {}", sensitivity(rate.value))),
                        None => {}
                    }
                }
                if done > 0 {
                    screen.note(format!("continuing after epoch {done}"));
                }
                self.bar().set_position(done as u64);
            }
            Event::Epoch(epoch) => {
                let accuracy = epoch.test_accuracy.map_or("–".to_owned(), |value| format!("{:.2} %", 100.0 * value));
                self.bar().set_position(epoch.epoch as u64);
                self.bar().set_message(format!("test {accuracy}   kept {:.0} %", 100.0 * epoch.kept_fraction));
                let epochs = spec.plan.epochs;
                match &spec.network {
                    Some(Learner::Columns(_)) => {}
                    _ if screen.live => {}
                    _ if epoch.epoch % 10 == 0 || epoch.epoch == epochs => {
                        screen.note(format!("epoch {}/{epochs}: test {accuracy}", epoch.epoch));
                    }
                    _ => {}
                }
            }
        }
    }

    fn bar(&self) -> &ProgressBar {
        let name = self.spec.method.to_string();
        self.epochs.get_or_init(|| epoch_bar(&self.bars, &name, name.len(), self.spec.plan.epochs as u64))
    }

    pub(super) fn clear(&self) {
        self.judges.finish_and_clear();
        [&self.arriving, &self.epochs].iter().filter_map(|bar| bar.get()).for_each(ProgressBar::finish_and_clear);
    }
}
