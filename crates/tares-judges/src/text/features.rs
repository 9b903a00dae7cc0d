//! [`TextFeatures`]: counts of n-grams → TF-IDF weights. Fit on the training rows alone, then transform training and new
//! rows alike.
//!
//! ```text
//! weight = tf · (ln((1 + N) / (1 + df)) + 1)      tf = 1 + ln(count), or the count itself
//! ```
//!
//! N is the number of training rows and df how many of them hold the n-gram. The weights of words and those of characters
//! are scaled to length √½ each, so that a row that has both has length 1.

use super::TextOptions;
use super::counts::{BUCKETS, TextCounts};
use crate::error::{Result, stored, value};
use crate::matrix::SparseRows;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What was learnt about the n-grams of the training rows.
///
/// ```
/// use tares_judges::{TextCounts, TextFeatures, TextOptions};
/// let options = TextOptions { characters: (0, 0), ..TextOptions::default() };
/// let counts = |texts: &[&str]| TextCounts::of(texts, options);
/// let features = TextFeatures::fit(&counts(&["good morning", "good night", "good grief"])?)?;
/// let rows = features.transform(&counts(&["Good, good Day"])?)?;
/// assert_eq!(rows.row(0), (&[0][..], &[0.5f32.sqrt()][..])); // only "good" occurs in two training rows
/// # Ok::<(), tares_judges::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextFeatures {
    options: TextOptions,
    /// The hashed n-grams that have a column, ascending: words, then characters.
    grams: Vec<u32>,
    /// Their inverse document frequencies.
    idf: Vec<f32>,
}

impl TextFeatures {
    /// Learns which n-grams there are and how frequent they are.
    ///
    /// # Errors
    /// No text.
    pub fn fit(counts: &TextCounts) -> Result<Self> {
        if counts.rows() == 0 {
            return Err(tares_core::Error::empty("list of texts").into());
        }
        let mut holding = vec![0u32; 2 * BUCKETS as usize];
        for row in 0..counts.rows() {
            counts.row(row).0.iter().for_each(|&gram| holding[gram as usize] += 1);
        }
        let least = counts.options().least_rows.max(1);
        let grams: Vec<u32> = (0..2 * BUCKETS).filter(|&gram| holding[gram as usize] >= least).collect();
        let idf = |&gram: &u32| {
            let holding = f64::from(holding[gram as usize]);
            (((1.0 + counts.rows() as f64) / (1.0 + holding)).ln() + 1.0) as f32
        };
        Ok(Self { options: counts.options(), idf: grams.iter().map(idf).collect(), grams })
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.grams.len()
    }

    /// A row per text. N-grams that no training row had are left out.
    ///
    /// # Errors
    /// The counts lack kinds of n-grams that training had.
    pub fn transform(&self, counts: &TextCounts) -> Result<SparseRows> {
        if !counts.options().include(&self.options) {
            return Err(value(
                "n-grams",
                format!("as in training: {:?}", self.options),
                format!("{:?}", counts.options()),
            ));
        }
        // Looking up a table of all buckets is faster than searching those that have a column.
        let mut column_of = vec![u32::MAX; 2 * BUCKETS as usize];
        self.grams.iter().zip(0..).for_each(|(&gram, column)| column_of[gram as usize] = column);
        let rows: Vec<Vec<(u32, f32)>> =
            (0..counts.rows()).into_par_iter().map(|row| self.weights(counts.row(row), &column_of)).collect();
        let mut sparse = SparseRows::empty(self.width());
        rows.iter().for_each(|row| sparse.push(row));
        Ok(sparse)
    }

    fn weights(&self, (grams, counts): (&[u32], &[f32]), column_of: &[u32]) -> Vec<(u32, f32)> {
        let mut weights = Vec::with_capacity(grams.len());
        let mut lengths = [0f64; 2];
        for (&gram, &count) in grams.iter().zip(counts) {
            let column = column_of[gram as usize];
            if column == u32::MAX {
                continue;
            }
            let tf = if self.options.sublinear { 1.0 + f64::from(count).ln() } else { f64::from(count) };
            let weight = tf * f64::from(self.idf[column as usize]);
            let kind = usize::from(gram >= BUCKETS);
            lengths[kind] += weight * weight;
            weights.push((column, weight, kind));
        }
        let scales = lengths.map(|length| (0.5 / length).sqrt());
        weights.into_iter().map(|(column, weight, kind)| (column, (weight * scales[kind]) as f32)).collect()
    }

    /// The column of a hashed n-gram, and its inverse document frequency.
    pub(crate) fn column(&self, gram: u32) -> Option<(usize, f64)> {
        let column = self.grams.binary_search(&gram).ok()?;
        Some((column, f64::from(self.idf[column])))
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.options.check().map_err(|error| crate::Error::Stored(error.to_string()))?;
        let ascending = self.grams.windows(2).all(|pair| pair[0] < pair[1]);
        let in_range = self.grams.last().is_none_or(|&last| last < 2 * BUCKETS);
        stored(ascending && in_range, "n-grams must ascend below 2097152")?;
        stored(self.grams.len() == self.idf.len(), "n-grams must have a frequency each")?;
        let frequency = |idf: &f32| idf.is_finite() && *idf > 0.0;
        stored(self.idf.iter().all(frequency), "frequencies of n-grams must be finite and above 0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(texts: &[&str]) -> TextCounts {
        TextCounts::of(texts, TextOptions::default()).unwrap()
    }

    #[test]
    fn rows_have_length_one() {
        let texts = counts(&["The cat sat", "the dog sat", "ÉTÉ the", "été a cat"]);
        let features = TextFeatures::fit(&texts).unwrap();
        let rows = features.transform(&texts).unwrap();
        for row in 0..4 {
            let length: f32 = rows.row(row).1.iter().map(|x| x * x).sum();
            assert!((length - 1.0).abs() < 1e-5, "{length}");
        }
        assert_eq!(features.transform(&counts(&[""])).unwrap().row(0), (&[][..], &[][..]));
    }

    #[test]
    fn counts_of_other_n_grams_are_refused() {
        let features = TextFeatures::fit(&counts(&["a cat", "a cat"])).unwrap();
        let options = TextOptions { words: (1, 1), ..TextOptions::default() };
        assert!(features.transform(&TextCounts::of(&["a cat"], options).unwrap()).is_err());
        let words_alone = TextOptions { characters: (0, 0), ..TextOptions::default() };
        assert!(features.transform(&TextCounts::of(&["a cat"], words_alone).unwrap()).is_err());
        // More n-grams than training had change nothing.
        let texts = |options| TextCounts::of(&["a cat", "a cat"], options).unwrap();
        let of_words = TextFeatures::fit(&texts(words_alone)).unwrap();
        assert_eq!(
            of_words.transform(&texts(TextOptions::default())).unwrap(),
            of_words.transform(&texts(words_alone)).unwrap()
        );
    }
}
