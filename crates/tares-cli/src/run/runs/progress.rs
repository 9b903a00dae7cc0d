//! [`RunProgress`]: how far a run is, and which process is at work on it; read from its files, without locking them.

use super::{name, place};
use crate::record::{Manifest, State, read_epochs};
use crate::run::directory::{LockOwner, owner};
use crate::run::spec::Spec;
use serde::Serialize;
use std::path::Path;

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunProgress {
    /// `symmetric:0.5 npcl seed 1`.
    pub run: String,
    /// Whether its results are complete.
    pub finished: bool,
    /// Epochs done.
    pub epochs: usize,
    /// Epochs to do.
    pub of: usize,
    /// Who is at work on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_work: Option<String>,
}

impl RunProgress {
    /// Of a run below `out`.
    pub fn of(out: &Path, spec: &Spec) -> Self {
        let place = place(out, spec);
        let manifest = Manifest::read(&place.join("manifest.json")).ok();
        let finished = manifest.is_some_and(|manifest| manifest.state == State::Finished);
        let epochs = read_epochs(&place.join("epochs.jsonl")).map_or(0, |epochs| epochs.len());
        let at_work = owner(&place).filter(|_| !finished).as_ref().map(LockOwner::to_string);
        Self { run: name(spec), finished, epochs, of: spec.plan.epochs, at_work }
    }

    /// `not begun`, `epoch 3 of 60, process 12 on node7 is at work`.
    pub fn sentence(&self) -> String {
        let far = match (self.finished, self.epochs) {
            (true, _) => return "finished".to_owned(),
            (false, 0) => "not begun".to_owned(),
            (false, epochs) => format!("epoch {epochs} of {}", self.of),
        };
        match (&self.at_work, self.epochs) {
            (Some(who), _) => format!("{far}, {who} is at work"),
            (None, 0) => far,
            (None, _) => format!("{far}, nobody is at work"),
        }
    }
}
