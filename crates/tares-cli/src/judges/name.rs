//! [`JudgeName`]: a judge by name, as in `--judges linear,trees,mlp`.

use std::fmt;
use std::str::FromStr;
use tares::{Augment, Network};
use tares_core::{Dataset, Error, Shape};
use tares_data::Reading;
use tares_judges::Judge;
use tares_judges::panel::MOST_FOR_FOREST;

/// The most columns that trees and forests judge unless they are asked to. Wider rows are mostly features that a network computed, which a linear
/// model separates: on EfficientNet-Lite0's 1,280 features of 4,000 photos it took 6 s of processor time; trees had not finished after 3 minutes.
const MOST_FOR_TREES: usize = 512;

/// `linear`, `trees`, or a network: `mlp`, `lenet`, ….
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgeName {
    /// A model of columns: `linear` or `trees`.
    Columns(Judge),
    /// A network.
    Network(Network),
}

impl JudgeName {
    /// The default judges: a linear model and trees for columns, a linear model and naive Bayes for texts, `network` for
    /// pictures.
    pub fn portfolio(data: &Dataset, reading: &Reading, network: &Network) -> Vec<Self> {
        match data.shape() {
            Shape::Flat(_) => Self::of_table(data, reading).into_iter().map(Self::Columns).collect(),
            Shape::Image { .. } => vec![Self::Network(network.clone())],
        }
    }

    /// The default judges of a table: a linear model, trees and a forest for columns unless there are too many, naive Bayes for texts.
    pub fn of_table(data: &Dataset, reading: &Reading) -> Vec<Judge> {
        let few = (1..=MOST_FOR_TREES).contains(&columns_to_split(data, reading));
        let useful = |judge: &Judge| match judge {
            Judge::Linear => true,
            Judge::Trees => few,
            Judge::Bayes => !data.texts().is_empty(),
            Judge::Forest => few && data.len() <= MOST_FOR_FOREST,
        };
        Judge::ALL.into_iter().filter(useful).collect()
    }

    /// A sentence if judges of columns are left out of the default ones because of the size of the data.
    pub fn left_out(data: &Dataset, reading: &Reading) -> Option<String> {
        let columns = columns_to_split(data, reading);
        match data.shape() {
            Shape::Flat(_) if columns > MOST_FOR_TREES => Some(format!(
                "trees and forest do not judge {columns} columns (at most {MOST_FOR_TREES}, because they would take long)"
            )),
            Shape::Flat(_) if columns > 0 && data.len() > MOST_FOR_FOREST => Some(format!(
                "a forest does not judge {} rows (at most {MOST_FOR_FOREST}; with more of them, boosted trees are ahead of it)",
                data.len()
            )),
            _ => None,
        }
    }

    /// Refuses a judge that can read nothing of these rows.
    ///
    /// # Errors
    /// Networks or trees for texts alone, naive Bayes without a text.
    pub fn check(&self, data: &Dataset) -> Result<(), Error> {
        let (numbers, texts) = (data.shape().size() > 0, !data.texts().is_empty());
        match self {
            Self::Columns(Judge::Bayes) if !texts => {
                Err(Error::value("judge", "one that reads these columns: no column is a text", self))
            }
            Self::Columns(Judge::Trees | Judge::Forest) | Self::Network(_) if !numbers => {
                Err(Error::value("judge", "linear or bayes: the rows are texts alone", self))
            }
            _ => Ok(()),
        }
    }

    /// Whether it is a network.
    pub fn is_network(&self) -> bool {
        matches!(self, Self::Network(_))
    }
}

impl fmt::Display for JudgeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Columns(judge) => judge.fmt(f),
            Self::Network(network) => network.fmt(f),
        }
    }
}

impl FromStr for JudgeName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if let Ok(judge) = text.parse::<Judge>() {
            return Ok(Self::Columns(judge));
        }
        let named = |name: &&str| text.trim().split(':').next() == Some(*name);
        match Network::NAMES.iter().any(named) {
            true => text.parse().map(Self::Network),
            false => {
                let known: Vec<&str> = Judge::NAMES.into_iter().chain(Network::NAMES).collect();
                Err(Error::unknown("judge", text.trim(), &known))
            }
        }
    }
}

/// The columns that trees read. One column of categories is many features of the data set, but one column of a tree.
fn columns_to_split(data: &Dataset, reading: &Reading) -> usize {
    match reading.table.as_ref().filter(|_| reading.features.is_none()) {
        Some(rules) => rules.columns.iter().filter(|column| column.rule.width() > 0).count(),
        None => data.shape().size(),
    }
}

/// Photos are shifted and mirrored while networks learn to judge them, or small sets would be memorised. Drawings, digits and
/// scans (one channel) often mean something else when mirrored.
pub fn varied(data: &Dataset) -> Augment {
    match data.shape() {
        Shape::Image { channels: 3, height, width } if height.min(width) >= 24 => {
            Augment { pad_crop: height.min(width) / 8, flip: true, ..Augment::default() }
        }
        _ => Augment::default(),
    }
}

/// Refuses a judge that is named twice.
///
/// # Errors
/// A judge is named twice.
pub fn check_names(judges: &[JudgeName]) -> Result<(), Error> {
    match judges.iter().enumerate().find(|(at, judge)| judges[..*at].contains(judge)) {
        Some((_, twice)) => Err(Error::value("judges", "different", format!("{twice} twice"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_are_found_by_name_and_unknown_ones_are_told_the_known() {
        for name in ["linear", "trees", "forest", "mlp:32", "lenet"] {
            assert_eq!(name.parse::<JudgeName>().unwrap().to_string(), name);
        }
        let error = "oracle".parse::<JudgeName>().unwrap_err().to_string();
        assert!(["linear", "trees", "mlp", "resnet18"].iter().all(|name| error.contains(name)), "{error}");
        assert!("tree".parse::<JudgeName>().unwrap_err().to_string().contains("did you mean trees?"));
        assert!("mlp:0".parse::<JudgeName>().unwrap_err().to_string().contains("mlp"));
        let twice = ["trees".parse().unwrap(), "trees".parse().unwrap()];
        assert!(check_names(&twice).unwrap_err().to_string().contains("trees twice"));
    }
}
