//! What a row of each true class looks like to the classifier, and how much a row looks like it.
//!
//! A classifier that learnt from wrong labels shows them: where 40 % of the cats are called dogs, it says (0.6 cat, 0.4 dog)
//! of a cat. So a row is compared with what rows of each class look like on average, its **prototype** M_z = mean of p over
//! the rows of class z, and not with the class alone:
//!
//! ```text
//! b_z(x) ∝ exp(−c · KL(M'_z ‖ p(x)))   M' = λ M + (1 − λ) I        (λ = 0: b_z ∝ p_z^c)
//! ```
//!
//! In words: c labels drawn from M'_z, how likely does p(x) think they are? Of probabilities below a thousandth of the
//! largest only their mean counts.

use super::sample::Rows;

/// ε: keeps a class the classifier excludes from being impossible.
pub(crate) const FLOOR: f64 = 1e-4;
/// With more classes than this, prototypes are neither worth their memory nor learnt from a few hundred rows each: λ = 0.
pub(crate) const MOST_CLASSES: usize = 256;

/// Beliefs about the true class of a row, from its probabilities.
#[derive(Clone, Debug)]
pub(crate) struct Likeness {
    classes: usize,
    /// c.
    pub(crate) sharpness: f64,
    /// c · M', `[true][shown]`; empty if λ = 0.
    pub(crate) pull: Vec<f64>,
    /// c · entropy of M'_z.
    pub(crate) offset: Vec<f64>,
}

impl Likeness {
    /// `prototypes` is M, `[true][shown]`, and may be empty if `share`, λ, is 0.
    pub(crate) fn new(prototypes: &[f64], share: f64, sharpness: f64, classes: usize) -> Self {
        if share == 0.0 {
            return Self { classes, sharpness, pull: Vec::new(), offset: vec![0.0; classes] };
        }
        let own = |place: usize| if place / classes == place % classes { 1.0 - share } else { 0.0 };
        let mixed: Vec<f64> = prototypes.iter().enumerate().map(|(place, m)| share * m + own(place)).collect();
        let entropy = |row: &[f64]| row.iter().map(|&m| if m > 0.0 { -m * m.ln() } else { 0.0 }).sum::<f64>();
        let offset = mixed.chunks_exact(classes).map(|row| sharpness * entropy(row)).collect();
        Self { classes, sharpness, pull: mixed.into_iter().map(|m| sharpness * m).collect(), offset }
    }

    /// ln b of class `names[place]` up to a number that is the same for all classes of the row.
    #[inline]
    pub(crate) fn log_belief(&self, place: usize, names: &[u32], heights: &[f64]) -> f64 {
        if self.pull.is_empty() {
            return self.sharpness * heights[place];
        }
        let class = names[place] as usize;
        let pull = &self.pull[class * self.classes..(class + 1) * self.classes];
        self.offset[class]
            + names.iter().zip(heights).map(|(&shown, height)| pull[shown as usize] * height).sum::<f64>()
    }

    /// Writes b of the classes `names` into `beliefs`; the largest of them.
    #[inline]
    pub(crate) fn beliefs(&self, names: &[u32], heights: &[f64], beliefs: &mut Vec<f64>) -> f64 {
        beliefs.clear();
        beliefs.extend((0..names.len()).map(|place| self.log_belief(place, names, heights)));
        let top = beliefs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        for belief in beliefs.iter_mut() {
            *belief = if *belief == top { 1.0 } else { (*belief - top).exp() };
            sum += *belief;
        }
        beliefs.iter_mut().for_each(|belief| *belief /= sum);
        1.0 / sum
    }
}

/// ln(p + ε), as seen from the mean of the classes that are not told of.
#[inline]
pub(crate) fn height(p: f64, ground: f64) -> f64 {
    (p + FLOOR).ln() - ground
}

/// ln(mean + ε) of the `others` classes that share what `told` leaves of 1.
#[inline]
pub(crate) fn ground(told: f64, others: usize) -> f64 {
    let mean = if others == 0 { 0.0 } else { (1.0 - told).max(0.0) / others as f64 };
    (mean + FLOOR).ln()
}

/// The heights of all entries of drawn rows.
pub(crate) fn heights(rows: &Rows, classes: usize) -> Vec<f64> {
    let mut heights = Vec::with_capacity(rows.values().len());
    for (span, _) in rows.spans() {
        let values = &rows.values()[span];
        let ground = ground(values.iter().map(|&p| f64::from(p)).sum(), classes.saturating_sub(values.len()));
        heights.extend(values.iter().map(|&p| height(f64::from(p), ground)));
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn believed(likeness: &Likeness, p: &[f64]) -> Vec<f64> {
        let names: Vec<u32> = (0..p.len() as u32).collect();
        let ground = ground(1.0, 0);
        let heights: Vec<f64> = p.iter().map(|&p| height(p, ground)).collect();
        let mut beliefs = Vec::new();
        let top = likeness.beliefs(&names, &heights, &mut beliefs);
        assert!((top - beliefs.iter().copied().fold(0.0, f64::max)).abs() < 1e-12);
        assert!((beliefs.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        beliefs
    }

    #[test]
    fn without_prototypes_it_is_a_power_of_the_probabilities() {
        let p = [0.7, 0.2, 0.1];
        let got = believed(&Likeness::new(&[], 0.0, 2.0, 3), &p);
        let total: f64 = p.iter().map(|p| (p + FLOOR).powi(2)).sum();
        got.iter().zip(p).for_each(|(b, p)| assert!((b - (p + FLOOR).powi(2) / total).abs() < 1e-9));
    }

    /// Pair noise of 40 %: class 1 is shown as (0, 0.6, 0.4). A row shown as (0.42, 0.56, 0.02) is a class 0 whose label
    /// is mostly called 1: nothing of class 1 would show up at 2.
    #[test]
    fn a_row_is_what_it_looks_like_and_not_its_largest_probability() {
        let prototypes = [0.6, 0.4, 0.0, 0.0, 0.6, 0.4, 0.4, 0.0, 0.6];
        let row = [0.42, 0.56, 0.02];
        assert!(believed(&Likeness::new(&prototypes, 1.0, 3.0, 3), &row)[0] > 0.9);
        assert!(believed(&Likeness::new(&prototypes, 0.0, 3.0, 3), &row)[0] < 0.4);
    }

    #[test]
    fn a_row_that_is_its_prototype_is_believed_to_be_of_that_class() {
        let prototypes = [0.5, 0.3, 0.2, 0.1, 0.8, 0.1, 0.05, 0.15, 0.8];
        for share in [0.5, 1.0] {
            for (class, row) in prototypes.chunks_exact(3).enumerate() {
                let beliefs = believed(&Likeness::new(&prototypes, share, 6.0, 3), row);
                assert!(beliefs.iter().all(|&b| b <= beliefs[class]), "{share} {class} {beliefs:?}");
            }
        }
    }

    #[test]
    fn entries_not_told_of_count_as_their_mean() {
        let prototypes: Vec<f64> = (0..16).map(|place| if place / 4 == place % 4 { 0.7 } else { 0.1 }).collect();
        let likeness = Likeness::new(&prototypes, 1.0, 2.0, 4);
        let whole = believed(&likeness, &[0.8, 0.19, 0.005, 0.005]);
        let ground = ground(0.99, 2);
        let heights = [height(0.8, ground), height(0.19, ground)];
        let mut part = Vec::new();
        likeness.beliefs(&[0, 1], &heights, &mut part);
        assert!((whole[0] / whole[1] - part[0] / part[1]).abs() < 1e-9 * whole[0] / whole[1]);
    }
}
