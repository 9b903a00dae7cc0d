//! How the learning rate and the forget rate move over the epochs: pure functions of the epoch.

use crate::error::Result;
use crate::optimiser::Optimiser;
use crate::text_or_table::text_or_table;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;
use tares_core::Error;

/// The learning rate over the epochs, as a factor of the optimiser's own; epochs count from 0.
///
/// As text `constant`, `cosine`, `co-teaching:0.4`, `step:40-80:0.1`; in files that text or a table.
///
/// ```
/// use tares::Schedule;
/// let schedule: Schedule = "co-teaching:0.4".parse()?;
/// assert_eq!(schedule.factor(79, 200), 1.0);
/// assert_eq!(schedule.factor(140, 200), 0.5);
/// assert_eq!((schedule.beta1(79, 200, 0.9), schedule.beta1(80, 200, 0.9)), (0.9, 0.1));
/// # Ok::<(), tares::Error>(())
/// ```
#[derive(Serialize, Clone, Debug, PartialEq)]
#[serde(into = "String")]
pub enum Schedule {
    /// Never changes.
    Constant,
    /// Constant for the fraction `hold` of the epochs, then linear to 0 at the end, where beta1 of Adam is 0.1:
    /// `hold` = 0.4 is epoch 80 of 200 (MNIST, CIFAR-10), 0.5 is epoch 100 of 200 (CIFAR-100).
    CoTeaching {
        /// The fraction of the epochs before the decay.
        hold: f64,
    },
    /// Multiplied by `factor` at each of the epochs `at`.
    Step {
        /// The epochs, from 0.
        at: Vec<usize>,
        /// What the rate is multiplied by.
        factor: f64,
    },
    /// Half a cosine from 1 to 0.
    Cosine,
}

impl Default for Schedule {
    fn default() -> Self {
        Self::CoTeaching { hold: 0.4 }
    }
}

/// The names, as they are written.
const NAMES: [&str; 4] = ["constant", "co-teaching", "step", "cosine"];

impl Schedule {
    /// What is usual with an optimiser, unless a plan says otherwise. Adam: that of the Co-teaching comparisons. SGD: a tenth after
    /// a third and after two thirds of the epochs, as RoG's authors train on CIFAR-10.
    pub fn usual(optimiser: &Optimiser, epochs: usize) -> Self {
        match optimiser {
            Optimiser::Adam(_) => Self::default(),
            Optimiser::Sgd(_) => {
                let mut at: Vec<usize> = [1, 2].map(|third| (third * epochs + 1) / 3).into();
                at.dedup();
                at.retain(|&epoch| epoch > 0 && epoch < epochs);
                Self::Step { at, factor: 0.1 }
            }
        }
    }

    /// The steps that a run of so many epochs does not reach.
    pub fn beyond(&self, epochs: usize) -> Vec<usize> {
        match self {
            Self::Step { at, .. } => at.iter().copied().filter(|&step| step >= epochs).collect(),
            _ => Vec::new(),
        }
    }

    /// What the learning rate is multiplied by in `epoch` of `epochs`.
    pub fn factor(&self, epoch: usize, epochs: usize) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::CoTeaching { hold } => match decay_start(*hold, epochs) {
                start if epoch < start => 1.0,
                start => epochs.saturating_sub(epoch) as f64 / (epochs - start).max(1) as f64,
            },
            Self::Step { at, factor } => factor.powi(at.iter().filter(|&&step| step <= epoch).count() as i32),
            Self::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * epoch as f64 / epochs.max(1) as f64).cos()),
        }
    }

    /// Adam's beta1 in `epoch` of `epochs`, when the optimiser's own is `beta1`.
    pub fn beta1(&self, epoch: usize, epochs: usize, beta1: f64) -> f64 {
        match self {
            Self::CoTeaching { hold } if epoch >= decay_start(*hold, epochs) => 0.1,
            _ => beta1,
        }
    }

    /// Refuses values outside their domain.
    ///
    /// # Errors
    /// A fraction outside [0, 1]; a factor outside (0, 1].
    pub fn check(&self) -> Result<()> {
        match self {
            Self::CoTeaching { hold } if !(0.0..=1.0).contains(hold) => {
                Err(Error::value("schedule's hold", "a fraction in [0, 1]", hold).into())
            }
            Self::Step { factor, .. } if !(*factor > 0.0 && *factor <= 1.0) => {
                Err(Error::value("schedule's factor", "in (0, 1]", factor).into())
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Cosine => f.write_str("cosine"),
            Self::CoTeaching { hold } => write!(f, "co-teaching:{hold}"),
            Self::Step { at, factor } => {
                let at: Vec<String> = at.iter().map(usize::to_string).collect();
                write!(f, "step:{}:{factor}", at.join("-"))
            }
        }
    }
}

impl FromStr for Schedule {
    type Err = crate::error::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, numbers) = match text.trim().split_once(':') {
            Some((name, numbers)) => (name, Some(numbers)),
            None => (text.trim(), None),
        };
        let wrong = |allowed: &str| Error::value("schedule", allowed, text);
        let schedule = match (name, numbers) {
            ("constant", None) => Self::Constant,
            ("cosine", None) => Self::Cosine,
            ("co-teaching", None) => Self::default(),
            ("co-teaching", Some(hold)) => {
                Self::CoTeaching { hold: hold.parse().map_err(|_| wrong("written as in co-teaching:0.4"))? }
            }
            ("step", Some(numbers)) => {
                let wrong = || wrong("written as in step:40-80, or step:40-80:0.1 with the factor");
                let (at, factor) = match numbers.split_once(':') {
                    Some((at, factor)) => (at, factor.parse().map_err(|_| wrong())?),
                    None => (numbers, 0.1),
                };
                if numbers.is_empty() {
                    return Err(wrong().into());
                }
                // No epoch but a factor, `step::0.1`, is a schedule too: the usual one of a short run.
                let at = at.split('-').filter(|_| !at.is_empty()).map(|epoch| epoch.parse().map_err(|_| wrong()));
                Self::Step { at: at.collect::<std::result::Result<_, Error>>()?, factor }
            }
            ("step", None) => return Err(wrong("written as in step:40-80").into()),
            ("constant" | "cosine", Some(_)) => return Err(wrong("written without numbers").into()),
            _ => return Err(Error::unknown("schedule", name, &NAMES).into()),
        };
        schedule.check()?;
        Ok(schedule)
    }
}

impl From<Schedule> for String {
    fn from(schedule: Schedule) -> Self {
        schedule.to_string()
    }
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let expected = "a schedule such as \"co-teaching:0.4\", or a table with its name and numbers";
        text_or_table::<_, _, ScheduleTable>(deserializer, expected)
    }
}

/// A [`Schedule`] as a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
enum ScheduleTable {
    CoTeaching { hold: f64 },
    Step { at: Vec<usize>, factor: f64 },
}

impl From<ScheduleTable> for Schedule {
    fn from(table: ScheduleTable) -> Self {
        match table {
            ScheduleTable::CoTeaching { hold } => Self::CoTeaching { hold },
            ScheduleTable::Step { at, factor } => Self::Step { at, factor },
        }
    }
}

fn decay_start(hold: f64, epochs: usize) -> usize {
    (hold * epochs as f64).round() as usize
}

/// The forget rate R(e) of the small-loss methods: linear from 0 to `rate` over the first `ramp` epochs, then `rate`.
///
/// ```
/// use tares::schedule::forget_rate;
/// assert_eq!(forget_rate(0.5, 11, 0), 0.0);
/// assert_eq!(forget_rate(0.5, 11, 5), 0.25);
/// assert_eq!(forget_rate(0.5, 11, 10), 0.5);
/// assert_eq!(forget_rate(0.5, 11, 100), 0.5);
/// assert_eq!(forget_rate(0.5, 0, 0), 0.5);
/// ```
pub fn forget_rate(rate: f64, ramp: usize, epoch: usize) -> f64 {
    // As `linspace(0, rate, ramp)`: the last epoch of the ramp has the full rate.
    if epoch.saturating_add(1) >= ramp { rate } else { rate * epoch as f64 / (ramp - 1) as f64 }
}

/// How many of `m` samples the forget rate leaves: ⌊(1 − R) m⌋.
pub fn keep_count(forget: f64, m: usize) -> usize {
    // In floating point (1 − 0.3) · 10 is 6.999…; the small term makes its floor 7.
    (((1.0 - forget) * m as f64 + 1e-9).floor() as usize).min(m)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_starts_at_1_and_never_rises() {
        for schedule in [
            Schedule::Constant,
            Schedule::CoTeaching { hold: 0.4 },
            Schedule::CoTeaching { hold: 1.0 },
            Schedule::Step { at: vec![3, 7], factor: 0.1 },
            Schedule::Cosine,
        ] {
            let factors: Vec<f64> = (0..10).map(|epoch| schedule.factor(epoch, 10)).collect();
            assert_eq!(factors[0], 1.0, "{schedule:?}");
            assert!(factors.windows(2).all(|pair| pair[1] <= pair[0] && pair[1] > 0.0), "{schedule:?}: {factors:?}");
        }
    }

    #[test]
    fn steps_multiply() {
        let schedule = Schedule::Step { at: vec![40, 80], factor: 0.1 };
        let factors = [39, 40, 79, 80].map(|epoch| schedule.factor(epoch, 120));
        assert_eq!(factors, [1.0, 0.1, 0.1, 0.1f64.powi(2)]);
        assert_eq!(schedule.beta1(100, 120, 0.9), 0.9);
    }

    #[test]
    fn steps_that_a_run_does_not_reach_are_known() {
        let schedule: Schedule = "step:10-60-80".parse().unwrap();
        assert_eq!(schedule.beyond(60), [60, 80], "epochs count from 0");
        assert_eq!(schedule.beyond(81), [0; 0]);
        assert_eq!(Schedule::Cosine.beyond(1), [0; 0]);
    }

    #[test]
    fn schedules_survive_their_text_and_files_take_tables_too() {
        for text in ["constant", "cosine", "co-teaching:0.5", "step:40-80:0.1", "step:7:0.25", "step::0.1"] {
            let schedule: Schedule = text.parse().unwrap();
            assert_eq!(schedule.to_string(), text);
            let file = serde_json::to_string(&schedule).unwrap();
            assert_eq!(serde_json::from_str::<Schedule>(&file).unwrap(), schedule, "{file}");
        }
        let read = |text: &str| serde_json::from_str::<Schedule>(text).unwrap();
        assert_eq!(read(r#"{"co-teaching": {"hold": 0.5}}"#), "co-teaching:0.5".parse().unwrap());
        assert_eq!(read(r#"{"step": {"at": [40, 80], "factor": 0.1}}"#), "step:40-80".parse().unwrap());
        let say = |text: &str| text.parse::<Schedule>().unwrap_err().to_string();
        assert!(say("cosin").contains("did you mean cosine?"), "{}", say("cosin"));
        for bad in ["step", "step:", "step:a", "step:4:x", "step:4:2", "co-teaching:2", "co-teaching:", "cosine:3", ""]
        {
            assert!(bad.parse::<Schedule>().is_err(), "{bad}");
        }
    }

    #[test]
    fn sgd_steps_down_at_its_thirds_and_adam_is_held_then_falls() {
        let sgd = |epochs| Schedule::usual(&Optimiser::Sgd(Default::default()), epochs).to_string();
        assert_eq!(
            [120, 60, 3, 2, 1].map(sgd),
            ["step:40-80:0.1", "step:20-40:0.1", "step:1-2:0.1", "step:1:0.1", "step::0.1"]
        );
        assert_eq!(Schedule::usual(&Optimiser::default(), 60), Schedule::default());
    }

    #[test]
    fn keep_count_is_the_exact_floor() {
        assert_eq!(keep_count(0.3, 10), 7);
        assert_eq!(keep_count(0.35, 128), 83);
        assert_eq!(keep_count(0.0, 5), 5);
        assert_eq!(keep_count(1.0, 5), 0);
    }

    #[test]
    fn refuses_what_is_outside_its_domain() {
        assert!(Schedule::CoTeaching { hold: 1.5 }.check().unwrap_err().to_string().contains("1.5"));
        assert!(Schedule::Step { at: vec![], factor: 0.0 }.check().is_err());
        assert!(Schedule::default().check().is_ok());
    }
}
