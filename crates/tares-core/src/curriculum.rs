//! The curriculum losses: a threshold for Algorithm 1, and what follows from it.
//!
//! With base losses l, the number e of misclassified samples (margin below 0) and the batch size m:
//!
//! ```text
//! loss(u) = min over v in {0,1}^m of  max( Σ v_i l(u_i) ,  C − Σ v_i )
//! ```
//!
//! | name | C | bound |
//! |---|---|---|
//! | E ("scaled bound")      | m                     | J ≤ 2E ≤ 2Ĵ, E ≤ Q |
//! | Q ("tighter bound", CL) | m + e                 | J ≤ Q ≤ Ĵ |
//! | NPCL fixed              | (1−r) m               | E on what is left after pruning the r·m largest losses |
//! | NPCL adaptive           | (1−r)² m + (1−r) e    | r = 0 is Q |
//! | custom                  | c·m, c in [0, 2]      | a prior of the user's |
//!
//! J is the number of misclassified samples, Ĵ the plain sum of base losses. Batched forms add up the batches'
//! losses; they lie between the full form and Ĵ.

use crate::dataset::Label;
use crate::error::{Error, Result, same_length, unit_interval};
use crate::named::Named;
use crate::select::{Extra, Real, Selection, Selector};
use std::fmt;
use std::str::FromStr;

/// How the selection threshold C follows from a batch: `e`, `q`, `npcl-fixed:0.3`, `npcl:0.3`, `custom:1.2`.
///
/// ```
/// use tares_core::Threshold;
/// let npcl: Threshold = "npcl:0.25".parse()?;
/// assert_eq!(npcl.value(8, 3), 6.75); // (1−r)² m + (1−r) e
/// assert_eq!(Threshold::Q.value(8, 3), 11.0);
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
#[non_exhaustive]
pub enum Threshold {
    /// The paper's E: C = m.
    E,
    /// The paper's Q, "CL" in its tables: C = m + e.
    Q,
    /// NPCL with a fixed threshold: C = (1−r) m.
    NpclFixed {
        /// The noise rate r, in [0, 1].
        rate: f64,
    },
    /// NPCL with the adaptive threshold, the default: C = (1−r)² m + (1−r) e.
    Npcl {
        /// The noise rate r, in [0, 1].
        rate: f64,
    },
    /// A prior of the user's: C = `per_sample` · m.
    Custom {
        /// C per sample, in [0, 2].
        per_sample: f64,
    },
}

/// The names, as they are written.
pub const NAMES: [&str; 5] = ["e", "q", "npcl-fixed", "npcl", "custom"];

impl Threshold {
    /// C for a batch of `samples`, of which `misclassified` have a negative margin.
    pub fn value(&self, samples: usize, misclassified: usize) -> f64 {
        let (m, e) = (samples as f64, misclassified as f64);
        match *self {
            Self::E => m,
            Self::Q => m + e,
            Self::NpclFixed { rate } => (1.0 - rate) * m,
            Self::Npcl { rate } => (1.0 - rate) * (1.0 - rate) * m + (1.0 - rate) * e,
            Self::Custom { per_sample } => per_sample * m,
        }
    }

    /// The same kind with another noise rate; kinds without one stay what they are.
    #[must_use]
    pub fn with_rate(self, rate: f64) -> Self {
        match self {
            Self::NpclFixed { .. } => Self::NpclFixed { rate },
            Self::Npcl { .. } => Self::Npcl { rate },
            other => other,
        }
    }

    /// Checks the parameter, if there is one.
    ///
    /// # Errors
    /// A rate outside [0, 1]; a custom threshold outside [0, 2] per sample, where the partial optimisation is defined.
    pub fn check(self) -> Result<Self> {
        match self {
            Self::NpclFixed { rate } | Self::Npcl { rate } => unit_interval("noise rate", rate)?,
            Self::Custom { per_sample } if !(0.0..=2.0).contains(&per_sample) => {
                return Err(Error::value("custom threshold per sample", "in [0, 2]", per_sample));
            }
            _ => {}
        }
        Ok(self)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::E => f.write_str("e"),
            Self::Q => f.write_str("q"),
            Self::NpclFixed { rate } => write!(f, "npcl-fixed:{rate}"),
            Self::Npcl { rate } => write!(f, "npcl:{rate}"),
            Self::Custom { per_sample } => write!(f, "custom:{per_sample}"),
        }
    }
}

impl FromStr for Threshold {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Named::parse("threshold", text)?;
        match named.name {
            "e" => named.plain(Self::E),
            "q" => named.plain(Self::Q),
            "npcl-fixed" => Self::NpclFixed { rate: named.number()? }.check(),
            "npcl" => Self::Npcl { rate: named.number()? }.check(),
            "custom" => Self::Custom { per_sample: named.number()? }.check(),
            _ => Err(named.unknown(&NAMES)),
        }
    }
}

crate::named::as_text!(Threshold);

/// A curriculum loss: threshold, T+1 rule, one selection for all or one per class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curriculum {
    /// Where C comes from.
    pub threshold: Threshold,
    /// Whether one more sample is kept when there is slack.
    pub extra: Extra,
    /// One threshold per class (by given label), so that rare or slowly learnt classes are not pruned away. The
    /// classes are groups like batches: J ≤ Q ≤ Q by class ≤ Ĵ.
    pub balanced: bool,
}

impl Curriculum {
    /// A curriculum with this threshold, exactly as Algorithm 1 selects.
    pub fn new(threshold: Threshold) -> Self {
        Self { threshold, extra: Extra::Never, balanced: false }
    }

    /// Which samples of a batch carry gradient, and the loss's value.
    ///
    /// `losses` are the base losses, `wrong` says which samples are misclassified (u < 0), `labels` are the given ones.
    ///
    /// ```
    /// use tares_core::{Curriculum, Selector, Threshold};
    /// let cl = Curriculum::new(Threshold::Q);
    /// let mut selector = Selector::new();
    /// let chosen = cl.select(&mut selector, &[0.0f32, 2.5, 0.5], &[false, true, false], &[0, 1, 0], 2)?;
    /// assert_eq!(chosen.kept, [0, 2]); // C = 3 + 1: 0 ≤ 4, 0.5 ≤ 3, but 3 > 2
    /// assert_eq!(chosen.objective, 2.0);
    /// # Ok::<(), tares_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Lengths that differ; labels outside 0..`classes`; bad losses or parameters.
    pub fn select<'s, R: Real>(
        &self,
        selector: &'s mut Selector,
        losses: &[R],
        wrong: &[bool],
        labels: &[Label],
        classes: usize,
    ) -> Result<Selection<'s>> {
        let threshold = self.threshold.check()?;
        same_length("misclassified marks", losses.len(), wrong.len())?;
        if !self.balanced {
            let misclassified = wrong.iter().filter(|wrong| **wrong).count();
            return selector.select(losses, threshold.value(losses.len(), misclassified), self.extra);
        }
        same_length("labels", losses.len(), labels.len())?;
        selector.select_by_class(losses, labels, classes, self.extra, |_, members| {
            let misclassified = members.iter().filter(|&&position| wrong[position as usize]).count();
            threshold.value(members.len(), misclassified)
        })
    }

    /// The full form: the loss of all samples as one batch.
    ///
    /// # Errors
    /// As [`select`](Self::select).
    pub fn value(&self, losses: &[f64], wrong: &[bool], labels: &[Label], classes: usize) -> Result<f64> {
        Ok(self.select(&mut Selector::new(), losses, wrong, labels, classes)?.objective)
    }

    /// The batched form: the sum of the losses of consecutive batches of `batch` samples, the last one shorter.
    ///
    /// # Errors
    /// As [`select`](Self::select); a batch size of 0.
    pub fn batched_value(
        &self,
        losses: &[f64],
        wrong: &[bool],
        labels: &[Label],
        classes: usize,
        batch: usize,
    ) -> Result<f64> {
        if batch == 0 {
            return Err(Error::value("batch size", "at least 1", 0));
        }
        same_length("misclassified marks", losses.len(), wrong.len())?;
        same_length("labels", losses.len(), labels.len())?;
        let mut selector = Selector::new();
        let batches = losses.chunks(batch).zip(wrong.chunks(batch)).zip(labels.chunks(batch));
        let mut total = 0.0;
        for ((losses, wrong), labels) in batches {
            total += self.select(&mut selector, losses, wrong, labels, classes)?.objective;
        }
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in ["e", "q", "npcl-fixed:0.3", "npcl:0.25", "custom:1.5"] {
            assert_eq!(text.parse::<Threshold>().unwrap().to_string(), text);
        }
        let say = |text: &str| text.parse::<Threshold>().unwrap_err().to_string();
        assert_eq!(say("npcl:1.2"), "noise rate must be in [0, 1], got 1.2");
        assert_eq!(say("npcl"), "parameter of threshold npcl must be a number, as in npcl:0.5, got none");
        assert_eq!(say("q:3"), "threshold q must be written without a parameter, got 3");
        assert_eq!(say("nppcl:0.3"), "unknown threshold 'nppcl': did you mean npcl?");
        assert_eq!(say("custom:2.5"), "custom threshold per sample must be in [0, 2], got 2.5");
    }

    #[test]
    fn a_balanced_curriculum_keeps_every_class() {
        // Class 1 is rare and badly learnt: together, all of it is pruned; class by class, half of it stays.
        let losses = [0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 3.0, 1.0];
        let labels = [0, 0, 0, 0, 0, 0, 1, 1];
        let wrong = [false; 8];
        let mut curriculum = Curriculum::new(Threshold::NpclFixed { rate: 0.25 });
        let mut selector = Selector::new();
        let together = curriculum.select(&mut selector, &losses, &wrong, &labels, 2).unwrap();
        assert_eq!(together.kept, [0, 1, 2, 3, 4, 5]);
        curriculum.balanced = true;
        let by_class = curriculum.select(&mut selector, &losses, &wrong, &labels, 2).unwrap();
        assert!(by_class.kept.contains(&7), "{:?}", by_class.kept);
    }
}
