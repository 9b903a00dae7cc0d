//! `tares reproduce`: a table or figure of the paper, run again and judged.

use super::Exit;
use super::source::load;
use crate::reproduce::list::entries;
use crate::reproduce::needed_files::{a_part_of_the_data, missing, missing_failure};
use crate::reproduce::page::Reproduction;
use crate::reproduce::place::{ROOT, ReproductionPlace, WAY_OUT};
use crate::reproduce::publish::{PAGE, publish};
use crate::reproduce::recipe::Recipe;
use crate::reproduce::scale::RecipeSize;
use crate::reproduce::shared_runs::take_over;
use crate::reproduce::verdict::Ruling;
use crate::reproduce::{catalogue, theorems};
use crate::run::directory::same_run::{hash, same_data, same_spec};
use crate::run::experiment::Experiment;
use crate::run::runs::{Sharing, place, run_all};
use crate::run::train::Start;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::live_table::LiveTable;
use crate::ui::terminal::{FAINT, Screen, TITLE, json_path, plain};
use clap::Args;
use std::path::{Path, PathBuf};

/// Run a table or figure of the paper again, beside the published numbers
///
/// NAME is a recipe, or `list`, `claims` or `publish`. An interrupted recipe continues; finished runs are not
/// repeated. At the end: our table beside the published one, the figures, and whether each claim of the paper holds.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares reproduce list                              the recipes, and which of them ran here
  tares reproduce claims                            theorems and cost claims, in minutes, without any data
  tares reproduce mnist                             the table on MNIST, sized for two cores
  tares reproduce mnist --only NPCL,GCE --seeds 5   two of its rows, five seeds
  tares reproduce cifar-10 --scale paper --device cuda
  tares reproduce mnist --shard 2/8                 the second of eight parts of its runs
  tares reproduce my-recipe.toml                    a recipe of your own
  tares reproduce publish --to .                    write down everything that ran: RESULTS.md, results/paper/")]
pub struct Reproduce {
    /// A recipe, a recipe's file (.toml), list, claims or publish
    name: String,
    /// How large [default: laptop]
    #[arg(long, value_enum)]
    scale: Option<RecipeSize>,
    /// Only these rows, by their names in the table
    #[arg(long, value_name = "METHOD,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Seeds 1 to N instead of the recipe's
    #[arg(long, value_name = "N")]
    seeds: Option<u64>,
    /// Where reproductions are kept, one directory for each [default: runs/reproduce]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where to train [default: cpu]
    #[arg(long)]
    device: Option<String>,
    /// Runs at the same time [default: 1]
    #[arg(long)]
    jobs: Option<usize>,
    /// Where built-in data sets are looked for first
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Run although files are missing, with the part of the data that is here
    #[arg(long)]
    subset: bool,
    #[command(flatten)]
    sharing: Sharing,
    /// publish: the directory for RESULTS.md and results/paper
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl Reproduce {
    /// Lists, checks, publishes, or runs a recipe.
    ///
    /// # Errors
    /// No such recipe, missing data, a changed recipe in an old directory, or what stops a comparison.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        self.refuse_idle_options()?;
        match self.name.as_str() {
            "list" => self.list(screen),
            "claims" => claims(screen),
            "publish" => self.publish(screen),
            name => {
                let (name, recipe) = catalogue::find(name)?;
                self.reproduce(&name, &recipe, screen)
            }
        }
    }

    /// Refuses options that have no effect on what was asked for, so that nobody believes they had one.
    fn refuse_idle_options(&self) -> Outcome<()> {
        let name = self.name.as_str();
        let is_recipe = !["list", "claims", "publish"].contains(&name);
        let recipes = "a recipe";
        let everything = "a recipe, list and publish";
        let options = [
            ("--scale", self.scale.is_some(), is_recipe, recipes),
            ("--only", !self.only.is_empty(), is_recipe, recipes),
            ("--seeds", self.seeds.is_some(), is_recipe, recipes),
            ("--out", self.out.is_some(), name != "claims", everything),
            ("--device", self.device.is_some(), is_recipe, recipes),
            ("--jobs", self.jobs.is_some(), is_recipe, recipes),
            ("--data-dir", self.data_dir.is_some(), name != "claims", everything),
            ("--subset", self.subset, is_recipe, recipes),
            ("--shard", self.sharing.shard.is_some(), is_recipe, recipes),
            ("--dry-run", self.sharing.dry_run, is_recipe, recipes),
            ("--to", self.to.is_some(), name == "publish", "publish"),
        ];
        match options.iter().find(|(_, typed, used, _)| *typed && !used) {
            Some((option, _, _, users)) => {
                Err(Failure::new(format!("{option} has no effect in `tares reproduce {}`", plain(name)))
                    .way_out(format!("leave it out; it has an effect with {users}")))
            }
            None => Ok(()),
        }
    }

    /// Where reproductions are kept.
    fn out(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new(ROOT))
    }

    fn list(&self, screen: &Screen) -> Outcome<Exit> {
        let entries = entries(self.out(), self.data_dir.as_deref())?;
        let widest = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        for entry in &entries {
            let name = format!("{:<widest$}", entry.name);
            screen.line(format!("{}  {} ({})", screen.paint(&name, TITLE), entry.title, entry.paper))?;
            let state = format!("laptop: {}; paper: {}", entry.laptop, entry.full);
            screen.line(format!("{:widest$}  {}", "", screen.paint(&state, FAINT)))?;
        }
        screen.line(format!("{:<widest$}  theorems and cost claims on built-in data, in minutes", "claims"))?;
        screen.result(|| serde_json::json!({ "recipes": entries }))?;
        Ok(Exit::Fine)
    }

    fn publish(&self, screen: &Screen) -> Outcome<Exit> {
        let Some(to) = &self.to else {
            return Err(Failure::new("publish needs the directory to write to").way_out("add --to DIR, as in --to ."));
        };
        let names = publish(self.out(), to, self.data_dir.as_deref())?;
        let page = to.join(PAGE);
        screen.line(plain(&page.display().to_string()))?;
        screen.result(|| serde_json::json!({ "page": json_path(&page), "published": names }))?;
        Ok(Exit::Fine)
    }

    fn reproduce(&self, name: &str, recipe: &Recipe, screen: &Screen) -> Outcome<Exit> {
        let (out, size, jobs) = (self.out(), self.scale.unwrap_or_default(), self.jobs.unwrap_or(1));
        let experiment = self.asked(recipe, size)?;
        experiment.check()?;
        if jobs == 0 {
            return Err(tares_core::Error::value("jobs", "at least 1", 0).into());
        }
        let lacking = missing(recipe, size, self.data_dir.as_deref())?;
        if !lacking.is_empty() && !self.subset {
            return Err(missing_failure(recipe, &lacking, self.data_dir.as_deref()));
        }
        let here = ReproductionPlace::new(out, name, size);
        let all = experiment.runs()?;
        let runs = self.sharing.part(&all);
        here.check(recipe, size)?;
        let same = |spec| same_spec(&place(&here.path, spec), spec).map_err(|failure| failure.way_out(WAY_OUT));
        runs.iter().try_for_each(same)?;
        let scale = recipe.scale(size);
        screen.note(format!("{}: {}", recipe.title, scale.time));
        scale.deviations.iter().for_each(|deviation| screen.note(format!("  not as published: {deviation}")));
        let lacking: Vec<String> = lacking.iter().map(ToString::to_string).collect();
        match lacking.is_empty() {
            false => screen.note(format!("  not as published: {}", a_part_of_the_data(&lacking))),
            true if self.subset => screen.note("  --subset: no file is missing, so all of the data is used"),
            true => {}
        }
        let mut loaded = load(&experiment.data, &experiment.load.options(), screen)?;
        // Every run keeps in mind that it had only a part.
        loaded.found.missing_files = lacking;
        let data = hash(&loaded.train, loaded.test.as_ref());
        runs.iter().try_for_each(|spec| same_data(&place(&here.path, spec), &data, WAY_OUT))?;
        // Check the settings against the data before writing anything.
        experiment.load.first_rows(&experiment.load.thinned(&loaded.train)?)?;
        if self.sharing.dry_run {
            self.sharing.print_costs(&runs, &loaded, &here.path, screen)?;
            return Ok(Exit::Fine);
        }
        here.claim(recipe, size, &experiment.device)?;
        let taken = take_over(out, &here.path, &runs, &data)?;
        if taken > 0 {
            screen.note(format!("{taken} runs are those of other recipes in {}", plain(&out.display().to_string())));
        }
        let table = LiveTable::new(&runs, screen);
        let done = run_all(&runs, &loaded, &here.path, Start::Resume, jobs, screen, &table)?;
        table.clear();
        if self.sharing.all_records(&all, done, &here.path, screen)?.is_none() {
            return Ok(Exit::Fine);
        }
        let records = here.finished(recipe, size)?;
        let reproduction = Reproduction { name, recipe, size, runs: &records };
        reproduction.write(&here.path)?;
        screen.line(reproduction.table().text())?;
        let verdicts = reproduction.verdicts();
        for verdict in &verdicts {
            screen.line(format!("{:<15} {}", verdict.ruling.words(), verdict.says))?;
            verdict.evidence.iter().try_for_each(|part| screen.line(format!("{:15} {}", "", part.sentence())))?;
        }
        let page = here.path.join("reproduction.html");
        screen.line(plain(&page.display().to_string()))?;
        let said: Vec<_> = verdicts.iter().map(|verdict| serde_json::json!([verdict.says, verdict.ruling])).collect();
        screen.result(|| serde_json::json!({ "page": json_path(&page), "runs": records.len(), "verdicts": said }))?;
        Ok(Exit::Fine)
    }

    fn asked(&self, recipe: &Recipe, size: RecipeSize) -> Outcome<Experiment> {
        if self.seeds == Some(0) {
            return Err(tares_core::Error::value("seeds", "at least 1", 0).into());
        }
        let names = recipe.names();
        let mut rows = names.clone();
        if !self.only.is_empty() {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            let same =
                |wanted: &String| names.iter().find(|name| name.to_lowercase() == wanted.to_lowercase()).cloned();
            let chosen = |wanted: &String| {
                same(wanted).ok_or_else(|| Failure::from(tares_core::Error::unknown("row", wanted, &known)))
            };
            rows = self.only.iter().map(chosen).collect::<Outcome<_>>()?;
        }
        let mut experiment = recipe.scale(size).experiment(recipe, &rows, self.seeds)?;
        if let Some(device) = &self.device {
            experiment.device.clone_from(device);
        }
        if self.data_dir.is_some() {
            experiment.load.data_dir.clone_from(&self.data_dir);
        }
        Ok(experiment)
    }
}

/// Theorems and cost claims.
fn claims(screen: &Screen) -> Outcome<Exit> {
    let checked = theorems::check(&|doing| screen.note(doing))?;
    for part in &checked {
        screen.line(format!("{:<15} {}", part.ruling.words(), part.says))?;
        screen.line(format!("{:15} {}", "", part.found))?;
    }
    screen.result(|| serde_json::json!({ "claims": checked }))?;
    let broken = checked.iter().any(|part| part.ruling == Ruling::DoesNotHold);
    Ok(if broken { Exit::Findings } else { Exit::Fine })
}
