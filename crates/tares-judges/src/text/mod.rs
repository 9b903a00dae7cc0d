//! Texts → sparse rows: hashed n-grams of words and of characters with TF-IDF weights.
//!
//! Fit on the training rows alone, then [`transform`](TextFeatures::transform) training and new rows alike.
//!
//! ```text
//! weight = tf · (ln((1 + N) / (1 + df)) + 1)      tf = 1 + ln(count), or the count itself
//! ```
//!
//! N is the number of training rows and df how many of them hold the n-gram. The weights of words and those of characters are scaled
//! to length √½ each, so that a row that has both has length 1. An n-gram is known by its hash alone; n-grams that share
//! one of 2²⁰ buckets share a column.

mod ngrams;

use crate::error::{Result, stored, value};
use crate::matrix::SparseRows;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tares_core::Fingerprint;

/// Buckets of each kind of n-gram.
const BUCKETS: u64 = 1 << 20;

/// Which n-grams there are and how they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TextOptions {
    /// Least and most words of a run; (0, 0) for none.
    pub words: (usize, usize),
    /// Least and most characters of a run; (0, 0) for none.
    pub characters: (usize, usize),
    /// An n-gram that fewer training rows hold is left out.
    pub least_rows: u32,
    /// Count an n-gram that stands n times in a row as 1 + ln n.
    pub sublinear: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { words: (1, 2), characters: (3, 5), least_rows: 2, sublinear: true }
    }
}

impl TextOptions {
    /// Checks the ranges.
    ///
    /// # Errors
    /// A range that is upside down, starts at 0 or goes beyond 16; no n-gram at all.
    pub fn check(&self) -> Result<()> {
        for (what, range) in [("words of a run", self.words), ("characters of a run", self.characters)] {
            if range != (0, 0) && !(1 <= range.0 && range.0 <= range.1 && range.1 <= 16) {
                return Err(value(what, "1 <= least <= most <= 16, or (0, 0) for none", format!("{range:?}")));
            }
        }
        if self.words == (0, 0) && self.characters == (0, 0) {
            return Err(tares_core::Error::empty("list of n-grams").into());
        }
        Ok(())
    }
}

/// What was learnt about the n-grams of the training rows.
///
/// ```
/// use tares_judges::{TextFeatures, TextOptions};
/// let texts = ["good morning", "good night", "good grief"];
/// let options = TextOptions { characters: (0, 0), ..TextOptions::default() };
/// let features = TextFeatures::fit(&texts, options)?;
/// let rows = features.transform(&["Good, good Day"]);
/// assert_eq!(rows.row(0), (&[0][..], &[0.5f32.sqrt()][..])); // only "good" stands in two training rows
/// # Ok::<(), tares_judges::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextFeatures {
    options: TextOptions,
    words: Block,
    characters: Block,
}

/// The columns of one kind of n-gram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    /// The buckets that have a column, ascending.
    buckets: Vec<u32>,
    /// Their inverse document frequencies.
    idf: Vec<f32>,
}

impl TextFeatures {
    /// Learns which n-grams there are and how frequent they are.
    ///
    /// # Errors
    /// No text; options outside their domain.
    pub fn fit<T: AsRef<str> + Sync>(texts: &[T], options: TextOptions) -> Result<Self> {
        options.check()?;
        if texts.is_empty() {
            return Err(tares_core::Error::empty("list of texts").into());
        }
        let fit = |kind: Kind| {
            let held: Vec<Vec<(u32, u32)>> = texts.par_iter().map(|text| kind.count(&lower(text), options)).collect();
            let mut rows = vec![0u32; BUCKETS as usize];
            held.iter().flatten().for_each(|&(bucket, _)| rows[bucket as usize] += 1);
            let wanted = |bucket: &u32| rows[*bucket as usize] >= options.least_rows.max(1);
            let buckets: Vec<u32> = (0..BUCKETS as u32).filter(wanted).collect();
            let idf = |&bucket: &u32| {
                let holding = f64::from(rows[bucket as usize]);
                (((1.0 + texts.len() as f64) / (1.0 + holding)).ln() + 1.0) as f32
            };
            Block { idf: buckets.iter().map(idf).collect(), buckets }
        };
        Ok(Self { words: fit(Kind::Words), characters: fit(Kind::Characters), options })
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.words.buckets.len() + self.characters.buckets.len()
    }

    /// A row per text. N-grams that no training row had are left out.
    pub fn transform<T: AsRef<str> + Sync>(&self, texts: &[T]) -> SparseRows {
        let row = |text: &T| {
            let lower = lower(text);
            let mut row = self.weights(Kind::Words, &lower);
            row.extend(self.weights(Kind::Characters, &lower));
            row
        };
        let rows: Vec<Vec<(u32, f32)>> = texts.par_iter().map(row).collect();
        let mut sparse = SparseRows::empty(self.width());
        rows.iter().for_each(|row| sparse.push(row));
        sparse
    }

    /// The n-grams of a text that have a column, with it, in the order of the text: to show which words speak for a class.
    pub fn terms(&self, text: &str) -> Vec<(String, u32)> {
        let lower = lower(&text);
        let mut found = Vec::new();
        for kind in [Kind::Words, Kind::Characters] {
            let (block, before) = self.block(kind);
            kind.visit(&lower, self.options, |gram| {
                if let Ok(place) = block.buckets.binary_search(&bucket(gram)) {
                    found.push((gram.to_owned(), before + place as u32));
                }
            });
        }
        found
    }

    fn block(&self, kind: Kind) -> (&Block, u32) {
        match kind {
            Kind::Words => (&self.words, 0),
            Kind::Characters => (&self.characters, self.words.buckets.len() as u32),
        }
    }

    fn weights(&self, kind: Kind, lower: &str) -> Vec<(u32, f32)> {
        let (block, before) = self.block(kind);
        let mut weights = Vec::new();
        let mut length = 0.0;
        for (bucket, count) in kind.count(lower, self.options) {
            let Ok(place) = block.buckets.binary_search(&bucket) else { continue };
            let tf = if self.options.sublinear { 1.0 + f64::from(count).ln() } else { f64::from(count) };
            let weight = tf * f64::from(block.idf[place]);
            length += weight * weight;
            weights.push((before + place as u32, weight));
        }
        let scale = 0.5f64.sqrt() / length.sqrt();
        weights.into_iter().map(|(column, weight)| (column, (weight * scale) as f32)).collect()
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.options.check().map_err(|error| crate::Error::Stored(error.to_string()))?;
        for block in [&self.words, &self.characters] {
            let ascending = block.buckets.windows(2).all(|pair| pair[0] < pair[1]);
            let in_range = block.buckets.last().is_none_or(|&last| u64::from(last) < BUCKETS);
            stored(ascending && in_range, "buckets of n-grams must ascend below 1048576")?;
            stored(block.buckets.len() == block.idf.len(), "n-grams must have a frequency each")?;
            let frequency = |idf: &f32| idf.is_finite() && *idf > 0.0;
            stored(block.idf.iter().all(frequency), "frequencies of n-grams must be finite and above 0")?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Words,
    Characters,
}

impl Kind {
    fn visit(self, lower: &str, options: TextOptions, visit: impl FnMut(&str)) {
        match self {
            Self::Words if options.words.0 > 0 => ngrams::words(lower, options.words.0, options.words.1, visit),
            Self::Characters if options.characters.0 > 0 => {
                ngrams::characters(lower, options.characters.0, options.characters.1, visit);
            }
            _ => {}
        }
    }

    /// The buckets of a text, ascending, and how often each is hit.
    fn count(self, lower: &str, options: TextOptions) -> Vec<(u32, u32)> {
        let mut buckets = Vec::new();
        self.visit(lower, options, |gram| buckets.push(bucket(gram)));
        buckets.sort_unstable();
        let count = |run: &[u32]| (run[0], run.len() as u32);
        buckets.chunk_by(|a, b| a == b).map(count).collect()
    }
}

fn lower(text: &impl AsRef<str>) -> String {
    text.as_ref().to_lowercase()
}

fn bucket(gram: &str) -> u32 {
    let print = Fingerprint::of_bytes(gram.as_bytes()).value();
    ((print ^ (print >> 32)) % BUCKETS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_of_an_n_gram_never_changes() {
        // A change here makes every stored text model useless.
        assert_eq!(["good", "été", " the ", "a long pair"].map(bucket), GOLDEN);
    }
    const GOLDEN: [u32; 4] = [406_999, 291_533, 148_888, 629_819];

    #[test]
    fn buckets_are_spread_evenly() {
        // All words of three letters, and of three letters with an ending: few share a bucket.
        let letters = || (b'a'..=b'z').map(char::from);
        let grams = letters().flat_map(|a| letters().flat_map(move |b| letters().map(move |c| [a, b, c])));
        let mut seen: Vec<u32> = grams
            .flat_map(|gram| {
                let word: String = gram.iter().collect();
                [bucket(&word), bucket(&format!("{word} ")), bucket(&format!("{word}ation"))]
            })
            .collect();
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        // 52,728 draws from 2²⁰ buckets leave 51,426 different ones on average.
        assert!(seen.len() > 51_000, "{} of {all}", seen.len());
    }

    #[test]
    fn rows_have_length_one_and_upper_case_changes_nothing() {
        let texts = ["The cat sat", "the dog sat", "ÉTÉ the", "été a cat"];
        let features = TextFeatures::fit(&texts, TextOptions::default()).unwrap();
        let rows = features.transform(&texts);
        for row in 0..4 {
            let length: f32 = rows.row(row).1.iter().map(|x| x * x).sum();
            assert!((length - 1.0).abs() < 1e-5, "{length}");
        }
        assert_eq!(features.transform(&["THE CAT"]), features.transform(&["the cat"]));
        assert_eq!(features.transform(&[""]).row(0), (&[][..], &[][..]));
    }

    #[test]
    fn terms_have_the_columns_of_their_row() {
        let texts = ["red apple", "red pear", "green apple"];
        let features = TextFeatures::fit(&texts, TextOptions::default()).unwrap();
        let mut columns: Vec<u32> = features.terms("red apple").into_iter().map(|term| term.1).collect();
        columns.sort_unstable();
        columns.dedup();
        assert_eq!(columns, features.transform(&["red apple"]).row(0).0);
        assert_eq!(features.terms("Red")[0].0, "red");
    }

    #[test]
    fn ranges_that_make_no_sense_are_refused() {
        for (words, characters) in [((0, 0), (0, 0)), ((2, 1), (3, 5)), ((1, 2), (0, 3)), ((1, 17), (3, 5))] {
            assert!(TextFeatures::fit(&["a"], TextOptions { words, characters, ..TextOptions::default() }).is_err());
        }
    }
}
