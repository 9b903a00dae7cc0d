//! The noise model that EM fits: the transition matrix T, the prototypes M and the shares π of the classes.
//!
//! T has K² entries. With many classes the drawn rows show only a few of the K² pairs (true, given); those are stored one
//! by one, and all other entries of a row of T share one value.

use super::likelihood::{ClassLikelihood, MOST_CLASSES};
use crate::envelope::{Opened, Sealed};
use crate::error::Result;
use crate::noise::{Transition, TransitionRow};

/// Pseudo-count per (true, given) pair, in drawn rows, so that unseen mistakes keep some probability. Each class's
/// pseudo-counts are spread like the labels of all classes together.
const PSEUDO_COUNT: f64 = 0.1;
/// The pseudo-counts assume at least this noise rate.
const LEAST_RATE: f64 = 0.01;
/// Pseudo-count, in drawn rows, of each prototype at its own class.
const OWN_PSEUDO_COUNT: f64 = 1.0;
/// Pseudo-count, in drawn rows, of each class in the shares: with hundreds of classes each has few rows.
const SHARE_PSEUDO_COUNT: f64 = 20.0;
/// How far T is moved towards the uniform distribution before EM begins at another sharpness.
const SMOOTHING: f64 = 0.02;

/// The stored entries of one column of T, or of a matrix of counts: (true class, value), ascending by class.
pub(crate) type Column = Vec<(u32, f64)>;

/// T, M and π.
#[derive(Clone, Debug)]
pub(crate) struct NoiseModel {
    /// For each given label, the stored part of its column of T. The diagonal is always stored.
    columns: Vec<Column>,
    /// For each true class, the value of all entries of T that are not stored.
    unseen: Vec<f64>,
    /// M, `[true][predicted]`; empty with more than `MOST_CLASSES` classes.
    pub(crate) prototypes: Vec<f64>,
    /// π: the share of each true class among the rows, as far as it is to be trusted; empty without prototypes.
    pub(crate) class_shares: Vec<f64>,
}

/// What the M-step gives.
pub(crate) struct MStep {
    pub(crate) noise: NoiseModel,
    /// The number of rows of the data that the drawn rows stand for.
    pub(crate) rows: f64,
    /// The part of wrong labels among them.
    pub(crate) rate: f64,
}

impl NoiseModel {
    /// All entries of T are 1: the given label says nothing about the true class.
    pub(crate) fn uninformative(classes: usize) -> Self {
        Self { unseen: vec![1.0; classes], ..Self::symmetric(classes, 0.0) }
    }

    /// All mistakes are equally likely.
    pub(crate) fn symmetric(classes: usize, rate: f64) -> Self {
        Self {
            columns: (0..classes as u32).map(|class| vec![(class, 1.0 - rate)]).collect(),
            unseen: vec![rate / (classes as f64 - 1.0); classes],
            prototypes: Vec::new(),
            class_shares: Vec::new(),
        }
    }

    /// The M-step, from the sufficient statistics: `counts` has a column of expected counts per given label, `predicted`
    /// the sums of p weighted by responsibility, `[true][predicted]`. `drawn` is the number of drawn rows, `trust` how much
    /// the class shares count, in [0, 1].
    pub(crate) fn m_step(counts: Vec<Column>, predicted: Vec<f64>, drawn: usize, trust: f64) -> MStep {
        let classes = counts.len();
        let (mut totals, mut all, mut right) = (vec![0.0; classes], 0.0, 0.0);
        for (label, column) in counts.iter().enumerate() {
            for &(class, rows) in column {
                totals[class as usize] += rows;
                all += rows;
                right += if class as usize == label { rows } else { 0.0 };
            }
        }
        let all = all.max(f64::MIN_POSITIVE);
        let rate = 1.0 - right / all;
        let one_row = all / drawn.max(1) as f64;
        let pseudo = one_row * PSEUDO_COUNT * classes as f64;
        let pooled = rate.max(LEAST_RATE);
        let (pseudo_right, pseudo_wrong) = (pseudo * (1.0 - pooled), pseudo * pooled / (classes as f64 - 1.0));
        let mut columns = counts;
        for (label, column) in (0..).zip(&mut columns) {
            if let Err(place) = column.binary_search_by_key(&label, |entry| entry.0) {
                column.insert(place, (label, 0.0));
            }
            for (class, entry) in column {
                let more = if *class == label { pseudo_right } else { pseudo_wrong };
                *entry = (*entry + more) / (totals[*class as usize] + pseudo);
            }
        }
        prevent_label_switching(&mut columns);
        let unseen = totals.iter().map(|total| pseudo_wrong / (total + pseudo)).collect();
        let mut prototypes = predicted;
        for (class, row) in prototypes.chunks_exact_mut(classes).enumerate() {
            row[class] += OWN_PSEUDO_COUNT * one_row;
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|value| *value /= sum);
        }
        let more = SHARE_PSEUDO_COUNT * one_row;
        let whole = all + more * classes as f64;
        let class_shares = match prototypes.is_empty() {
            true => Vec::new(),
            false => totals.iter().map(|total| ((total + more) / whole).powf(trust)).collect(),
        };
        MStep { noise: Self { columns, unseen, prototypes, class_shares }, rows: all, rate }
    }

    /// Appends the model to bytes.
    pub(crate) fn write(&self, out: &mut Sealed) {
        for column in &self.columns {
            out.list(column, |out, (class, entry)| {
                out.u32(class);
                out.f64(entry);
            });
        }
        out.list(&self.unseen, Sealed::f64);
        out.list(&self.prototypes, Sealed::f64);
        out.list(&self.class_shares, Sealed::f64);
    }

    /// Reads what [`write`](Self::write) wrote for `classes` classes.
    pub(crate) fn read(from: &mut Opened<'_>, classes: usize) -> Result<Self> {
        // Grown column by column: `classes` is not believed before their bytes are there.
        let mut columns: Vec<Column> = Vec::new();
        for label in 0..classes {
            let column: Column = from.list(|from| Ok((from.u32()?, from.f64()?)))?;
            let ascending = column.windows(2).all(|pair| pair[0].0 < pair[1].0);
            let known = column.last().is_some_and(|last| (last.0 as usize) < classes);
            let positive = column.iter().all(|entry| entry.1 >= 0.0);
            if !(ascending && known && positive && column.iter().any(|entry| entry.0 as usize == label)) {
                return Err(from.bad("a transition matrix that cannot be"));
            }
            columns.push(column);
        }
        let (unseen, prototypes) = (from.list(Opened::f64)?, from.list(Opened::f64)?);
        let class_shares: Vec<f64> = from.list(Opened::f64)?;
        let square = classes <= MOST_CLASSES && prototypes.len() == classes * classes && class_shares.len() == classes;
        let positive = unseen.iter().chain(&prototypes).chain(&class_shares).all(|&entry| entry >= 0.0);
        if classes < 2
            || unseen.len() != classes
            || !(prototypes.is_empty() && class_shares.is_empty() || square)
            || !positive
        {
            return Err(from.bad("a transition matrix of another size"));
        }
        Ok(Self { columns, unseen, prototypes, class_shares })
    }

    /// b_z(x) with these prototypes, at share λ and sharpness c.
    pub(crate) fn likelihood(&self, share: f64, sharpness: f64) -> ClassLikelihood {
        ClassLikelihood::new(&self.prototypes, &self.class_shares, share, sharpness, self.unseen.len())
    }

    /// T moved a little towards the uniform distribution: EM cannot make an entry that is 0 larger.
    pub(crate) fn smoothed(&self) -> Self {
        let (mut smooth, classes) = (self.clone(), self.unseen.len());
        let entries = smooth.columns.iter_mut().flatten().map(|entry| &mut entry.1);
        entries
            .chain(&mut smooth.unseen)
            .for_each(|entry| *entry = (1.0 - SMOOTHING) * *entry + SMOOTHING / classes as f64);
        smooth
    }

    /// The columns of T, to be read one at a time.
    pub(crate) fn columns(&self) -> Columns<'_> {
        let unseen: Vec<f32> = self.unseen.iter().map(|&entry| entry as f32).collect();
        Columns { noise: self, column: unseen.clone(), unseen, label: None }
    }

    /// T; every row sums to 1.
    pub(crate) fn transition(&self) -> Result<Transition> {
        let classes = self.unseen.len();
        let mut rows: Vec<Column> = vec![Vec::new(); classes];
        for (label, column) in self.columns.iter().enumerate() {
            column.iter().for_each(|&(class, entry)| rows[class as usize].push((label as u32, entry)));
        }
        let distribution = |(mut listed, &others): (Column, &f64)| {
            let sum = listed.iter().map(|entry| entry.1).sum::<f64>() + others * (classes - listed.len()) as f64;
            listed.iter_mut().for_each(|entry| entry.1 /= sum);
            TransitionRow::new(listed, others / sum)
        };
        Transition::of_rows(rows.into_iter().zip(&self.unseen).map(distribution).collect())
    }
}

/// Reads columns of T.
pub(crate) struct Columns<'a> {
    noise: &'a NoiseModel,
    unseen: Vec<f32>,
    column: Vec<f32>,
    /// The label whose column it is; none at first.
    label: Option<usize>,
}

impl Columns<'_> {
    /// T[·][label].
    pub(crate) fn of(&mut self, label: usize) -> &[f32] {
        // Only what differs from the column before is written: with many classes that is little.
        if let Some(before) = self.label.replace(label) {
            for &(class, _) in &self.noise.columns[before] {
                self.column[class as usize] = self.unseen[class as usize];
            }
        }
        self.noise.columns[label].iter().for_each(|&(class, entry)| self.column[class as usize] = entry as f32);
        &self.column
    }

    /// The stored entries of T[·][label].
    pub(crate) fn stored(&self, label: usize) -> impl Iterator<Item = (u32, f32)> + '_ {
        self.noise.columns[label].iter().map(|&(class, entry)| (class, entry as f32))
    }

    /// For each true class, the value of all entries that are not stored.
    pub(crate) fn unseen(&self) -> &[f32] {
        &self.unseen
    }
}

/// Makes no mistake likelier than the right label. Without this EM can swap the names of two classes (label switching) at the
/// same likelihood.
fn prevent_label_switching(columns: &mut [Column]) {
    // For each true class: T of its commonest mistake, and the label given there.
    let mut most = vec![(0.0, 0); columns.len()];
    for (label, column) in columns.iter().enumerate() {
        for &(class, entry) in column {
            if class as usize != label && entry > most[class as usize].0 {
                most[class as usize] = (entry, label);
            }
        }
    }
    fn entry(columns: &mut [Column], label: usize, class: usize) -> Option<&mut f64> {
        let place = columns[label].binary_search_by_key(&(class as u32), |entry| entry.0).ok()?;
        Some(&mut columns[label][place].1)
    }
    for (class, (mistake, label)) in most.into_iter().enumerate() {
        let Some(right) = entry(columns, class, class) else { continue };
        if mistake > *right {
            let mean = (mistake + *right) / 2.0;
            *right = mean;
            if let Some(mistake) = entry(columns, label, class) {
                *mistake = mean;
            }
        }
    }
}
