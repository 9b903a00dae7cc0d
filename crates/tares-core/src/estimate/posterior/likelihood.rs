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
//! largest only their mean counts. Logarithms are to base 2, numbers have 32 bits.

use crate::estimate::glance::{exp2, larger, log2};

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
    pull: Vec<f32>,
    /// c · entropy of M'_z.
    offset: Vec<f32>,
}

impl Likeness {
    /// `prototypes` is M, `[true][shown]`, and may be empty if `share`, λ, is 0.
    pub(crate) fn new(prototypes: &[f64], share: f64, sharpness: f64, classes: usize) -> Self {
        if share == 0.0 {
            return Self { classes, sharpness, pull: Vec::new(), offset: vec![0.0; classes] };
        }
        let own = |place: usize| if place / classes == place % classes { 1.0 - share } else { 0.0 };
        let mixed: Vec<f64> = prototypes.iter().enumerate().map(|(place, m)| share * m + own(place)).collect();
        let entropy = |row: &[f64]| row.iter().map(|&m| if m > 0.0 { -m * m.log2() } else { 0.0 }).sum::<f64>();
        let offset = mixed.chunks_exact(classes).map(|row| (sharpness * entropy(row)) as f32).collect();
        Self { classes, sharpness, pull: mixed.into_iter().map(|m| (sharpness * m) as f32).collect(), offset }
    }

    /// b of rows side by side (as `lanes::tell` reads them), up to a factor that makes the largest of each row 1. Classes
    /// that tell nothing get 0.
    #[inline(always)]
    pub(crate) fn of_sheet<const L: usize>(&self, heights: &[[f32; L]], tells: &[[f32; L]], beliefs: &mut [[f32; L]]) {
        let classes = self.classes;
        let mut most = [f32::MIN; L];
        for class in 0..classes {
            let belief = match self.pull.is_empty() {
                true => pulled([self.offset[class]; L], &[self.sharpness as f32], &heights[class..=class]),
                false => pulled([self.offset[class]; L], &self.pull[class * classes..][..classes], heights),
            };
            for lane in 0..L {
                let one = if tells[class][lane] > 0.0 { belief[lane] } else { f32::MIN };
                most[lane] = larger(most[lane], one);
                beliefs[class][lane] = one;
            }
        }
        for (beliefs, tells) in beliefs.iter_mut().zip(tells) {
            for lane in 0..L {
                beliefs[lane] = exp2(beliefs[lane] - most[lane]) * tells[lane];
            }
        }
    }

    /// The same of one row of many classes: of the classes `names`, which are all that tell something. Returns the sum of the
    /// beliefs in all others.
    #[inline(always)]
    pub(crate) fn of_entries(&self, names: &[u32], heights: &[f32], beliefs: &mut Vec<f32>) -> f32 {
        beliefs.clear();
        if self.pull.is_empty() {
            beliefs.extend(heights.iter().map(|height| self.sharpness as f32 * height));
        } else {
            beliefs.extend(names.iter().map(|&class| {
                let pull = &self.pull[class as usize * self.classes..][..self.classes];
                let shown = names.iter().zip(heights);
                shown.fold(self.offset[class as usize], |sum, (&shown, &height)| {
                    pull[shown as usize].mul_add(height, sum)
                })
            }));
        }
        let most = beliefs.iter().copied().fold(f32::MIN, larger);
        for belief in beliefs.iter_mut() {
            *belief = exp2(*belief - most);
        }
        // All others stand on the ground, at height 0. With prototypes each would be another sum, and they are few.
        match self.pull.is_empty() {
            true => (self.classes - names.len()) as f32 * exp2(-most),
            false => 0.0,
        }
    }
}

/// offset + Σ pull · height.
#[inline(always)]
fn pulled<const L: usize>(offset: [f32; L], pull: &[f32], heights: &[[f32; L]]) -> [f32; L] {
    let mut sum = offset;
    for (&pull, height) in pull.iter().zip(heights) {
        for lane in 0..L {
            sum[lane] = pull.mul_add(height[lane], sum[lane]);
        }
    }
    sum
}

/// Turns the probabilities of the classes of a row that tell something into heights, as `lanes::tell` does; `classes` is K.
#[inline(always)]
pub(crate) fn heights(entries: &mut [f32], classes: usize) {
    let floor = FLOOR as f32;
    let missing = classes.saturating_sub(entries.len()) as f32;
    let mean = larger(1.0 - entries.iter().fold(0.0, |sum, p| sum + p), 0.0) / larger(missing, 1.0);
    let ground = log2(if missing > 0.0 { mean + floor } else { floor });
    for p in entries {
        *p = log2(larger(*p + floor, 1e-30)) - ground;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::posterior::lanes::tell;

    /// Beliefs in every form, which must agree.
    fn believed(likeness: &Likeness, p: &[f64]) -> Vec<f64> {
        let names: Vec<u32> = (0..p.len() as u32).collect();
        let mut entries: Vec<f32> = p.iter().map(|&p| p as f32).collect();
        let values: Vec<[f32; 1]> = entries.iter().map(|&p| [p]).collect();
        let top = entries.iter().copied().fold(0.0, larger);
        let (mut high, mut tells, mut sheet) = (values.clone(), values.clone(), values.clone());
        tell(&values, &[top], &[0], &mut high, &mut tells);
        likeness.of_sheet(&high, &tells, &mut sheet);
        heights(&mut entries, p.len());
        let mut beliefs = Vec::new();
        likeness.of_entries(&names, &entries, &mut beliefs);
        let side_by_side: Vec<f32> = sheet.iter().map(|lane| lane[0]).collect();
        assert_eq!(side_by_side, beliefs);
        assert_eq!(beliefs.iter().copied().fold(0.0, larger), 1.0);
        let sum: f32 = beliefs.iter().sum();
        beliefs.iter().map(|&belief| f64::from(belief / sum)).collect()
    }

    #[test]
    fn without_prototypes_it_is_a_power_of_the_probabilities() {
        let p = [0.7, 0.2, 0.1];
        let got = believed(&Likeness::new(&[], 0.0, 2.0, 3), &p);
        let total: f64 = p.iter().map(|p| (p + FLOOR).powi(2)).sum();
        got.iter().zip(p).for_each(|(b, p)| assert!((b - (p + FLOOR).powi(2) / total).abs() < 1e-6));
    }

    #[test]
    fn it_is_the_divergence_from_the_prototypes() {
        let prototypes = [0.5, 0.3, 0.2, 0.1, 0.8, 0.1, 0.05, 0.15, 0.8];
        let (share, sharpness, row) = (0.5, 3.0, [0.25, 0.6, 0.15]);
        let likely = |class: usize| {
            let mixed =
                |shown: usize| share * prototypes[class * 3 + shown] + if shown == class { 1.0 - share } else { 0.0 };
            let divergence: f64 = (0..3).map(|s| mixed(s) * (mixed(s) / (row[s] + FLOOR)).ln()).sum();
            (-sharpness * divergence).exp()
        };
        let total: f64 = (0..3).map(likely).sum();
        let got = believed(&Likeness::new(&prototypes, share, sharpness, 3), &row);
        (0..3).for_each(|class| assert!((got[class] - likely(class) / total).abs() < 1e-5, "{got:?}"));
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
        let mut entries = [0.8, 0.19];
        heights(&mut entries, 4);
        let mut part = Vec::new();
        likeness.of_entries(&[0, 1], &entries, &mut part);
        assert!((whole[0] / whole[1] - f64::from(part[0] / part[1])).abs() < 1e-4 * whole[0] / whole[1]);
    }
}
