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
mod gce;
mod jocor;
mod mentornet;
mod rog;
mod self_paced;
mod small_loss;
mod standard;
mod truncated_gce;

pub use co_teaching::CoTeaching;
pub use co_teaching_plus::CoTeachingPlus;
pub use curriculum::{Bound, Cl, Npcl};
pub use d2l::{D2l, local_dimension};
pub use elr::Elr;
pub use gce::Gce;
pub use jocor::JoCoR;
pub use mentornet::{MentorCurriculum, MentorNet};
pub use rog::{Rog, RogHead};
pub use self_paced::SelfPaced;
pub use truncated_gce::TruncatedGce;

use crate::error::Result;
use crate::network::Classifier;
use crate::run::Run;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;
use tares_core::Error;

/// How to learn from labels that may be wrong.
///
/// As text `name` or `name:number`, where the number is the noise rate for methods that need one, and the method's own
/// number (`gce:0.7`) otherwise; `rog:npcl:0.3` is RoG on top of NPCL. In files either that text or a table with every
/// parameter: `{"npcl": {"rate": 0.3, "burn_in": 10}}`.
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
#[derive(Serialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Cross-entropy on all rows: what everything is compared with.
    Standard,
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
    /// Labels are replaced by answers, step by step, once the dimension of the features rises.
    D2l(D2l),
    /// Holds the network to its early answers, against the labels.
    Elr(Elr),
    /// A robust head on the features of a network trained by another method.
    Rog(Rog),
}

/// The names, as they are written. `cl-e` and `cl-q` are `cl` with that bound.
pub const NAMES: [&str; 15] = [
    "standard",
    "cl",
    "cl-e",
    "cl-q",
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
    "rog",
];

impl Method {
    /// Its name, without parameters.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Cl(Cl { bound: Bound::E, .. }) => "cl-e",
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
            Self::Rog(_) => "rog",
        }
    }

    /// Whether it needs the noise rate.
    pub fn needs_rate(&self) -> bool {
        match self {
            Self::Npcl(_) | Self::SelfPaced(_) | Self::CoTeaching(_) | Self::CoTeachingPlus(_) | Self::JoCoR(_) => true,
            Self::Rog(rog) => rog.on.needs_rate(),
            _ => false,
        }
    }

    /// The noise rate it was given.
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::Npcl(npcl) => npcl.rate,
            Self::SelfPaced(self_paced) => self_paced.rate,
            Self::CoTeaching(co_teaching) => co_teaching.rate,
            Self::CoTeachingPlus(plus) => plus.rate,
            Self::JoCoR(jocor) => jocor.rate,
            Self::MentorNet(mentornet) => mentornet.rate,
            Self::Rog(rog) => rog.on.rate(),
            _ => None,
        }
    }

    /// The same with this noise rate; methods that don't use one are unchanged.
    #[must_use]
    pub fn with_rate(mut self, rate: f64) -> Self {
        match &mut self {
            Self::Npcl(npcl) => npcl.rate = Some(rate),
            Self::SelfPaced(self_paced) => self_paced.rate = Some(rate),
            Self::CoTeaching(co_teaching) => co_teaching.rate = Some(rate),
            Self::CoTeachingPlus(plus) => plus.rate = Some(rate),
            Self::JoCoR(jocor) => jocor.rate = Some(rate),
            Self::MentorNet(mentornet) => mentornet.rate = Some(rate),
            Self::Rog(rog) => *rog.on = rog.on.as_ref().clone().with_rate(rate),
            _ => {}
        }
        self
    }

    /// Refuses values outside their domain.
    ///
    /// # Errors
    /// The first value that is outside, by name; a noise rate that is needed and not given.
    pub fn check(&self) -> Result<()> {
        if self.needs_rate() {
            match self.rate() {
                None => {
                    let allowed = format!("given for {self}, as in {self}:0.3, or estimated first");
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
            Self::Cl(cl) => cl.check(),
            Self::Npcl(npcl) => npcl.check(),
            Self::Gce(gce) => gce.check(),
            Self::TruncatedGce(gce) => gce.check(),
            Self::MentorNet(mentornet) => mentornet.check(),
            Self::JoCoR(jocor) => jocor.check(),
            Self::D2l(d2l) => d2l.check(),
            Self::Elr(elr) => elr.check(),
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
            Self::Standard => standard::train(run),
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
            Self::Rog(rog) => rog.on.train(run),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Rog(rog) => write!(f, ":{}", rog.on),
            Self::Gce(gce) => write!(f, ":{}", gce.q),
            _ => match self.rate() {
                Some(rate) => write!(f, ":{rate}"),
                None => Ok(()),
            },
        }
    }
}

impl FromStr for Method {
    type Err = crate::error::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, argument) = match text.trim().split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text.trim(), None),
        };
        let mut method = match name {
            "standard" => Self::Standard,
            "cl" | "cl-q" => Self::Cl(Cl::default()),
            "cl-e" => Self::Cl(Cl { bound: Bound::E, ..Cl::default() }),
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
            "rog" => Self::Rog(Rog::default()),
            _ => return Err(Error::unknown("method", name, &NAMES).into()),
        };
        let Some(argument) = argument else { return Ok(method) };
        if let Self::Rog(rog) = &mut method {
            // Not by recursion: a name out of a file may say `rog:` a million times.
            if argument.trim_start().starts_with("rog") {
                return Err(Error::value("method under rog", "one that trains a network", "rog").into());
            }
            *rog.on = argument.parse()?;
            return Ok(method);
        }
        let number = || {
            let wrong = |_| Error::value(format!("number of {name}"), format!("as in {name}:0.3"), argument);
            argument.trim().parse::<f64>().map_err(wrong)
        };
        match &mut method {
            Self::Gce(gce) => gce.q = number()?,
            method if method.needs_rate() || matches!(method, Self::MentorNet(_)) => {
                *method = method.clone().with_rate(number()?)
            }
            _ => return Err(Error::value(format!("method {name}"), "written without a number", argument).into()),
        }
        Ok(method)
    }
}

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrTable)
    }
}

/// Reads `"npcl:0.3"` as well as `{"npcl": {"rate": 0.3}}`.
struct TextOrTable;

impl<'de> Visitor<'de> for TextOrTable {
    type Value = Method;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a method's name, or a table with its name and parameters")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Method, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<Method, A::Error> {
        MethodTable::deserialize(MapAccessDeserializer::new(map)).map(Method::from).map_err(A::Error::custom)
    }
}

/// The tables of [`Method`]; `Method` itself cannot derive this because it reads text too.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MethodTable {
    Standard {},
    Cl(Cl),
    Npcl(Npcl),
    Gce(Gce),
    TruncatedGce(TruncatedGce),
    SelfPaced(SelfPaced),
    #[serde(rename = "mentornet")]
    MentorNet(MentorNet),
    CoTeaching(CoTeaching),
    CoTeachingPlus(CoTeachingPlus),
    #[serde(rename = "jocor")]
    JoCoR(JoCoR),
    D2l(D2l),
    Elr(Elr),
    Rog(Rog),
}

impl From<MethodTable> for Method {
    fn from(table: MethodTable) -> Self {
        match table {
            MethodTable::Standard {} => Self::Standard,
            MethodTable::Cl(cl) => Self::Cl(cl),
            MethodTable::Npcl(npcl) => Self::Npcl(npcl),
            MethodTable::Gce(gce) => Self::Gce(gce),
            MethodTable::TruncatedGce(gce) => Self::TruncatedGce(gce),
            MethodTable::SelfPaced(self_paced) => Self::SelfPaced(self_paced),
            MethodTable::MentorNet(mentornet) => Self::MentorNet(mentornet),
            MethodTable::CoTeaching(co_teaching) => Self::CoTeaching(co_teaching),
            MethodTable::CoTeachingPlus(plus) => Self::CoTeachingPlus(plus),
            MethodTable::JoCoR(jocor) => Self::JoCoR(jocor),
            MethodTable::D2l(d2l) => Self::D2l(d2l),
            MethodTable::Elr(elr) => Self::Elr(elr),
            MethodTable::Rog(rog) => Self::Rog(rog),
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

    fn all() -> Vec<Method> {
        NAMES.iter().map(|name| name.parse::<Method>().unwrap().with_rate(0.25)).collect()
    }

    #[test]
    fn every_name_is_known_and_every_default_is_allowed() {
        for (name, method) in NAMES.iter().zip(all()) {
            assert!(method.check().is_ok(), "{name}");
            assert_eq!(method.to_string().parse::<Method>().unwrap(), method);
            assert!(name.starts_with(method.name()), "{name}");
        }
    }

    #[test]
    fn methods_survive_their_files() {
        for method in all() {
            let text = serde_json::to_string(&method).unwrap();
            assert_eq!(serde_json::from_str::<Method>(&text).unwrap(), method, "{text}");
        }
    }

    #[test]
    fn files_take_text_or_tables_and_refuse_unknown_keys() {
        let read = |text: &str| serde_json::from_str::<Method>(text).map_err(|error| error.to_string());
        assert_eq!(read(r#""npcl:0.3""#).unwrap(), "npcl".parse::<Method>().unwrap().with_rate(0.3));
        assert_eq!(read(r#"{"npcl": {"rate": 0.3}}"#), read(r#""npcl:0.3""#));
        assert!(read(r#"{"npcl": {"rat": 0.3}}"#).unwrap_err().contains("unknown field `rat`"));
        assert!(read(r#""nplc""#).unwrap_err().contains("did you mean npcl?"));
        assert!(read(r#""npcl:much""#).unwrap_err().contains("much"));
        assert!(read(r#""standard:1""#).is_err());
        assert!(read("3").unwrap_err().contains("a method's name"));
    }

    #[test]
    fn a_missing_or_impossible_rate_is_an_error_that_says_so() {
        let message = |method: Method| method.check().unwrap_err().to_string();
        let npcl: Method = "npcl".parse().unwrap();
        assert!(message(npcl.clone()).contains("noise rate must be given for npcl, as in npcl:0.3"));
        assert_eq!(message(npcl.with_rate(1.0)), "noise rate must be in [0, 1), got 1");
        assert!("rog:".repeat(1 << 20).parse::<Method>().is_err());
        let rog: Method = "rog:co-teaching".parse().unwrap();
        assert!(rog.check().is_err());
        assert!(rog.with_rate(0.2).check().is_ok());
    }
}
