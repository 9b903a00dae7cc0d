//! The noise while it is fitted: which class is taken for which, and what each looks like.
//!
//! K classes have K² kinds of labels, of which drawn rows show few when K is large. Those that were seen are kept one by one; all
//! others share what is believed of mistakes in general.

use super::likelihood::Likeness;

/// Drawn rows' worth of belief, per class and for each other class, that its labels are mistaken as all labels are: with many
/// classes most kinds of mistakes are in no drawn row, and still happen.
const PER_KIND: f64 = 0.1;
/// The rate of mistakes that is thought possible even if none was seen.
const LEAST_RATE: f64 = 0.01;
/// Drawn rows' worth of belief that a class looks like itself.
const TRUST: f64 = 1.0;
/// What is fitted.
#[derive(Clone, Debug)]
pub(crate) struct Noise {
    /// T of the kinds of labels that were seen: (true class, T) per given label, in the order of the true classes. With many
    /// classes these are few; the right label is always among them.
    kinds: Vec<Vec<(u32, f64)>>,
    /// T of all others, per true class.
    unseen: Vec<f64>,
    /// M, `[true][shown]`; empty with more than `MOST_CLASSES`.
    pub(crate) prototypes: Vec<f64>,
}

/// Noise that was learnt from rows.
pub(crate) struct Learnt {
    pub(crate) noise: Noise,
    /// How many rows of the data they stand for.
    pub(crate) rows: f64,
    /// The part of wrong labels.
    pub(crate) rate: f64,
}

impl Noise {
    /// Every label is as likely as any other, whatever the class.
    pub(crate) fn level(classes: usize) -> Self {
        Self { unseen: vec![1.0; classes], ..Self::even(classes, 0.0) }
    }

    /// All mistakes are as likely as each other.
    pub(crate) fn even(classes: usize, rate: f64) -> Self {
        Self {
            kinds: (0..classes as u32).map(|class| vec![(class, 1.0 - rate)]).collect(),
            unseen: vec![rate / (classes as f64 - 1.0); classes],
            prototypes: Vec::new(),
        }
    }

    /// From how many rows of each class have which label (`expected`: per given label, in the order of the classes), what
    /// they show (`[true][shown]`, sums), and the number of rows that were drawn.
    pub(crate) fn learnt(expected: &[Vec<(u32, f64)>], shown: Vec<f64>, drawn: usize) -> Learnt {
        let classes = expected.len();
        let (mut totals, mut all, mut right) = (vec![0.0; classes], 0.0, 0.0);
        for (label, expected) in expected.iter().enumerate() {
            for &(class, rows) in expected {
                totals[class as usize] += rows;
                all += rows;
                right += if class as usize == label { rows } else { 0.0 };
            }
        }
        let all = all.max(f64::MIN_POSITIVE);
        let rate = 1.0 - right / all;
        let one_row = all / drawn.max(1) as f64;
        let believed = one_row * PER_KIND * classes as f64;
        let pooled = rate.max(LEAST_RATE);
        let (kept, mistaken) = (believed * (1.0 - pooled), believed * pooled / (classes as f64 - 1.0));
        let of_label = |(label, expected): (usize, &Vec<(u32, f64)>)| {
            let likely = |&(class, rows): &(u32, f64)| {
                let more = if class as usize == label { kept } else { mistaken };
                (class, (rows + more) / (totals[class as usize] + believed))
            };
            let mut kinds: Vec<(u32, f64)> = expected.iter().map(likely).collect();
            if let Err(place) = kinds.binary_search_by_key(&(label as u32), |kind| kind.0) {
                kinds.insert(place, likely(&(label as u32, 0.0)));
            }
            kinds
        };
        let mut kinds: Vec<Vec<(u32, f64)>> = expected.iter().enumerate().map(of_label).collect();
        keep_right_first(&mut kinds);
        let unseen = totals.iter().map(|total| mistaken / (total + believed)).collect();
        let mut prototypes = shown;
        for (class, row) in prototypes.chunks_exact_mut(classes).enumerate() {
            row[class] += TRUST * one_row;
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|value| *value /= sum);
        }
        Learnt { noise: Self { kinds, unseen, prototypes }, rows: all, rate }
    }

    /// How much rows look like each class, at share λ and sharpness c.
    pub(crate) fn likeness(&self, share: f64, sharpness: f64) -> Likeness {
        Likeness::new(&self.prototypes, share, sharpness, self.unseen.len())
    }

    /// Makes everything possible again.
    pub(crate) fn softened(&self) -> Self {
        let (mut soft, classes) = (self.clone(), self.unseen.len());
        let parts = soft.kinds.iter_mut().flatten().map(|kind| &mut kind.1);
        parts.chain(&mut soft.unseen).for_each(|part| *part = 0.98 * *part + 0.02 / classes as f64);
        soft
    }

    /// T in columns: how likely each class makes a given label.
    pub(crate) fn columns(&self) -> Columns<'_> {
        let unseen: Vec<f32> = self.unseen.iter().map(|&part| part as f32).collect();
        Columns { noise: self, column: unseen.clone(), unseen }
    }

    /// T, `[true][given]`; every row sums to 1.
    pub(crate) fn transition_rows(&self) -> Vec<Vec<f64>> {
        let classes = self.unseen.len();
        let mut rows: Vec<Vec<f64>> = self.unseen.iter().map(|&part| vec![part; classes]).collect();
        for (label, kinds) in self.kinds.iter().enumerate() {
            kinds.iter().for_each(|&(class, part)| rows[class as usize][label] = part);
        }
        for row in &mut rows {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|part| *part /= sum);
        }
        rows
    }
}

/// Columns of T, one after the other.
pub(crate) struct Columns<'a> {
    noise: &'a Noise,
    unseen: Vec<f32>,
    column: Vec<f32>,
}

impl Columns<'_> {
    /// T[·][label].
    pub(crate) fn of(&mut self, label: usize) -> &[f32] {
        self.column.copy_from_slice(&self.unseen);
        self.noise.kinds[label].iter().for_each(|&(class, part)| self.column[class as usize] = part as f32);
        &self.column
    }
}

/// No mistake is commoner than the right label: otherwise classes could change their names, and nobody would notice.
fn keep_right_first(kinds: &mut [Vec<(u32, f64)>]) {
    // Per true class: how common its commonest mistake is, and the label then given.
    let mut most = vec![(0.0, 0); kinds.len()];
    for (label, kinds) in kinds.iter().enumerate() {
        for &(class, part) in kinds {
            if class as usize != label && part > most[class as usize].0 {
                most[class as usize] = (part, label);
            }
        }
    }
    fn part(kinds: &mut [Vec<(u32, f64)>], label: usize, class: usize) -> Option<&mut f64> {
        let place = kinds[label].binary_search_by_key(&(class as u32), |kind| kind.0).ok()?;
        Some(&mut kinds[label][place].1)
    }
    for (class, (mistaken, label)) in most.into_iter().enumerate() {
        let Some(right) = part(kinds, class, class) else { continue };
        if mistaken > *right {
            let mean = (mistaken + *right) / 2.0;
            *right = mean;
            if let Some(mistaken) = part(kinds, label, class) {
                *mistaken = mean;
            }
        }
    }
}
