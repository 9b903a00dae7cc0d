//! A batch of logits on the host: what it is ranked by, and the mean loss over what is kept with its derivative.

use crate::dataset::{Label, check_labels};
use crate::error::{Error, Result, same_length};
use crate::estimate::math32::{exp2, larger};
use crate::surrogate::{Surrogate, hinge};
use crate::widest::{Work, widest};
use rayon::prelude::*;
use std::f32::consts::LOG2_E;

/// N rows of K logits in 32 bits with their labels, checked; every row's largest other logit is known.
///
/// ```
/// use tares_core::{LogitRows, Surrogate};
/// let rows = LogitRows::new(&[3.0, 0.0, 0.0, 0.5], &[0, 0], 2)?;
/// assert_eq!(rows.margins(), [3.0, -0.5]);
/// assert_eq!(rows.losses(Surrogate::Hinge), [0.0, 1.5]);
/// let mut slopes = [0.0; 4];
/// assert_eq!(rows.mean(Surrogate::Hinge, &[true, true], &mut slopes), 0.75);
/// assert_eq!(slopes, [0.0, 0.0, -0.5, 0.5]);
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Debug)]
pub struct LogitRows<'a> {
    logits: &'a [f32],
    labels: &'a [Label],
    classes: usize,
    rivals: Vec<u32>,
    margins: Vec<f64>,
}

impl<'a> LogitRows<'a> {
    /// Rows of `classes` logits, one after the other. Large batches are worked on by the threads of the current rayon pool.
    ///
    /// # Errors
    /// K < 2; lengths that don't fit; labels outside 0..K.
    pub fn new(logits: &'a [f32], labels: &'a [Label], classes: usize) -> Result<Self> {
        if classes < 2 {
            return Err(Error::value("number of classes", "at least 2", classes));
        }
        same_length("logits", labels.len().saturating_mul(classes), logits.len())?;
        check_labels("target", labels, classes)?;
        let mut rows = Self { logits, labels, classes, rivals: Vec::new(), margins: Vec::new() };
        let (mut rivals, mut margins) = (vec![0; labels.len()], vec![0.0; labels.len()]);
        rows.in_parts(&mut rivals, 1, &mut margins, |first, rivals, margins| {
            widest(Look { rows: &rows, first, rivals, margins });
        });
        (rows.rivals, rows.margins) = (rivals, margins);
        Ok(rows)
    }

    /// Logit of the label minus the largest other one, per row; NaN for a row that holds a NaN, or whose two largest are infinite.
    pub fn margins(&self) -> &[f64] {
        &self.margins
    }

    /// The same, if nothing else is wanted any more.
    pub fn into_margins(self) -> Vec<f64> {
        self.margins
    }

    /// The base loss of every row.
    pub fn losses(&self, base: Surrogate) -> Vec<f64> {
        if !matches!(base, Surrogate::SoftHinge | Surrogate::Weighted { .. }) {
            return self.margins.iter().map(|&margin| base.of_margin(margin)).collect();
        }
        let mut losses = vec![0.0; self.labels.len()];
        self.in_parts(&mut vec![(); self.labels.len()], 1, &mut losses, |first, _, losses| {
            for (index, loss) in losses.iter_mut().enumerate() {
                let (row, label) = self.row(first + index);
                let wide: Vec<f64> = row.iter().map(|&logit| f64::from(logit)).collect();
                *loss = base.value(&wide, label as Label);
            }
        });
        losses
    }

    /// The mean base loss over the `kept` rows, and its derivative by all logits in `slopes`, whatever was there before.
    /// Nothing kept has the mean 0.
    ///
    /// Exponentials are computed in 32 bits, as precise as the logits: value and slopes have a relative error of about 1e-6.
    ///
    /// # Panics
    /// If there are not as many slopes as logits.
    pub fn mean(&self, base: Surrogate, kept: &[bool], slopes: &mut [f32]) -> f64 {
        assert_eq!((slopes.len(), kept.len()), (self.logits.len(), self.labels.len()), "slopes and kept");
        let share = 1.0 / kept.iter().filter(|kept| **kept).count().max(1) as f64;
        let mut values = vec![0.0; kept.len()];
        self.in_parts(slopes, self.classes, &mut values, |first, slopes, values| {
            widest(Derive { rows: self, base, kept, share, first, slopes, values });
        });
        values.iter().sum::<f64>() * share // in the order of the rows, whoever computed them
    }

    /// The base loss of a row, and `share` times its derivative in `out`.
    #[inline(always)]
    fn loss_and_slopes(&self, base: Surrogate, index: usize, share: f64, out: &mut [f32]) -> f64 {
        let ((row, label), rival, margin) = (self.row(index), self.rivals[index] as usize, self.margins[index]);
        let soft = match base {
            Surrogate::SoftHinge => 1.0,
            Surrogate::Weighted { beta } => beta,
            _ => 0.0,
        };
        if soft == 0.0 || margin >= 0.0 {
            out.fill(0.0);
            let slope = (share * base.slope_of_margin(margin)) as f32;
            (out[label], out[rival]) = (slope, -slope);
            return base.of_margin(margin);
        }
        // The label's logit is smaller than the rival's, so that one is the largest.
        let log_sum = softmax(row, row[rival], (soft * share) as f32, out);
        let hard = ((1.0 - soft) * share * hinge::derivative(margin)) as f32;
        out[label] += hard - (soft * share) as f32;
        out[rival] -= hard;
        soft * (1.0 - f64::from(row[label]) + log_sum) + (1.0 - soft) * hinge::value(margin)
    }

    /// A row and its label.
    #[inline(always)]
    fn row(&self, index: usize) -> (&'a [f32], usize) {
        (&self.logits[index * self.classes..][..self.classes], self.labels[index] as usize)
    }

    /// `work` for the rows from the first on, with their `width` elements each of `out` and their results; on several threads if
    /// that is worth waking them up.
    fn in_parts<O: Send, T: Send>(
        &self,
        out: &mut [O],
        width: usize,
        results: &mut [T],
        work: impl Fn(usize, &mut [O], &mut [T]) + Sync,
    ) {
        if self.logits.len() < MANY {
            return work(0, out, results);
        }
        let rows = PART / self.classes + 1;
        let parts = out.par_chunks_mut(rows * width).zip(results.par_chunks_mut(rows)).enumerate();
        parts.for_each(|(part, (out, results))| work(part * rows, out, results));
    }
}

/// A batch of fewer logits is worked on by one thread, which takes a millisecond at most. Beside PyTorch's own threads a second one was not
/// clearly faster (two cores, 1,024 × 1,000 logits).
const MANY: usize = 2_097_152;

/// About so many logits at once: small enough for the threads to finish together.
const PART: usize = 32_768;

/// Every row's largest other logit, and its margin.
struct Look<'a> {
    rows: &'a LogitRows<'a>,
    first: usize,
    rivals: &'a mut [u32],
    margins: &'a mut [f64],
}

impl Work for Look<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (index, (rival, margin)) in self.rivals.iter_mut().zip(self.margins).enumerate() {
            let (row, label) = self.rows.row(self.first + index);
            let best = best_other(row, label);
            *rival = best as u32;
            // A fold, because a search that stops early is not turned into vector instructions.
            let missing = row.iter().fold(false, |missing, logit| missing | logit.is_nan());
            *margin = if missing { f64::NAN } else { f64::from(row[label]) - f64::from(row[best]) };
        }
    }
}

/// The losses of the kept rows and their slopes.
struct Derive<'a> {
    rows: &'a LogitRows<'a>,
    base: Surrogate,
    kept: &'a [bool],
    share: f64,
    first: usize,
    slopes: &'a mut [f32],
    values: &'a mut [f64],
}

impl Work for Derive<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (index, (out, value)) in self.slopes.chunks_exact_mut(self.rows.classes).zip(self.values).enumerate() {
            let index = self.first + index;
            match self.kept[index] {
                true => *value = self.rows.loss_and_slopes(self.base, index, self.share, out),
                false => out.fill(0.0),
            }
        }
    }
}

/// `scale · softmax(row)` into `out`, for the row's largest number; the result is the logarithm of the sum of exponentials.
#[inline(always)]
fn softmax(row: &[f32], top: f32, scale: f32, out: &mut [f32]) -> f64 {
    out.iter_mut().zip(row).for_each(|(out, logit)| *out = exp2((logit - top) * LOG2_E));
    let mut lanes = [0.0f64; 8];
    let chunks = out.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().map(|&e| f64::from(e)).sum();
    chunks.for_each(|chunk| lanes.iter_mut().zip(chunk).for_each(|(lane, &e)| *lane += f64::from(e)));
    let sum = lanes.iter().sum::<f64>() + rest;
    let factor = (f64::from(scale) / sum) as f32;
    out.iter_mut().for_each(|out| *out *= factor);
    f64::from(top) + sum.ln()
}

/// The position of the largest logit apart from the label's; of equals the first.
#[inline(always)]
fn best_other(row: &[f32], label: usize) -> usize {
    let (before, after) = (&row[..label], &row[label + 1..]);
    let top = larger(largest(before), largest(after));
    let place = position(before, top);
    place.or_else(|| Some(position(after, top)? + label + 1)).unwrap_or(usize::from(label == 0))
}

/// Where the number is first. Whole chunks are compared at once, because a search that may stop at every number is not turned
/// into vector instructions.
#[inline(always)]
fn position(numbers: &[f32], wanted: f32) -> Option<usize> {
    let (chunks, _) = numbers.as_chunks::<32>();
    let mut start = 0;
    for chunk in chunks {
        let mut found = false;
        for number in chunk {
            found |= *number == wanted;
        }
        if found {
            break;
        }
        start += 32;
    }
    Some(numbers[start..].iter().position(|&number| number == wanted)? + start)
}

/// The largest of the numbers; of many side by side in lanes, so that the compiler uses vectors.
#[inline(always)]
fn largest(numbers: &[f32]) -> f32 {
    let Some((_, last)) = numbers.split_last_chunk::<32>() else {
        return numbers.iter().copied().fold(f32::NEG_INFINITY, larger);
    };
    let mut lanes = *last; // with what is left of the numbers after the last whole chunk
    for chunk in numbers.as_chunks::<32>().0 {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &number)| *lane = larger(*lane, number));
    }
    let mut half = 16;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(low, &mut high)| *low = larger(*low, high));
        half /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::margin::own_and_best_other;
    use crate::stream::stream;

    fn random(seed: u64, rows: usize, classes: usize) -> (Vec<f32>, Vec<Label>) {
        let mut draw = stream(seed, "logit rows");
        // Halves: many logits are equal.
        let logits = (0..rows * classes).map(|_| (4.0 * draw.normal()).round() as f32 / 2.0).collect();
        (logits, (0..rows).map(|_| draw.below(classes) as Label).collect())
    }

    #[test]
    fn every_row_has_the_loss_and_the_slopes_it_has_alone() {
        for (seed, (rows, classes)) in [(1, 2), (7, 3), (40, 10), (90, 1000)].into_iter().enumerate() {
            let (logits, labels) = random(seed as u64, rows, classes);
            let batch = LogitRows::new(&logits, &labels, classes).unwrap();
            let kept: Vec<bool> = (0..rows).map(|row| row % 3 != 1).collect();
            let share = kept.iter().filter(|kept| **kept).count() as f64;
            for base in Surrogate::ALL {
                let mut slopes = vec![f32::NAN; logits.len()]; // all are written
                let mean = batch.mean(base, &kept, &mut slopes);
                let losses = batch.losses(base);
                let (mut sum, mut expected) = (0.0, vec![0.0; classes]);
                for row in 0..rows {
                    let wide: Vec<f64> = logits[row * classes..][..classes].iter().map(|&t| f64::from(t)).collect();
                    let (own, other) = own_and_best_other(&wide, labels[row]);
                    assert_eq!(batch.margins()[row], own - wide[other]);
                    assert!((losses[row] - base.value(&wide, labels[row])).abs() < 1e-12, "{base}, seed {seed}");
                    let found = &slopes[row * classes..][..classes];
                    if kept[row] {
                        sum += base.value(&wide, labels[row]);
                        base.gradient(&wide, labels[row], &mut expected);
                        found.iter().zip(&expected).for_each(|(found, slope)| {
                            assert!((f64::from(*found) - slope / share).abs() < 1e-6, "{base}, seed {seed}, row {row}");
                        });
                    } else {
                        assert!(found.iter().all(|&slope| slope == 0.0), "a row that was not kept has a slope");
                    }
                }
                assert!((mean - sum / share).abs() < 1e-6, "{base}, seed {seed}");
            }
        }
    }

    #[test]
    fn a_batch_for_several_threads_is_two_smaller_ones() {
        let (rows, classes) = (2100, 1000);
        assert!(rows * classes >= MANY && rows * classes / 2 < MANY);
        let (logits, labels) = random(9, rows, classes);
        let of = |logits: &[f32], labels: &[Label]| {
            let batch = LogitRows::new(logits, labels, classes).unwrap();
            let mut slopes = vec![f32::NAN; logits.len()];
            let mean = batch.mean(Surrogate::SoftHinge, &vec![true; labels.len()], &mut slopes);
            (mean, slopes, batch.losses(Surrogate::SoftHinge), batch.into_margins())
        };
        let (mean, slopes, losses, margins) = of(&logits, &labels);
        let halves = logits.chunks(rows / 2 * classes).zip(labels.chunks(rows / 2)).map(|(t, y)| of(t, y));
        let halves: Vec<_> = halves.collect();
        assert!((mean - (halves[0].0 + halves[1].0) / 2.0).abs() < 1e-12);
        assert!(slopes.iter().zip(halves.iter().flat_map(|half| &half.1)).all(|(whole, half)| 2.0 * whole == *half));
        assert_eq!(losses, [&halves[0].2[..], &halves[1].2].concat());
        assert_eq!(margins, [&halves[0].3[..], &halves[1].3].concat());
    }

    #[test]
    fn masked_classes_are_no_rivals_and_bad_rows_have_no_margin() {
        let low = f32::NEG_INFINITY;
        let logits = [1.0, low, low, low, low, 2.0];
        let rows = LogitRows::new(&logits, &[0, 2], 3).unwrap();
        assert_eq!(rows.margins(), [f64::INFINITY; 2]);
        assert_eq!((rows.losses(Surrogate::Hinge), rows.rivals.clone()), (vec![0.0; 2], vec![1, 0]));
        assert_eq!(rows.mean(Surrogate::SoftHinge, &[false; 2], &mut [0.0; 6]), 0.0);
        let say = |logits: &[f32], labels: &[Label], classes| {
            LogitRows::new(logits, labels, classes).unwrap_err().to_string()
        };
        assert_eq!(say(&[0.0; 4], &[0, 2], 2), "target must be in 0..2, got 2 at row 1");
        for bad in [[0.0, f32::NAN], [f32::NAN, 0.0], [f32::INFINITY; 2], [low; 2]] {
            assert!(LogitRows::new(&bad, &[0], 2).unwrap().margins()[0].is_nan(), "{bad:?}");
        }
        assert_eq!(say(&[0.0], &[0], 1), "number of classes must be at least 2, got 1");
    }
}
