//! Which judges are asked: those that were typed, or those that suit the data. `audit` and `consensus` share it.

use super::Audit;
use crate::command::plan::Training;
use crate::judges::name::{JudgeName, varied};
use crate::judges::panel::{COLUMN_FOLDS, Judges};
use crate::learner::Learner;
use crate::ui::failure::{Failure, Outcome};
use tares::{Method, Network, Plan};
use tares_core::Dataset;
use tares_data::Reading;

/// Number of folds for judges that are networks: fewer, because they take longer.
const NETWORK_FOLDS: usize = 4;

/// What was typed about judges.
pub struct Judging<'a> {
    /// The judges; those that suit the data if empty.
    pub names: &'a [JudgeName],
    /// How many folds.
    pub folds: Option<usize>,
    /// The method that trains networks.
    pub method: Option<&'a Method>,
    /// How networks are trained.
    pub training: &'a Training,
}

impl Judging<'_> {
    /// The judges that were typed, or those that suit the data. Options of networks add a network.
    ///
    /// # Errors
    /// Options of networks without a network among the judges; values that are not allowed.
    pub fn who(&self, data: &Dataset, reading: &Reading) -> Outcome<Judges> {
        let network = match &self.training.network {
            None => Network::suggest(data.shape()),
            Some(Learner::Network(network)) => network.clone(),
            Some(learner) => {
                return Err(Failure::new(format!("--network {learner}: {learner} is not a network"))
                    .way_out("name who judges with --judges, as in --judges linear,trees"));
            }
        };
        let typed = self.method.is_some() || self.training.is_for_networks();
        let names = match self.names.is_empty() {
            false if typed && !self.names.iter().any(JudgeName::is_network) => {
                return Err(Failure::new("options of networks were given, but no judge is a network")
                    .way_out(format!("add one to --judges, as in --judges linear,trees,{network}")));
            }
            false => self.names.to_vec(),
            true => {
                let mut names = JudgeName::portfolio(data, reading, &network);
                if typed && !names.iter().any(JudgeName::is_network) {
                    names.push(JudgeName::Network(network));
                }
                names
            }
        };
        let mut plan = Plan { epochs: 30, augment: varied(data), ..Plan::default() };
        self.training.apply(&mut plan)?;
        Ok(Judges {
            names,
            folds: self.folds.unwrap_or(COLUMN_FOLDS),
            network_folds: self.folds.unwrap_or(NETWORK_FOLDS),
            method: self.method.cloned().map_or_else(|| "gce".parse(), Ok)?,
            plan,
            device: self.training.device().to_owned(),
        })
    }
}

impl Audit {
    /// The judges that were typed, or those that suit the data.
    pub(super) fn who(&self, data: &Dataset, reading: &Reading) -> Outcome<Judges> {
        let (method, training) = (self.train_method.as_ref(), &self.training);
        Judging { names: &self.judges, folds: self.folds, method, training }.who(data, reading)
    }
}
