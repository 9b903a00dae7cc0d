//! The drawn rows of one given label, in the form the EM steps read: log ratios instead of probabilities, computed once.

use super::lanes::{FEW, ROWS, log_ratios};
use super::likelihood::entry_log_ratios;
use super::sample::Rows;
use crate::dataset::Label;
use crate::estimate::math32::larger;
use crate::widest::{Work, widest};

/// The drawn rows of one given label.
pub(crate) enum Inputs {
    /// Few classes: eight rows side by side, so each group of eight rows has K lanes.
    Lanes {
        /// Probabilities; 0 where they are negligible.
        values: Vec<[f32; ROWS]>,
        log_ratios: Vec<[f32; ROWS]>,
        /// 1 where a class is informative, 0 elsewhere.
        informative: Vec<[f32; ROWS]>,
    },
    /// Many classes: only the informative entries of each row.
    Entries {
        log_ratios: Vec<f32>,
        /// The classes that have an entry in any of these rows, ascending.
        classes: Vec<u32>,
    },
}

impl Inputs {
    /// Prepares the rows given `label`, of `classes` classes.
    pub(crate) fn of(rows: &Rows, label: Label, classes: usize) -> Self {
        widest(Prepare { rows, label, classes })
    }
}

struct Prepare<'a> {
    rows: &'a Rows,
    label: Label,
    classes: usize,
}

impl Work for Prepare<'_> {
    type Output = Inputs;

    #[inline(always)]
    fn run(self) -> Inputs {
        let Self { rows, label, classes } = self;
        if classes > FEW {
            let (mut entries, mut present) = (rows.values().to_vec(), rows.classes().to_vec());
            // Not `for_each`, which would be compiled outside, without vector instructions.
            for span in rows.spans() {
                entry_log_ratios(&mut entries[span], classes);
            }
            present.sort_unstable();
            present.dedup();
            return Inputs::Entries { log_ratios: entries, classes: present };
        }
        let size = rows.len().div_ceil(ROWS) * classes;
        let (mut values, mut ratios, mut informative) =
            (vec![[0.0; ROWS]; size], vec![[0.0; ROWS]; size], vec![[0.0; ROWS]; size]);
        for (row, span) in rows.spans().enumerate() {
            let group = &mut values[row / ROWS * classes..][..classes];
            for (&class, &value) in rows.classes()[span.clone()].iter().zip(&rows.values()[span]) {
                group[class as usize][row % ROWS] = value;
            }
        }
        let groups = values.chunks_exact(classes).zip(ratios.chunks_exact_mut(classes));
        for ((values, ratios), informative) in groups.zip(informative.chunks_exact_mut(classes)) {
            let tops = values.iter().fold([0.0; ROWS], |mut tops, values| {
                (0..ROWS).for_each(|lane| tops[lane] = larger(tops[lane], values[lane]));
                tops
            });
            log_ratios(values, &tops, &[label; ROWS], ratios, informative);
        }
        Inputs::Lanes { values, log_ratios: ratios, informative }
    }
}
