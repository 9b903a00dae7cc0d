//! [`ReproductionPlace`]: the directory of a recipe at one size, and the progress of its runs.

use super::recipe::Recipe;
use super::scale::RecipeSize;
use crate::files::{create_directory, write_whole};
use crate::record::{Manifest, RunRecord, State};
use crate::run::experiment::Experiment;
use crate::run::runs::place;
use crate::run::spec::Spec;
use crate::run::spec_file;
use crate::ui::failure::{Failure, Outcome};
use std::path::{Path, PathBuf};

/// The default directory of reproductions.
pub const ROOT: &str = "runs/reproduce";

/// The directory of a recipe at one size: `ROOT/mnist-laptop`.
#[derive(Clone, Debug)]
pub struct ReproductionPlace {
    /// The directory.
    pub path: PathBuf,
}

/// The progress of a recipe's runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunsDone {
    /// Finished runs.
    pub finished: usize,
    /// All runs that the recipe asks for.
    pub all: usize,
}

impl ReproductionPlace {
    /// The directory of a recipe below `root`.
    pub fn new(root: &Path, name: &str, size: RecipeSize) -> Self {
        Self { path: root.join(format!("{name}-{}", size.name())) }
    }

    /// Refuses a directory with runs of another version of the recipe; otherwise records this version. Seeds and the choice of rows
    /// may differ: they add runs and change none.
    ///
    /// # Errors
    /// The recipe has changed, or the directory cannot be written.
    pub fn claim(&self, recipe: &Recipe, size: RecipeSize, device: &str) -> Outcome<()> {
        let file = self.path.join("experiment.toml");
        let now = whole(recipe, size, device)?;
        if file.exists() {
            let before: Experiment = spec_file::read(&file)?;
            // The device is not part of the recipe.
            let before = Experiment { device: now.device.clone(), ..before };
            if before != now {
                let (before, now) = (spec_file::to_toml(&before)?, spec_file::to_toml(&now)?);
                let change = before.lines().zip(now.lines()).find(|(before, now)| before != now);
                let (before, now) = change.unwrap_or(("other settings", "these settings"));
                let text = format!("{}: the recipe has changed: `{before}`, now `{now}`", file.display());
                return Err(Failure::new(text).way_out("choose another --out, or remove that directory"));
            }
        }
        create_directory(&self.path)?;
        write_whole(&self.path.join("recipe.toml"), recipe.text.as_bytes())?;
        write_whole(&file, spec_file::to_toml(&now)?.as_bytes())
    }

    /// The progress of the runs that the recipe asks for.
    ///
    /// # Errors
    /// The recipe is invalid.
    pub fn progress(&self, recipe: &Recipe, size: RecipeSize) -> Outcome<RunsDone> {
        let runs = whole(recipe, size, "cpu")?.runs()?;
        Ok(RunsDone { finished: runs.iter().filter(|spec| self.is_finished(spec)).count(), all: runs.len() })
    }

    /// The finished runs, in the order of the recipe: rows that are there, every seed that is there.
    ///
    /// # Errors
    /// A run that is damaged.
    pub fn finished(&self, recipe: &Recipe, size: RecipeSize) -> Outcome<Vec<RunRecord>> {
        let experiment = whole(recipe, size, "cpu")?;
        let columns = recipe.scale(size).columns(recipe)?;
        let mut records = Vec::new();
        // More seeds than the recipe asks for may have been run.
        for run in (Experiment { seeds: vec![1], ..experiment }).runs()? {
            let Some(row) = place(&self.path, &run).parent().map(Path::to_owned) else { continue };
            let Ok(entries) = std::fs::read_dir(&row) else { continue };
            let seed = |path: &Path| path.file_name()?.to_str()?.strip_prefix("seed-")?.parse::<u64>().ok();
            let mut seeds: Vec<u64> = entries.filter_map(|entry| seed(&entry.ok()?.path())).collect();
            seeds.sort_unstable();
            for path in seeds.iter().map(|seed| row.join(format!("seed-{seed}"))) {
                if state(&path) == Some(State::Finished) {
                    let mut record = RunRecord::read(&path)?;
                    // Use the recipe's name of the column, even if this size replaces its noise.
                    let column = columns.iter().find(|(_, noise)| *noise == run.noise).map(|(name, _)| name);
                    if let (Some(noise), Some(column)) = (&mut record.manifest.noise, column) {
                        noise.name.clone_from(column);
                    }
                    records.push(record);
                }
            }
        }
        Ok(records)
    }

    fn is_finished(&self, spec: &Spec) -> bool {
        state(&place(&self.path, spec)) == Some(State::Finished)
    }
}

/// Everything a recipe asks for at one size.
fn whole(recipe: &Recipe, size: RecipeSize, device: &str) -> Outcome<Experiment> {
    let experiment = recipe.scale(size).experiment(recipe, &recipe.names(), None)?;
    Ok(Experiment { device: device.to_owned(), ..experiment })
}

fn state(run: &Path) -> Option<State> {
    Manifest::read(&run.join("manifest.json")).ok().map(|manifest| manifest.state)
}
