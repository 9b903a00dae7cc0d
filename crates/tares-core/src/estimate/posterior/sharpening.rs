//! Were labels changed whatever the row, or did people err where it is hard? What tells is how often the labels of **easy**
//! rows are wrong, beside those of all rows of their class.
//!
//! Noise that was put in strikes easy rows as often as hard ones; people seldom mistake an easy row. On the hard rows that
//! they do mistake, a classifier taught by them is unsure as well, so "the classifier is unsure" and "the label is wrong"
//! explain the same disagreement, and the likelihood chooses the first too often: then beliefs are sharpened, the more
//! the more labels are wrong. Otherwise they stay as they are. An overfitted classifier is sure of what is wrong, so that no
//! row seems easy; there it tells that the rate grows with the sharpness of the beliefs, as that of noise put in does not.

use super::em::Sight;

/// The surest parts of the rows of each class that are looked at; the mean of the answers counts.
const EASY_PARTS: [f64; 2] = [0.2, 0.4];
/// If easy rows have this much less noise than all rows, all of it is taken for people's; if they have less by less, a part.
const MUCH_LESS: f64 = 0.1;
/// Standard deviations by which luck could have spared the easy rows; those of at least this share of the noise.
const LUCK: f64 = 0.7;
const LEAST_SHARE: f64 = 0.3;
/// Noise that was put in hardly grows when beliefs are sharpened twofold. From the first on that growth speaks for people's …
const GROWS: f64 = 2.5;
/// … and from here on it decides: an overfitted classifier is sure of what is wrong, too.
const GROWS_MUCH: f64 = 3.0;
/// Sharpening for noise of people, where few labels are wrong.
const BOLDNESS: f64 = 2.0;
/// Sharpening when nothing is told.
pub(crate) const UNTOLD: f64 = 1.4;
/// Wrong labels among the easy rows that count as much as knowing nothing.
const ENOUGH: f64 = 4.0;

/// By how much beliefs are sharpened, from what is seen of the rows: 1 to about 3. `growth` is the noise rate if they are
/// sharpened twofold, in parts of the rate if they are not.
pub(crate) fn boldness(mut sights: Vec<Sight>, growth: f64) -> f64 {
    let all: f64 = sights.iter().map(|sight| sight.weight).sum();
    let wrong = |sights: &[Sight]| sights.iter().map(|sight| (1.0 - sight.right) * sight.weight).sum::<f64>();
    let expected = wrong(&sights);
    if expected <= 0.0 {
        return UNTOLD;
    }
    sights.sort_unstable_by(|a, b| a.class.cmp(&b.class).then(b.sure.total_cmp(&a.sure)));
    let on_easy = |part: f64| {
        let of_class = |sights: &[Sight]| {
            let rows: f64 = sights.iter().map(|sight| sight.weight).sum();
            let easy = surest(sights, part * rows);
            rows * wrong(easy) / easy.iter().map(|sight| sight.weight).sum::<f64>()
        };
        sights.chunk_by(|a, b| a.class == b.class).map(of_class).sum::<f64>() / expected
    };
    let ratio = EASY_PARTS.iter().map(|&part| on_easy(part)).sum::<f64>() / EASY_PARTS.len() as f64;
    // Wrong labels that are expected among the easy rows that were drawn: their number has this luck.
    let part = EASY_PARTS.iter().sum::<f64>() / EASY_PARTS.len() as f64;
    let drawn = part * expected / all * sights.len() as f64;
    let ratio = ratio + LUCK * (ratio.max(LEAST_SHARE) / drawn).sqrt();
    let spared = ((1.0 - ratio) / MUCH_LESS).clamp(0.0, 1.0);
    let people = spared.max(((growth - GROWS) / (GROWS_MUCH - GROWS)).clamp(0.0, 1.0));
    let told = drawn / (drawn + ENOUGH);
    UNTOLD.powf(1.0 - told) * (BOLDNESS / (1.0 - expected / all).max(0.5)).powf(people * told)
}

/// The first rows (surest first) that are `enough`, and those as sure as the last of them.
fn surest(sights: &[Sight], enough: f64) -> &[Sight] {
    let (mut rows, mut end) = (0.0, 0);
    while end < sights.len() && (end == 0 || rows < enough || sights[end].sure == sights[end - 1].sure) {
        rows += sights[end].weight;
        end += 1;
    }
    &sights[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::stream;

    /// Rows of two classes, from sure to unsure; `wrong` says how often a row that hard has a wrong label.
    fn rows(wrong: impl Fn(f64) -> f64) -> Vec<Sight> {
        let mut draws = stream(1, "boldness");
        let row = |i: usize| {
            let hard = draws.unit();
            let right = if draws.chance(wrong(hard)) { 0.0 } else { 1.0 };
            Sight { class: (i % 2) as u32, sure: 1.0 - hard / 2.0, right, weight: 2.5 }
        };
        (0..4000).map(row).collect()
    }

    #[test]
    fn noise_that_strikes_all_rows_needs_none() {
        for rate in [0.05, 0.2, 0.4] {
            assert!(boldness(rows(|_| rate), 1.2) < 1.1, "{rate}");
        }
        assert_eq!(boldness(rows(|_| 0.0), 1.2), UNTOLD);
    }

    #[test]
    fn noise_of_people_needs_more_the_more_there_is() {
        let (few, many) = (boldness(rows(|hard| 0.2 * hard * hard), 1.2), boldness(rows(|hard| 0.8 * hard), 1.2));
        assert!((2.0..2.3).contains(&few), "{few}");
        assert!((3.0..3.6).contains(&many), "{many}");
    }

    #[test]
    fn noise_that_grows_with_sharpness_is_peoples() {
        let growing = |growth: f64| boldness(rows(|_| 0.1), growth);
        assert!(
            growing(2.0) < 1.1 && growing(4.0) > 2.0 && growing(2.0) < growing(2.75) && growing(2.75) < growing(4.0)
        );
    }

    /// A class with much noise is not a hard class.
    #[test]
    fn classes_are_compared_with_themselves() {
        let mut all = rows(|_| 0.05);
        all.extend(rows(|_| 0.4).into_iter().map(|sight| Sight {
            class: sight.class + 2,
            sure: sight.sure / 2.0,
            ..sight
        }));
        assert!(boldness(all, 1.2) < 1.1);
    }

    #[test]
    fn rows_as_sure_as_the_last_easy_one_are_easy() {
        let sight = |sure: f64| Sight { class: 0, sure, right: 1.0, weight: 1.0 };
        let sights = [1.0, 0.9, 0.9, 0.9, 0.2].map(sight);
        assert_eq!(surest(&sights, 2.0).len(), 4);
        assert_eq!(surest(&sights, 1.0).len(), 1);
    }
}
