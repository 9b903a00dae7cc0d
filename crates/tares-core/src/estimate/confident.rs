//! Confident learning (Northcutt, Jiang, Chuang 2021), as the library cleanlab does it by default.
//!
//! 1. θ_k = mean of p_k over the rows given k.
//! 2. A row is confidently of class j if p_j ≥ θ_j. If that holds for several classes, the largest p decides. The counts of each
//!    given label are scaled to the number of rows given it.
//! 3. For each pair (true j, given k), as many rows given k as were counted are suspects: those with the largest p_j − p_k.
//! 4. A row whose largest probability is at its given label is never a suspect.
//!
//! Known weakness: with labels given by people it finds a quarter to two thirds of the wrong ones.

use super::Estimate;
use super::check::Overview;
use super::pass::fold;
use super::probabilities::{Number, Probabilities};
use super::row::largest;
use crate::dataset::Label;
use crate::error::Result;
use crate::noise::Transition;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Slack of the comparisons p ≥ θ and argmax = given.
const SLACK: f64 = 1e-6;

/// The confident joint: how many rows of each true class were given each label.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfidentJoint {
    /// A column of the counts per given label: (true class, rows), ascending by class, only where rows were counted. Calibrated: a
    /// column sums to the number of rows given that label.
    columns: Vec<Vec<(Label, i64)>>,
}

impl ConfidentJoint {
    /// One pass over the rows.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn of<P: Probabilities + ?Sized>(probs: &P, given: &[Label], overview: &Overview) -> Result<Self> {
        let classes = probs.classes();
        let thresholds: Vec<f64> = overview
            .self_confidence
            .iter()
            // No row can be confidently of a class without rows: 2 is above every probability.
            .map(|mean| mean.map_or(2.0, |mean| mean.max(2.0 * SLACK)) - SLACK)
            .collect();
        let mut counts: BTreeMap<(Label, Label), i64> =
            (0..classes as Label).map(|class| ((class, class), 0)).collect();
        fold(
            probs,
            given,
            Vec::new,
            |pairs: &mut Vec<(Label, Label)>, block| {
                let pair = |(_, label, row)| confident(row, &thresholds).map(|truth| (label, truth as Label));
                pairs.extend(block.rows().filter_map(pair));
                Ok(())
            },
            |pairs| {
                pairs.into_iter().for_each(|pair| *counts.entry(pair).or_default() += 1);
                Ok(())
            },
        )?;
        let mut by_label = vec![Vec::new(); classes];
        for ((label, truth), count) in counts {
            // At least one row of every class is right.
            by_label[label as usize].push((truth, if label == truth { count.max(1) } else { count }));
        }
        Ok(Self { columns: calibrated(&by_label, &overview.counts) })
    }

    /// The number of rows of class `truth` that were given `given`.
    pub fn count(&self, truth: usize, given: usize) -> i64 {
        let column = &self.columns[given];
        column.binary_search_by_key(&(truth as Label), |entry| entry.0).map_or(0, |place| column[place].1)
    }

    /// How many labels are wrong.
    pub fn wrong(&self) -> i64 {
        let right: i64 = (0..self.columns.len()).map(|class| self.count(class, class)).sum();
        self.rows() - right
    }

    /// How many labels are wrong, and which are mistaken for which.
    ///
    /// # Errors
    /// A joint that no matrix can be made of.
    pub fn estimate(&self) -> Result<Estimate> {
        let rate = self.wrong() as f64 / self.rows() as f64;
        let entries = |(given, row): (Label, &Vec<(Label, i64)>)| {
            row.iter().map(|&(truth, count)| ((truth, given), count as f64)).collect::<Vec<_>>()
        };
        let counts = (0..).zip(&self.columns).flat_map(entries).collect();
        Ok(Estimate::counted(rate, self.rows() as usize, Transition::of_counts(self.columns.len(), &counts)?))
    }

    /// N.
    fn rows(&self) -> i64 {
        self.columns.iter().flatten().map(|entry| entry.1).sum()
    }

    /// Another pass: the rows of the suspects, ascending.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn suspects<P: Probabilities + ?Sized>(
        &self,
        probs: &P,
        given: &[Label],
        overview: &Overview,
    ) -> Result<Vec<usize>> {
        let mut tops: Vec<Top> = Vec::new();
        // For each given label: the true classes it has suspects of, and where their rows are collected.
        let plans: Vec<Vec<(usize, usize)>> = (0..self.columns.len())
            .map(|label| {
                if overview.counts[label] <= 1 {
                    return Vec::new();
                }
                let mut collect = |(truth, wanted): (Label, usize)| {
                    tops.push(Top { wanted, rows: Vec::new() });
                    (truth as usize, tops.len() - 1)
                };
                self.wanted(label).into_iter().map(&mut collect).collect()
            })
            .collect();
        // A row below the cutoff of its pair cannot be a suspect any more; cutoffs rise as rows come in.
        let cutoffs: Vec<AtomicU64> = tops.iter().map(|_| AtomicU64::new(f64::NEG_INFINITY.to_bits())).collect();
        fold(
            probs,
            given,
            Vec::new,
            |found, block| {
                for (index, label, row) in block.rows() {
                    let own: f64 = row[label as usize].into();
                    let plan = &plans[label as usize];
                    if plan.is_empty() {
                        continue;
                    }
                    let stays = keeps_label(row, label as usize);
                    for &(truth, slot) in plan {
                        let margin = row[truth].into() - own;
                        if margin >= f64::from_bits(cutoffs[slot].load(Ordering::Relaxed)) {
                            found.push((slot as u32, Candidate { margin, index: index as u32, stays }));
                        }
                    }
                }
                Ok(())
            },
            |found: Vec<(u32, Candidate)>| {
                for (slot, candidate) in found {
                    let top = &mut tops[slot as usize];
                    top.rows.push(candidate);
                    if top.rows.len() >= 2 * top.wanted + 64 {
                        let cutoff = top.prune();
                        cutoffs[slot as usize].store(cutoff.to_bits(), Ordering::Relaxed);
                    }
                }
                Ok(())
            },
        )?;
        let mut suspects: Vec<usize> = Vec::new();
        for mut top in tops {
            top.prune();
            suspects.extend(top.rows.iter().filter(|row| !row.stays).map(|row| row.index as usize));
        }
        suspects.sort_unstable();
        suspects.dedup();
        Ok(suspects)
    }

    /// The true classes that rows given a label are taken for, and how many rows of each, so that at least one row keeps the
    /// label.
    fn wanted(&self, given: usize) -> Vec<(Label, usize)> {
        let own = self.count(given, given);
        let others = self.columns[given].iter().filter(|entry| entry.1 != 0).count();
        let less = (own.max(1) - own) as f64 / ((others as f64) - 1.0).max(1.0);
        let wanted = self.columns[given].iter().map(|&(truth, count)| (truth, (count as f64 - less).max(0.0) as usize));
        wanted.filter(|&(truth, wanted)| truth as usize != given && wanted > 0).collect()
    }
}

struct Candidate {
    margin: f64,
    index: u32,
    stays: bool,
}

/// The rows with the largest margins of one pair; equal margins in the order of the rows.
struct Top {
    wanted: usize,
    rows: Vec<Candidate>,
}

impl Top {
    /// Keeps the best; returns the smallest margin that still counts.
    fn prune(&mut self) -> f64 {
        if self.rows.len() <= self.wanted {
            return f64::NEG_INFINITY;
        }
        let order = |a: &Candidate, b: &Candidate| b.margin.total_cmp(&a.margin).then(a.index.cmp(&b.index));
        self.rows.select_nth_unstable_by(self.wanted - 1, order);
        self.rows.truncate(self.wanted);
        self.rows[self.wanted - 1].margin
    }
}

fn confident<R: Number>(row: &[R], thresholds: &[f64]) -> Option<usize> {
    let mut found = None;
    for (class, (&p, &threshold)) in row.iter().zip(thresholds).enumerate() {
        if p.into() >= threshold {
            if found.is_some() {
                return Some(largest(row).0);
            }
            found = Some(class);
        }
    }
    found
}

fn keeps_label<R: Number>(row: &[R], label: usize) -> bool {
    let own = row[label].into() + SLACK;
    row.iter().map(|&p| p.into()).enumerate().all(|(class, p): (usize, f64)| match class.cmp(&label) {
        std::cmp::Ordering::Less => p < own,
        std::cmp::Ordering::Equal => true,
        std::cmp::Ordering::Greater => p <= own,
    })
}

/// Scales the rows of each given label to the label counts and rounds them, keeping their sums.
fn calibrated(counts: &[Vec<(Label, i64)>], label_counts: &[usize]) -> Vec<Vec<(Label, i64)>> {
    let scaled = |(row, &labels): (&Vec<(Label, i64)>, &usize)| {
        let total: i64 = row.iter().map(|entry| entry.1).sum();
        row.iter().map(|entry| entry.1 as f64 / total as f64 * labels as f64).collect::<Vec<f64>>()
    };
    let scaled: Vec<Vec<f64>> = counts.iter().zip(label_counts).map(scaled).collect();
    let rows = label_counts.iter().sum::<usize>() as f64;
    let total: f64 = scaled.iter().flatten().sum();
    let whole = |(row, scaled): (&Vec<(Label, i64)>, Vec<f64>)| {
        let scaled = rounded(scaled.iter().map(|v| v / total * rows).collect());
        row.iter().zip(scaled).map(|(entry, count)| (entry.0, count)).collect()
    };
    counts.iter().zip(scaled).map(whole).collect()
}

/// Rounds to integers that keep the (rounded) sum: the entries with the largest rounding error are changed by 1.
fn rounded(values: Vec<f64>) -> Vec<i64> {
    let mut whole: Vec<f64> = values.iter().map(|v| v.round_ties_even()).collect();
    let wanted = values.iter().sum::<f64>().round_ties_even();
    loop {
        let missing = wanted - whole.iter().sum::<f64>();
        if missing.abs() < 0.5 {
            return whole.into_iter().map(|v| v as i64).collect();
        }
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| (values[a] - whole[a]).total_cmp(&(values[b] - whole[b])));
        if missing > 0.0 {
            order.reverse();
        }
        for &place in order.iter().take(missing.abs() as usize) {
            whole[place] += missing.signum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::ProbabilityMatrix;

    /// All counts, label after label, as cleanlab prints them.
    fn all_counts(joint: &ConfidentJoint) -> Vec<i64> {
        let classes = joint.columns.len();
        (0..classes * classes).map(|place| joint.count(place % classes, place / classes)).collect()
    }

    #[test]
    fn rounding_keeps_the_sum() {
        assert_eq!(rounded(vec![0.4, 0.4, 0.2]), [0, 1, 0]);
        assert_eq!(rounded(vec![1.6, 1.6, 0.8]), [1, 2, 1]);
        assert_eq!(rounded(vec![2.5, 0.5]), [2, 1]);
    }

    /// Made with cleanlab 2.9.0:
    /// `p = numpy.array([...]).reshape(8, 2); find_label_issues([0,0,0,0,1,1,1,1], p)` → rows 3 and 7;
    /// `compute_confident_joint` → [[3, 1], [1, 3]].
    #[test]
    fn flags_what_cleanlab_flags() {
        let values = [0.9, 0.1, 0.8, 0.2, 0.95, 0.05, 0.1, 0.9, 0.2, 0.8, 0.1, 0.9, 0.3, 0.7, 0.97, 0.03];
        let (table, given) = (ProbabilityMatrix::new(&values, 2).unwrap(), [0, 0, 0, 0, 1, 1, 1, 1]);
        let overview = Overview::of(&table, &given).unwrap();
        let joint = ConfidentJoint::of(&table, &given, &overview).unwrap();
        assert_eq!(all_counts(&joint), [3, 1, 1, 3]);
        assert_eq!(joint.suspects(&table, &given, &overview).unwrap(), [3, 7]);
        assert_eq!(joint.wrong(), 2);
    }

    /// Forty-eight rows of four classes in thousandths, made with numpy; cleanlab 2.9.0's `compute_confident_joint` and
    /// `find_label_issues` on them. The joint is one whose rounding has to give way.
    #[test]
    fn counts_and_flags_of_cleanlab_on_a_fixed_set() {
        #[rustfmt::skip]
        let thousandths = [
            367, 128, 43, 462, 88, 212, 578, 122, 37, 91, 801, 71, 20, 528, 129, 323, 2, 917, 55, 26, 486, 17, 170,
            327, 951, 37, 11, 1, 761, 133, 11, 95, 883, 93, 8, 16, 33, 13, 549, 405, 14, 6, 931, 49, 63, 2, 30, 905,
            25, 3, 971, 1, 13, 107, 453, 427, 229, 79, 110, 582, 5, 62, 786, 147, 14, 341, 351, 294, 24, 16, 797,
            163, 292, 111, 559, 38, 199, 374, 83, 344, 375, 307, 48, 270, 3, 93, 27, 877, 25, 36, 929, 10, 894, 27,
            31, 48, 63, 908, 25, 4, 42, 18, 8, 932, 85, 47, 616, 252, 673, 175, 31, 121, 80, 58, 1, 861, 58, 65,
            816, 61, 109, 45, 6, 840, 446, 384, 65, 105, 731, 84, 161, 24, 467, 276, 68, 189, 932, 24, 18, 26, 396,
            35, 564, 5, 931, 27, 33, 9, 117, 775, 79, 29, 3, 981, 2, 14, 106, 480, 307, 107, 17, 786, 16, 181, 964,
            24, 4, 8, 846, 14, 11, 129, 447, 82, 95, 376, 643, 51, 14, 292, 141, 27, 823, 9, 13, 140, 376, 471, 24,
            142, 695, 139,
        ];
        #[rustfmt::skip]
        let given = [
            0, 0, 1, 1, 1, 0, 0, 0, 0, 3, 2, 3, 2, 3, 3, 3, 2, 2, 2, 3, 1, 3, 2, 0, 1, 3, 2, 3, 3, 2, 3, 0, 0, 3, 0, 2, 1, 1, 1, 1, 1, 0, 1, 0, 0, 2, 1, 2,
        ];
        let values: Vec<f64> = thousandths.iter().map(|&p| f64::from(p) / 1000.0).collect();
        let table = ProbabilityMatrix::new(&values, 4).unwrap();
        let overview = Overview::of(&table, &given).unwrap();
        let joint = ConfidentJoint::of(&table, &given, &overview).unwrap();
        assert_eq!(all_counts(&joint), [13, 0, 0, 0, 3, 8, 1, 0, 0, 0, 11, 0, 1, 0, 2, 9]);
        assert_eq!(joint.suspects(&table, &given, &overview).unwrap(), [2, 9, 15, 20, 27, 36, 42]);
    }
}
