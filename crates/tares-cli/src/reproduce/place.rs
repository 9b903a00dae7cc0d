//! [`ReproductionPlace`]: the directory of a recipe at one size, and the progress of its runs.

use super::recipe::Recipe;
use super::scale::RecipeSize;
use crate::files::{create_directory, write_whole};
use crate::record::{Manifest, RunRecord, State};
use crate::run::contender::Contender;
use crate::run::experiment::Experiment;
use crate::run::load::Load;
use crate::run::runs::place;
use crate::run::spec::Spec;
use crate::run::spec_file;
use crate::ui::failure::{Failure, Outcome};
use std::path::{Path, PathBuf};
use tares::Plan;

/// What to do about a directory with other runs.
pub const WAY_OUT: &str = "choose another --out, or remove that directory";

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
    /// Finished runs in the places of the recipe's, with other settings.
    pub other: usize,
    /// All runs that the recipe asks for.
    pub all: usize,
    /// Whether some of the finished runs had only a part of the data.
    pub on_a_part: bool,
}

impl ReproductionPlace {
    /// The directory of a recipe below `root`.
    pub fn new(root: &Path, name: &str, size: RecipeSize) -> Self {
        Self { path: root.join(format!("{name}-{}", size.name())) }
    }

    /// Refuses a directory with runs of another version of the recipe. Rows, columns and seeds may be more or fewer: they add runs and
    /// change none.
    ///
    /// # Errors
    /// The recipe has changed.
    pub fn check(&self, recipe: &Recipe, size: RecipeSize) -> Outcome<()> {
        let file = self.path.join("experiment.toml");
        if !file.exists() {
            return Ok(());
        }
        let (before, now): (Experiment, _) = (spec_file::read(&file)?, whole(recipe, size, "cpu")?);
        let (before, now) = (common(&before, &now), common(&now, &before));
        if before == now {
            return Ok(());
        }
        let (before, now) = (spec_file::to_toml(&before)?, spec_file::to_toml(&now)?);
        let change = before.lines().zip(now.lines()).find(|(before, now)| before != now);
        let (before, now) = change.unwrap_or(("other settings", "these settings"));
        let text = format!("{}: the recipe has changed: `{before}`, now `{now}`", file.display());
        Err(Failure::new(text).way_out(WAY_OUT))
    }

    /// [Checks](Self::check) the directory and records this version of the recipe.
    ///
    /// # Errors
    /// The recipe has changed, or the directory cannot be written.
    pub fn claim(&self, recipe: &Recipe, size: RecipeSize, device: &str) -> Outcome<()> {
        self.check(recipe, size)?;
        create_directory(&self.path)?;
        write_whole(&self.path.join("recipe.toml"), recipe.text.as_bytes())?;
        let now = spec_file::to_toml(&whole(recipe, size, device)?)?;
        write_whole(&self.path.join("experiment.toml"), now.as_bytes())
    }

    /// The progress of the runs that the recipe asks for.
    ///
    /// # Errors
    /// The recipe is invalid.
    pub fn progress(&self, recipe: &Recipe, size: RecipeSize) -> Outcome<RunsDone> {
        let runs = whole(recipe, size, "cpu")?.runs()?;
        let done = |spec| Some((spec, finished(&place(&self.path, spec))?));
        let (own, other): (Vec<(&Spec, Manifest)>, _) =
            runs.iter().filter_map(done).partition(|(spec, _)| has_settings(&place(&self.path, spec), spec));
        let on_a_part = own.iter().any(|(_, manifest)| !manifest.data.missing_files.is_empty());
        Ok(RunsDone { finished: own.len(), other: other.len(), all: runs.len(), on_a_part })
    }

    /// The finished runs with the recipe's settings, in its order: rows that are there, every seed that is there.
    ///
    /// # Errors
    /// A run that is damaged, or runs of different data.
    pub fn finished(&self, recipe: &Recipe, size: RecipeSize) -> Outcome<Vec<RunRecord>> {
        let experiment = whole(recipe, size, "cpu")?;
        let scale = recipe.scale(size);
        let (columns, headings) = (scale.columns(recipe)?, scale.headings(recipe)?);
        let mut records = Vec::new();
        // More seeds than the recipe asks for may have been run.
        for run in (Experiment { seeds: vec![1], ..experiment }).runs()? {
            let Some(row) = place(&self.path, &run).parent().map(Path::to_owned) else { continue };
            let Ok(entries) = std::fs::read_dir(&row) else { continue };
            let seed = |path: &Path| path.file_name()?.to_str()?.strip_prefix("seed-")?.parse::<u64>().ok();
            let mut seeds: Vec<u64> = entries.filter_map(|entry| seed(&entry.ok()?.path())).collect();
            seeds.sort_unstable();
            for seed in seeds {
                let path = row.join(format!("seed-{seed}"));
                let spec = Spec { plan: Plan { seed, ..run.plan.clone() }, ..run.clone() };
                if finished(&path).is_some() && has_settings(&path, &spec) {
                    let mut record = RunRecord::read(&path)?;
                    // The column's heading says if this size replaces its noise.
                    let column = columns.iter().find(|(_, noise)| *noise == run.noise);
                    if let (Some(noise), Some((column, _))) = (&mut record.manifest.noise, column) {
                        noise.name = headings.of(column).to_owned();
                    }
                    records.push(record);
                }
            }
        }
        self.same_data(&records)?;
        Ok(records)
    }

    /// Refuses runs that were trained on different data: their mean would be one over data sets.
    fn same_data(&self, records: &[RunRecord]) -> Outcome<()> {
        let Some(first) = records.first() else { return Ok(()) };
        let hash = |run: &RunRecord| run.manifest.data.hash.clone();
        let Some(other) = records.iter().find(|run| hash(run) != hash(first)) else { return Ok(()) };
        let named = |run: &RunRecord| format!("{} has the hash {}", run.name, hash(run));
        let text = format!(
            "{}: its runs were trained on different data: that of {}, that of {}",
            self.path.display(),
            named(first),
            named(other)
        );
        Err(Failure::new(text).way_out("remove the runs of one of them, and run the recipe again"))
    }
}

/// Whether the run in a directory has these settings. Where it was typed, where data lies and which device trained are not part of a recipe.
fn has_settings(run: &Path, spec: &Spec) -> bool {
    let Ok(before) = spec_file::read::<Spec>(&run.join("spec.toml")) else { return false };
    let load = Load { data_dir: spec.load.data_dir.clone(), ..before.load.clone() };
    let before = Spec { directory: spec.directory.clone(), device: spec.device.clone(), load, ..before };
    before == *spec
}

/// What `one` has in common with `other` in rows, columns and seeds, so that only settings are compared.
fn common(one: &Experiment, other: &Experiment) -> Experiment {
    let names: Vec<String> = other.methods.iter().map(Contender::called).collect();
    Experiment {
        methods: one.methods.iter().filter(|row| names.contains(&row.called())).cloned().collect(),
        noises: one.noises.iter().filter(|noise| other.noises.contains(noise)).cloned().collect(),
        seeds: Vec::new(),
        device: String::new(),
        ..one.clone()
    }
}

/// Everything a recipe asks for at one size.
fn whole(recipe: &Recipe, size: RecipeSize, device: &str) -> Outcome<Experiment> {
    let experiment = recipe.scale(size).experiment(recipe, &recipe.names(), None)?;
    Ok(Experiment { device: device.to_owned(), ..experiment })
}

/// The manifest of a run that is finished.
fn finished(run: &Path) -> Option<Manifest> {
    Manifest::read(&run.join("manifest.json")).ok().filter(|manifest| manifest.state == State::Finished)
}
