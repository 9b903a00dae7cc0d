//! Runs that several recipes have in common: NPCL at 50 % noise is a row of six tables, and is trained once.
//!
//! The same settings give the same bits, so a finished run of another recipe below the same root that differs in nothing but its
//! row's name is copied instead of being trained again.

use crate::record::{Manifest, State};
use crate::run::directory::RunDirectory;
use crate::run::runs::place;
use crate::run::spec::Spec;
use crate::run::spec_file;
use crate::ui::failure::{Failure, Outcome};
use std::fs;
use std::path::{Path, PathBuf};

/// Copies runs that other recipes below `root` have finished on data with this hash, for those of `runs` that are not begun in `here`; returns how many.
///
/// # Errors
/// A run's directory cannot be written.
pub fn take_over(root: &Path, here: &Path, runs: &[Spec], data: &str) -> Outcome<usize> {
    let others: Vec<PathBuf> = folders(root).into_iter().filter(|other| other != here).collect();
    let wanted: Vec<&Spec> = runs.iter().filter(|spec| !place(here, spec).join("spec.toml").exists()).collect();
    if others.is_empty() || wanted.is_empty() {
        return Ok(0);
    }
    let mut taken = 0;
    for spec in wanted {
        let to = place(here, spec);
        // A run lies at runs/NOISE/ROW/SEED, and the row's name is what may differ.
        let (Some(seed), Some(noise)) = (to.file_name(), to.parent().and_then(Path::parent).and_then(Path::file_name))
        else {
            continue;
        };
        let rows = others.iter().flat_map(|other| folders(&other.join("runs").join(noise)));
        if let Some(from) = rows.map(|row| row.join(seed)).find(|from| is_same(from, spec, data)) {
            copy(&from, &to, spec)?;
            taken += 1;
        }
    }
    Ok(taken)
}

/// The folders in a folder, in the order of their names.
fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten();
    let mut folders: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders
}

/// Whether a finished run has these settings, whatever its row is called, and the same data. A run that cannot be read does not count.
fn is_same(run: &Path, spec: &Spec, data: &str) -> bool {
    let Ok(before) = spec_file::read::<Spec>(&run.join("spec.toml")) else { return false };
    let renamed = Spec { name: spec.name.clone(), directory: spec.directory.clone(), ..before };
    let finished = |manifest: Manifest| manifest.state == State::Finished && manifest.data.hash == data;
    renamed == *spec && Manifest::read(&run.join("manifest.json")).is_ok_and(finished)
}

/// Copies a run under its new name. The manifest comes last, because it says that the rest is complete.
fn copy(from: &Path, to: &Path, spec: &Spec) -> Outcome<()> {
    let directory = RunDirectory::lock(to)?;
    let entries = fs::read_dir(from).map_err(|error| Failure::file(from, "read", &error))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if [".lock", "spec.toml", "manifest.json"].contains(&name.as_str()) {
            continue;
        }
        let bytes = fs::read(&path).map_err(|error| Failure::file(&path, "read", &error))?;
        directory.write(&name, &bytes)?;
    }
    let before: Spec = spec_file::read(&from.join("spec.toml"))?;
    let spec = Spec { name: spec.name.clone(), ..before };
    directory.write("spec.toml", spec.to_toml()?.as_bytes())?;
    let manifest = Manifest { method: spec.called(), ..Manifest::read(&from.join("manifest.json"))? };
    directory.write_manifest(&manifest)
}
