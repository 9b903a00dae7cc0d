//! [`Card`]: one suspect for people to look at, with its picture or its values.

use super::card_text::CardText;
use super::suspects::RowNames;
use crate::ui::failure::{Failure, Outcome};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tares_core::audit::Suspect;
use tares_core::{Dataset, Label, Row, Shape};
use tares_data::{Reading, Rule};

/// The longer side of a picture in a gallery, in pixels.
const LONGEST: usize = 96;

/// One suspect, as a run's report and an audit's page show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Row of the data, counted from 0.
    #[serde(default)] // absent in runs written before 0.1
    pub index: usize,
    /// Row id or file path.
    pub id: String,
    /// The label it came with.
    pub given: String,
    /// The label that fits better.
    pub suggested: String,
    /// The true label, in experiments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<String>,
    /// Quality of the given label: small is suspicious.
    pub score: f64,
    /// Why the label is suspected, in one sentence.
    #[serde(default)] // absent in runs written before 0.1
    pub reason: String,
    /// A PNG file in base64, for pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    /// Texts of the row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<CardText>,
    /// Column and value, for tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, String)>,
}

impl Card {
    /// The card of a suspect, with its picture or values if the data is known.
    ///
    /// # Errors
    /// A picture that cannot be encoded.
    pub fn of(
        suspect: &Suspect,
        names: RowNames<'_>,
        truth: Option<&[Label]>,
        reading: Option<&Reading>,
    ) -> Outcome<Self> {
        let (picture, values) = match (names.data, reading) {
            (Some(data), Some(reading)) => look(data, suspect.index, reading)?,
            _ => (None, Vec::new()),
        };
        let texts = names.data.map_or(Vec::new(), |data| CardText::of(data, suspect.index));
        Ok(Self {
            index: suspect.index,
            id: names.row(suspect.index),
            given: names.class(suspect.given),
            suggested: names.class(suspect.suggested),
            truth: truth.map(|truth| names.class(truth[suspect.index])),
            score: suspect.score,
            reason: names.reason(suspect),
            picture,
            texts,
            values,
        })
    }
}

/// What is shown of a row: its picture (a PNG file in base64), or its columns and values.
///
/// # Errors
/// A picture that cannot be encoded.
#[allow(clippy::type_complexity)]
fn look(train: &Dataset, index: usize, reading: &Reading) -> Outcome<(Option<String>, Vec<(String, String)>)> {
    Ok(match train.shape() {
        Shape::Image { channels, height, width } => {
            let (pixels, height, width) = shrunk(&pixels(train.row(index)), channels, height, width);
            (Some(picture(&pixels, channels, height, width)?), Vec::new())
        }
        Shape::Flat(_) => (None, row_values(train.row(index), reading)),
    })
}

/// A row's pixels as bytes. Floats are scaled so that the smallest becomes 0 and the largest 255.
fn pixels(row: Row<'_>) -> Vec<u8> {
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

/// Shrinks a picture to at most [`LONGEST`] pixels on its longer side, by averaging whole blocks of pixels.
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

/// A table row as columns and values of the user's file: undoes the standardising and the one-hot coding.
fn row_values(row: Row<'_>, reading: &Reading) -> Vec<(String, String)> {
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
            Rule::Number { mean, std, notation, .. } => {
                let from_mean = f64::from(cells[0]) * std;
                let (number, error) = (from_mean + mean, 1e-7 * from_mean.abs());
                // Standardised in 32 bits, midnight may have become a minute more or less.
                let midnight = (number - number.round()).abs() <= 2.0 * error;
                let date = notation.date(if midnight { number.round() } else { number });
                date.unwrap_or_else(|| number_text(number, error))
            }
            Rule::Text { levels, other, .. } => match cells.iter().position(|&cell| cell == 1.0) {
                Some(level) if level < levels.len() => levels[level].clone(),
                Some(level) if level == levels.len() && *other => "(other)".to_owned(),
                Some(_) => "–".to_owned(),
                None => "(never seen)".to_owned(),
            },
            Rule::Words | Rule::Ignored => continue,
        };
        values.push((column.name.clone(), shown));
    }
    values
}

/// A number in at most six digits, without digits smaller than `error`. Otherwise a 0 that was standardised in 32 bits would
/// be shown as -0.00000001.
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

/// A picture stored `[channels][height][width]`, as a PNG file in base64. Of other than 1 or 3 channels only the first is
/// shown.
///
/// # Errors
/// Pixels that don't fill the shape.
fn picture(pixels: &[u8], channels: usize, height: usize, width: usize) -> Outcome<String> {
    let plane = height * width;
    let (bytes, color) = if channels == 3 && pixels.len() == 3 * plane {
        let interleaved = (0..plane).flat_map(|at| [pixels[at], pixels[plane + at], pixels[2 * plane + at]]).collect();
        (interleaved, png::ColorType::Rgb)
    } else {
        (pixels.get(..plane).unwrap_or(pixels).to_vec(), png::ColorType::Grayscale)
    };
    Ok(STANDARD.encode(encode_png(&bytes, width as u32, height as u32, color)?))
}

/// The bytes of a PNG file.
///
/// # Errors
/// Pixels that don't fill width × height.
pub fn encode_png(pixels: &[u8], width: u32, height: u32, color: png::ColorType) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(Failure::new)?;
    writer.write_image_data(pixels).map_err(Failure::new)?;
    writer.finish().map_err(Failure::new)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_planes_are_interleaved_and_rows_stay_rows() {
        // 2 × 1 picture, one red pixel left, one blue pixel right.
        let base64 = picture(&[255, 0, 0, 0, 0, 255], 3, 1, 2).unwrap();
        let bytes = STANDARD.decode(base64).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (2, 1));
        assert_eq!(pixels, [255, 0, 0, 0, 0, 255]);
    }

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
