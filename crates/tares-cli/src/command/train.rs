//! `tares train`: from data to a model, a list of suspects and a report.

mod shown;

use super::Exit;
use super::plan::{Training, say_unreached_steps};
use crate::backbone::described::{load_described, say_backbone};
use crate::backbone::options::FeatureSource;
use crate::consensus::soft::with_consensus;
use crate::judges::inputs::text_note;
use crate::judges::name::JudgeName;
use crate::learner::learnt::PANEL_FILE;
use crate::learner::{ColumnLearner, Learner};
use crate::record::RunRecord;
use crate::record::burn_in::never_selected;
use crate::report::{self, summary::mean_of_last_words};
use crate::run::directory::same_run::DataHash;
use crate::run::directory::{RunDirectory, first_missing, model_file};
use crate::run::label_noise::LabelNoise;
use crate::run::load::Load;
use crate::run::noise_rate::{self, NoiseRate};
use crate::run::spec::Spec;
use crate::run::spec_file::{self, VERSION};
use crate::run::train::{Start, run_in};
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::{Screen, json_path, plain};
use clap::Args;
use shown::Shown;
use std::path::{Path, PathBuf};
use tares::{Method, Normalise};
use tares_core::Shape;
use tares_core::metric::last_epochs;
use tares_data::Loaded;
use tares_judges::Judge;

/// Train on labels that are partly wrong
///
/// Reads DATA, trains a panel of models on a table or texts and a network on pictures, and writes a run directory: the model, the list of
/// samples whose label looks wrong, and a report. The fraction of wrong labels is estimated first where the method needs it and it is not
/// given.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares train digits --noise symmetric:0.5             an experiment on the built-in digits
  tares train flowers.csv --label species              a table; the rate of wrong labels is estimated
  tares train photos/ --noise-rate 0.2 --epochs 50     a folder of class folders
  tares train flowers.csv --annotators crowd.csv       several people's labels: learn their soft consensus
  tares train --resume --out runs/photos               continue after Ctrl-C or a crash
  tares train --spec runs/photos/spec.toml --out again repeat a run exactly

The run directory holds spec.toml, manifest.json, epochs.jsonl, samples.parquet, suspects.csv,
model.safetensors, model.json and report.html.")]
pub struct Train {
    /// A built-in name or a path
    #[arg(required_unless_present_any = ["resume", "spec"])]
    data: Option<String>,
    /// The training method: tares, npcl, gce:q=0.5, ...; `tares methods` lists all [default: npcl for models of tables and texts, and with
    /// --noise-rate or --annotators; tares for networks]
    #[arg(long)]
    method: Option<Method>,
    /// The fraction of wrong labels, for methods that use it: a number; `auto` estimates it; `known` takes it from --noise [default: auto]
    #[arg(long, value_name = "RATE")]
    noise_rate: Option<NoiseRate>,
    /// For experiments: make labels wrong in this way before training
    #[arg(long, value_name = "KIND:RATE")]
    noise: Option<LabelNoise>,
    /// The seed of that noise [default: --seed; 0 with --quirks]
    #[arg(long, value_name = "SEED")]
    noise_seed: Option<u64>,
    /// The run directory [default: runs/DATA-METHOD]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the unfinished run in --out
    #[arg(long, requires = "out", conflicts_with_all = ["data", "method", "noise_rate", "noise", "noise_seed", "annotators", "spec", "overwrite", "Training", "Load", "FeatureSource"])]
    resume: bool,
    /// Delete an earlier run in --out first
    #[arg(long)]
    overwrite: bool,
    /// Take all settings from this file; training options on the command line override it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "method", "noise_rate", "noise", "noise_seed", "annotators", "Load", "FeatureSource"])]
    spec: Option<PathBuf>,
    /// Learn the soft consensus of several people's labels: a table of answers (row, annotator, label), or a directory that
    /// `tares consensus` wrote
    #[arg(long, value_name = "FILE or DIR", conflicts_with = "noise")]
    annotators: Option<String>,
    #[command(flatten)]
    training: Training,
    #[command(flatten)]
    features: FeatureSource,
    #[command(flatten)]
    reading: Load,
}

impl Train {
    /// Trains and writes the run directory.
    ///
    /// # Errors
    /// The data cannot be read, a value is not allowed, the directory holds a run or cannot be written, or Ctrl-C.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        let start = match (self.resume, self.overwrite) {
            (true, _) => Start::Resume,
            (_, true) => Start::Overwrite,
            _ => Start::New,
        };
        self.refuse_idle_options()?;
        let mut spec = self.asked()?;
        spec.check()?;
        let options = spec.options().with(|options| options.arriving = self.can_begin_early(&spec));
        let (mut loaded, backbone) = load_described(&spec.source(), &options, &spec.features(), screen)?;
        if let Some(annotators) = spec.annotators() {
            let (learnt, said) = with_consensus(loaded, &annotators)?;
            screen.note(plain(&said));
            loaded = learnt;
        }
        if spec.features.is_none() {
            say_backbone(&mut loaded, screen);
        }
        if let Some(learner) = self.default_learner(&spec, &loaded) {
            let what = if spec.features.is_none() { "a table is" } else { "features are" };
            let judges = ColumnLearner::Panel.judges(&loaded.train, &loaded.reading);
            let models: Vec<&str> = judges.into_iter().map(Judge::name).collect();
            screen.note(format!(
                "{what} learnt by the network {learner} ({}), blended by their scores on rows they did not see; --network mlp trains \
                 a network",
                models.join(", ")
            ));
            JudgeName::left_out(&loaded.train, &loaded.reading).iter().for_each(|note| screen.note(note));
            spec.network = Some(learner);
        } else if self.would_be_panel(&spec, &loaded) {
            screen.note(format!(
                "{} is for networks, so a network is trained; without it a panel of models learns the table",
                self.training.for_networks().join(", ")
            ));
        }
        if self.leaves_the_method_to_us(&spec) {
            spec.method = "tares".parse()?;
            screen.note(
                "the method tares trains the network: it needs no noise rate; --method npcl estimates one first and leaves out what is \
                 probably wrong",
            );
        }
        if matches!(spec.network, Some(Learner::Columns(_))) {
            loaded.found.column_notes.extend(text_note(&loaded.train).inspect(|note| screen.note(note)));
        }
        say_unreached_steps(&spec.plan, screen);
        let out = self.out.unwrap_or_else(|| default_out(&spec));
        let found = &loaded.found;
        screen.note(format!(
            "{}: {} rows in {} classes, {}; {} test rows",
            plain(&spec.data),
            found.train_rows,
            found.classes.len(),
            found.shape,
            found.test_rows.unwrap_or(0)
        ));
        found.notes.iter().for_each(|note| screen.note(format!("  {}", plain(note))));
        if let (_, pictures @ 1..) = loaded.train.coming() {
            screen.note(format!("decoding {pictures} pictures while training begins"));
        }
        let shown = Shown::new(&spec, screen);
        let data = DataHash::of(&loaded);
        // A refused run creates no directory.
        let record = spec.check().and_then(|()| {
            let directory = RunDirectory::lock(&out)?;
            run_in(&directory, &spec, &loaded, &data, backbone.as_ref(), start, &|event| shown.hear(event))
        });
        shown.clear();
        let record = record.map_err(|failure| resumable(failure, &out))?;
        if let Some(file) = first_missing(&out) {
            let text = format!("{}: this run is finished, but its {file} is missing", out.display());
            let again =
                format!("train it again: tares train --spec {0}/spec.toml --out {0} --overwrite", out.display());
            return Err(Failure::new(text).way_out(again));
        }
        let page = report::page::page(&report::title(std::slice::from_ref(&record)), std::slice::from_ref(&record))?;
        crate::files::write_whole(&out.join("report.html"), page.as_bytes())?;
        print(&record, &out, screen)?;
        Ok(Exit::Fine)
    }

    /// Refuses a typed rate that the typed method would ignore, and options that the typed network would.
    fn refuse_idle_options(&self) -> Outcome<()> {
        if let (Some(method), Some(NoiseRate::Given(rate))) = (&self.method, self.noise_rate)
            && !method.takes_rate()
        {
            return Err(Failure::new(format!(
                "the method {method} uses no noise rate, so --noise-rate {rate} would change nothing"
            ))
            .way_out(
                "leave --noise-rate out, or take a method that uses it: npcl, co-teaching; `tares methods` lists them",
            ));
        }
        let Some(learner @ Learner::Columns(_)) = &self.training.network else { return Ok(()) };
        let idle: Vec<&str> =
            self.training.typed().into_iter().filter(|name| !["--network", "--seed"].contains(name)).collect();
        match idle.is_empty() {
            true => Ok(()),
            false => Err(Failure::new(format!("--network {learner} does not use {}", idle.join(", ")))
                .way_out("rounds, penalties and sizes are chosen on held-out rows; leave these options out")),
        }
    }

    /// The default model of a table and of a backbone's features: a panel, unless the method cannot train it or an option was typed that
    /// only networks use.
    fn default_learner(&self, spec: &Spec, loaded: &Loaded) -> Option<Learner> {
        let panel = self.would_be_panel(spec, loaded) && !self.training.is_for_networks();
        panel.then_some(Learner::Columns(ColumnLearner::Panel))
    }

    /// Whether the method follows from the model: a network whose method was not typed, nor anything that only other methods use.
    fn leaves_the_method_to_us(&self, spec: &Spec) -> bool {
        let typed = self.method.is_some() || self.noise_rate.is_some() || self.annotators.is_some();
        let network = !matches!(spec.network, Some(Learner::Columns(_)));
        network && !typed && self.spec.is_none() && !self.resume
    }

    /// Whether nothing needs all pictures before the first step: no noise rate to estimate, no noise that looks at pictures, no mean over
    /// them, no earlier epochs that must belong to the same pictures.
    fn can_begin_early(&self, spec: &Spec) -> bool {
        let network = !matches!(spec.network, Some(Learner::Columns(_)));
        let told = self.leaves_the_method_to_us(spec) || !noise_rate::estimates(spec);
        let settled = spec.noise.needs_only_labels() && spec.plan.normalise != Normalise::Standardise;
        network && told && settled && spec.annotators.is_none() && !self.resume
    }

    /// Whether a panel is trained if no option of networks was typed.
    fn would_be_panel(&self, spec: &Spec, loaded: &Loaded) -> bool {
        let free = spec.network.is_none() && self.spec.is_none() && !self.resume;
        let table = matches!(loaded.train.shape(), Shape::Flat(_));
        free && table && ColumnLearner::Panel.takes(&spec.method)
    }

    /// The settings that were typed, or those of the file that was named.
    fn asked(&self) -> Outcome<Spec> {
        if self.resume {
            let out = self.out.as_deref().unwrap_or(Path::new("."));
            let path = out.join("spec.toml");
            if !path.exists() {
                return Err(Failure::new(format!("{}: no run to continue: there is no spec.toml", out.display()))
                    .way_out("name the run's directory with --out, or start without --resume"));
            }
            return spec_file::read(&path);
        }
        if let Some(path) = &self.spec {
            let mut spec: Spec = spec_file::read(path)?;
            self.training.apply(&mut spec.plan)?;
            spec.network = self.training.network.clone().or(spec.network);
            spec.device = self.training.device.clone().unwrap_or(spec.device);
            return Ok(spec);
        }
        let mut spec = Spec {
            version: VERSION,
            data: self.data.clone().unwrap_or_default(),
            directory: None,
            noise: self.noise.clone().unwrap_or(LabelNoise::NONE),
            noise_seed: self.noise_seed,
            noise_rate: self.noise_rate.unwrap_or_default(),
            device: self.training.device().to_owned(),
            network: self.training.network.clone(),
            name: None,
            method: self.method.clone().map_or_else(|| "npcl".parse(), Ok)?,
            load: self.reading.spec(),
            features: self.features.clone(),
            annotators: self.annotators.clone(),
            plan: tares::Plan { epochs: 60, ..tares::Plan::default() },
        };
        // Features have any scale, and a network learns from numbers around 0.
        if !spec.features.is_none() {
            spec.plan.normalise = Normalise::Standardise;
        }
        self.training.apply(&mut spec.plan)?;
        Ok(spec)
    }
}

/// `runs/digits-npcl`.
fn default_out(spec: &Spec) -> PathBuf {
    let data = Path::new(&spec.data).file_stem().map_or_else(|| "data".into(), |stem| stem.to_string_lossy());
    PathBuf::from("runs").join(format!(
        "{}-{}",
        crate::files::file_name(&data),
        crate::files::file_name(&spec.method.to_string())
    ))
}

/// Adds to Ctrl-C how to continue.
fn resumable(failure: Failure, out: &Path) -> Failure {
    match failure {
        Failure::Interrupted { .. } => Failure::Interrupted {
            way_out: format!("everything so far is kept; continue with: tares train --resume --out {}", out.display()),
        },
        other => other,
    }
}

fn print(record: &RunRecord, out: &Path, screen: &Screen) -> Outcome<()> {
    let result = record.manifest.result.as_ref();
    let file = model_file(out);
    let columns = file == PANEL_FILE;
    let percent = |value: Option<f64>| value.map_or("unknown".to_owned(), |value| format!("{:.2} %", 100.0 * value));
    if let Some(result) = result {
        let averaged = match result.network_accuracy_last10 {
            Some(network) => format!("its head; the network under it {}", percent(Some(network))),
            None if columns => "the finished model".to_owned(),
            None => mean_of_last_words(last_epochs(record.epochs.len())),
        };
        screen.line(format!("test accuracy    {} ({averaged})", percent(result.test_accuracy_last10)))?;
        if let Some(accuracy) = &result.true_accuracy {
            screen.line(format!("                 {}", plain(&accuracy.sentence())))?;
        }
        if let Some(precision) = result.label_precision_last10 {
            screen.line(format!("label precision  {}", percent(Some(precision))))?;
        }
        let runs = std::slice::from_ref(record);
        never_selected(runs).iter().for_each(|sentence| screen.warning(plain(sentence)));
        for sentence in report::quantity::starvation(runs) {
            screen.note(plain(&sentence));
        }
        if let Some(rate) = record.epochs.last().and_then(|epoch| epoch.estimated_rate) {
            screen.line(format!(
                "noise rate       {:.1} % (the share of labels that the method believes wrong)",
                100.0 * rate
            ))?;
        }
        let share = result.suspects as f64 / record.manifest.data.train_rows.max(1) as f64;
        screen.line(format!(
            "suspects         {} of {} ({:.1} %)",
            result.suspects,
            record.manifest.data.train_rows,
            100.0 * share
        ))?;
        let told = record.manifest.rate.as_ref().and_then(|rate| rate.warning.as_deref());
        for warning in result.warnings.iter().filter(|warning| Some(warning.as_str()) != told) {
            screen.warning(warning);
        }
        for sentence in [report::quantity::left_out(record), report::quantity::uncorrected(record)] {
            sentence.iter().for_each(|sentence| screen.note(sentence));
        }
        screen.note(match columns {
            true => "(each label was judged by models that were not trained on it, as `tares audit` does)",
            false => {
                "(in-sample: judged by the network that was trained on these labels; `tares audit` judges each label by \
                 models that never saw it)"
            }
        });
    }
    for (what, file) in [("model", file), ("suspects", "suspects.csv"), ("report", "report.html")] {
        screen.line(format!("{what:<16} {}", plain(&out.join(file).display().to_string())))?;
    }
    screen.result(|| serde_json::json!({ "run": json_path(out), "manifest": record.manifest }))
}
