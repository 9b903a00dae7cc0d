//! [`Learner`]: what `train` trains: a network, or a model of a table's columns.
//!
//! [`columns`] trains the latter; [`learnt`] is what either leaves behind. [`in_memory`] trains either without a run directory.

pub mod columns;
pub mod in_memory;
pub mod learnt;

use crate::judges::name::JudgeName;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tares::{Method, Network};
use tares_core::{Dataset, Error, Result, Shape};
use tares_data::Reading;
use tares_judges::Judge;

/// A network or a model of columns, as files and command lines write it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Learner {
    /// A network: `mlp`, `lenet`, ….
    Network(Network),
    /// A model of columns.
    Columns(ColumnLearner),
}

/// A model of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnLearner {
    /// `linear`: logistic regression.
    Linear,
    /// `trees`: gradient-boosted trees.
    Trees,
    /// `panel`: several, blended by how well they predict labels of rows they did not see.
    Panel,
    /// `forest`: the mean of deep trees.
    Forest,
}

impl ColumnLearner {
    const ALL: [Self; 4] = [Self::Linear, Self::Trees, Self::Panel, Self::Forest];
    const NAMES: [&'static str; 4] = ["linear", "trees", "panel", "forest"];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The judges of columns that it consists of, for this data.
    pub fn judges(self, data: &Dataset, reading: &Reading) -> Vec<Judge> {
        match self {
            Self::Linear => vec![Judge::Linear],
            Self::Trees => vec![Judge::Trees],
            Self::Panel => JudgeName::of_table(data, reading),
            Self::Forest => vec![Judge::Forest],
        }
    }

    /// Whether it can be trained with a method.
    pub fn takes(self, method: &Method) -> bool {
        match method {
            Method::Standard | Method::Npcl(_) => true,
            Method::Cl(_) => self == Self::Trees,
            _ => false,
        }
    }
}

impl Learner {
    /// The network that is trained when nobody names one.
    pub fn network_for(shape: Shape) -> Self {
        Self::Network(Network::suggest(shape))
    }

    /// Refuses numbers in the name that make no network, and methods that a model of columns cannot be trained with.
    ///
    /// # Errors
    /// Which it is, and what is allowed.
    pub fn check(&self, method: &Method) -> Result<()> {
        match self {
            Self::Network(network) => network.check(),
            Self::Columns(learner) if learner.takes(method) => Ok(()),
            Self::Columns(learner) => {
                let allowed = match learner {
                    ColumnLearner::Trees => "standard, cl or npcl (other methods train networks)",
                    _ => "standard or npcl (other methods train networks)",
                };
                Err(Error::value(format!("method of {}", learner.name()), allowed, method.name()))
            }
        }
    }

    /// The network, if it is one.
    pub fn network(&self) -> Option<&Network> {
        match self {
            Self::Network(network) => Some(network),
            Self::Columns(_) => None,
        }
    }
}

impl From<Network> for Learner {
    fn from(network: Network) -> Self {
        Self::Network(network)
    }
}

impl fmt::Display for Learner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(network) => network.fmt(f),
            Self::Columns(learner) => f.write_str(learner.name()),
        }
    }
}

impl FromStr for Learner {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        if let Some(learner) = ColumnLearner::ALL.into_iter().find(|learner| learner.name() == text) {
            return Ok(Self::Columns(learner));
        }
        if Network::NAMES.iter().any(|name| text.split(':').next() == Some(*name)) {
            return text.parse().map(Self::Network);
        }
        let known: Vec<&str> = Network::NAMES.into_iter().chain(ColumnLearner::NAMES).collect();
        Err(Error::unknown("network", text, &known))
    }
}

impl TryFrom<String> for Learner {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Learner> for String {
    fn from(learner: Learner) -> Self {
        learner.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learners_survive_their_text_and_unknown_ones_are_told_the_known() {
        for name in ["linear", "trees", "panel", "forest", "mlp:32", "lenet"] {
            assert_eq!(name.parse::<Learner>().unwrap().to_string(), name);
        }
        assert!("tree".parse::<Learner>().unwrap_err().to_string().contains("did you mean trees?"));
        assert!("mlp:0".parse::<Learner>().unwrap_err().to_string().contains("mlp width"));
    }

    #[test]
    fn methods_of_networks_are_refused_by_name() {
        let learner = |text: &str| text.parse::<Learner>().unwrap();
        let method = |text: &str| text.parse::<Method>().unwrap();
        for (name, fine) in [("trees", "cl"), ("trees", "npcl:0.2"), ("panel", "npcl:0.2"), ("linear", "standard")] {
            learner(name).check(&method(fine)).unwrap();
        }
        let refused = learner("trees").check(&method("gce")).unwrap_err().to_string();
        assert_eq!(refused, "method of trees must be standard, cl or npcl (other methods train networks), got gce");
        assert!(learner("panel").check(&method("cl")).is_err());
        learner("mlp").check(&method("gce")).unwrap();
    }
}
