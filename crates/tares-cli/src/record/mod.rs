//! A run on disk: everything a report, a prediction or a repetition needs, and nothing that must be computed again.
//!
//! ```text
//! spec.toml          what was asked, every default written out
//! manifest.json      what happened: versions, data hash, realised noise, machine, result
//! epochs.jsonl       one line per epoch
//! samples.parquet    one row per training sample: margin over epochs, times kept, last loss, prediction
//! gallery.json       the most suspicious samples with their pictures or values
//! suspects.csv       the same samples and the rest of the list, for people
//! model.safetensors  the weights
//! model.json         how files become rows and rows become inputs
//! checkpoint.bin     while unfinished: the complete state of training
//! .lock              held by the process that writes here
//! ```

pub mod card;
mod epochs;
#[cfg(test)]
pub(crate) mod made_up;
mod manifest;
pub mod suspects;

pub use card::Card;
pub use epochs::{EpochRecord, read_epochs};
pub use manifest::{
    DataRecord, FORMAT, Machine, Manifest, NoiseRecord, RateRecord, ResultRecord, State, TrueAccuracyRecord,
};

use crate::files::read_text;
use crate::ui::failure::{Failure, Outcome};
use serde::Deserialize;
use std::path::Path;

/// All that a report needs of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// What to call it: its directory.
    pub name: String,
    /// `manifest.json`.
    pub manifest: Manifest,
    /// `epochs.jsonl`.
    pub epochs: Vec<EpochRecord>,
    /// `gallery.json`; empty if there is none.
    pub gallery: Vec<Card>,
}

impl RunRecord {
    /// Reads a run directory.
    ///
    /// # Errors
    /// It is no run directory, was written by a newer version, or a file is damaged.
    pub fn read(directory: &Path) -> Outcome<Self> {
        let path = directory.join("manifest.json");
        if !path.exists() {
            return Err(Failure::new(format!("{}: not a run directory: it has no manifest.json", directory.display()))
                .way_out("name a directory that `tares train` or `tares compare` wrote"));
        }
        let manifest = Manifest::read(&path)?;
        let gallery = directory.join("gallery.json");
        let gallery = if gallery.exists() { parse_json(&gallery, &read_text(&gallery)?)? } else { Vec::new() };
        Ok(Self {
            name: directory.display().to_string(),
            manifest,
            epochs: read_epochs(&directory.join("epochs.jsonl"))?,
            gallery,
        })
    }
}

fn parse_json<T: for<'de> Deserialize<'de>>(path: &Path, text: &str) -> Outcome<T> {
    serde_json::from_str(text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

/// The different values, in the order they first appear: how runs are grouped by method or noise.
pub fn in_order<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut seen, value| {
        if !seen.contains(&value) {
            seen.push(value);
        }
        seen
    })
}
