//! `tares audit`: which labels are wrong, how many, and which labels would be right.

mod idle;
mod tables;
pub mod who;

use super::Exit;
use super::apply_labels;
use super::plan::Training;
use crate::audit::files::JudgeSummary;
use crate::audit::findings::Findings;
use crate::audit::from_features::from_features;
use crate::audit::held_out::{audit_run, is_of_columns};
use crate::audit::print::{print, say_columns};
use crate::audit::rows::AuditRows;
use crate::audit::run_history::RunHistory;
use crate::audit::truth::truth_of;
use crate::backbone::described::{load_described, say_backbone};
use crate::backbone::options::FeatureSource;
use crate::judges::folds::{FOLDS, remove_folds};
use crate::judges::inputs::text_note;
use crate::judges::name::JudgeName;
use crate::judges::panel::refine;
use crate::record::RunRecord;
use crate::run::load::Load;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::judges_bar::{judges_bar, show_judge};
use crate::ui::terminal::{Screen, plain, work_bar};
use clap::Args;
use std::path::{Path, PathBuf};
use tares::Method;
use tares_core::Label;
use tares_core::audit::{AuditOptions, Audited, Score, audit_with};
use tares_core::estimate::{Detector, MissingRows, Normalised, Probabilities, ProbabilityMatrix, RowIds};
use tares_data::LoadOptions;
use tares_data::probabilities::{Agreed, FileRows, ProbabilityFile, ProbabilitySource, agree, read_labels};

/// Find wrong labels
///
/// Audits a model's out-of-sample probabilities (--probs), data alone (judges are trained on folds of it), or a
/// finished run of `tares train`. Writes suspects.csv, labels-suggested.csv, summary.json, and audit.html, a page for
/// reviewing the suspects.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares audit flowers.csv --label species                   a table: a linear model and trees judge it
  tares audit flowers.csv --label species --judges trees,mlp other judges
  tares audit photos/ --out audits/photos                   a folder of class folders
  tares audit photos/ --backbone resnet18.onnx              the same, judged on a pretrained network's features
  tares audit photos/ --out audits/photos --resume          continue after Ctrl-C or a crash
  tares audit --labels y.npy --probs p.npy --out DIR        any model's out-of-sample probabilities
  tares audit flowers.csv --label species --probs p.csv     the same, and the page shows the rows
  tares audit runs/flowers-npcl                             a finished run: what its judges said, or a network's history
  tares audit --labels y.npy --probs p.npy --features f.npy adds a second estimate of the noise rate
  tares audit probs/*.parquet --id-column id                tables of labels and probabilities, of any number and length

--features stands for the rows: judges read it in their place. Beside --probs, where nobody is asked, it adds a second estimate of the
noise rate, from the labels of each row's nearest neighbours.

Probabilities are N x K in NPY, NPZ, CSV or Parquet. Columns named after the classes may be in any order;
without such names, column i is class i. Labels are class names, or column numbers 0..K-1.
Tables that hold labels beside their probabilities may be many Parquet files, a folder of them or a quoted pattern; a column of
lists called probs stands for the columns. With --id-column the result does not depend on the order of rows and files.
Exit codes: 0 no suspects (or --exit-zero), 1 suspects, 2 failure.")]
pub struct Audit {
    /// A built-in name, a path, or a directory that `tares train` wrote; or tables of labels and probabilities
    #[arg(required_unless_present = "probs")]
    data: Vec<String>,
    /// Out-of-sample probabilities, one row per sample and one column per class: NPY, NPZ, CSV or Parquet; may be given several times
    #[arg(long, value_name = "FILE")]
    probs: Vec<PathBuf>,
    /// The true labels, by name or number, to measure how good the audit is; rows are found by a column `id`, `path` or `file`
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Where to write [default: audits/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the interrupted audit in --out: repeat its command with this flag
    #[arg(long)]
    resume: bool,
    /// How wrong labels are found: posterior, confident (as cleanlab), argmax [default: posterior]
    #[arg(long)]
    method: Option<Detector>,
    /// How suspects are ranked: posterior, self-confidence, normalised-margin, entropy-adjusted, class-adjusted [default: posterior]
    #[arg(long, value_name = "SCORE")]
    rank: Option<Score>,
    /// Divide every row of --probs by its sum
    #[arg(long)]
    normalise: bool,
    /// Rows of tables without a label or a probability: an error, or left out and counted
    #[arg(long, value_enum, value_name = "error|skip", hide_possible_values = true)]
    missing: Option<tables::Missing>,
    /// The seed that chooses the rows from which the noise is estimated, for tables with --id-column [default: 0]
    #[arg(long, value_name = "N")]
    sample_seed: Option<u64>,
    /// Exit with 0 even when there are suspects
    #[arg(long)]
    exit_zero: bool,
    /// How many suspects the page shows
    #[arg(long, default_value_t = 1000, value_name = "N")]
    gallery: usize,
    /// The models that judge the labels, as in linear,trees,mlp [default: linear,trees,forest for tables (no forest above 20,000 rows; linear above 512 numbers per row), a network for pictures]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    judges: Vec<JudgeName>,
    /// How many folds; each judge is trained on all but one of them [default: 5, networks 4]
    #[arg(long, value_name = "K")]
    folds: Option<usize>,
    /// The method that trains networks among the judges [default: gce]
    #[arg(long, value_name = "METHOD")]
    train_method: Option<Method>,
    #[command(flatten)]
    features: FeatureSource,
    #[command(flatten)]
    training: Training,
    #[command(flatten)]
    reading: Load,
}

impl Audit {
    /// Runs the audit and writes its files.
    ///
    /// # Errors
    /// Labels or probabilities that cannot be read or don't fit each other; a directory that cannot be written.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        let out = self.out.clone().unwrap_or_else(|| self.default_out());
        self.refuse_idle_options()?;
        let (mut report, rows) = match (self.tables(), self.probs.as_slice(), self.data.as_slice()) {
            (Some(tables), _, _) => self.of_tables(&tables, screen)?,
            (None, [path], _) => self.of_probabilities(path, screen)?,
            (None, [_, ..], _) => return Err(several_probabilities()),
            (None, [], [place, ..]) if self.is_of_run() => self.of_run(place, screen)?,
            (None, [], [source, ..]) => {
                self.say_why_judges(screen);
                self.of_data(source, &out.join(FOLDS), screen)?
            }
            (None, [], []) => return Err(Failure::new("name data, a run, or --probs with --labels")),
        };
        // Beside given probabilities, features serve a second estimate, from the labels of each row's nearest neighbours.
        if let Some(path) = self.features.features.as_ref().filter(|_| self.kind_has_probabilities()) {
            report.summary.neighbours = Some(from_features(path, &rows.given, report.summary.classes.len())?);
        }
        report.summary.data_notes.clone_from(&rows.notes);
        report.summary.labels_missing = rows.missing.len();
        report.summary.warnings.iter().for_each(|warning| screen.warning(warning));
        let labels = rows.write(&out, &report, self.gallery)?;
        // The folds are only needed to resume, and this audit is complete.
        remove_folds(&out.join(FOLDS))?;
        print(&report.summary, &out, labels, screen)?;
        Ok(if report.suspects.is_empty() || self.exit_zero { Exit::Fine } else { Exit::Findings })
    }

    /// Whether DATA is a run directory.
    fn is_of_run(&self) -> bool {
        self.probs.is_empty() && matches!(self.data.as_slice(), [place] if RunRecord::is_there(Path::new(place)))
    }

    /// Whether the labels are judged by existing probabilities or margins, so that no judge is trained.
    fn kind_has_probabilities(&self) -> bool {
        !self.probs.is_empty() || self.is_of_run()
    }

    fn default_out(&self) -> PathBuf {
        let named = self.data.first().map(Path::new).or(self.probs.first().map(PathBuf::as_path));
        let named = named.unwrap_or(Path::new("audit"));
        let stem = named.file_stem().map_or_else(|| "data".into(), |stem| stem.to_string_lossy());
        Path::new("audits").join(crate::files::file_name(&stem))
    }

    fn of_probabilities(&self, path: &Path, screen: &Screen) -> Outcome<(Findings, AuditRows)> {
        let source = ProbabilitySource::open(path)?;
        let options = self.options();
        let mut rows = match (self.data.first(), &options.labels_file) {
            (Some(source), _) => self.load(source, screen)?,
            (None, Some(labels)) => {
                let Agreed { classes, given } = agree(read_labels(labels, options.label.as_deref())?, labels, &source)?;
                AuditRows { given, classes, ..AuditRows::default() }
            }
            (None, None) => {
                return Err(
                    Failure::new("--probs needs the given labels").way_out("add --labels FILE, or name the data")
                );
            }
        };
        let named = source.names().map(<[String]>::to_vec);
        let (file, columns) = source.with_classes(&rows.classes, rows.given.len())?;
        say_columns(&columns, named.as_deref(), &rows.classes, screen);
        self.read_truth(&mut rows)?;
        let origin = path.display().to_string();
        let report = self.audit_file(&file, &rows, origin, None, screen);
        Ok((report.map_err(|failure| normalisable(failure, path))?, rows))
    }

    /// Audits probabilities from a file, in the precision of the file.
    fn audit_file(
        &self,
        file: &ProbabilityFile,
        rows: &AuditRows,
        origin: String,
        ids: Option<&dyn RowIds>,
        screen: &Screen,
    ) -> Outcome<Findings> {
        let keep = |_: &mut Audited| Ok(());
        match (self.normalise, file.is_narrow()) {
            (true, true) => self.audit(&Normalised(FileRows::<f32>::of(file)), rows, origin, ids, &keep, screen),
            (true, false) => self.audit(&Normalised(FileRows::<f64>::of(file)), rows, origin, ids, &keep, screen),
            (false, true) => self.audit(&FileRows::<f32>::of(file), rows, origin, ids, &keep, screen),
            (false, false) => self.audit(&FileRows::<f64>::of(file), rows, origin, ids, &keep, screen),
        }
    }

    fn of_data(&self, source: &str, folds: &Path, screen: &Screen) -> Outcome<(Findings, AuditRows)> {
        let mut rows = self.load(source, screen)?;
        self.read_truth(&mut rows)?;
        if let Some((data, reading)) = &rows.data {
            let left_out = JudgeName::left_out(data, reading).filter(|_| self.judges.is_empty());
            let asked = left_out.map(|note| format!("{note}; --judges asks for them all the same"));
            let said: Vec<String> = asked.into_iter().chain(text_note(data)).collect();
            said.iter().for_each(|note| screen.note(note));
            rows.notes.extend(said);
        }
        let Some((data, reading)) = &rows.data else { return Err(Failure::new("no rows to train on")) };
        let judges = self.who(data, reading)?;
        let names: Vec<String> = judges.names.iter().map(ToString::to_string).collect();
        screen.note(format!(
            "{}: {} rows in {} classes; judged by {}, each trained on all folds but one ...",
            plain(source),
            data.len(),
            data.classes(),
            names.join(", ")
        ));
        if !self.resume {
            remove_folds(folds)?;
        }
        let bars = screen.bars();
        let bar = judges_bar(&bars);
        let judgement = judges.ask(data, reading, folds, &|progress| show_judge(&bar, "judging", &progress, screen));
        bar.finish_and_clear();
        let judgement = judgement.map_err(resumable)?;
        let table = ProbabilityMatrix::new(&judgement.probs, data.classes())?;
        let refine = |audited: &mut Audited| {
            refine(audited, &judgement.probs, data.given(), Some(data), reading, self.method.unwrap_or_default())
        };
        let mut findings = self.audit(&table, &rows, judges.origin(), None, &refine, screen)?;
        findings.summary.judges = judgement.scores.iter().map(JudgeSummary::from).collect();
        let missing = match &rows.unlabelled {
            Some(unlabelled) => judges.label(data, reading, &judgement, unlabelled)?,
            None => Vec::new(),
        };
        if let (Some(unlabelled), true) = (&rows.unlabelled, missing.is_empty()) {
            let note =
                format!("{} rows have no label, and networks suggest none: add linear to --judges", unlabelled.len());
            screen.note(&note);
            rows.notes.push(note);
        }
        rows.missing = missing;
        Ok((findings, rows))
    }

    fn of_run(&self, place: &str, screen: &Screen) -> Outcome<(Findings, AuditRows)> {
        let history = RunHistory::read(Path::new(place))?;
        let data = match history.load(screen) {
            Ok(loaded) => Some(loaded),
            Err(failure) => {
                screen.warning(format!(
                    "the page shows no pictures or values, because the run's data cannot be read: {failure}"
                ));
                None
            }
        };
        let (given, truth, classes) = (history.given.clone(), history.truth.clone(), history.classes.clone());
        let mut rows = AuditRows { data, given, truth, classes, ..AuditRows::default() };
        self.read_truth(&mut rows)?;
        rows.notes.extend(history.unaudited());
        rows.notes.iter().for_each(|note| screen.note(note));
        if is_of_columns(Path::new(place)) {
            return Ok((audit_run(Path::new(place), &rows)?, rows));
        }
        let (suspects, summary, scores) = history.judge()?;
        let mut report = Findings { summary, suspects };
        if let Some(truth) = &rows.truth {
            report.compare(&rows.given, truth, scores)?;
        }
        Ok((report, rows))
    }

    fn options(&self) -> LoadOptions {
        self.reading.options().with(|options| options.test_fraction = 0.0)
    }

    fn load(&self, source: &str, screen: &Screen) -> Outcome<AuditRows> {
        // With probabilities or a run's history, features do not replace the rows.
        let features = if self.kind_has_probabilities() { FeatureSource::default() } else { self.features.clone() };
        let (mut loaded, _) = load_described(source, &self.options(), &features, screen)?;
        if features.is_none() && self.probs.is_empty() {
            say_backbone(&mut loaded, screen);
        }
        // Those about columns were printed by the reader.
        let mut notes = loaded.found.notes;
        if let Some(test) = loaded.test.as_ref().filter(|_| !loaded.found.test_set_aside) {
            notes.push(format!(
                "{} test rows came with the data and are not audited: to audit them, name their file or folder",
                test.len()
            ));
        }
        notes.iter().for_each(|note| screen.note(plain(note)));
        notes.extend(loaded.found.column_notes);
        Ok(AuditRows {
            given: loaded.train.given().to_vec(),
            truth: loaded.train.truth().map(<[Label]>::to_vec),
            classes: loaded.train.class_names().to_vec(),
            data: Some((loaded.train, loaded.reading)),
            shown: loaded.shown,
            apply: Some(apply_labels::command_line(source, &self.reading)),
            notes,
            unlabelled: loaded.unlabelled,
            ..AuditRows::default()
        })
    }

    fn read_truth(&self, rows: &mut AuditRows) -> Outcome<()> {
        let Some(path) = &self.truth else { return Ok(()) };
        rows.truth = Some(truth_of(path, rows)?);
        Ok(())
    }

    /// Audits probabilities; `refine` may correct the result by what is known about the judges.
    fn audit<P: Probabilities>(
        &self,
        probs: &P,
        rows: &AuditRows,
        origin: String,
        ids: Option<&dyn RowIds>,
        refine: &dyn Fn(&mut Audited) -> Outcome<()>,
        screen: &Screen,
    ) -> Outcome<Findings> {
        let bars = screen.bars();
        let bar = work_bar(&bars, "auditing");
        let (method, rank) = (self.method.unwrap_or_default(), self.rank.unwrap_or_default());
        let missing = self.missing.map_or(MissingRows::Refuse, tables::Missing::rows);
        let audited = audit_with(probs, &rows.given, &AuditOptions { detector: method, score: rank, missing, ids });
        bar.finish_and_clear();
        let mut audited = audited?;
        refine(&mut audited)?;
        let names = rows.names(probs.classes());
        let mut report = Findings::taken(&mut audited, names, method, origin);
        if let Some(truth) = &rows.truth {
            report.compare(&rows.given, truth, audited.scores(probs, &rows.given, rank)?)?;
        }
        Ok(report)
    }
}

/// Adds to Ctrl-C how to continue.
fn resumable(failure: Failure) -> Failure {
    match failure {
        Failure::Interrupted { .. } => Failure::Interrupted {
            way_out: "everything so far is kept; to continue, repeat the command with --resume".to_owned(),
        },
        other => other,
    }
}

/// The error for several files of probabilities whose labels are elsewhere.
fn several_probabilities() -> Failure {
    Failure::new("several files of --probs must hold their labels themselves")
        .way_out("leave out --labels and the data, and name the column of labels with --label")
}

/// Where rows don't sum to 1, the error suggests --normalise.
fn normalisable(failure: Failure, path: &Path) -> Failure {
    let text = failure.to_string();
    let failure = failure.within(path.display());
    match text.contains("sum of the probabilities") {
        true => failure.way_out("add --normalise to divide every row by its sum"),
        false => failure,
    }
}
