//! [`Plan`]: how long, how fast and on what kind of batches any method trains.

use crate::augment::Augment;
use crate::error::Result;
use crate::normalise::Normalise;
use crate::optimiser::Optimiser;
use crate::schedule::Schedule;
use serde::{Deserialize, Serialize};
use tares_core::Error;

/// More epochs than anybody trains; schedules count exactly up to here.
const MOST_EPOCHS: usize = 1_000_000;

/// What is the same for every method of a comparison.
///
/// The default is the set-up the comparisons share: 200 epochs of Adam 1e-3 in batches of 128, constant for 40 % of
/// the epochs, then linear to 0; pixels scaled to [0, 1] and nothing else.
///
/// ```
/// use tares::Plan;
/// let plan = Plan { epochs: 60, seed: 1, ..Plan::default() };
/// plan.check()?;
/// assert!(Plan { batch: 0, ..plan }.check().is_err());
/// # Ok::<(), tares::Error>(())
/// ```
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(from = "PlanFile")]
pub struct Plan {
    /// Passes over the data.
    pub epochs: usize,
    /// Rows per step.
    pub batch: usize,
    /// Where every random number of the run comes from.
    pub seed: u64,
    /// How weights follow their gradients.
    pub optimiser: Optimiser,
    /// How the learning rate moves. A file that names none gets what is usual with its optimiser ([`Schedule::usual`]).
    pub schedule: Schedule,
    /// How pictures are varied in training.
    pub augment: Augment,
    /// How inputs are shifted and scaled.
    pub normalise: Normalise,
    /// The quirks of the original comparisons that change numbers: dropout inactive, scale of batch norm drawn from
    /// U(0, 1), the last partial batch dropped in training and in test, at most 401 batches per epoch; Co-teaching+ takes the
    /// cross-entropy of probabilities. (Their noise is always drawn with seed 0; the caller who corrupts the labels decides that.)
    pub quirks: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            epochs: 200,
            batch: 128,
            seed: 1,
            optimiser: Optimiser::default(),
            schedule: Schedule::default(),
            augment: Augment::default(),
            normalise: Normalise::default(),
            quirks: false,
        }
    }
}

/// A [`Plan`] as a file holds it: what is missing is filled in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PlanFile {
    epochs: usize,
    batch: usize,
    seed: u64,
    optimiser: Optimiser,
    schedule: Option<Schedule>,
    augment: Augment,
    normalise: Normalise,
    quirks: bool,
}

impl Default for PlanFile {
    fn default() -> Self {
        let Plan { epochs, batch, seed, optimiser, augment, normalise, quirks, .. } = Plan::default();
        Self { epochs, batch, seed, optimiser, schedule: None, augment, normalise, quirks }
    }
}

impl From<PlanFile> for Plan {
    fn from(file: PlanFile) -> Self {
        let PlanFile { epochs, batch, seed, optimiser, schedule, augment, normalise, quirks } = file;
        let schedule = schedule.unwrap_or_else(|| Schedule::usual(&optimiser, epochs));
        Self { epochs, batch, seed, optimiser, schedule, augment, normalise, quirks }
    }
}

impl Plan {
    /// Refuses values outside their domain.
    ///
    /// # Errors
    /// The first value that is outside, by name.
    pub fn check(&self) -> Result<()> {
        if self.epochs == 0 {
            return Err(Error::value("epochs", "at least 1", self.epochs).into());
        }
        if self.epochs > MOST_EPOCHS {
            return Err(Error::value("epochs", format!("at most {MOST_EPOCHS}"), self.epochs).into());
        }
        if self.batch < 2 {
            return Err(Error::value("batch", "at least 2", self.batch).into());
        }
        self.optimiser.check()?;
        self.schedule.check()?;
        self.augment.check()?;
        self.normalise.check()
    }

    /// The learning rate in `epoch`, from 0.
    pub fn learning_rate(&self, epoch: usize) -> f64 {
        self.optimiser.learning_rate() * self.schedule.factor(epoch, self.epochs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_are_errors_and_missing_ones_are_defaults() {
        let plan: Plan = serde_json::from_str(r#"{"epochs": 3, "optimiser": {"sgd": {"lr": 0.1}}}"#).unwrap();
        assert_eq!((plan.epochs, plan.batch), (3, 128));
        assert_eq!(plan.learning_rate(0), 0.1);
        let error = serde_json::from_str::<Plan>(r#"{"epoch": 3}"#).unwrap_err().to_string();
        assert!(error.contains("`epoch`") && error.contains("`epochs`"), "{error}");
    }

    #[test]
    fn sgd_does_not_inherit_the_schedule_of_adam() {
        let read = |text: &str| serde_json::from_str::<Plan>(text).unwrap().schedule.to_string();
        assert_eq!(read(r#"{"epochs": 120, "optimiser": {"sgd": {}}}"#), "step:40-80:0.1");
        assert_eq!(read(r#"{"optimiser": {"sgd": {}}, "schedule": "cosine"}"#), "cosine");
        assert_eq!(read(r#"{"epochs": 120}"#), "co-teaching:0.4");
    }

    #[test]
    fn a_plan_survives_its_file() {
        let plan = Plan { schedule: Schedule::Step { at: vec![40], factor: 0.1 }, ..Plan::default() };
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }

    #[test]
    fn refuses_impossible_values_by_name() {
        let wrong = |plan: Plan| plan.check().unwrap_err().to_string();
        assert_eq!(wrong(Plan { epochs: 0, ..Plan::default() }), "epochs must be at least 1, got 0");
        assert!(wrong(Plan { epochs: usize::MAX, ..Plan::default() }).starts_with("epochs must be at most 1000000"));
        assert_eq!(wrong(Plan { batch: 1, ..Plan::default() }), "batch must be at least 2, got 1");
    }
}
