//! [`TextEvidence`]: the words of a text that speak for one class and against another, to show people why.

use super::TextOptions;
use super::counts::{Kind, TextCounts};
use crate::bayes::Bayes;
use crate::caller::Caller;
use crate::error::Result;
use crate::labelled::Labelled;
use crate::matrix::Matrix;
use tares_core::Label;

/// Single words: what people can look for in a text.
const OPTIONS: TextOptions = TextOptions { words: (1, 1), characters: (0, 0), least_rows: 2, sublinear: true };
/// Smoothing, so that a word in two rows doesn't count more than a word in twenty.
const SMOOTHING: f64 = 1.0;

/// How much every word speaks for each class: naive Bayes of single words.
#[derive(Clone, Debug)]
pub struct TextEvidence {
    model: Bayes,
}

impl TextEvidence {
    /// Learns from columns of texts and the given labels. A few wrong labels change little, because a word is counted over all its rows.
    ///
    /// ```
    /// use tares_judges::text::evidence::TextEvidence;
    /// let texts = ["win a prize", "a prize for you", "lunch at noon", "noon is fine", "you at lunch"];
    /// let evidence = TextEvidence::fit(&[&texts], &[1, 1, 0, 0, 0], 2)?;
    /// assert_eq!(evidence.words(0, "A PRIZE at noon", 1, 0, 5), ["prize"]);
    /// assert_eq!(evidence.words(0, "A PRIZE at noon", 0, 1, 5), ["noon", "at"]);
    /// # Ok::<(), tares_judges::Error>(())
    /// ```
    ///
    /// # Errors
    /// Texts and labels that don't fit together.
    pub fn fit<T: AsRef<str> + Sync>(columns: &[&[T]], given: &[Label], classes: usize) -> Result<Self> {
        let counts = columns.iter().map(|texts| TextCounts::of(texts, OPTIONS)).collect::<Result<_>>()?;
        let inputs = Matrix::mixed(Vec::new(), counts)?;
        Ok(Self { model: Bayes::fit(&Labelled::new(&inputs, given, classes), SMOOTHING, Caller::none())? })
    }

    /// At most `most` different words of a text in this column that speak for `class` and against `other`, the strongest
    /// first, in small letters.
    pub fn words(&self, column: usize, text: &str, class: Label, other: Label, most: usize) -> Vec<String> {
        let mut found: Vec<(String, f64)> = Vec::new();
        Kind::Words.visit(&text.to_lowercase(), OPTIONS, |word| {
            if found.iter().all(|(known, _)| known != word)
                && let Some(weight) = self.model.evidence(column, Kind::Words.column(word), class, other)
                && weight > 0.0
            {
                found.push((word.to_owned(), weight));
            }
        });
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.into_iter().take(most).map(|(word, _)| word).collect()
    }
}
