//! `tares audit`: which labels are wrong, how many, and what they should be.

use super::Exit;
use super::plan::Training;
use super::source::{Reading, load};
use crate::audit::files::{
    AgainstTruth, ClassSummary, Names, NeighbourSummary, Summary, TransitionRecord, digits_apart, sentences,
    write_labels, write_summary, write_suspects,
};
use crate::audit::run_history::RunHistory;
use crate::files::{create_directory, write_whole};
use crate::record::card::look;
use crate::report::audit_page::{Shown, audit_page};
use crate::run::folds::{FOLDS, out_of_fold, remove_folds};
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::{Screen, json_path, judges_bar, plain, work_bar};
use clap::Args;
use std::path::{Path, PathBuf};
use tares::{CrossValidation, Method, Network, Plan};
use tares_core::audit::{Audited, Score, Suspect, audit_ranked};
use tares_core::estimate::{Detector, Normalised, Probabilities, ProbabilityMatrix, neighbours};
use tares_core::metric::{Retrieval, auroc, average_precision};
use tares_core::{Dataset, Fingerprint, Label, Shape};
use tares_data::npy::Stored;
use tares_data::probabilities::{
    Agreed, ClassColumns, FileRows, ProbabilitySource, agree, in_classes, read_labels, read_truth,
};
use tares_data::{LoadOptions, Preparation};

/// Find wrong labels
///
/// From a model's out-of-sample probabilities (--probs), from data alone (networks are trained on folds of it), or from
/// a finished run of `tares train`. Writes suspects.csv, labels-suggested.csv, summary.json and audit.html, the page to
/// review suspects in.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares audit flowers.csv --label species                   a table: trains on folds, then audits
  tares audit photos/ --out audits/photos                   a folder of class folders
  tares audit photos/ --out audits/photos --resume          go on after Ctrl-C or a crash
  tares audit --labels y.npy --probs p.npy --out DIR        any model's out-of-sample probabilities
  tares audit flowers.csv --label species --probs p.csv     the same, with the rows to look at
  tares audit runs/flowers-npcl                             a finished run, from its training history
  tares audit --labels y.npy --probs p.npy --features f.npy a second estimate of the noise, from a network's features

Probabilities are N x K in NPY, NPZ, CSV or Parquet. Columns named after the classes may be in any order;
others are the classes in order. Labels are class names, or numbers 0..K-1 that count the columns.
Exit codes: 0 no suspects (or --exit-zero), 1 suspects, 2 failure.")]
pub struct Audit {
    /// A built-in name, a path, or a directory that `tares train` wrote
    #[arg(required_unless_present = "probs")]
    data: Option<String>,
    /// Out-of-sample probabilities, one row per sample and one column per class: NPY, NPZ, CSV or Parquet
    #[arg(long, value_name = "FILE")]
    probs: Option<PathBuf>,
    /// The true labels, by name or number, to see how good the audit is
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// A network's features of the rows, N x D in .npy: a second opinion on the noise rate, from the labels of nearest rows
    #[arg(long, value_name = "FILE")]
    features: Option<PathBuf>,
    /// Where to write [default: audits/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the interrupted audit in --out: the same command with this flag
    #[arg(long, conflicts_with = "probs")]
    resume: bool,
    /// How wrong labels are found: posterior, confident (as cleanlab), argmax
    #[arg(long, default_value_t)]
    method: Detector,
    /// How suspects are ranked: posterior, self-confidence, normalised-margin, entropy-adjusted, class-adjusted
    #[arg(long, default_value_t, value_name = "SCORE")]
    rank: Score,
    /// Divide every row of --probs by its sum
    #[arg(long)]
    normalise: bool,
    /// Exit with 0 even when there are suspects
    #[arg(long)]
    exit_zero: bool,
    /// Suspects on the page, pictures included
    #[arg(long, default_value_t = 1000, value_name = "N")]
    gallery: usize,
    /// Without --probs: networks trained, each on all folds but one
    #[arg(long, default_value_t = 4, value_name = "K")]
    folds: usize,
    /// Without --probs: how they are trained
    #[arg(long, default_value = "gce", value_name = "METHOD")]
    train_method: Method,
    #[command(flatten)]
    training: Training,
    #[command(flatten)]
    reading: Reading,
}

/// What is known about the rows besides labels and probabilities.
struct Rows {
    data: Option<(Dataset, Preparation)>,
    given: Vec<Label>,
    truth: Option<Vec<Label>>,
    /// Names of the classes.
    classes: Vec<String>,
    /// The command that puts reviewed labels back.
    apply: Option<String>,
}

impl Audit {
    /// Audits.
    ///
    /// # Errors
    /// Labels or probabilities that cannot be read or don't fit each other; a directory that cannot be written.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        let out = self.out.clone().unwrap_or_else(|| self.default_out());
        let (mut report, rows) = match (&self.probs, &self.data) {
            (Some(path), _) => self.of_probabilities(path, screen)?,
            (None, Some(place)) if Path::new(place).join("manifest.json").is_file() => self.of_run(place, screen)?,
            (None, Some(source)) => self.of_data(source, &out.join(FOLDS), screen)?,
            (None, None) => return Err(Failure::new("name data, a run, or --probs with --labels")),
        };
        if let Some(path) = &self.features {
            report.summary.neighbours = Some(from_neighbours(path, &rows, report.summary.classes.len())?);
        }
        report.summary.warnings.iter().for_each(|warning| screen.warning(warning));
        create_directory(&out)?;
        let names = rows.names(report.summary.classes.len());
        let tables = || {
            write_suspects(&out.join("suspects.csv"), names, &report.suspects)?;
            write_labels(&out, names, &rows.given, &report.suspects)
        };
        let page = || {
            write_summary(&out.join("summary.json"), &report.summary)?;
            let shown = rows.shown(&report.suspects, self.gallery)?;
            let key = key(&rows.given, &report.suspects);
            let page = audit_page(&report.summary, &shown, rows.apply.as_deref(), &key)?;
            write_whole(&out.join("audit.html"), page.as_bytes())
        };
        let (page, labels) = rayon::join(page, tables);
        page?;
        let labels = labels?;
        // Everything that came of them is written.
        remove_folds(&out.join(FOLDS))?;
        print(&report.summary, &out, labels, screen)?;
        Ok(if report.suspects.is_empty() || self.exit_zero { Exit::Fine } else { Exit::Findings })
    }

    fn default_out(&self) -> PathBuf {
        let named = self.data.as_deref().map(Path::new).or(self.probs.as_deref()).unwrap_or(Path::new("audit"));
        let stem = named.file_stem().map_or_else(|| "data".into(), |stem| stem.to_string_lossy());
        Path::new("audits").join(crate::files::file_name(&stem))
    }

    fn of_probabilities(&self, path: &Path, screen: &Screen) -> Outcome<(Report, Rows)> {
        let source = ProbabilitySource::open(path)?;
        let options = self.options();
        let mut rows = match (&self.data, &options.labels) {
            (Some(source), _) => self.load(source, screen)?,
            (None, Some(labels)) => {
                let Agreed { classes, given } =
                    agree(&read_labels(labels, options.label.as_deref())?, labels, &source)?;
                Rows { data: None, given, truth: None, classes, apply: None }
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
        let report = match (self.normalise, file.is_narrow()) {
            (true, true) => self.audit(&Normalised(FileRows::<f32>::of(&file)), &rows, origin, screen),
            (true, false) => self.audit(&Normalised(FileRows::<f64>::of(&file)), &rows, origin, screen),
            (false, true) => self.audit(&FileRows::<f32>::of(&file), &rows, origin, screen),
            (false, false) => self.audit(&FileRows::<f64>::of(&file), &rows, origin, screen),
        };
        Ok((report.map_err(|failure| normalisable(failure, path))?, rows))
    }

    fn of_data(&self, source: &str, folds: &Path, screen: &Screen) -> Outcome<(Report, Rows)> {
        let mut rows = self.load(source, screen)?;
        self.read_truth(&mut rows)?;
        let Some((data, _)) = &rows.data else { return Err(Failure::new("no rows to train on")) };
        let mut plan = Plan { epochs: 30, ..Plan::default() };
        self.training.apply(&mut plan)?;
        let network = self.training.network.clone().unwrap_or_else(|| Network::suggest(data.shape()));
        let device = tares::device::by_name(self.training.device())?;
        screen.note(format!(
            "{}: {} rows in {} classes; training {} networks ({network}, {}) on all folds but one ...",
            plain(source),
            data.len(),
            data.classes(),
            self.folds,
            self.train_method
        ));
        if !self.resume {
            remove_folds(folds)?;
        }
        let judges = CrossValidation::new(data, self.folds, &network, &self.train_method, &plan, &device)?;
        let bars = screen.bars();
        let bar = judges_bar(&bars, "training");
        let probabilities = out_of_fold(&judges, folds, &mut |progress| {
            bar.set_length(progress.total());
            bar.set_position(progress.done());
            if !screen.live && progress.epoch == progress.epochs {
                screen.note(format!("network {} of {} trained", progress.fold, progress.folds));
            }
        });
        bar.finish_and_clear();
        let probabilities = probabilities.map_err(resumable)?;
        let table = ProbabilityMatrix::new(&probabilities, data.classes())?;
        let origin = format!("{} networks ({network}, {}) trained on folds", self.folds, self.train_method);
        Ok((self.audit(&table, &rows, origin, screen)?, rows))
    }

    fn of_run(&self, place: &str, screen: &Screen) -> Outcome<(Report, Rows)> {
        if self.resume {
            return Err(Failure::new(format!("{place}: --resume is for audits of data, this is a run")));
        }
        let history = RunHistory::read(Path::new(place))?;
        let (suspects, summary, scores) = history.judge()?;
        let data = match history.load(screen) {
            Ok(loaded) => Some(loaded),
            Err(failure) => {
                screen.warning(format!("the page has no pictures or values: {failure}"));
                None
            }
        };
        let (given, truth, classes) = (history.given.clone(), history.truth.clone(), summary.classes.clone());
        let mut rows = Rows { data, given, truth, classes, apply: None };
        self.read_truth(&mut rows)?;
        let mut report = Report { summary, suspects };
        report.compare(&rows, || Ok(scores))?;
        Ok((report, rows))
    }

    fn options(&self) -> LoadOptions {
        LoadOptions { test_fraction: 0.0, ..self.reading.options() }
    }

    fn load(&self, source: &str, screen: &Screen) -> Outcome<Rows> {
        let loaded = load(source, &self.options(), screen)?;
        Ok(Rows {
            given: loaded.train.given().to_vec(),
            truth: loaded.train.truth().map(<[Label]>::to_vec),
            classes: loaded.train.class_names().to_vec(),
            data: Some((loaded.train, loaded.preparation)),
            apply: Some(apply_command(source, &self.reading)),
        })
    }

    fn read_truth(&self, rows: &mut Rows) -> Outcome<()> {
        let Some(path) = &self.truth else { return Ok(()) };
        let truth = in_classes(&read_truth(path)?, path, &rows.classes)?;
        if truth.len() != rows.given.len() {
            return Err(Failure::new(format!(
                "{}: true labels must be as many as the {} given ones, got {}",
                path.display(),
                rows.given.len(),
                truth.len()
            )));
        }
        rows.truth = Some(truth);
        Ok(())
    }

    fn audit<P: Probabilities>(&self, probs: &P, rows: &Rows, origin: String, screen: &Screen) -> Outcome<Report> {
        let bars = screen.bars();
        let bar = work_bar(&bars, "auditing");
        let audited = audit_ranked(probs, &rows.given, self.method, self.rank);
        bar.finish_and_clear();
        let audited = audited?;
        let names = rows.names(probs.classes());
        let mut report = Report::of(&audited, names, self.method, origin);
        report.compare(rows, || Ok(audited.scores(probs, &rows.given, self.rank)?))?;
        Ok(report)
    }
}

/// Says which columns are which classes, where that was a choice.
fn say_columns(columns: &ClassColumns, named: Option<&[String]>, classes: &[String], screen: &Screen) {
    let Some(named) = named else {
        return screen.note("the columns of the probabilities have no names: they are the classes in order");
    };
    let list = |places: &mut dyn Iterator<Item = (usize, &String)>| {
        let shown: Vec<String> =
            places.take(5).map(|(at, class)| format!("{} = {}", plain(&named[at]), plain(class))).collect();
        shown.join(", ")
    };
    if !columns.by_name && named != classes {
        let pairs = list(&mut columns.columns.iter().copied().zip(classes));
        let more = if classes.len() > 5 { ", ..." } else { "" };
        screen.note(format!("no column is named after a class: columns are the classes in order ({pairs}{more})"));
    } else if columns.columns.windows(2).any(|pair| pair[0] > pair[1]) {
        screen.note("columns and classes are in different orders: columns are matched by name");
    }
    if !columns.unused.is_empty() {
        let unused: Vec<_> = columns.unused.iter().take(5).map(|&at| plain(&named[at])).collect();
        screen.note(format!("columns that name no class are not used: {}", unused.join(", ")));
    }
}

/// `tares apply-labels` as it must be typed to read the data as this audit did.
fn apply_command(source: &str, reading: &Reading) -> String {
    let mut words = vec!["tares apply-labels".to_owned(), quoted_for_shell(source), "labels-reviewed.csv".to_owned()];
    words.extend(reading.arguments().iter().map(|word| quoted_for_shell(word)));
    words.push("--out corrected".to_owned());
    words.join(" ")
}

/// A word that a shell takes as it stands.
fn quoted_for_shell(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+#".contains(c);
    match !word.is_empty() && word.chars().all(safe) && !word.starts_with('#') {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The noise rate by the labels of rows that lie side by side.
fn from_neighbours(path: &Path, rows: &Rows, classes: usize) -> Outcome<NeighbourSummary> {
    let stored = Stored::open(path)?;
    let fail = |problem: String| Failure::new(format!("{}: {problem}", path.display()));
    if stored.header().shape.len() != 2 || !stored.header().kind.is_number() || stored.columns() == 0 {
        let shape = stored.header().shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        return Err(fail(format!("features must be numbers, rows x features, got an array of {shape}")));
    }
    if stored.rows() != rows.given.len() {
        return Err(fail(format!(
            "features must have a row for each of the {} labels, got {}",
            rows.given.len(),
            stored.rows()
        )));
    }
    // Only the rows that are compared are read.
    let chosen: Vec<usize> = (0..stored.rows()).step_by(stored.rows().div_ceil(neighbours::MOST_ROWS).max(1)).collect();
    let mut values = vec![0f32; chosen.len() * stored.columns()];
    for (row, &index) in values.chunks_exact_mut(stored.columns()).zip(&chosen) {
        stored.read_rows(index, row)?;
    }
    let given = chosen.iter().map(|&index| rows.given[index]).collect::<Vec<Label>>();
    let names: Vec<String> = (0..classes).map(|class| class.to_string()).collect();
    let data = Dataset::new(values, Shape::Flat(stored.columns()), given, names)
        .map_err(|error| Failure::from(error).within(path.display()))?;
    let found = neighbours::from_features(&data)?;
    Ok(NeighbourSummary { rows: chosen.len(), noise_rate: found.rate, noise_rate_band: found.interval })
}

/// Ctrl-C, with how to go on.
fn resumable(failure: Failure) -> Failure {
    match failure {
        Failure::Interrupted { .. } => Failure::Interrupted {
            way_out: "everything so far is kept; go on with the same command and --resume".to_owned(),
        },
        other => other,
    }
}

/// Rows that don't sum to 1 can be mended here.
fn normalisable(failure: Failure, path: &Path) -> Failure {
    let text = failure.to_string();
    let failure = failure.within(path.display());
    match text.contains("sum of the probabilities") {
        true => failure.way_out("add --normalise to divide every row by its sum"),
        false => failure,
    }
}

impl Rows {
    fn names(&self, classes: usize) -> Names<'_> {
        Names { data: self.data.as_ref().map(|(data, _)| data), listed: &self.classes, classes }
    }

    fn shown(&self, suspects: &[Suspect], most: usize) -> Outcome<Vec<Shown>> {
        let names = self.names(0);
        suspects
            .iter()
            .take(most)
            .map(|suspect| {
                let (picture, values) = match &self.data {
                    Some((data, reading)) => look(data, suspect.index, reading)?,
                    None => (None, Vec::new()),
                };
                Ok(Shown {
                    index: suspect.index,
                    id: names.row(suspect.index),
                    given: suspect.given,
                    suggested: suspect.suggested,
                    score: suspect.score,
                    reason: names.reason(suspect),
                    picture,
                    values,
                })
            })
            .collect()
    }
}

/// The numbers of an audit, before they are written.
struct Report {
    summary: Summary,
    suspects: Vec<Suspect>,
}

impl Report {
    fn of(audited: &Audited, names: Names<'_>, method: Detector, origin: String) -> Self {
        let per_class = audited.per_class.iter().enumerate().map(|(class, quality)| ClassSummary {
            class: names.class(class as Label),
            rows: quality.rows,
            suspects: quality.suspects,
            missing: quality.missing,
        });
        let summary = Summary {
            rows: audited.estimate.rows,
            classes: names.all(),
            method: method.to_string(),
            probabilities: origin,
            noise_rate: audited.estimate.rate,
            noise_rate_band: audited.estimate.interval,
            matrix: TransitionRecord::of(&audited.estimate.transition),
            suspects: audited.suspects.len(),
            per_class: per_class.collect(),
            warnings: sentences(&audited.cautions(), names),
            neighbours: None,
            against_truth: None,
        };
        Self { summary, suspects: audited.suspects.clone() }
    }

    /// Precision and the rest, if the truth is known. `scores` gives the quality of every label.
    fn compare(&mut self, rows: &Rows, scores: impl FnOnce() -> Outcome<Vec<f64>>) -> Outcome<()> {
        let Some(truth) = &rows.truth else { return Ok(()) };
        let wrong: Vec<bool> = rows.given.iter().zip(truth).map(|(given, truth)| given != truth).collect();
        let positions: Vec<u32> = self.suspects.iter().map(|suspect| suspect.index as u32).collect();
        let retrieval = Retrieval::new(&positions, &wrong)?;
        let badness: Vec<f64> = scores()?.into_iter().map(|score| -score).collect();
        let found: Vec<&Suspect> = self.suspects.iter().filter(|suspect| wrong[suspect.index]).collect();
        let right = found.iter().filter(|suspect| suspect.suggested == truth[suspect.index]).count();
        self.summary.against_truth = Some(AgainstTruth {
            wrong: retrieval.wanted,
            noise_rate: retrieval.wanted as f64 / wrong.len() as f64,
            precision: retrieval.precision(),
            recall: retrieval.recall(),
            f1: retrieval.f1(),
            // Undefined when all labels are right, or all wrong.
            auroc: auroc(&badness, &wrong).ok(),
            average_precision: average_precision(&badness, &wrong).ok(),
            right_suggestions: (!found.is_empty()).then(|| right as f64 / found.len() as f64),
        });
        Ok(())
    }
}

/// Tells audits apart in the browser: the same labels and suspects give the same key.
fn key(given: &[Label], suspects: &[Suspect]) -> String {
    let words = given.iter().map(|&label| u64::from(label)).chain(suspects.iter().map(|suspect| suspect.index as u64));
    format!("{:016x}", words.fold(Fingerprint::default(), Fingerprint::with).value())
}

/// A rate and its interval with as many digits as tell the ends apart; the bracket stays open for where it comes from.
fn rate_text(rate: f64, (low, high): (f64, f64)) -> String {
    let digits = digits_apart(low, high, 4);
    format!("{rate:.digits$} (between {low:.digits$} and {high:.digits$}")
}

fn print(summary: &Summary, out: &Path, labels: &str, screen: &Screen) -> Outcome<()> {
    let share = summary.suspects as f64 / summary.rows as f64;
    screen.line(format!("rows        {} in {} classes", summary.rows, summary.classes.len()))?;
    let rate = rate_text(summary.noise_rate, summary.noise_rate_band);
    screen.line(format!("noise rate  {rate}; {})", summary.method))?;
    if let Some(NeighbourSummary { noise_rate, noise_rate_band, .. }) = summary.neighbours {
        let rate = rate_text(noise_rate, noise_rate_band);
        screen.line(format!("neighbours  {rate}; labels of nearest rows)"))?;
    }
    screen.line(format!("suspects    {} ({:.2} %)", summary.suspects, 100.0 * share))?;
    if let Some(truth) = &summary.against_truth {
        let show = |value: Option<f64>| value.map_or("undefined".to_owned(), |value| format!("{value:.4}"));
        screen.line(format!("truth       {} wrong labels ({:.4})", truth.wrong, truth.noise_rate))?;
        for (name, value) in [
            ("precision", truth.precision),
            ("recall", truth.recall),
            ("F1", truth.f1),
            ("AUROC", truth.auroc),
            ("avg. prec.", truth.average_precision),
        ] {
            screen.line(format!("{name:<11} {}", show(value)))?;
        }
    }
    for file in ["suspects.csv", labels, "summary.json", "audit.html"] {
        screen.line(plain(&out.join(file).display().to_string()))?;
    }
    screen.result(|| serde_json::json!({ "out": json_path(out), "summary": summary }))
}
