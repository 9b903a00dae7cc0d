//! What a run learnt about every training sample, and the suspicious ones among them.

use crate::report::gallery::{Card, picture};
use crate::ui::failure::Outcome;
use std::path::Path;
use tares::network::AnyNetwork;
use tares::{Fitted, evaluate};
use tares_core::audit::{Evidence, Suspect};
use tares_core::{Dataset, Label, Row, Shape};
use tares_data::cell::{guarded, push_line};
use tares_data::{OutTable, Preparation, Rule};

/// How many cards a gallery has.
const CARDS: usize = 48;
/// The longer side of a picture in a gallery, in pixels.
const LONGEST: usize = 96;

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
    /// Looks at every training row with the trained network.
    ///
    /// # Errors
    /// Rows the network cannot take.
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

    /// The rows whose label is not what the network answers, the most suspicious first: those whose label the network
    /// believes least, and among equals those whose margin was lowest over all epochs.
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

/// `suspects.csv`: names instead of numbers, for people.
pub fn suspects_csv(train: &Dataset, suspects: &[Suspect]) -> String {
    let mut text = String::new();
    push_line(&mut text, ["index", "id", "given", "suggested", "score", "reason"]);
    let name = |label: Label| guarded(&train.class_names()[label as usize]).into_owned();
    for suspect in suspects {
        push_line(
            &mut text,
            [
                suspect.index.to_string(),
                guarded(&train.id(suspect.index)).into_owned(),
                name(suspect.given),
                name(suspect.suggested),
                format!("{:.6}", suspect.score),
                suspect.reason(|label| train.class_names()[label as usize].clone()),
            ],
        );
    }
    text
}

/// The first suspects with their pictures or values.
///
/// # Errors
/// A picture that cannot be encoded.
pub fn gallery(train: &Dataset, suspects: &[Suspect], reading: &Preparation) -> Outcome<Vec<Card>> {
    suspects.iter().take(CARDS).map(|suspect| card(train, suspect, reading)).collect()
}

fn card(train: &Dataset, suspect: &Suspect, reading: &Preparation) -> Outcome<Card> {
    let name = |label: Label| train.class_names()[label as usize].clone();
    let (picture, values) = look(train, suspect.index, reading)?;
    Ok(Card {
        id: train.id(suspect.index),
        given: name(suspect.given),
        suggested: name(suspect.suggested),
        truth: train.truth().map(|truth| name(truth[suspect.index])),
        score: suspect.score,
        picture,
        values,
    })
}

/// What a person sees of a row: its picture as base64 of a PNG file, or its columns and values.
///
/// # Errors
/// A picture that cannot be encoded.
#[allow(clippy::type_complexity)]
pub fn look(train: &Dataset, index: usize, reading: &Preparation) -> Outcome<(Option<String>, Vec<(String, String)>)> {
    Ok(match train.shape() {
        Shape::Image { channels, height, width } => {
            let (pixels, height, width) = shrunk(&pixels(train.row(index)), channels, height, width);
            (Some(picture(&pixels, channels, height, width)?), Vec::new())
        }
        Shape::Flat(_) => (None, row_values(train.row(index), reading)),
    })
}

/// A row's pixels as bytes; floats are stretched to the full range.
pub fn pixels(row: Row<'_>) -> Vec<u8> {
    match row {
        Row::Bytes(bytes) => bytes.to_vec(),
        Row::Floats(values) => {
            let low = values.iter().copied().fold(f32::MAX, f32::min);
            let high = values.iter().copied().fold(f32::MIN, f32::max);
            let span = if high > low { high - low } else { 1.0 };
            values.iter().map(|value| (255.0 * (value - low) / span).round() as u8).collect()
        }
    }
}

/// A picture whose longer side is at most [`LONGEST`], by averaging whole blocks of pixels.
fn shrunk(pixels: &[u8], channels: usize, height: usize, width: usize) -> (Vec<u8>, usize, usize) {
    let block = height.max(width).div_ceil(LONGEST);
    if block <= 1 {
        return (pixels.to_vec(), height, width);
    }
    let (rows, columns) = ((height / block).max(1), (width / block).max(1));
    let mut small = Vec::with_capacity(channels * rows * columns);
    for plane in pixels.chunks_exact(height * width) {
        for r in 0..rows {
            for c in 0..columns {
                let cells = (r * block..((r + 1) * block).min(height))
                    .flat_map(|y| (c * block..((c + 1) * block).min(width)).map(move |x| y * width + x));
                let (sum, count) = cells.fold((0u32, 0u32), |(sum, count), at| (sum + u32::from(plane[at]), count + 1));
                small.push((sum / count.max(1)) as u8);
            }
        }
    }
    (small, rows, columns)
}

/// A table row in the user's own columns and units.
pub fn row_values(row: Row<'_>, reading: &Preparation) -> Vec<(String, String)> {
    let features: Vec<f32> = match row {
        Row::Bytes(bytes) => bytes.iter().map(|&byte| f32::from(byte)).collect(),
        Row::Floats(values) => values.to_vec(),
    };
    let Some(rules) = &reading.table else {
        let name = |(position, value): (usize, &f32)| (format!("#{position}"), format!("{value}"));
        return features.iter().enumerate().map(name).collect();
    };
    let mut at = 0;
    let mut values = Vec::new();
    for column in rules.columns.iter().filter(|column| column.rule.width() > 0) {
        let cells = &features[at..at + column.rule.width()];
        at += column.rule.width();
        let shown = match &column.rule {
            Rule::Number { missing: true, .. } if cells[1] == 1.0 => "–".to_owned(),
            Rule::Number { mean, std, .. } => {
                let from_mean = f64::from(cells[0]) * std;
                number_text(from_mean + mean, 1e-7 * from_mean.abs())
            }
            Rule::Text { levels, other, .. } => match cells.iter().position(|&cell| cell == 1.0) {
                Some(level) if level < levels.len() => levels[level].clone(),
                Some(level) if level == levels.len() && *other => "(other)".to_owned(),
                Some(_) => "–".to_owned(),
                None => "(never seen)".to_owned(),
            },
            Rule::Ignored => continue,
        };
        values.push((column.name.clone(), shown));
    }
    values
}

/// A number that is known up to `error`, in at most six digits: standardised in 32 bits, 0 comes back as -0.00000001.
fn number_text(number: f64, error: f64) -> String {
    if number.abs() <= 2.0 * error || number == 0.0 {
        return "0".to_owned();
    }
    let size = number.abs().log10().floor() as i32;
    if !(-5..15).contains(&size) {
        return format!("{number:.3e}");
    }
    let known = if error > 0.0 { -(2.0 * error).log10().ceil() as i32 } else { 15 };
    let digits = (5 - size).min(known).clamp(0, 12) as usize;
    let text = format!("{number:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_cards_have_the_digits_that_are_known() {
        assert_eq!(number_text(-1e-8, 3e-7), "0");
        assert_eq!(number_text(5.0999999, 2e-7), "5.1");
        assert_eq!(number_text(120.362774, 6e-7), "120.363");
        assert_eq!(number_text(-0.25, 0.0), "-0.25");
        assert_eq!(number_text(1234567.0, 0.1), "1234567");
        assert_eq!(number_text(3.2e-9, 1e-16), "3.200e-9");
        assert_eq!(number_text(0.0, 0.0), "0");
    }

    #[test]
    fn large_pictures_shrink_by_whole_blocks() {
        // 1 × 2 blocks of 2 × 2 would need a longer side above LONGEST: 98 pixels wide, left half black, right half white.
        let row: Vec<u8> = (0..98).map(|x| if x < 49 { 0 } else { 200 }).collect();
        let pixels: Vec<u8> = row.iter().copied().cycle().take(98 * 2).collect();
        let (small, height, width) = shrunk(&pixels, 1, 2, 98);
        assert_eq!((height, width), (1, 49));
        assert_eq!((small[0], small[24], small[48]), (0, 100, 200));
    }

    #[test]
    fn floats_are_stretched_to_bytes() {
        assert_eq!(pixels(Row::Floats(&[-1.0, 0.0, 1.0])), [0, 128, 255]);
        assert_eq!(pixels(Row::Floats(&[3.0, 3.0])), [0, 0]);
    }
}
