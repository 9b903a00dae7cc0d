//! `tares compare`: every combination of noise, method and seed, summed up in a table as papers print them.

use super::Exit;
use super::plan::{Training, say_unreached_steps};
use super::source::load;
use crate::files::{create_directory, remove, write_whole};
use crate::record::in_order;
use crate::report::{self, summary};
use crate::run::contender::Contender;
use crate::run::directory::same_run::{OTHER_DATA, hash, same_data, same_spec};
use crate::run::experiment::Experiment;
use crate::run::label_noise::LabelNoise;
use crate::run::load::Load;
use crate::run::noise_rate::NoiseRate;
use crate::run::runs::{Sharing, place, run_all};
use crate::run::spec_file::{self, VERSION};
use crate::run::train::Start;
use crate::ui::failure::Outcome;
use crate::ui::live_table::LiveTable;
use crate::ui::terminal::{Screen, json_path, plain};
use clap::Args;
use std::path::PathBuf;
use tares::Plan;
use tares::method::Methods;

/// Compare methods over noises and seeds
///
/// Every combination of noise, method and seed is a run of its own in OUT/runs. Finished runs are not repeated and
/// interrupted ones continue. Prints mean ± std over seeds, and writes summary.csv (one row per run) and a report.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares compare --data digits --noise symmetric:0.5,pair:0.35 --methods standard,npcl \\
      --network mlp --epochs 60 --seeds 3 --out runs/table
  tares compare --data mnist --noise symmetric:0.5 --methods standard,gce,co-teaching,npcl --seed-list 1,7 --out t
  tares compare --spec runs/table/experiment.toml --out again             repeat a comparison exactly
  tares compare --spec runs/table/experiment.toml --seeds 5 --out more    the same with more seeds
  tares compare --spec runs/table/experiment.toml --out shared --dry-run  which runs, and how long they will take
  tares compare --spec runs/table/experiment.toml --out shared --shard 2/8 the second of eight parts, as one job of an array

The methods are told the true rate of the noise, as in published comparisons; --noise-rate auto estimates it instead.")]
pub struct Compare {
    /// A built-in name or a path
    #[arg(long, required_unless_present = "spec")]
    data: Option<String>,
    /// The kinds of noise to put into the labels, separated by commas [default: none]
    #[arg(long, value_name = "KIND:RATE,...", value_delimiter = ',')]
    noise: Vec<LabelNoise>,
    /// The seed of the noise, one for all runs [default: the seed of each run; 0 with --quirks]
    #[arg(long, value_name = "SEED")]
    noise_seed: Option<u64>,
    /// The methods, separated by commas, with their parameters: standard,npcl:burn-in=3,train=hinge,gce:q=0.1
    #[arg(long, value_name = "METHOD,...", required_unless_present = "spec")]
    methods: Vec<Methods>,
    /// How many seeds; N means the seeds 1 to N [default: 1]
    #[arg(long, value_name = "N", conflicts_with_all = ["seed_list", "seed"])]
    seeds: Option<u64>,
    /// Which seeds, separated by commas
    #[arg(long, value_name = "SEED,...", value_delimiter = ',', conflicts_with = "seed")]
    seed_list: Vec<u64>,
    /// The noise rate that methods are told: known, auto, or a number [default: known]
    #[arg(long, value_name = "RATE")]
    noise_rate: Option<NoiseRate>,
    /// How many runs are trained at the same time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// The directory of the comparison
    #[arg(long, value_name = "DIR", required = true)]
    out: PathBuf,
    /// Delete earlier runs of this comparison in --out first
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    sharing: Sharing,
    /// Take all settings from this file; options on the command line override it
    #[arg(long, value_name = "FILE", conflicts_with = "Load")]
    spec: Option<PathBuf>,
    #[command(flatten)]
    training: Training,
    #[command(flatten)]
    reading: Load,
}

impl Compare {
    /// Trains all runs and writes the table and the report.
    ///
    /// # Errors
    /// The data cannot be read, a value is not allowed, a directory holds another run or cannot be written, or Ctrl-C.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        let experiment = self.asked()?;
        experiment.check()?;
        if self.jobs == 0 {
            return Err(tares_core::Error::value("jobs", "at least 1", 0).into());
        }
        let all = experiment.runs()?;
        let plans = in_order(all.iter().map(|spec| Plan { seed: 1, ..spec.plan.clone() }));
        plans.iter().for_each(|plan| say_unreached_steps(plan, screen));
        let runs = self.sharing.part(&all);
        let start = if self.overwrite { Start::Overwrite } else { Start::Resume };
        self.sharing.refuse_overwrite(self.overwrite)?;
        if start == Start::Resume {
            // Check all runs before writing anything, so that a refused comparison changes no file.
            runs.iter().try_for_each(|spec| same_spec(&place(&self.out, spec), spec))?;
        }
        let loaded = load(&experiment.data, &experiment.load.options(), screen)?;
        if start == Start::Resume {
            let data = hash(&loaded.train, loaded.test.as_ref());
            runs.iter().try_for_each(|spec| same_data(&place(&self.out, spec), &data, OTHER_DATA))?;
        }
        if self.sharing.dry_run {
            self.sharing.print_costs(&runs, &loaded, &self.out, screen)?;
            return Ok(Exit::Fine);
        }
        create_directory(&self.out)?;
        self.sharing.same_experiment(&self.out.join("experiment.toml"), &experiment)?;
        for report in ["report.html", "summary.csv"].iter().filter(|_| self.sharing.shard.is_none()) {
            // Remove the old reports: they describe runs that now change.
            remove(&self.out.join(report))?;
        }
        write_whole(&self.out.join("experiment.toml"), spec_file::to_toml(&experiment)?.as_bytes())?;
        let table = LiveTable::new(&runs, screen);
        let records = run_all(&runs, &loaded, &self.out, start, self.jobs, screen, &table)?;
        table.clear();
        // The last part to be finished has all runs; the others leave the report to it, or to `tares report`.
        let Some(records) = self.sharing.all_records(&all, records, &self.out, screen)? else { return Ok(Exit::Fine) };
        let rows = report::write_all(&self.out, &report::title(&records), &records)?;
        screen.line(summary::accuracy_table(&rows).text(screen))?;
        if rows.iter().any(|row| row.label_precision_last10.is_some()) {
            screen.line(summary::precision_table(&rows).text(screen))?;
        }
        crate::record::burn_in::never_selected(&records).iter().for_each(|sentence| screen.warning(plain(sentence)));
        for sentence in [report::quantity::heads(&records), report::quantity::starvation(&records)].concat() {
            screen.note(plain(&sentence));
        }
        let doubts = records.iter().filter_map(|run| run.manifest.rate.as_ref()?.warning.clone());
        in_order(doubts).iter().for_each(|doubt| screen.warning(plain(doubt)));
        if let Some(note) = report::page::noisy_test_note(&records) {
            screen.line(plain(&note))?;
        }
        for file in ["summary.csv", "report.html"] {
            screen.line(plain(&self.out.join(file).display().to_string()))?;
        }
        screen.result(|| serde_json::json!({ "out": json_path(&self.out), "runs": rows }))?;
        Ok(Exit::Fine)
    }

    /// The settings of the file, or the defaults; options that were typed override them.
    fn asked(&self) -> Outcome<Experiment> {
        if self.seeds == Some(0) {
            return Err(tares_core::Error::value("seeds", "at least 1", 0).into());
        }
        let mut experiment = match &self.spec {
            Some(path) => spec_file::read(path)?,
            None => Experiment {
                version: VERSION,
                data: String::new(),
                noises: vec![LabelNoise::NONE],
                noise_seed: None,
                seeds: vec![1],
                noise_rate: NoiseRate::Known,
                device: self.training.device().to_owned(),
                network: None,
                methods: Vec::new(),
                load: self.reading.spec(),
                plan: Plan { epochs: 60, ..Plan::default() },
            },
        };
        if let Some(data) = &self.data {
            experiment.data.clone_from(data);
        }
        if !self.noise.is_empty() {
            experiment.noises.clone_from(&self.noise);
        }
        if !self.methods.is_empty() {
            experiment.methods = self.methods.iter().flat_map(|list| list.0.clone()).map(Contender::from).collect();
        }
        match (self.seeds, self.seed_list.as_slice(), self.training.seed) {
            (Some(count), _, _) => experiment.seeds = (1..=count).collect(),
            (None, [], Some(seed)) => experiment.seeds = vec![seed],
            (None, [], None) => {}
            (None, list, _) => experiment.seeds = list.to_vec(),
        }
        experiment.noise_seed = self.noise_seed.or(experiment.noise_seed);
        if let Some(rate) = self.noise_rate {
            experiment.noise_rate = rate;
            experiment.methods.iter_mut().for_each(|row| row.noise_rate = None);
        }
        experiment.device = self.training.device.clone().unwrap_or(experiment.device);
        for row in experiment.methods.iter_mut().filter(|row| !row.plan.is_empty()) {
            self.typed_over(row, &experiment.plan)?;
        }
        self.training.apply(&mut experiment.plan)?;
        experiment.plan.seed = 1;
        if let Some(network) = &self.training.network {
            experiment.network = Some(network.clone());
            experiment.methods.iter_mut().for_each(|row| row.network = None);
        }
        Ok(experiment)
    }

    /// Options that were typed also override a row's own plan.
    fn typed_over(&self, row: &mut Contender, shared: &Plan) -> Outcome<()> {
        let own = row.plan(shared)?;
        let mut plan = own.clone();
        self.training.apply(&mut plan)?;
        if plan != own { row.set_plan(&plan) } else { Ok(()) }
    }
}
