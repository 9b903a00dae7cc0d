//! What training recorded about every row, and the rows whose label it makes suspicious.
//!
//! These suspects are in-sample: the network was trained on the labels it judges, so it repeats some of the wrong ones.
//! `tares audit` judges out-of-sample. Both write `suspects.csv`; the reason in every line of ours says "in-sample".

use crate::record::Card;
use crate::record::card_text::mark_words;
use crate::record::suspects::RowNames;
use crate::ui::failure::Outcome;
use std::path::Path;
use tares::network::AnyNetwork;
use tares::{Fitted, evaluate};
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
}

impl Samples {
    /// Collects the history of every training row and the trained network's prediction for it.
    ///
    /// # Errors
    /// The rows do not fit the network.
    pub fn of(train: &Dataset, fitted: &Fitted<AnyNetwork>) -> Outcome<Self> {
        let probabilities = fitted.probabilities(train)?;
        let predicted = evaluate::answers(&probabilities, train.classes());
        let chance = |labels: &[Label]| -> Vec<f32> {
            let rows = probabilities.chunks_exact(train.classes());
            rows.zip(labels).map(|(row, &label)| row[label as usize]).collect()
        };
        let history = &fitted.history;
        Ok(Self {
            given: train.given().to_vec(),
            given_probability: chance(train.given()),
            predicted_probability: chance(&predicted),
            predicted,
            mean_margin: history.mean_margins(),
            times_seen: history.times_seen().to_vec(),
            times_kept: history.times_kept().to_vec(),
            last_loss: history.last_losses().to_vec(),
            ids: (0..train.len()).map(|index| train.id(index)).collect(),
            truth: train.truth().map(<[Label]>::to_vec),
        })
    }

    /// The rows whose given label is not the network's prediction. Those whose given label has the lowest probability come
    /// first; equal ones are ordered by their mean margin over all epochs.
    pub fn suspects(&self) -> Vec<Suspect> {
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
    let names = RowNames { data: Some(shown), listed: &[], classes: train.classes() };
    let card = |suspect: &Suspect| Card::of(suspect, names, train.truth(), Some(reading));
    let mut cards = suspects.iter().take(CARDS).map(card).collect::<Outcome<Vec<_>>>()?;
    mark_words(&mut cards, suspects, train)?;
    Ok(cards)
}
