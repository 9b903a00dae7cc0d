//! `tares compare`: noises × methods × seeds → the paper's kind of table.

use super::Exit;
use super::plan::Training;
use super::source::{Reading, load};
use crate::files::{create_directory, write_whole};
use crate::report::{self, summary};
use crate::run::label_noise::LabelNoise;
use crate::run::runs::run_all;
use crate::run::spec::{self, Experiment, NoiseRate, VERSION};
use crate::run::train::Start;
use crate::ui::failure::Outcome;
use crate::ui::live_table::LiveTable;
use crate::ui::terminal::{Screen, json_path, plain};
use clap::Args;
use std::path::PathBuf;
use tares::{Method, Plan};

/// Compare methods over noises and seeds
///
/// Every combination is a run of its own in OUT/runs. A run that is finished is not repeated; one that was interrupted
/// goes on where it was. At the end: a table of mean ± std over seeds, summary.csv with one row per run, and a report.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares compare --data digits --noise symmetric:0.5,pair:0.35 --methods standard,npcl \\
      --network mlp --epochs 60 --seeds 3 --out runs/table
  tares compare --data mnist --noise symmetric:0.5 --methods standard,gce,co-teaching,npcl --seed-list 1,7 --out t
  tares compare --spec runs/table/experiment.toml --out again     repeat a comparison exactly

The methods are told the rate of the noise that was put in, as comparisons do; --noise-rate auto lets them estimate it.")]
pub struct Compare {
    /// A built-in name or a path
    #[arg(long, required_unless_present = "spec")]
    data: Option<String>,
    /// The noises, separated by commas [default: none]
    #[arg(long, value_name = "KIND:RATE,...", value_delimiter = ',')]
    noise: Vec<LabelNoise>,
    /// The methods, separated by commas
    #[arg(long, value_name = "METHOD,...", value_delimiter = ',', required_unless_present = "spec")]
    methods: Vec<Method>,
    /// How many seeds: 1, 2, ... [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "seed_list")]
    seeds: Option<u64>,
    /// Which seeds, separated by commas
    #[arg(long, value_name = "SEED,...", value_delimiter = ',')]
    seed_list: Vec<u64>,
    /// The noise rate methods are told: known, auto, or a number
    #[arg(long, value_name = "RATE")]
    noise_rate: Option<NoiseRate>,
    /// Runs at the same time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// The directory of the comparison
    #[arg(long, value_name = "DIR", required = true)]
    out: PathBuf,
    /// Take everything from this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "noise", "methods", "seeds", "seed_list", "noise_rate"])]
    spec: Option<PathBuf>,
    #[command(flatten)]
    training: Training,
    #[command(flatten)]
    reading: Reading,
}

impl Compare {
    /// Compares.
    ///
    /// # Errors
    /// The data cannot be read, a value is outside its domain, a directory is taken or full, or Ctrl-C.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        let experiment = self.asked()?;
        experiment.check()?;
        if self.jobs == 0 {
            return Err(tares_core::Error::value("jobs", "at least 1", 0).into());
        }
        let loaded = load(&experiment.data, &experiment.load.options(), screen)?;
        create_directory(&self.out)?;
        write_whole(&self.out.join("experiment.toml"), spec::to_toml(&experiment)?.as_bytes())?;
        let runs = experiment.runs();
        let table = LiveTable::new(&runs, screen);
        let records = run_all(&runs, &loaded, &self.out, Start::Resume, self.jobs, screen, &table)?;
        table.clear();
        let rows = report::write_all(&self.out, &report::title(&records), &records)?;
        screen.line(summary::accuracy_table(&rows).text(screen))?;
        if rows.iter().any(|row| row.label_precision_last10.is_some()) {
            screen.line(summary::precision_table(&rows).text(screen))?;
        }
        let doubts = records.iter().filter_map(|run| run.manifest.rate.as_ref()?.warning.clone());
        summary::in_order(doubts).iter().for_each(|doubt| screen.warning(plain(doubt)));
        if let Some(note) = report::page::noisy_test_note(&records) {
            screen.line(plain(&note))?;
        }
        for file in ["summary.csv", "report.html"] {
            screen.line(plain(&self.out.join(file).display().to_string()))?;
        }
        screen.result(|| serde_json::json!({ "out": json_path(&self.out), "runs": rows }))?;
        Ok(Exit::Fine)
    }

    fn asked(&self) -> Outcome<Experiment> {
        if let Some(path) = &self.spec {
            let mut experiment: Experiment = spec::read(path)?;
            self.training.apply(&mut experiment.plan)?;
            return Ok(experiment);
        }
        if self.seeds == Some(0) {
            return Err(tares_core::Error::value("seeds", "at least 1", 0).into());
        }
        let mut plan = Plan { epochs: 60, ..Plan::default() };
        self.training.apply(&mut plan)?;
        Ok(Experiment {
            version: VERSION,
            data: self.data.clone().unwrap_or_default(),
            noises: if self.noise.is_empty() { vec![LabelNoise::NONE] } else { self.noise.clone() },
            seeds: match (self.seeds, self.seed_list.as_slice()) {
                (Some(count), _) => (1..=count).collect(),
                (None, []) => vec![plan.seed],
                (None, list) => list.to_vec(),
            },
            noise_rate: self.noise_rate.unwrap_or(NoiseRate::Known),
            device: self.training.device.clone(),
            network: self.training.network.clone(),
            methods: self.methods.clone(),
            load: self.reading.spec(),
            plan: Plan { seed: 1, ..plan },
        })
    }
}
