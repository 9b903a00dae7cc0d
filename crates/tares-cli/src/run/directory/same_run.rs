//! Whether the run in a directory is the one that is asked for: the same settings and the same data.

use crate::record::{DataRecord, Manifest};
use crate::run::spec::Spec;
use crate::run::spec_file;
use crate::ui::failure::{Failure, Outcome};
use std::path::Path;
use std::sync::OnceLock;
use tares_core::{Dataset, Fingerprint, Row};
use tares_data::Loaded;

/// Refuses to continue a run with settings other than its own; a directory without a run is fine.
///
/// # Errors
/// The spec there has other settings, or cannot be read.
pub fn same_spec(place: &Path, spec: &Spec) -> Outcome<()> {
    let path = place.join("spec.toml");
    if !path.exists() && !place.join("manifest.json").exists() {
        return Ok(());
    }
    let before: Spec = spec_file::read(&path)?;
    // The same relative path may be typed in another directory, and a network that is not named is the run's own.
    let network = spec.network.clone().or_else(|| before.network.clone());
    let now = Spec { directory: before.directory.clone(), network, ..spec.clone() };
    if before == now {
        return Ok(());
    }
    let (before, now) = (before.to_toml()?, now.to_toml()?);
    let change = before.lines().zip(now.lines()).find(|(before, now)| before != now);
    let (before, now) = change.unwrap_or(("other settings", "these settings"));
    Err(Failure::new(format!("{}: the run there has other settings: `{before}` there, `{now}` here", path.display()))
        .way_out("choose another --out, or start again with --overwrite"))
}

/// What to do about a run of other data.
pub const OTHER_DATA: &str = "put that data back, choose another --out, or start again with --overwrite";

/// Refuses to take over a run that was trained on data with another [`hash`]: a mean over seeds would be one over data sets. A directory
/// without a run is fine.
///
/// # Errors
/// The run there is one of other data, or its manifest cannot be read.
pub fn same_data(place: &Path, data: &str, way_out: &str) -> Outcome<()> {
    let path = place.join("manifest.json");
    if !path.exists() {
        return Ok(());
    }
    let DataRecord { hash, source, .. } = Manifest::read(&path)?.data;
    if hash == data {
        return Ok(());
    }
    let place = place.display();
    Err(Failure::new(format!(
        "{place}: the run there was trained on other data: {source} had the hash {hash}, it is now {data}"
    ))
    .way_out(way_out))
}

/// The [`hash`] of a run's data, made when it is first needed: pictures may still be on their way.
pub struct DataHash<'a> {
    train: &'a Dataset,
    test: Option<&'a Dataset>,
    text: OnceLock<String>,
}

impl<'a> DataHash<'a> {
    /// Of what was loaded; nothing is read yet.
    pub fn of(loaded: &'a Loaded) -> Self {
        Self { train: &loaded.train, test: loaded.test.as_ref(), text: OnceLock::new() }
    }

    /// The hash, once all rows are there.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn get(&self) -> Outcome<&str> {
        [Some(self.train), self.test].into_iter().flatten().try_for_each(Dataset::arrived)?;
        Ok(self.text.get_or_init(|| hash(self.train, self.test)))
    }
}

/// A fingerprint of all numbers and labels, by which people see that two runs used the same data.
pub fn hash(train: &Dataset, test: Option<&Dataset>) -> String {
    let mut print = Fingerprint::default();
    let mut mix = |word: u64| print = print.with(word);
    for data in [Some(train), test].into_iter().flatten() {
        for index in 0..data.len() {
            match data.row(index) {
                Row::Bytes(bytes) => bytes.chunks(8).for_each(|chunk| {
                    mix(chunk.iter().fold(chunk.len() as u64, |word, &byte| (word << 8) | u64::from(byte)));
                }),
                Row::Floats(values) => values.iter().for_each(|value| mix(u64::from(value.to_bits()))),
            }
            mix(u64::from(data.given()[index]));
            data.beliefs(index).into_iter().flatten().for_each(|part| mix(u64::from(part.to_bits())));
            data.texts().iter().for_each(|column| mix(Fingerprint::of_bytes(column.texts[index].as_bytes()).value()));
        }
    }
    format!("{:016x}", print.value())
}
