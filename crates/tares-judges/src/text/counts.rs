//! [`TextCounts`]: which n-grams every text contains, and how often.
//!
//! N-grams are identified by their hash alone: those that share one of 2²⁰ buckets share a column. Nothing is fitted here: the
//! counts of a row depend on its own text alone, so they are made once for all folds.

use super::{TextOptions, ngrams};
use crate::error::Result;
use crate::matrix::SparseRows;
use rayon::prelude::*;
use tares_core::Fingerprint;

/// Buckets of each kind of n-gram.
pub(crate) const BUCKETS: u32 = 1 << 20;

/// One column of texts, N rows, as counts of n-grams.
///
/// ```
/// use tares_judges::{TextCounts, TextOptions};
/// let options = TextOptions { characters: (0, 0), ..TextOptions::default() };
/// let counts = TextCounts::of(&["To be, or not to be", ""], options)?;
/// // to, be, or, not; to be, be or, or not, not to.
/// assert_eq!((counts.distinct(0), counts.distinct(1)), (8, 0));
/// # Ok::<(), tares_judges::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TextCounts {
    options: TextOptions,
    /// Runs of words, then runs of characters; the values are counts.
    rows: SparseRows,
}

impl TextCounts {
    /// Counts the n-grams of texts. Capital letters count as small ones.
    ///
    /// # Errors
    /// Options outside their domain.
    pub fn of<T: AsRef<str> + Sync>(texts: &[T], options: TextOptions) -> Result<Self> {
        options.check()?;
        let row = |text: &T| {
            let lower = text.as_ref().to_lowercase();
            let mut row = Kind::Words.count(&lower, options);
            row.extend(Kind::Characters.count(&lower, options));
            row
        };
        let rows: Vec<Vec<(u32, f32)>> = texts.par_iter().map(row).collect();
        let mut counts = Self { options, rows: SparseRows::empty(2 * BUCKETS as usize) };
        rows.iter().for_each(|row| counts.rows.push(row));
        Ok(counts)
    }

    /// N.
    pub fn rows(&self) -> usize {
        self.rows.rows()
    }

    /// How many different n-grams a row has.
    pub fn distinct(&self, row: usize) -> usize {
        self.rows.row(row).0.len()
    }

    /// How the n-grams were made.
    pub fn options(&self) -> TextOptions {
        self.options
    }

    /// Different n-grams of all rows together, counted in every row.
    pub(crate) fn entries(&self) -> usize {
        self.rows.entries()
    }

    /// Buckets and counts of a row: first words, then characters, each ascending.
    pub(crate) fn row(&self, row: usize) -> (&[u32], &[f32]) {
        self.rows.row(row)
    }

    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        Self { options: self.options, rows: self.rows.select(rows) }
    }
}

/// What an n-gram is made of.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Words,
    Characters,
}

impl Kind {
    /// Calls `visit` with every n-gram of a text in small letters.
    pub(crate) fn visit(self, lower: &str, options: TextOptions, visit: impl FnMut(&str)) {
        match self {
            Self::Words if options.words.0 > 0 => ngrams::words(lower, options.words.0, options.words.1, visit),
            Self::Characters if options.characters.0 > 0 => {
                ngrams::characters(lower, options.characters.0, options.characters.1, visit);
            }
            _ => {}
        }
    }

    /// The column of an n-gram.
    pub(crate) fn column(self, gram: &str) -> u32 {
        match self {
            Self::Words => bucket(gram),
            Self::Characters => BUCKETS + bucket(gram),
        }
    }

    /// The columns of a text, ascending, and how often each is hit.
    fn count(self, lower: &str, options: TextOptions) -> Vec<(u32, f32)> {
        let mut columns = Vec::new();
        self.visit(lower, options, |gram| columns.push(self.column(gram)));
        columns.sort_unstable();
        columns.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f32)).collect()
    }
}

fn bucket(gram: &str) -> u32 {
    let print = Fingerprint::of_bytes(gram.as_bytes()).value();
    ((print ^ (print >> 32)) % u64::from(BUCKETS)) as u32
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
    fn upper_case_changes_nothing_and_a_row_depends_on_its_own_text_alone() {
        let of = |texts: &[&str]| TextCounts::of(texts, TextOptions::default()).unwrap();
        assert_eq!(of(&["ÉTÉ the CAT"]), of(&["été the cat"]));
        let both = of(&["one text", "another"]);
        assert_eq!(both.select(&[1]), of(&["another"]));
        assert_eq!(of(&["", " \n"]).distinct(0), 0);
    }

    #[test]
    fn ranges_that_make_no_sense_are_refused() {
        for (words, characters) in [((0, 0), (0, 0)), ((2, 1), (3, 5)), ((1, 2), (0, 3)), ((1, 17), (3, 5))] {
            assert!(TextCounts::of(&["a"], TextOptions { words, characters, ..TextOptions::default() }).is_err());
        }
    }
}
