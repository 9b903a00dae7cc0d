//! Network, method, plan and data of a run, stored with its checkpoints, so that those of another run are refused.

use crate::checkpoint::{Checkpoint, checksum};
use crate::error::{Error, Result};
use crate::method::Method;
use crate::plan::Plan;
use std::sync::OnceLock;
use tares_core::{Dataset, Row};

/// Network, method, plan and training data of a run.
pub(crate) struct Identity<'a> {
    parts: [(&'static str, Vec<u8>); 3],
    train: &'a Dataset,
    /// Of the data, which are read for it when it is first needed: most runs store no checkpoint.
    fingerprint: OnceLock<u64>,
}

impl<'a> Identity<'a> {
    pub fn new(network: &str, method: &Method, plan: &Plan, train: &'a Dataset) -> Self {
        let text = |value: serde_json::Result<String>| value.expect("plain data").into_bytes();
        Self {
            parts: [
                ("network", network.as_bytes().to_vec()),
                ("method", text(serde_json::to_string(method))),
                ("plan", text(serde_json::to_string(plan))),
            ],
            train,
            fingerprint: OnceLock::new(),
        }
    }

    /// What is stored, under its name.
    fn stored(&self) -> Result<impl Iterator<Item = (&'static str, Vec<u8>)>> {
        self.train.arrived()?;
        let data = self.fingerprint.get_or_init(|| fingerprint(self.train)).to_le_bytes().to_vec();
        Ok(self.parts.iter().cloned().chain([("training data", data)]))
    }

    pub fn save(&self, checkpoint: &mut Checkpoint) -> Result<()> {
        self.stored()?.for_each(|(what, value)| checkpoint.put(format!("identity/{what}"), value));
        Ok(())
    }

    pub fn check(&self, checkpoint: &Checkpoint) -> Result<()> {
        for (what, value) in self.stored()? {
            let stored = checkpoint.bytes(&format!("identity/{what}"))?;
            if stored != value {
                let shown = |value: &[u8]| match what {
                    "training data" => String::from("other rows"),
                    _ => String::from_utf8_lossy(value).into_owned(),
                };
                return Err(Error::Checkpoint(format!(
                    "belongs to another run: its {what} is {}, this run's is {}",
                    shown(stored),
                    if what == "training data" { "different".into() } else { shown(&value) }
                )));
            }
        }
        Ok(())
    }
}

/// A number that changes when any row, label or class name changes.
fn fingerprint(data: &Dataset) -> u64 {
    let mut sums = Vec::with_capacity(8 * data.len());
    for index in 0..data.len() {
        let sum = match data.row(index) {
            Row::Bytes(values) => checksum(values),
            Row::Floats(values) => checksum(&values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>()),
        };
        sums.extend_from_slice(&sum.to_le_bytes());
    }
    data.given().iter().for_each(|label| sums.extend_from_slice(&label.to_le_bytes()));
    let beliefs = (0..data.len()).filter_map(|row| data.beliefs(row)).flatten();
    beliefs.for_each(|part| sums.extend_from_slice(&part.to_le_bytes()));
    sums.extend_from_slice(data.class_names().join("\n").as_bytes());
    checksum(&sums)
}
