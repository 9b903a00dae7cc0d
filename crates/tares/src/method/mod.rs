//! The methods. One file each, with its parameters and one whole training loop; [`Method`] names them.
//!
//! All loops use the same few verbs of a run: `next_epoch`, `batches`, `begin_step`, `see`, `keep`, `step`, `end_epoch`.
//! Only rows of the training data and their *given* labels are used; the truth serves to report label precision and
//! recall, and nothing else (the one exception, a trusted part for MentorNet, says so).

mod co_teaching;
mod co_teaching_plus;
mod curriculum;
mod d2l;
mod elr;
mod jocor;
mod mentornet;
mod plain_loss;
mod rog;
mod self_paced;
mod small_loss;
mod tares;
mod truncated_gce;
mod written;

pub use co_teaching::CoTeaching;
pub use co_teaching_plus::CoTeachingPlus;
pub use curriculum::{Bound, Cl, Npcl};
pub use d2l::{D2l, local_dimension};
pub use elr::Elr;
pub use jocor::JoCoR;
pub use mentornet::MentorNet;
pub use plain_loss::{Gce, PlainLoss};
pub use rog::{Rog, RogHead};
pub use self_paced::SelfPaced;
pub use tares::Tares;
pub use truncated_gce::TruncatedGce;
pub use written::{Methods, Parameter, Rate};

use crate::error::Result;
use crate::loss::SampleLoss;
use crate::network::Classifier;
use crate::run::Run;
use serde::Serialize;
use tares_core::Error;

/// How to learn from labels that may be wrong.
///
/// As text `name`, or `name:key=value,key=value` with the parameters that differ from their defaults; `npcl:0.3` is short
/// for `npcl:rate=0.3`, and `rog:npcl:0.3` is RoG on top of NPCL. In files either that text or a table with every
/// parameter: `{"npcl": {"rate": 0.3, "burn-in": 10}}`.
///
/// ```
/// use tares::Method;
/// let method: Method = "npcl:0.3".parse()?;
/// assert_eq!((method.name(), method.rate()), ("npcl", Some(0.3)));
/// let unknown: Method = "co-teaching".parse()?;
/// assert!(unknown.needs_rate() && unknown.check().is_err());
/// unknown.with_rate(0.5).check()?;
/// # Ok::<(), tares::Error>(())
/// ```
#[derive(Serialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Cross-entropy on all rows: what everything is compared with.
    #[default]
    Standard,
    /// Any other loss on all rows: with a base loss, the paper's Ĵ.
    Loss(PlainLoss),
    /// The curriculum losses E and Q.
    Cl(Cl),
    /// The noise-pruned curriculum loss.
    Npcl(Npcl),
    /// Generalised cross-entropy.
    Gce(Gce),
    /// Generalised cross-entropy on the rows whose label the network still believes.
    TruncatedGce(TruncatedGce),
    /// The smallest losses of each batch ("MentorNet" in these comparisons).
    SelfPaced(SelfPaced),
    /// A small network that weighs the samples of the large one.
    #[serde(rename = "mentornet")]
    MentorNet(MentorNet),
    /// Two networks that choose samples for each other.
    CoTeaching(CoTeaching),
    /// Co-teaching on the samples the two networks disagree about.
    CoTeachingPlus(CoTeachingPlus),
    /// Two networks that choose samples together and are pulled towards each other.
    #[serde(rename = "jocor")]
    JoCoR(JoCoR),
    /// Labels are replaced by predictions, step by step, once the dimension of the features rises.
    D2l(D2l),
    /// Holds the network to its early predictions, against the labels.
    Elr(Elr),
    /// Labels are corrected by the network's remembered predictions.
    Tares(Tares),
    /// A robust head on the features of a network trained by another method.
    Rog(Rog),
}

/// The names, as they are written.
pub const NAMES: [&str; 15] = [
    "standard",
    "loss",
    "cl",
    "npcl",
    "gce",
    "truncated-gce",
    "self-paced",
    "mentornet",
    "co-teaching",
    "co-teaching-plus",
    "jocor",
    "d2l",
    "elr",
    "tares",
    "rog",
];

impl Method {
    /// Its name, without parameters.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Loss(_) => "loss",
            Self::Cl(_) => "cl",
            Self::Npcl(_) => "npcl",
            Self::Gce(_) => "gce",
            Self::TruncatedGce(_) => "truncated-gce",
            Self::SelfPaced(_) => "self-paced",
            Self::MentorNet(_) => "mentornet",
            Self::CoTeaching(_) => "co-teaching",
            Self::CoTeachingPlus(_) => "co-teaching-plus",
            Self::JoCoR(_) => "jocor",
            Self::D2l(_) => "d2l",
            Self::Elr(_) => "elr",
            Self::Tares(_) => "tares",
            Self::Rog(_) => "rog",
        }
    }

    /// What it is, in one line.
    pub fn meaning(&self) -> &'static str {
        match self {
            Self::Standard => "cross-entropy on all rows: what everything is compared with",
            Self::Loss(_) => "any other loss on all rows; with a base loss the paper's Ĵ",
            Self::Cl(_) => "the curriculum loss without pruning",
            Self::Npcl(_) => "the noise-pruned curriculum loss",
            Self::Gce(_) => "generalised cross-entropy",
            Self::TruncatedGce(_) => "generalised cross-entropy on the rows whose label the network still believes",
            Self::SelfPaced(_) => {
                "the smallest losses of each batch: the column \"MentorNet\" of the Co-teaching comparisons"
            }
            Self::MentorNet(_) => "MentorNet proper: a small network weighs the samples of the large one",
            Self::CoTeaching(_) => "two networks that choose samples for each other",
            Self::CoTeachingPlus(_) => "Co-teaching on the samples the two networks disagree about",
            Self::JoCoR(_) => "two networks that choose samples together and are pulled towards each other",
            Self::D2l(_) => "replaces labels by predictions, step by step, once the dimension of the features rises",
            Self::Elr(_) => "holds the network to its early predictions, against the labels",
            Self::Tares(_) => "corrects labels by the network's remembered predictions; needs no noise rate",
            Self::Rog(_) => "a robust head on the features of a network trained by another method",
        }
    }

    /// Its parameters: key and meaning.
    fn meanings(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Standard => &[],
            Self::Loss(_) => PlainLoss::MEANINGS,
            Self::Cl(_) => Cl::MEANINGS,
            Self::Npcl(_) => Npcl::MEANINGS,
            Self::Gce(_) => Gce::MEANINGS,
            Self::TruncatedGce(_) => TruncatedGce::MEANINGS,
            Self::SelfPaced(_) => SelfPaced::MEANINGS,
            Self::MentorNet(_) => MentorNet::MEANINGS,
            Self::CoTeaching(_) => CoTeaching::MEANINGS,
            Self::CoTeachingPlus(_) => CoTeachingPlus::MEANINGS,
            Self::JoCoR(_) => JoCoR::MEANINGS,
            Self::D2l(_) => D2l::MEANINGS,
            Self::Elr(_) => Elr::MEANINGS,
            Self::Tares(_) => Tares::MEANINGS,
            Self::Rog(_) => Rog::MEANINGS,
        }
    }

    /// The method of a name, with its defaults.
    fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "standard" => Self::Standard,
            "loss" => Self::Loss(PlainLoss::default()),
            "cl" => Self::Cl(Cl::default()),
            "cl-e" => Self::Cl(Cl { c: Bound::E, ..Cl::default() }),
            "npcl" => Self::Npcl(Npcl::default()),
            "gce" => Self::Gce(Gce::default()),
            "truncated-gce" => Self::TruncatedGce(TruncatedGce::default()),
            "self-paced" => Self::SelfPaced(SelfPaced::default()),
            "mentornet" => Self::MentorNet(MentorNet::default()),
            "co-teaching" => Self::CoTeaching(CoTeaching::default()),
            "co-teaching-plus" => Self::CoTeachingPlus(CoTeachingPlus::default()),
            "jocor" => Self::JoCoR(JoCoR::default()),
            "d2l" => Self::D2l(D2l::default()),
            "elr" => Self::Elr(Elr::default()),
            "tares" => Self::Tares(Tares::default()),
            "rog" => Self::Rog(Rog::default()),
            _ => return Err(Error::unknown("method", name, &NAMES).into()),
        })
    }

    /// Whether it cannot do without the noise rate.
    pub fn needs_rate(&self) -> bool {
        match self {
            Self::MentorNet(_) => false,
            Self::Rog(rog) => rog.on.needs_rate(),
            _ => self.takes_rate(),
        }
    }

    /// Whether it uses the noise rate if it is told one. (MentorNet otherwise uses its own percentile.)
    pub fn takes_rate(&self) -> bool {
        self.its_rate().is_some()
    }

    /// The noise rate it works with, once it is given.
    pub fn rate(&self) -> Option<f64> {
        self.its_rate().and_then(|rate| rate.given())
    }

    /// The same, told this noise rate: a factor in its name (`npcl:rate=x0.5`) is applied to it. Methods that don't use a
    /// rate are unchanged.
    #[must_use]
    pub fn with_rate(mut self, rate: f64) -> Self {
        if let Some(its) = self.its_rate_mut() {
            *its = its.told(rate);
        }
        self
    }

    /// The same, with exactly this noise rate.
    #[must_use]
    pub fn with_exact_rate(mut self, rate: f64) -> Self {
        if let Some(its) = self.its_rate_mut() {
            *its = Rate::Given(rate);
        }
        self
    }

    fn its_rate(&self) -> Option<Rate> {
        match self {
            Self::Npcl(npcl) => Some(npcl.rate),
            Self::SelfPaced(self_paced) => Some(self_paced.rate),
            Self::CoTeaching(co_teaching) => Some(co_teaching.rate),
            Self::CoTeachingPlus(plus) => Some(plus.rate),
            Self::JoCoR(jocor) => Some(jocor.rate),
            Self::MentorNet(mentornet) => Some(mentornet.rate),
            Self::Rog(rog) => rog.on.its_rate(),
            _ => None,
        }
    }

    fn its_rate_mut(&mut self) -> Option<&mut Rate> {
        match self {
            Self::Npcl(npcl) => Some(&mut npcl.rate),
            Self::SelfPaced(self_paced) => Some(&mut self_paced.rate),
            Self::CoTeaching(co_teaching) => Some(&mut co_teaching.rate),
            Self::CoTeachingPlus(plus) => Some(&mut plus.rate),
            Self::JoCoR(jocor) => Some(&mut jocor.rate),
            Self::MentorNet(mentornet) => Some(&mut mentornet.rate),
            Self::Rog(rog) => rog.on.its_rate_mut(),
            _ => None,
        }
    }

    /// Refuses values outside their domain.
    ///
    /// # Errors
    /// The first value that is outside, by name; a noise rate that is needed and not given.
    pub fn check(&self) -> Result<()> {
        if self.needs_rate() {
            match self.rate() {
                None => {
                    let allowed = format!("given for {self}, as in {}:rate=0.3, or estimated first", self.name());
                    return Err(Error::value("noise rate", allowed, "none").into());
                }
                Some(rate) if !(0.0..1.0).contains(&rate) => {
                    return Err(Error::value("noise rate", "in [0, 1)", rate).into());
                }
                Some(_) => {}
            }
        }
        match self {
            Self::Standard | Self::SelfPaced(_) | Self::CoTeaching(_) | Self::CoTeachingPlus(_) => Ok(()),
            Self::Loss(plain) => plain.check(),
            Self::Cl(cl) => cl.check(),
            Self::Npcl(npcl) => npcl.check(),
            Self::Gce(gce) => gce.check(),
            Self::TruncatedGce(gce) => gce.check(),
            Self::MentorNet(mentornet) => mentornet.check(),
            Self::JoCoR(jocor) => jocor.check(),
            Self::D2l(d2l) => d2l.check(),
            Self::Elr(elr) => elr.check(),
            Self::Tares(tares) => tares.check(),
            Self::Rog(rog) => rog.check(),
        }
    }

    /// Rows of the training data that the loop must not see.
    pub(crate) fn aside(&self, train: &tares_core::Dataset, seed: u64) -> Vec<usize> {
        match self {
            Self::Rog(rog) => rog.aside(train, seed),
            _ => Vec::new(),
        }
    }

    /// The method's loop; the first of the networks it returns is the one that answers.
    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        match self {
            Self::Standard => plain_loss::train_standard(run),
            Self::Loss(plain) => plain.train(run),
            Self::Cl(cl) => cl.train(run),
            Self::Npcl(npcl) => npcl.train(run),
            Self::Gce(gce) => gce.train(run),
            Self::TruncatedGce(gce) => gce.train(run),
            Self::SelfPaced(self_paced) => self_paced.train(run),
            Self::MentorNet(mentornet) => mentornet.train(run),
            Self::CoTeaching(co_teaching) => co_teaching.train(run),
            Self::CoTeachingPlus(plus) => plus.train(run),
            Self::JoCoR(jocor) => jocor.train(run),
            Self::D2l(d2l) => d2l.train(run),
            Self::Elr(elr) => elr.train(run),
            Self::Tares(tares) => tares.train(run),
            Self::Rog(rog) => rog.on.train(run),
        }
    }
}

/// Refuses a number that is not fine.
fn within(what: &str, allowed: &str, value: f64, fine: bool) -> Result<()> {
    if fine { Ok(()) } else { Err(Error::value(what, allowed, value).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_known_and_every_default_is_allowed() {
        for name in NAMES {
            let method = name.parse::<Method>().unwrap().with_rate(0.25);
            assert!(method.check().is_ok(), "{name}");
            assert_eq!(method.name(), name);
        }
    }

    #[test]
    fn a_factor_is_applied_to_whatever_rate_is_told() {
        for name in ["npcl:rate=x0.5", "co-teaching:rate=x0.5", "mentornet:rate=x0.5", "rog:on=self-paced:rate=x0.5"] {
            let method: Method = name.parse().unwrap();
            assert_eq!((method.takes_rate(), method.rate()), (true, None), "{name}");
            assert_eq!(method.clone().with_rate(0.5).rate(), Some(0.25), "{name}");
            assert_eq!(method.with_exact_rate(0.5).rate(), Some(0.5), "{name}");
        }
    }

    #[test]
    fn a_missing_or_impossible_rate_is_an_error_that_says_so() {
        let message = |method: Method| method.check().unwrap_err().to_string();
        let npcl: Method = "npcl".parse().unwrap();
        assert!(message(npcl.clone()).contains("noise rate must be given for npcl, as in npcl:rate=0.3"));
        assert_eq!(message(npcl.with_rate(1.0)), "noise rate must be in [0, 1), got 1");
        let rog: Method = "rog:co-teaching".parse().unwrap();
        assert!(rog.check().is_err());
        assert!(rog.with_rate(0.2).check().is_ok());
    }
}
