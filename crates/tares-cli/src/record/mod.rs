//! The files of a run, which hold everything that later commands need without computing it again.
//!
//! ```text
//! spec.toml          the settings, with every default written out
//! manifest.json      facts and results: version, data hash, realised noise, machine, accuracy
//! epochs.jsonl       one line per epoch
//! samples.parquet    one row per training row: mean margin, times kept, last loss, prediction
//! gallery.json       the most suspicious rows with their pictures, texts or values
//! suspects.csv       all suspicious rows, as a table
//! model.safetensors  the weights of a network
//! panel.json         instead of them: a model of columns
//! model.json         network, method, classes, and how a file becomes the network's input
//! checkpoint.bin     only while unfinished: the complete state of training
//! .lock              locked by the process that writes here
//! ```

pub mod burn_in;
pub mod card;
pub mod card_text;
pub mod confusion;
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
pub use tares::loss::Doubt;

use crate::files::read_text;
use crate::ui::failure::{Failure, Outcome};
use serde::Deserialize;
use std::path::Path;

/// Everything that a report needs to know about one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// Its name: the path of its directory.
    pub name: String,
    /// `manifest.json`.
    pub manifest: Manifest,
    /// `epochs.jsonl`.
    pub epochs: Vec<EpochRecord>,
    /// `gallery.json`; empty if there is none.
    pub gallery: Vec<Card>,
}

impl RunRecord {
    /// Whether its model is one of columns, whose suspects were judged by models that were not trained on them.
    pub fn is_of_columns(&self) -> bool {
        ["panel", "linear", "forest", "trees"].contains(&self.manifest.network.as_str())
    }

    /// Whether a directory holds a run, finished or not.
    pub fn is_there(directory: &Path) -> bool {
        ["manifest.json", "spec.toml"].iter().any(|file| directory.join(file).is_file())
    }

    /// Reads a run directory.
    ///
    /// # Errors
    /// It is not a run directory, was written by a newer version, or a file is damaged.
    pub fn read(directory: &Path) -> Outcome<Self> {
        let path = directory.join("manifest.json");
        if !path.exists() && Self::is_there(directory) {
            return Err(Failure::new(format!("{}: this run is not finished", directory.display()))
                .way_out(format!("finish it first: tares train --resume --out {}", directory.display())));
        }
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
    serde_json::from_str(text).map_err(|error| {
        let directory = path.parent().unwrap_or(path).display();
        Failure::new(format!("{}: the file is damaged: {error}", path.display()))
            .way_out(format!("put the file back, or remove {directory} and repeat the run"))
    })
}

/// The distinct values, in the order in which they first appear. Reports group runs by method and noise with it.
pub fn in_order<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut seen, value| {
        if !seen.contains(&value) {
            seen.push(value);
        }
        seen
    })
}
