//! What training recorded about every row, and the rows whose label it makes suspicious.
//!
//! The suspects of a network are in-sample: it was trained on the labels it judges, so it repeats some of the wrong ones, and the
//! reason in every line says "in-sample". Those of a model of columns are out-of-sample: the list of `tares audit` for the same rows.

use crate::learner::learnt::Learnt;
use crate::record::Card;
use crate::record::card_text::mark_words;
use crate::record::suspects::RowNames;
use crate::ui::failure::Outcome;
use std::path::Path;
use tares::evaluate;
use tares_core::audit::{Evidence, Suspect};
use tares_core::{Dataset, Label};
use tares_data::{OutTable, Reading};

/// How many suspects a run's report shows.
const CARDS: usize = 48;

/// One entry per training row.
#[derive(Clone, Debug)]
pub struct Samples {
    given: Vec<Label>,
    predicted: Vec<Label>,
    given_probability: Vec<f32>,
    predicted_probability: Vec<f32>,
    mean_margin: Vec<f64>,
    times_seen: Vec<u32>,
    times_kept: Vec<u32>,
    last_loss: Vec<f32>,
    ids: Vec<String>,
    truth: Option<Vec<Label>>,
    /// Whether answers and probabilities are what the method believes, rather than what its network answers.
    believed: bool,
    /// The suspects of an audit of these rows, if judges that were not trained on them were asked.
    audited: Option<Vec<Suspect>>,
}

impl Samples {
    /// Collects the history of every training row and what is predicted for it: by the method's own beliefs if it has any, by its
    /// network otherwise.
    pub fn of(train: &Dataset, learnt: &Learnt) -> Self {
        let probabilities = learnt.soft_labels.as_ref().unwrap_or(&learnt.train);
        let predicted = evaluate::answers(probabilities, train.classes());
        let chance = |labels: &[Label]| -> Vec<f32> {
            let rows = probabilities.chunks_exact(train.classes());
            rows.zip(labels).map(|(row, &label)| row[label as usize]).collect()
        };
        Self {
            given: train.given().to_vec(),
            given_probability: chance(train.given()),
            predicted_probability: chance(&predicted),
            predicted,
            mean_margin: learnt.mean_margins.clone(),
            times_seen: learnt.times_seen.clone(),
            times_kept: learnt.times_kept.clone(),
            last_loss: learnt.last_losses.clone(),
            ids: (0..train.len()).map(|index| train.id(index)).collect(),
            truth: train.truth().map(<[Label]>::to_vec),
            believed: learnt.soft_labels.is_some(),
            audited: learnt.held_out.as_ref().map(|held_out| held_out.audited.suspects.clone()),
        }
    }

    /// The suspects of the audit. Without one, the rows whose given label is not what is predicted: those whose given label has the
    /// lowest probability come first; equal ones are ordered by their mean margin over all epochs.
    pub fn suspects(&self) -> Vec<Suspect> {
        if let Some(suspects) = &self.audited {
            return suspects.clone();
        }
        let mut rows: Vec<usize> =
            (0..self.given.len()).filter(|&row| self.given[row] != self.predicted[row]).collect();
        rows.sort_by(|&a, &b| {
            self.given_probability[a]
                .total_cmp(&self.given_probability[b])
                .then(self.mean_margin[a].total_cmp(&self.mean_margin[b]))
                .then(a.cmp(&b))
        });
        let suspect = |row: usize| Suspect {
            index: row,
            given: self.given[row],
            suggested: self.predicted[row],
            score: f64::from(self.given_probability[row]),
            evidence: Evidence::Training {
                confidence: Some(f64::from(self.predicted_probability[row])),
                mean_margin: self.mean_margin[row],
                kept: self.times_kept[row],
                seen: self.times_seen[row],
            },
        };
        rows.into_iter().map(suspect).collect()
    }

    /// Writes `samples.parquet`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_parquet(&self, path: &Path) -> Outcome<()> {
        let mut table = OutTable::new()
            .column("index", (0..self.given.len() as u32).collect::<Vec<u32>>())?
            .column("id", self.ids.clone())?
            .column("given", self.given.clone())?
            .column("predicted", self.predicted.clone())?
            .column("given_probability", self.given_probability.clone())?
            .column("predicted_probability", self.predicted_probability.clone())?
            .column("mean_margin", self.mean_margin.clone())?
            .column("times_seen", self.times_seen.clone())?
            .column("times_kept", self.times_kept.clone())?
            .column("last_loss", self.last_loss.clone())?;
        if self.believed {
            table = table.column("belief", self.given_probability.clone())?;
        }
        if let Some(truth) = &self.truth {
            table = table.column("truth", truth.clone())?;
        }
        Ok(table.write(path, false)?)
    }
}

/// The first suspects, with their pictures or values, for the run's report.
///
/// # Errors
/// A picture that cannot be encoded.
pub fn gallery(train: &Dataset, shown: &Dataset, suspects: &[Suspect], reading: &Reading) -> Outcome<Vec<Card>> {
    let names = RowNames { data: Some(shown), listed: &[], ids: &[], named: None, classes: train.classes() };
    let card = |suspect: &Suspect| Card::of(suspect, names, train.truth(), Some(reading));
    let mut cards = suspects.iter().take(CARDS).map(card).collect::<Outcome<Vec<_>>>()?;
    mark_words(&mut cards, suspects, train)?;
    Ok(cards)
}
