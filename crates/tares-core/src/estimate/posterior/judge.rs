//! Judges rows: is the given label wrong, and what should it be? Any number of rows side by side with few classes, one row at a
//! time with many.
//!
//! All in 32-bit arithmetic with fixed operations, so that both forms give the same bits on every machine. 64-bit numbers are
//! rounded to 32 bits first.

use super::Verdict;
use super::label_columns::LabelColumns;
use super::lanes::{FEW, each, log_ratios, put_columns_side_by_side, put_side_by_side};
use super::likelihood::{ClassLikelihood, entry_log_ratios};
use super::noise_model::Columns;
use super::sample::Informative;
use crate::dataset::Label;
use crate::estimate::math32::{larger, smaller};
use crate::estimate::probabilities::Number;
use crate::estimate::row::{LANES, RowSummary, across};
use crate::widest::{Work, widest};

/// The part of the model that judging needs.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    classes: usize,
    likelihood: ClassLikelihood,
    /// The columns of T with few classes: T[·][given]. Empty with many classes.
    few: Vec<[f32; FEW]>,
    /// Those with many classes. Empty with few classes.
    columns: LabelColumns,
}

/// Results for rows side by side.
pub(super) struct Results<const L: usize> {
    pub(super) sums: [f32; L],
    pub(super) maxima: [f32; L],
    pub(super) minima: [f32; L],
    /// The first of the largest entries.
    pub(super) choices: [u32; L],
    /// The probability that the given label is right.
    pub(super) right: [f32; L],
    /// b of the given label; the largest b of a row is 1.
    own: [f32; L],
}

/// Working memory for rows side by side, `[class][row]`.
pub(super) struct Lanes<const L: usize> {
    values: [[f32; L]; FEW],
    log_ratios: [[f32; L]; FEW],
    informative: [[f32; L]; FEW],
    /// b_z at first, then b_z T[z][given].
    joint: [[f32; L]; FEW],
    /// T[z][given].
    columns: [[f32; L]; FEW],
}

impl<const L: usize> Lanes<L> {
    pub(super) fn new() -> Self {
        let empty = [[0.0; L]; FEW];
        Self { values: empty, log_ratios: empty, informative: empty, joint: empty, columns: empty }
    }
}

/// Working memory for one row of many classes.
#[derive(Default)]
pub(super) struct Entries {
    informative: Informative,
    /// b of the informative classes, in the order of their names.
    likelihoods: Vec<f32>,
    /// A column of T.
    column: Vec<f32>,
    /// b_z T[z][given] of all classes but the given one.
    joint: Vec<f32>,
}

impl Judge {
    /// A judge of rows of `classes` classes.
    pub(crate) fn new(mut columns: Columns<'_>, classes: usize, likelihood: ClassLikelihood) -> Self {
        let mut judge = Self { classes, likelihood, few: Vec::new(), columns: LabelColumns::Dense(Vec::new()) };
        if classes <= FEW {
            judge.few = vec![[0.0; FEW]; classes];
            for (label, column) in judge.few.iter_mut().enumerate() {
                column[..classes].copy_from_slice(columns.of(label));
            }
        } else {
            judge.columns = LabelColumns::new(&mut columns, classes);
        }
        judge
    }

    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    /// One row.
    pub(crate) fn row<R: Number>(&self, row: &[R], label: Label) -> Verdict {
        widest(JudgeRow { judge: self, row, label })
    }

    /// The probability that a row with this label is of `class`.
    pub(crate) fn probability<R: Number>(&self, row: &[R], label: Label, class: Label) -> f64 {
        widest(JudgeClass { judge: self, row, label, class })
    }

    #[inline(always)]
    fn belongs<R: Number>(&self, row: &[R], label: Label, class: Label) -> f64 {
        let (own, total) = if self.classes <= FEW {
            let mut lanes = Lanes::<1>::new();
            self.side_by_side(row, &[label], &mut lanes);
            let joint = &lanes.joint[..self.classes];
            (joint[class as usize][0], joint.iter().fold(0.0, |sum, joint| sum + joint[0]))
        } else {
            let mut memory = Entries::default();
            let Entries { informative, likelihoods, .. } = &mut memory;
            informative.find(row, label as usize, RowSummary::of(row).max);
            let Informative { names, values, .. } = informative;
            entry_log_ratios(values, self.classes);
            self.likelihood.of_entries(names, values, likelihoods);
            let column = self.columns.of(label as usize, self.classes);
            likelihoods.iter().zip(&*names).fold((0.0, 0.0), |(own, total), (b, &name)| {
                let joint = b * column.at(name);
                (if name == class { joint } else { own }, total + joint)
            })
        };
        if total > 0.0 { f64::from(own / total) } else { 0.0 }
    }

    #[inline(always)]
    fn one<R: Number>(&self, row: &[R], label: Label) -> Verdict {
        if self.classes <= FEW {
            let mut lanes = Lanes::<1>::new();
            let results = self.side_by_side(row, &[label], &mut lanes);
            return results.verdict(0, lanes.suggested(&[label], self.classes)[0]);
        }
        self.entries(row, label, RowSummary::of(row).max, f32::INFINITY, &mut Entries::default())
    }

    /// One row of many classes; `max` is its largest entry. The suggested class of a row whose label is likelier right than `cut` is not
    /// looked for.
    #[inline(always)]
    pub(super) fn entries<R: Number>(
        &self,
        row: &[R],
        label: Label,
        max: f32,
        cut: f32,
        memory: &mut Entries,
    ) -> Verdict {
        if self.likelihood.is_power() {
            return self.by_powers(row, label, max, cut, memory);
        }
        let Entries { informative, likelihoods, .. } = memory;
        informative.find(row, label as usize, max);
        let Informative { names, values, .. } = informative;
        entry_log_ratios(values, self.classes);
        self.likelihood.of_entries(names, values, likelihoods);
        let column = self.columns.of(label as usize, self.classes);
        let (mut own, mut total, mut own_likelihood) = (0.0, 0.0, 0.0);
        let (mut best, mut suggested) = (-1.0, u32::from(label == 0));
        for (&class, &b) in names.iter().zip(likelihoods.iter()) {
            let joint = b * column.at(class);
            total += joint;
            if class == label {
                (own, own_likelihood) = (joint, b);
            } else if joint > best {
                (best, suggested) = (joint, class);
            }
        }
        // The total underflows to 0 only if T says that this label is never given. Then it is wrong.
        let right = if total > 0.0 { own / total } else { 0.0 };
        Verdict { right: f64::from(right), suggested, contradicted: own_likelihood < 1.0 }
    }

    /// The same where b is a power of the probability: sixteen classes at a time, in one pass over the row.
    #[inline(always)]
    fn by_powers<R: Number>(&self, row: &[R], label: Label, max: f32, cut: f32, memory: &mut Entries) -> Verdict {
        let Entries { column, joint, .. } = memory;
        let stored = self.columns.of(label as usize, self.classes);
        let column = stored.whole(column);
        let own_probability = row[label as usize].narrow();
        let [own, ..] = self.likelihood.of_sixteen(&[own_probability; LANES], f32::NEG_INFINITY, max);
        let own = own * column[label as usize];
        let total = own + self.joint_of_others(row, column, label, max, joint);
        let right = if total > 0.0 { own / total } else { 0.0 };
        let suggested = if right <= cut { likeliest(joint, label) } else { u32::from(label == 0) };
        Verdict { right: f64::from(right), suggested, contradicted: own_probability < max }
    }

    /// Lists b_z T[z][given] of all classes, and returns their sum: 0 for classes that are negligible, for the given one, and for those that
    /// fill up the last sixteen.
    #[inline(always)]
    fn joint_of_others<R: Number>(
        &self,
        row: &[R],
        column: &[f32],
        label: Label,
        max: f32,
        list: &mut Vec<f32>,
    ) -> f32 {
        let (least, mut totals) = (self.likelihood.least(max), [0.0; LANES]);
        list.resize(row.len().next_multiple_of(LANES), 0.0);
        let (listed, _) = list.as_chunks_mut::<LANES>();
        let ((rows, rest), (ts, rest_ts)) = (row.as_chunks::<LANES>(), column.as_chunks::<LANES>());
        let (mut last, mut last_t) = ([-1.0; LANES], [0.0; LANES]);
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = from.narrow());
        last_t[..rest_ts.len()].copy_from_slice(rest_ts);
        // One loop for all, so that its body is compiled in place, with the instructions of `widest`.
        for (number, listed) in listed.iter_mut().enumerate() {
            let mut values = match rows.get(number) {
                Some(values) => values.map(|value| value.narrow()),
                None => last,
            };
            if label as usize / LANES == number {
                values[label as usize % LANES] = -1.0;
            }
            if !values.iter().fold(false, |any, &p| any | (p >= least)) {
                *listed = [0.0; LANES];
                continue;
            }
            let mut joint = self.likelihood.of_sixteen(&values, least, max);
            let t = ts.get(number).unwrap_or(&last_t);
            for lane in 0..LANES {
                joint[lane] *= t[lane];
                totals[lane] += joint[lane];
            }
            *listed = joint;
        }
        across(totals, |a, b| a + b)
    }

    #[inline(always)]
    pub(super) fn side_by_side<R: Number, const L: usize>(
        &self,
        rows: &[R],
        labels: &[Label; L],
        lanes: &mut Lanes<L>,
    ) -> Results<L> {
        let classes = self.classes;
        put_side_by_side(rows, classes, &mut lanes.values);
        put_columns_side_by_side(&self.few, labels, classes, &mut lanes.columns);
        let values = &lanes.values[..classes];
        let (mut sums, mut maxima, mut minima, mut choices) = (values[0], values[0], values[0], [0; L]);
        for (class, values) in values.iter().enumerate().skip(1) {
            choices = each(|lane| if values[lane] > maxima[lane] { class as u32 } else { choices[lane] });
            maxima = each(|lane| larger(maxima[lane], values[lane]));
            minima = each(|lane| smaller(minima[lane], values[lane]));
            sums = each(|lane| sums[lane] + values[lane]);
        }
        let (ratios, informative) = (&mut lanes.log_ratios[..classes], &mut lanes.informative[..classes]);
        log_ratios(values, &maxima, labels, ratios, informative);
        let joint = &mut lanes.joint[..classes];
        self.likelihood.of_lanes(ratios, informative, joint);
        let (mut totals, mut own, mut own_joint) = ([0.0; L], [0.0; L], [0.0; L]);
        for (class, (joint, t)) in joint.iter_mut().zip(&lanes.columns).enumerate() {
            for lane in 0..L {
                // Added to 0, not chosen: compilers turn a choice between an old and a new value into a store behind a mask.
                let is_own = if labels[lane] == class as u32 { 1.0 } else { 0.0 };
                let b = joint[lane];
                own[lane] += is_own * b;
                own_joint[lane] += is_own * (b * t[lane]);
                totals[lane] += b * t[lane];
                joint[lane] = b * t[lane];
            }
        }
        let mut right = [0.0; L];
        for lane in 0..L {
            // As in `entries`: a total of 0 means wrong.
            right[lane] = if totals[lane] > 0.0 { own_joint[lane] / totals[lane] } else { 0.0 };
        }
        Results { sums, maxima, minima, choices, right, own }
    }
}

impl<const L: usize> Results<L> {
    /// The verdict on the row in `lane`, whose likeliest other class is known.
    #[inline(always)]
    pub(super) fn verdict(&self, lane: usize, suggested: Label) -> Verdict {
        Verdict { right: f64::from(self.right[lane]), suggested, contradicted: self.own[lane] < 1.0 }
    }
}

impl<const L: usize> Lanes<L> {
    /// The likeliest other class of each row: the one with the largest b_z T[z][given].
    #[inline(always)]
    pub(super) fn suggested(&self, labels: &[Label; L], classes: usize) -> [Label; L] {
        let (mut best, mut suggested) = ([-1.0; L], labels.map(|label| u32::from(label == 0)));
        for (class, joint) in (0..).zip(&self.joint[..classes]) {
            // Not `&&`, which would be a branch.
            let better = |best: &[f32; L], lane: usize| (joint[lane] > best[lane]) & (labels[lane] != class);
            suggested = each(|lane| if better(&best, lane) { class } else { suggested[lane] });
            best = each(|lane| if better(&best, lane) { joint[lane] } else { best[lane] });
        }
        suggested
    }
}

/// The class with the largest number, the first of equal ones; another than the given one if all are 0.
#[inline(always)]
fn likeliest(joint: &[f32], label: Label) -> Label {
    let (mut bests, mut classes) = ([0.0; LANES], [u32::from(label == 0); LANES]);
    for (first, joint) in (0..).step_by(LANES).zip(joint.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            let better = joint[lane] > bests[lane];
            bests[lane] = if better { joint[lane] } else { bests[lane] };
            classes[lane] = if better { first + lane as u32 } else { classes[lane] };
        }
    }
    let better = |a: &(f32, u32), b: &(f32, u32)| a.0 > b.0 || (a.0 == b.0 && a.1 < b.1);
    let best = bests.into_iter().zip(classes).reduce(|a, b| if better(&b, &a) { b } else { a });
    best.map_or(u32::from(label == 0), |best| best.1)
}

struct JudgeRow<'a, R> {
    judge: &'a Judge,
    row: &'a [R],
    label: Label,
}

impl<R: Number> Work for JudgeRow<'_, R> {
    type Output = Verdict;

    #[inline(always)]
    fn run(self) -> Verdict {
        self.judge.one(self.row, self.label)
    }
}

struct JudgeClass<'a, R> {
    judge: &'a Judge,
    row: &'a [R],
    label: Label,
    class: Label,
}

impl<R: Number> Work for JudgeClass<'_, R> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        self.judge.belongs(self.row, self.label, self.class)
    }
}

#[cfg(test)]
pub(super) mod tests;
