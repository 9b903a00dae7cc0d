//! How often is a classifier right about the **true** class, when the labels it is tested on are partly wrong?
//!
//! Counting how often it agrees with the labels underrates a good classifier: with 20 % of them wrong, one that is always
//! right agrees with 80 %. The model of classifier and noise ([`Posterior`]) says of every row how likely its first choice is
//! the true class, given its label; the mean over the rows is the estimate.
//!
//! The interval covers that mean at both ends of the model's own interval. It also covers the accuracy a that follows from the
//! lowest noise rate r if the noise is symmetric and independent of the classifier's mistakes:
//!
//! ```text
//! agreement = a (1 − r) + (1 − a) r / (K − 1)
//! ```

use super::pass::fold;
use super::probabilities::Probabilities;
use super::probabilities::sealed::{AnyWidth, Erase};
use super::row::largest;
use super::{Caution, Posterior, counting_interval};
use crate::dataset::Label;
use crate::error::Result;

/// The accuracy of a classifier on partly wrong labels, and on true ones.
#[derive(Clone, Debug, PartialEq)]
pub struct TrueAccuracy {
    /// The part of given labels that are the classifier's first choice.
    pub agreement: f64,
    /// The estimated part of true labels that are.
    pub accuracy: f64,
    /// Where that lies, as far as the data can tell.
    pub interval: (f64, f64),
    /// Reasons not to trust it.
    pub cautions: Vec<Caution>,
}

/// Estimates the accuracy on true labels from **out-of-sample** probabilities and given labels.
///
/// ```
/// use tares_core::estimate::{ProbabilityMatrix, true_accuracy};
/// use tares_core::stream;
/// // A classifier that is nearly always right and says so; 20 % of the labels were replaced by the other class.
/// let (mut probs, mut given) = (Vec::new(), Vec::new());
/// let mut draw = stream(1, "example");
/// for _ in 0..2000 {
///     let truth = u32::from(draw.chance(0.5));
///     let sure = 0.75 + 0.2 * draw.unit();
///     probs.extend(if truth == 0 { [sure, 1.0 - sure] } else { [1.0 - sure, sure] });
///     given.push(if draw.chance(0.2) { 1 - truth } else { truth });
/// }
/// let found = true_accuracy(&ProbabilityMatrix::new(&probs, 2)?, &given)?;
/// assert!(found.agreement < 0.82 && found.accuracy > 0.98, "{found:?}");
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// Everything [`Overview::of`](super::Overview::of) finds.
pub fn true_accuracy<P: Probabilities>(probs: &P, given: &[Label]) -> Result<TrueAccuracy> {
    of_any(P::Number::erase(probs), given)
}

/// The accuracy on true labels behind an agreement with `rows` labels of which a known part is wrong: for tables, where the rate of
/// [`surest`](super::surest) is nearer to the truth than that of a model of all rows. Returns the accuracy and its interval. The noise is
/// taken to be symmetric and independent of the classifier's mistakes, as in the formula above.
///
/// ```
/// use tares_core::estimate::accuracy_behind;
/// // A classifier agrees with 67 % of 1,000 labels of two classes, and a tenth of the labels is wrong.
/// let (accuracy, (low, high)) = accuracy_behind(0.67, 1000, 2, 0.1, (0.08, 0.13));
/// assert!((accuracy - 0.7125).abs() < 1e-9 && low < 0.68 && high > 0.73 && high < 0.8);
/// ```
pub fn accuracy_behind(
    agreement: f64,
    rows: usize,
    classes: usize,
    rate: f64,
    interval: (f64, f64),
) -> (f64, (f64, f64)) {
    let (least, most) = counting_interval(agreement, rows);
    let accuracy = behind_symmetric_noise(agreement, rate, classes);
    let low = behind_symmetric_noise(least, interval.0, classes).min(accuracy);
    // Labels that are wrong as often as chance could hide any accuracy.
    let hidden = interval.1 * classes as f64 >= classes as f64 - 1.0;
    let high = if hidden { 1.0 } else { behind_symmetric_noise(most, interval.1, classes).max(accuracy) };
    (accuracy, (low, high))
}

fn of_any(probs: AnyWidth<'_>, given: &[Label]) -> Result<TrueAccuracy> {
    match probs {
        AnyWidth::Narrow(probs) => of_rows(probs, given),
        AnyWidth::Wide(probs) => of_rows(probs, given),
    }
}

fn of_rows<P: Probabilities + ?Sized>(probs: &P, given: &[Label]) -> Result<TrueAccuracy> {
    let model = Posterior::fit(probs, given)?;
    let (overview, estimate) = model.judge_all(probs, given)?.finish(&model)?;
    let judges = model.judges();
    let mut right = [0.0; 3];
    fold(
        probs,
        given,
        || [0.0; 3],
        |right, block| {
            for (_, label, row) in block.rows() {
                let choice = largest(row).0 as Label;
                right
                    .iter_mut()
                    .zip(&judges)
                    .for_each(|(right, judge)| *right += judge.probability(row, label, choice));
            }
            Ok(())
        },
        |part| {
            right.iter_mut().zip(part).for_each(|(right, part)| *right += part);
            Ok(())
        },
    )?;
    let [accuracy, at_low, at_high] = right.map(|right| (right / overview.rows as f64).clamp(0.0, 1.0));
    let agreement = 1.0 - overview.disagreement();
    let symmetric = behind_symmetric_noise(agreement, estimate.interval.0, probs.classes());
    let low = counting_interval(accuracy.min(at_low).min(at_high).min(symmetric), overview.rows).0;
    let high = counting_interval(accuracy.max(at_low).max(at_high), overview.rows).1;
    let cautions = Caution::about(&overview, &estimate);
    Ok(TrueAccuracy { agreement, accuracy, interval: (low, high), cautions })
}

/// The accuracy that gives this agreement under symmetric noise: the formula above, solved for a.
fn behind_symmetric_noise(agreement: f64, rate: f64, classes: usize) -> f64 {
    let by_chance = rate / (classes as f64 - 1.0);
    let slope = 1.0 - rate - by_chance;
    if slope > 0.0 { ((agreement - by_chance) / slope).clamp(0.0, 1.0) } else { agreement }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::ProbabilityMatrix;
    use crate::stream::stream;

    /// A classifier that is right in `accuracy` of the rows, sure of most; a part `rate` of the labels is replaced.
    fn case(rows: usize, classes: usize, accuracy: f64, rate: f64, seed: u64) -> (Vec<f32>, Vec<Label>, f64) {
        let mut draws = stream(seed, "accuracy");
        let (mut probs, mut given, mut right) = (Vec::new(), Vec::new(), 0);
        for _ in 0..rows {
            let truth = draws.below(classes);
            let other = |draw: usize| (truth + 1 + draw) % classes;
            let hard = draws.chance(2.0 * (1.0 - accuracy));
            let sure = if hard { 0.5 } else { 0.9 + 0.09 * draws.unit() };
            let choice = if hard && draws.chance(0.5) { other(draws.below(classes - 1)) } else { truth };
            right += usize::from(choice == truth);
            let share = (1.0 - sure) / (classes - 1) as f64;
            probs.extend((0..classes).map(|class| if class == choice { sure } else { share } as f32));
            given.push(if draws.chance(rate) { other(draws.below(classes - 1)) } else { truth } as Label);
        }
        (probs, given, right as f64 / rows as f64)
    }

    #[test]
    fn wrong_labels_do_not_hide_a_good_classifier() {
        for (seed, (classes, accuracy, rate)) in
            [(2, 0.99, 0.2), (5, 0.95, 0.0), (5, 0.95, 0.2), (10, 0.9, 0.4), (40, 0.95, 0.2)].into_iter().enumerate()
        {
            let (probs, given, real) = case(3000, classes, accuracy, rate, seed as u64);
            let found = true_accuracy(&ProbabilityMatrix::new(&probs, classes).unwrap(), &given).unwrap();
            assert!((found.accuracy - real).abs() < 0.03, "{classes} {accuracy} {rate}: {real} {found:?}");
            let (low, high) = found.interval;
            assert!(low <= real && real <= high && low < high, "{classes} {accuracy} {rate}: {real} {found:?}");
            assert!(found.agreement < real - 0.7 * rate || rate == 0.0, "{found:?}");
            assert_eq!(found.cautions, []);
        }
    }

    #[test]
    fn a_classifier_that_knows_nothing_gets_a_caution() {
        let given: Vec<Label> = (0..1000).map(|i| Label::from(i % 10 == 0)).collect();
        let probs = [0.9f32, 0.1].repeat(1000);
        let found = true_accuracy(&ProbabilityMatrix::new(&probs, 2).unwrap(), &given).unwrap();
        assert!(found.cautions.iter().any(Caution::is_about_the_judge), "{found:?}");
    }

    #[test]
    fn the_interval_behind_an_agreement_holds_both_ends_of_the_rate() {
        let (accuracy, (low, high)) = accuracy_behind(0.8, 400, 3, 0.2, (0.1, 0.3));
        assert!((accuracy - 1.0).abs() < 1e-9 && low < 0.87 && high == 1.0, "{accuracy} {low} {high}");
        // A known rate leaves the error of counting.
        let (accuracy, (low, high)) = accuracy_behind(0.7, 400, 3, 0.2, (0.2, 0.2));
        assert!(low < accuracy - 0.04 && high > accuracy + 0.04, "{accuracy} {low} {high}");
        assert_eq!(accuracy_behind(0.7, 400, 3, 0.0, (0.0, 0.0)).0, 0.7);
    }

    #[test]
    fn the_accuracy_behind_an_agreement_undoes_symmetric_noise() {
        for (accuracy, rate) in [(1.0, 0.2), (0.9, 0.0), (0.7, 0.4)] {
            let agreement = accuracy * (1.0 - rate) + (1.0 - accuracy) * rate / 4.0;
            assert!((behind_symmetric_noise(agreement, rate, 5) - accuracy).abs() < 1e-12);
        }
    }
}
