//! The columns of T, for judging rows of many classes one at a time: a row needs the column of its label.

use super::noise_model::Columns;

/// With more classes T is stored sparsely: dense it would take 4 K² bytes.
const MOST_DENSE: usize = 2048;

/// All columns of T.
#[derive(Clone, Debug)]
pub(crate) enum LabelColumns {
    /// Column after column. The fastest, for up to [`MOST_DENSE`] classes.
    Dense(Vec<f32>),
    /// The stored entries of each column, (true class, entry), ascending by class; and for each true class the value of all
    /// entries that are not stored.
    Sparse { columns: Vec<Vec<(u32, f32)>>, unseen: Vec<f32> },
}

/// T[·][label].
pub(crate) enum LabelColumn<'a> {
    Dense(&'a [f32]),
    Sparse { stored: &'a [(u32, f32)], unseen: &'a [f32] },
}

impl LabelColumns {
    pub(crate) fn new(columns: &mut Columns<'_>, classes: usize) -> Self {
        if classes <= MOST_DENSE {
            let mut all = Vec::with_capacity(classes * classes);
            (0..classes).for_each(|label| all.extend_from_slice(columns.of(label)));
            return Self::Dense(all);
        }
        let stored = |label: usize| columns.stored(label).collect();
        Self::Sparse { columns: (0..classes).map(stored).collect(), unseen: columns.unseen().to_vec() }
    }

    #[inline(always)]
    pub(crate) fn of(&self, label: usize, classes: usize) -> LabelColumn<'_> {
        match self {
            Self::Dense(all) => LabelColumn::Dense(&all[label * classes..][..classes]),
            Self::Sparse { columns, unseen } => LabelColumn::Sparse { stored: &columns[label], unseen },
        }
    }
}

impl LabelColumn<'_> {
    /// All entries, written to `room` unless they lie side by side anyway.
    #[inline(always)]
    pub(crate) fn whole<'a>(&'a self, room: &'a mut Vec<f32>) -> &'a [f32] {
        match self {
            Self::Dense(column) => column,
            Self::Sparse { stored, unseen } => {
                room.clear();
                room.extend_from_slice(unseen);
                stored.iter().for_each(|&(class, entry)| room[class as usize] = entry);
                room
            }
        }
    }

    /// The entry of a true class.
    #[inline(always)]
    pub(crate) fn at(&self, class: u32) -> f32 {
        match self {
            Self::Dense(column) => column[class as usize],
            Self::Sparse { stored, unseen } => match stored.binary_search_by_key(&class, |entry| entry.0) {
                Ok(place) => stored[place].1,
                Err(_) => unseen[class as usize],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::posterior::noise_model::NoiseModel;

    #[test]
    fn both_forms_have_the_same_entries() {
        let noise = NoiseModel::symmetric(40, 0.3);
        let mut columns = noise.columns();
        let dense = LabelColumns::new(&mut columns, 40);
        let stored = |label: usize| columns.stored(label).collect();
        let sparse = LabelColumns::Sparse { columns: (0..40).map(stored).collect(), unseen: columns.unseen().to_vec() };
        for label in 0..40 {
            let (dense, sparse) = (dense.of(label, 40), sparse.of(label, 40));
            assert!((0..40).all(|class| dense.at(class) == sparse.at(class)), "{label}");
            assert_eq!(dense.whole(&mut Vec::new()), sparse.whole(&mut Vec::new()), "{label}");
        }
    }
}
