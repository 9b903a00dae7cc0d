//! Was noise injected into all rows alike, or did people err on hard rows? Compares how often the labels of **easy** rows are
//! wrong with how often those of all rows of the same class are.
//!
//! Injected noise hits easy rows as often as hard ones; people rarely mislabel an easy row. On the hard rows that people
//! mislabel, a classifier trained on their labels is unsure, too. "The classifier is unsure" and "the label is wrong" then
//! explain the same disagreement, and the likelihood prefers the first too often. So the sharpness is raised, and more so the
//! more labels are wrong.
//!
//! An overfitted classifier is sure of wrong labels, so no row looks easy. There another sign helps: the estimated rate
//! rises as the sharpness does; injected noise does not cause that.

use super::row_posterior::RowPosterior;

/// The easy rows of a class are its surest ones. The comparison is made for both of these parts and averaged.
const EASY_PARTS: [f64; 2] = [0.2, 0.4];
/// If the noise rate of easy rows is below that of all rows by this part, all noise counts as people's. A smaller gap counts
/// proportionally.
const FULL_GAP: f64 = 0.1;
/// The gap must exceed chance by this many standard errors; the error is computed for at least this part of the noise.
const STANDARD_ERRORS: f64 = 0.7;
const LEAST_PART: f64 = 0.3;
/// The growth of the rate when sharpness doubles: above the first value it speaks for people's noise, from the second on it
/// decides. Injected noise hardly grows.
const SOME_GROWTH: f64 = 2.5;
const FULL_GROWTH: f64 = 3.0;
/// The factor for people's noise, where few labels are wrong.
const PEOPLE: f64 = 2.0;
/// The factor when nothing is known.
pub(crate) const UNKNOWN: f64 = 1.4;
/// With this many wrong labels among the easy rows, the comparison and `UNKNOWN` have equal weight.
const HALF_WEIGHT: f64 = 4.0;

/// From this [skill](crate::estimate::Overview::skill) on, growth counts in full.
const FULL_SKILL: f64 = 0.3;

/// The factor by which the sharpness is raised: 1 to about 3. `growth` is the factor by which the noise rate grows when the
/// sharpness doubles.
pub(crate) fn factor(mut rows: Vec<RowPosterior>, growth: f64) -> f64 {
    let all: f64 = rows.iter().map(|row| row.weight).sum();
    let wrong = |rows: &[RowPosterior]| rows.iter().map(|row| (1.0 - row.right) * row.weight).sum::<f64>();
    let expected = wrong(&rows);
    if expected <= 0.0 {
        return UNKNOWN;
    }
    rows.sort_unstable_by(|a, b| a.class.cmp(&b.class).then(b.confidence.total_cmp(&a.confidence)));
    let easy_ratio = |part: f64| {
        let of_class = |rows: &[RowPosterior]| {
            let all: f64 = rows.iter().map(|row| row.weight).sum();
            let easy = surest(rows, part * all);
            all * wrong(easy) / easy.iter().map(|row| row.weight).sum::<f64>()
        };
        rows.chunk_by(|a, b| a.class == b.class).map(of_class).sum::<f64>() / expected
    };
    let mean = |of: &dyn Fn(f64) -> f64| EASY_PARTS.iter().map(|&part| of(part)).sum::<f64>() / EASY_PARTS.len() as f64;
    // The noise rate of easy rows in parts of that of all rows, and the expected number of drawn rows it rests on.
    let ratio = mean(&easy_ratio);
    let easy_wrong = mean(&|part| part) * expected / all * rows.len() as f64;
    let ratio = ratio + STANDARD_ERRORS * (ratio.max(LEAST_PART) / easy_wrong).sqrt();
    let gap = ((1.0 - ratio) / FULL_GAP).clamp(0.0, 1.0);
    let people = gap.max(growth_share(growth));
    let known = easy_wrong / (easy_wrong + HALF_WEIGHT);
    UNKNOWN.powf(1.0 - known) * (PEOPLE / (1.0 - expected / all).max(0.5)).powf(people * known)
}

/// What is left of the factor if the classifier has little skill.
///
/// Growth is a sign of people's mistakes only if the classifier knows its classes. One that never names a rare class is unsure of
/// all its rows, and a larger sharpness would turn that doubt into certainty that their labels are wrong.
pub(crate) fn with_skill(factor: f64, growth: f64, skill: f64) -> f64 {
    let doubtful = growth_share(growth) * (1.0 - skill / FULL_SKILL).clamp(0.0, 1.0);
    factor.powf(1.0 - doubtful)
}

/// How much the growth of the rate speaks for people's mistakes: 0 to 1.
fn growth_share(growth: f64) -> f64 {
    ((growth - SOME_GROWTH) / (FULL_GROWTH - SOME_GROWTH)).clamp(0.0, 1.0)
}

/// The first rows (surest first) that stand for at least `enough` rows, and those as sure as the last of them.
fn surest(rows: &[RowPosterior], enough: f64) -> &[RowPosterior] {
    let (mut sum, mut end) = (0.0, 0);
    while end < rows.len() && (end == 0 || sum < enough || rows[end].confidence == rows[end - 1].confidence) {
        sum += rows[end].weight;
        end += 1;
    }
    &rows[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::stream;

    /// Rows of two classes, from sure to unsure; `wrong` says how often a row that hard has a wrong label.
    fn rows(wrong: impl Fn(f64) -> f64) -> Vec<RowPosterior> {
        let mut draws = stream(1, "boldness");
        let row = |i: usize| {
            let hard = draws.unit();
            let right = if draws.chance(wrong(hard)) { 0.0 } else { 1.0 };
            RowPosterior { class: (i % 2) as u32, confidence: 1.0 - hard / 2.0, right, weight: 2.5 }
        };
        (0..4000).map(row).collect()
    }

    #[test]
    fn noise_on_all_rows_alike_needs_none() {
        for rate in [0.05, 0.2, 0.4] {
            assert!(factor(rows(|_| rate), 1.2) < 1.1, "{rate}");
        }
        assert_eq!(factor(rows(|_| 0.0), 1.2), UNKNOWN);
    }

    #[test]
    fn noise_of_people_needs_more_the_more_there_is() {
        let (few, many) = (factor(rows(|hard| 0.2 * hard * hard), 1.2), factor(rows(|hard| 0.8 * hard), 1.2));
        assert!((2.0..2.3).contains(&few), "{few}");
        assert!((3.0..3.6).contains(&many), "{many}");
    }

    #[test]
    fn noise_that_grows_with_sharpness_is_peoples() {
        let growing = |growth: f64| factor(rows(|_| 0.1), growth);
        assert!(
            growing(2.0) < 1.1 && growing(4.0) > 2.0 && growing(2.0) < growing(2.75) && growing(2.75) < growing(4.0)
        );
    }

    #[test]
    fn growth_says_nothing_where_the_classifier_knows_nothing() {
        assert_eq!(with_skill(2.0, 20.0, 0.0), 1.0);
        assert_eq!(with_skill(2.0, 20.0, 0.9), 2.0);
        assert_eq!(with_skill(2.0, 1.2, 0.0), 2.0);
    }

    /// A class with much noise is not a hard class.
    #[test]
    fn classes_are_compared_with_themselves() {
        let mut all = rows(|_| 0.05);
        all.extend(rows(|_| 0.4).into_iter().map(|row| RowPosterior {
            class: row.class + 2,
            confidence: row.confidence / 2.0,
            ..row
        }));
        assert!(factor(all, 1.2) < 1.1);
    }

    #[test]
    fn rows_as_sure_as_the_last_easy_one_are_easy() {
        let row = |confidence: f64| RowPosterior { class: 0, confidence, right: 1.0, weight: 1.0 };
        let rows = [1.0, 0.9, 0.9, 0.9, 0.2].map(row);
        assert_eq!(surest(&rows, 2.0).len(), 4);
        assert_eq!(surest(&rows, 1.0).len(), 1);
    }
}
