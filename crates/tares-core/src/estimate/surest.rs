//! The noise rate where a judge is surest.
//!
//! Rows that are hard for a judge look like rows with wrong labels. On the rows it is surest of, its own mistakes are rare, and what
//! still disagrees there is noise: a label that is wrong whatever the row looks like. So the rate that a model of all rows finds is
//! moved towards the disagreement among the surest fifth of rows, and the interval reaches down to it.
//!
//! N rows, K classes; probabilities must be out-of-sample. Where people err on hard rows above all, the true rate is higher than among the
//! surest rows: the upper end of the interval stays that of the model of all rows.

use super::{Estimate, counting_interval};
use crate::dataset::Label;
use crate::error::{Error, Result, same_length};
use crate::noise::{Transition, TransitionRow};

/// Parts of the rows that count as surest; the last one gives the rate, all of them the lower end of the interval.
const PARTS: [f64; 3] = [0.05, 0.1, 0.2];
/// Rows at least: fewer say nothing.
const LEAST_ROWS: usize = 20;

/// Moves an estimate towards the disagreement among the rows that `probs` (N × K) is surest of.
///
/// ```
/// use tares_core::estimate::{Estimate, surest};
/// use tares_core::Transition;
/// // Half of 200 rows are easy, and a tenth of their labels is wrong. The others are coin tosses for the judge.
/// let (mut probs, mut given) = (Vec::new(), Vec::new());
/// for row in 0..200 {
///     let easy = row % 2 == 0;
///     probs.extend(if easy { [0.9, 0.1] } else { [0.55, 0.45] });
///     given.push(u32::from(if easy { row % 20 == 0 } else { row % 4 == 1 }));
/// }
/// let mut estimate =
///     Estimate { rows: 200, rate: 0.3, interval: (0.25, 0.4), uniform_rate: 0.3, transition: Transition::symmetric(2, 0.3)? };
/// surest::refine(&mut estimate, &probs, &given)?;
/// assert!((0.1..0.2).contains(&estimate.rate) && estimate.interval.0 < 0.1 && estimate.interval.1 == 0.4);
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// Another number of probabilities than N × K, or probabilities that are not numbers.
pub fn refine(estimate: &mut Estimate, probs: &[f64], given: &[Label]) -> Result<()> {
    let classes = estimate.transition.classes();
    same_length("probabilities", given.len().saturating_mul(classes), probs.len())?;
    if let Some(place) = probs.iter().position(|p| p.is_nan()) {
        return Err(Error::value("probability", "a number", "NaN").at(format!("row {}", place / classes)));
    }
    let mut rows: Vec<(f64, bool)> = probs
        .chunks_exact(classes)
        .zip(given)
        .map(|(row, &label)| {
            let best = (1..classes).fold(0, |best, class| if row[class] > row[best] { class } else { best });
            (row[best], best != label as usize)
        })
        .collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut low = estimate.interval.0;
    let (mut rate, mut counted) = (estimate.rate, rows.len());
    for part in PARTS {
        counted = ((part * rows.len() as f64) as usize).max(LEAST_ROWS).min(rows.len());
        rate = rows[..counted].iter().filter(|(_, wrong)| *wrong).count() as f64 / counted as f64;
        // Three standard errors: the judge's own mistakes are among the disagreements, also on the surest rows.
        low = low.min((rate + 1.5 * (counting_interval(rate, counted).0 - rate)).max(0.0));
    }
    // One standard error; the interval has two.
    let (least, most) = counting_interval(rate, counted);
    let near = |end: f64| rate + 0.5 * (end - rate);
    let refined = estimate.rate.clamp(near(least), near(most));
    estimate.transition = scaled(&estimate.transition, refined / estimate.rate.max(f64::MIN_POSITIVE))?;
    estimate.interval = (low.min(refined), estimate.interval.1.max(most).max(refined));
    (estimate.rate, estimate.uniform_rate) = (refined, estimate.uniform_rate.min(refined));
    Ok(())
}

/// The same mistakes, `factor` times as frequent, as far as rows stay rows of probabilities.
fn scaled(transition: &Transition, factor: f64) -> Result<Transition> {
    let row = |(class, row): (usize, &TransitionRow)| {
        let wrong = 1.0 - row.at(class);
        let factor = if wrong > 0.0 { factor.min(1.0 / wrong) } else { 0.0 };
        let others = row.listed().iter().filter(|(given, _)| *given as usize != class);
        let mut listed: Vec<(Label, f64)> = others.map(|&(given, part)| (given, factor * part)).collect();
        listed.push((class as Label, 1.0 - factor * wrong));
        TransitionRow::new(listed, factor * row.others())
    };
    Transition::of_rows(transition.rows().iter().enumerate().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::stream;

    fn estimate(rate: f64, classes: usize) -> Estimate {
        let transition = Transition::symmetric(classes, rate).unwrap();
        Estimate { rows: 0, rate, interval: (rate - 0.02, rate + 0.05), uniform_rate: rate, transition }
    }

    #[test]
    fn hard_rows_are_not_counted_as_noise() {
        for (seed, noise) in [(1, 0.0), (2, 0.1), (3, 0.3)] {
            let mut draw = stream(seed, "test");
            let (mut probs, mut given) = (Vec::new(), Vec::new());
            for _ in 0..4000 {
                // From rows that are certain to rows where a judge can only guess.
                let sure = 0.5 + 0.5 * draw.unit().sqrt();
                let truth = u32::from(!draw.chance(sure));
                let given_wrong = draw.chance(noise);
                let told = sure * (1.0 - noise) + (1.0 - sure) * noise;
                probs.extend([told, 1.0 - told]);
                given.push(if given_wrong { 1 - truth } else { truth });
            }
            let mut found = estimate(noise + 0.12, 2);
            refine(&mut found, &probs, &given).unwrap();
            assert!((found.rate - noise).abs() < 0.06, "noise {noise}: {found:?}");
            // Even the surest rows are not certain, so the lower end may lie a little above no noise at all.
            assert!(found.interval.0 <= noise + 0.01 && noise <= found.interval.1, "noise {noise}: {found:?}");
            let left = found.transition.rate(&[0.5, 0.5]).unwrap();
            assert!((left - found.rate).abs() < 1e-9, "{left}, {}", found.rate);
        }
    }

    #[test]
    fn an_estimate_that_agrees_with_the_surest_rows_stays() {
        let probs: Vec<f64> = (0..1000).flat_map(|_| [0.8, 0.2]).collect();
        let given: Vec<u32> = (0..1000).map(|row| u32::from(row % 5 == 0)).collect();
        let mut found = estimate(0.2, 2);
        refine(&mut found, &probs, &given).unwrap();
        assert_eq!(found.rate, 0.2);
        assert!(refine(&mut found, &probs[1..], &given).is_err());
    }
}
