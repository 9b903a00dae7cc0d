//! [`RowCard`]: one row of the page: its picture or values, everybody's answers, and the probabilities of the classes.

use super::crowd::Crowd;
use super::rounds::outvoted;
use super::summary::LEAST_GAIN;
use crate::record::Card;
use crate::record::card_text::CardText;
use crate::record::suspects::RowNames;
use crate::ui::failure::Outcome;
use serde::Serialize;
use tares_core::annotate::Consensus;
use tares_core::audit::{Evidence, Suspect};
use tares_core::{Fingerprint, Label};

/// One row of the page. It is not a [`Card`], because a row has many answers here and no given label; a card only makes its
/// picture, texts and values.
#[derive(Clone, Debug, Serialize)]
pub struct RowCard {
    index: usize,
    id: String,
    label: Label,
    /// The likeliest classes, with their probabilities.
    beliefs: Vec<(usize, f64)>,
    /// Who answered what, and the annotator's quality.
    said: Vec<(String, Label, f64)>,
    /// Whether the consensus differs from the majority's label.
    against: bool,
    /// Whether the row is worth one more label.
    ask: bool,
    gain: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    texts: Vec<CardText>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<(String, String)>,
}

impl RowCard {
    /// The least certain rows, and those whose consensus has fewer answers than another label, at most `most` of each; least
    /// certain first.
    ///
    /// # Errors
    /// A picture cannot be encoded.
    pub fn chosen(crowd: &Crowd, found: &Consensus, majority: &[Label], most: usize) -> Outcome<Vec<Self>> {
        let confidence: Vec<f64> = found.confidence().collect();
        let mut order: Vec<usize> = (0..confidence.len()).collect();
        order.sort_by(|&a, &b| confidence[a].total_cmp(&confidence[b]));
        let against = |row: &&usize| outvoted(&crowd.answers, **row, found.labels[**row]);
        let mut rows: Vec<usize> =
            order.iter().take(most).chain(order.iter().filter(against).take(most)).copied().collect();
        rows.sort_by(|&a, &b| confidence[a].total_cmp(&confidence[b]).then(a.cmp(&b)));
        rows.dedup();
        rows.into_iter().map(|row| Self::of(row, crowd, found, majority)).collect()
    }

    fn of(row: usize, crowd: &Crowd, found: &Consensus, majority: &[Label]) -> Outcome<Self> {
        let classes = crowd.classes.len();
        let beliefs = &found.posterior[row * classes..][..classes];
        let (given, suggested) = (majority[row], found.labels[row]);
        let [own, best] = [given, suggested].map(|label| beliefs[label as usize]);
        let evidence = Evidence::Probabilities { given: own, suggested: best };
        let suspect = Suspect { index: row, given, suggested, score: own, evidence };
        let data = crowd.shown.as_ref().or(crowd.data.as_ref().map(|(data, _)| data));
        let names = RowNames { data, listed: &crowd.classes, ids: &[], named: None, classes };
        let card = Card::of(&suspect, names, None, crowd.data.as_ref().map(|(_, reading)| reading))?;
        let thousandths = |part: f64| (1000.0 * part).round() / 1000.0;
        let mut likeliest: Vec<usize> = (0..classes).collect();
        likeliest.sort_by(|&a, &b| beliefs[b].total_cmp(&beliefs[a]));
        let said = crowd.answers.of_row(row).iter().map(|answer| {
            let quality = found.annotators[answer.annotator].quality;
            (crowd.annotators[answer.annotator].clone(), answer.label, thousandths(quality))
        });
        Ok(Self {
            index: row,
            id: crowd.row(row),
            label: suggested,
            beliefs: likeliest.iter().take(3).map(|&class| (class, thousandths(beliefs[class]))).collect(),
            said: said.collect(),
            against: outvoted(&crowd.answers, row, suggested),
            ask: found.gain[row] >= LEAST_GAIN,
            gain: thousandths(found.gain[row]),
            picture: card.picture,
            texts: card.texts,
            values: card.values,
        })
    }
}

/// The name under which the browser stores decisions: the same consensus gives the same key.
pub fn key(found: &Consensus) -> String {
    let words = found.labels.iter().map(|&label| u64::from(label));
    format!("{:016x}", words.fold(Fingerprint::default(), Fingerprint::with).value())
}
