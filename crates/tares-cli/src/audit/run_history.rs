//! Finds wrong labels by the training history of a finished run: a wrong label has low margins. For a method that estimates
//! the true classes itself (`tares`), its own estimates are used.
//!
//! A network that was trained on all labels alike repeats the wrong ones, so margins of such a run tell no rate. Then the run's own list is
//! taken: the rows that its network answers otherwise.

use crate::audit::files::{AuditSummary, ClassSummary, TransitionRecord};
use crate::command::source;
use crate::record::RunRecord;
use crate::record::confusion::weak_on_test_rows;
use crate::run::spec::Spec;
use crate::run::spec_file;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::{Screen, plain};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tares_core::audit::score::margin_scores;
use tares_core::audit::{Evidence, Suspect};
use tares_core::estimate::Caution;
use tares_core::estimate::margins::{MarginEstimate, from_beliefs, from_margins};
use tares_core::{Dataset, Label, Transition};
use tares_data::Reading;
use tares_data::parquet::ParquetFile;
use tares_data::table::{RawTable, Values};

/// A run of `tares` measured its rate on the surer half of a tenth of its rows: one in so many.
const MEASURED: usize = 20;

/// What a finished run recorded about every training row.
#[derive(Debug)]
pub struct RunHistory {
    path: PathBuf,
    /// Names of the classes.
    pub classes: Vec<String>,
    test_rows: usize,
    /// The labels it was trained on.
    pub given: Vec<Label>,
    /// The true labels, in experiments.
    pub truth: Option<Vec<Label>>,
    predicted: Vec<Label>,
    /// The probabilities of the given and the predicted label.
    probabilities: [Vec<f64>; 2],
    margins: Vec<f64>,
    kept: Vec<f64>,
    seen: Vec<f64>,
    /// The method's own probability that each label is right, if it estimates one.
    belief: Option<Vec<f64>>,
    /// The method that trained it, as it is written.
    method: String,
    /// A warning if its network knows too little of the test rows.
    weak: Option<String>,
}

/// What a history says about the labels.
struct Verdict {
    estimate: MarginEstimate,
    scores: Vec<f64>,
    /// What it rests on.
    by: String,
    /// Why it tells no rate.
    untold: Option<String>,
}

impl RunHistory {
    /// Reads `manifest.json` and `samples.parquet` of a run directory.
    ///
    /// # Errors
    /// The run is unfinished or damaged.
    pub fn read(run: &Path) -> Outcome<Self> {
        let record = RunRecord::read(run)?;
        let path = run.join("samples.parquet");
        if !path.is_file() {
            return Err(Failure::new(format!("{}: this run is not finished", run.display()))
                .way_out(format!("finish it first: tares train --resume --out {}", run.display())));
        }
        let file = ParquetFile::open(&path)?;
        let table = file.table(&file.leaves())?;
        let column = |name: &str| numbers(&table, name).ok_or_else(|| missing(&path, name));
        let labels = |name: &str| -> Outcome<Vec<Label>> { Ok(column(name)?.iter().map(|&v| v as Label).collect()) };
        let truth = numbers(&table, "truth").map(|cells| cells.iter().map(|&v| v as Label).collect());
        let read = Self {
            given: labels("given")?,
            predicted: labels("predicted")?,
            truth,
            probabilities: [column("given_probability")?.to_vec(), column("predicted_probability")?.to_vec()],
            margins: column("mean_margin")?.to_vec(),
            kept: column("times_kept")?.to_vec(),
            seen: column("times_seen")?.to_vec(),
            belief: numbers(&table, "belief").map(<[f64]>::to_vec),
            method: method(run, record.manifest.method),
            weak: record.manifest.result.and_then(|result| weak_on_test_rows(&result.confusion)),
            classes: record.manifest.data.classes,
            test_rows: record.manifest.data.test_rows,
            path: run.into(),
        };
        let k = read.classes.len();
        let labels = read.given.iter().chain(&read.predicted).chain(read.truth.iter().flatten());
        if labels.into_iter().any(|&label| label as usize >= k) {
            return Err(Failure::new(format!("{}: labels must be in 0..{k}", path.display())));
        }
        Ok(read)
    }

    /// A sentence if some rows of the data were not trained on, and so are not judged.
    pub fn unaudited(&self) -> Option<String> {
        (self.test_rows > 0).then(|| format!("the {} test rows of this run are not audited", self.test_rows))
    }

    /// Returns the suspects, the summary, and the quality score of every label.
    ///
    /// # Errors
    /// A margin is not finite, or there are too few rows.
    pub fn judge(&self) -> Outcome<(Vec<Suspect>, AuditSummary, Vec<f64>)> {
        let Verdict { estimate, scores, by, untold } = self.verdict()?;
        let suspicious = |row: &usize| estimate.wrong[*row] >= 0.5 && self.predicted[*row] != self.given[*row];
        let mut rows: Vec<usize> = (0..self.given.len()).filter(suspicious).collect();
        rows.sort_by(|&a, &b| {
            scores[a].total_cmp(&scores[b]).then(self.margins[a].total_cmp(&self.margins[b])).then(a.cmp(&b))
        });
        let suspects: Vec<Suspect> = rows
            .into_iter()
            .map(|index| Suspect {
                index,
                given: self.given[index],
                suggested: self.predicted[index],
                score: scores[index],
                evidence: Evidence::Training {
                    confidence: untold.is_some().then(|| self.probabilities[1][index]),
                    mean_margin: self.margins[index],
                    kept: self.kept[index] as u32,
                    seen: self.seen[index] as u32,
                },
            })
            .collect();
        let mut per_class: Vec<ClassSummary> = (self.classes.iter())
            .map(|name| ClassSummary { class: name.clone(), rows: 0, suspects: 0, missing: 0 })
            .collect();
        let mut counts: BTreeMap<(Label, Label), f64> = BTreeMap::new();
        for (index, &given) in self.given.iter().enumerate() {
            per_class[given as usize].rows += 1;
            let wrong = if self.predicted[index] == given { 0.0 } else { estimate.wrong[index] };
            *counts.entry((given, given)).or_default() += 1.0 - wrong;
            *counts.entry((self.predicted[index], given)).or_default() += wrong;
        }
        for suspect in &suspects {
            per_class[suspect.given as usize].suspects += 1;
            per_class[suspect.suggested as usize].missing += 1;
        }
        let emptied = Caution::emptied(per_class.iter().map(|class| (class.rows, class.suspects)));
        let summary = AuditSummary {
            rows: self.given.len(),
            classes: self.classes.clone(),
            method: "history".to_owned(),
            probabilities: by,
            judges: Vec::new(),
            noise_rate: estimate.rate,
            noise_rate_interval: match untold.is_some() || self.weak.is_some() {
                true => AuditSummary::UNKNOWN,
                false => estimate.interval,
            },
            matrix: TransitionRecord::of(&Transition::of_counts(self.classes.len(), &counts)?),
            suspects: suspects.len(),
            missing_rows: 0,
            labels_missing: 0,
            per_class,
            warnings: untold
                .into_iter()
                .chain(self.weak.clone())
                .chain(emptied.iter().map(|caution| caution.sentence(|class| plain(&self.classes[class]).into_owned())))
                .collect(),
            data_notes: Vec::new(),
            neighbours: None,
            against_truth: None,
        };
        Ok((suspects, summary, scores))
    }

    /// What the history says, by the best that the run left.
    fn verdict(&self) -> Outcome<Verdict> {
        let run = self.path.display();
        if let Some(belief) = &self.belief {
            let by = format!("what the method of {run} believes");
            let estimate = from_beliefs(belief)?.resting_on(self.given.len() / MEASURED);
            return Ok(Verdict { estimate, scores: belief.clone(), by, untold: None });
        }
        let estimate = from_margins(&self.margins)?;
        let otherwise: Vec<bool> = self.given.iter().zip(&self.predicted).map(|(given, said)| given != said).collect();
        let plainly = ["standard", "tares"].contains(&self.method.split(':').next().unwrap_or_default());
        let why = if plainly {
            format!(
                "a network that learnt these labels cannot judge them: it repeats some of the wrong ones ({} believed every label)",
                plain(&self.method)
            )
        } else if estimate.rate == 0.0 && otherwise.contains(&true) {
            "the margins of this run do not divide into those of right and of wrong labels".to_owned()
        } else {
            let (scores, by) = (margin_scores(&self.margins)?, format!("the margins of {run} over training"));
            return Ok(Verdict { estimate, scores, by, untold: None });
        };
        let untold = format!(
            "{why}, so no noise rate is given; the suspects are the labels that the network answers otherwise. Audit the data itself, not the \
             run: `tares audit DATA` judges each label by models that never saw it"
        );
        let right: Vec<f64> = otherwise.iter().map(|&otherwise| f64::from(u8::from(!otherwise))).collect();
        let (estimate, scores) = (from_beliefs(&right)?, self.probabilities[0].clone());
        Ok(Verdict {
            estimate,
            scores,
            by: format!("what the network of {run} answers in the end"),
            untold: Some(untold),
        })
    }

    /// Reads the run's data again, to show the rows.
    ///
    /// # Errors
    /// The data cannot be found any more, or has changed.
    pub fn load(&self, screen: &Screen) -> Outcome<(Dataset, Reading)> {
        let spec: Spec = spec_file::read(&self.path.join("spec.toml"))?;
        let loaded = source::load(&spec.source(), &spec.options(), screen)?;
        let rows = spec.load.thinned(&loaded.train)?;
        if rows.len() != self.given.len() || rows.class_names() != self.classes {
            return Err(Failure::new(format!(
                "{}: the rows or classes are no longer those that the run was trained on",
                spec.data
            )));
        }
        Ok((rows.relabel(self.given.clone())?, loaded.reading))
    }
}

/// The method of a run, whatever it is called in a comparison.
fn method(run: &Path, called: String) -> String {
    let spec: Outcome<Spec> = spec_file::read(&run.join("spec.toml"));
    spec.map_or(called, |spec| spec.method.to_string())
}

fn numbers<'a>(table: &'a RawTable, name: &str) -> Option<&'a [f64]> {
    match &table.columns.iter().find(|column| column.name == name)?.values {
        Values::Numbers(cells) => Some(cells),
        Values::Text { .. } => None,
    }
}

fn missing(path: &Path, name: &str) -> Failure {
    Failure::new(format!("{}: no column '{name}'", path.display()))
}
