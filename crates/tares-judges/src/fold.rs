//! Stratified folds: which rows are held out together.
//!
//! Every class is spread over the folds as evenly as possible, also a class with fewer rows than folds. The draws come
//! from the stream `"folds R"` of the seed, R the number of the repetition. Groups of rows (copies of each other) are never cut.

use crate::error::{Result, value};
use tares_core::{Label, deal_groups, stream};

/// The two halves of one fold: row numbers, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Rows to fit on.
    pub train: Vec<usize>,
    /// Rows to predict.
    pub held: Vec<usize>,
}

/// Cuts the rows into `count` stratified folds.
///
/// In each class, and over all rows, the numbers of held-out rows differ by at most 1 between folds. `groups` names for every row the
/// first row of its group; a group is held out as a whole, and folds are as even as that allows. With fewer groups than folds they are
/// cut after all.
///
/// ```
/// use tares_judges::fold::folds;
/// let cut = folds(&[0, 0, 0, 0, 1, 1], None, 3, 7, 0)?;
/// assert_eq!(cut.len(), 3);
/// assert!(cut.iter().all(|fold| fold.held.len() == 2 && fold.train.len() == 4));
/// # Ok::<(), tares_judges::Error>(())
/// ```
///
/// # Errors
/// Fewer than 2 folds, or more folds than rows.
pub fn folds(labels: &[Label], groups: Option<&[u32]>, count: usize, seed: u64, repeat: usize) -> Result<Vec<Fold>> {
    if count < 2 || count > labels.len() {
        return Err(value("number of folds", format!("in 2..={} (the number of rows)", labels.len()), count));
    }
    // Shuffle all rows, then bring classes together: a stable sort keeps the random order within each class. Dealing the
    // result out like cards, without starting anew for a class, evens out both classes and folds.
    let mut order = stream(seed, &format!("folds {repeat}")).permutation(labels.len());
    order.sort_by_key(|&row| labels[row]);
    let whole = groups.and_then(|groups| deal_groups(labels, groups, &order, count));
    let fold_of = whole.unwrap_or_else(|| {
        let mut fold_of = vec![0; labels.len()];
        order.into_iter().enumerate().for_each(|(card, row)| fold_of[row] = card % count);
        fold_of
    });
    let half = |wanted: &dyn Fn(usize) -> bool| (0..labels.len()).filter(|&row| wanted(fold_of[row])).collect();
    Ok((0..count).map(|fold| Fold { train: half(&|of| of != fold), held: half(&|of| of == fold) }).collect())
}

/// How often folds are cut anew when rows are few: the mean over repetitions depends less on the luck of one cut.
pub fn repeats_for(rows: usize) -> usize {
    2_000usize.div_ceil(rows.max(1)).clamp(1, 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_spread_evenly_and_every_row_is_held_out_once() {
        for seed in 0..50 {
            let mut draw = stream(seed, "test");
            let classes = 1 + draw.below(6);
            let labels: Vec<Label> = (0..2 + draw.below(60)).map(|_| draw.below(classes) as Label).collect();
            let count = 2 + draw.below(labels.len().min(7) - 1);
            let cut = folds(&labels, None, count, seed, 0).unwrap();
            let mut held: Vec<usize> = cut.iter().flat_map(|fold| fold.held.clone()).collect();
            held.sort_unstable();
            assert!(held.into_iter().eq(0..labels.len()), "seed {seed}");
            for class in 0..=classes as Label {
                // The extra class at the end counts all rows.
                let counted = |row: &&usize| labels[**row] == class || class as usize == classes;
                let counts: Vec<usize> = cut.iter().map(|fold| fold.held.iter().filter(counted).count()).collect();
                assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "seed {seed}: {counts:?}");
            }
            assert!(cut.iter().all(|fold| fold.train.len() + fold.held.len() == labels.len()));
        }
    }

    #[test]
    fn repetitions_and_seeds_cut_differently_and_the_same_ones_alike() {
        let labels = vec![0; 40];
        let cut = |seed, repeat| folds(&labels, None, 4, seed, repeat).unwrap();
        assert_eq!(cut(1, 0), cut(1, 0));
        assert_ne!(cut(1, 0), cut(1, 1));
        assert_ne!(cut(1, 0), cut(2, 0));
    }

    #[test]
    fn a_group_is_held_out_as_a_whole_if_there_are_enough() {
        let labels: Vec<Label> = (0..60).map(|row| row % 30 % 2).collect();
        let groups: Vec<u32> = (0..60).map(|row| row % 30).collect();
        for fold in folds(&labels, Some(&groups), 5, 3, 0).unwrap() {
            assert!(fold.held.iter().all(|row| fold.held.contains(&((row + 30) % 60))), "{fold:?}");
            assert_eq!((fold.held.len(), fold.train.len()), (12, 48));
        }
        assert_eq!(folds(&labels, Some(&[0; 60]), 5, 3, 0).unwrap(), folds(&labels, None, 5, 3, 0).unwrap());
    }

    #[test]
    fn impossible_numbers_of_folds_are_refused() {
        assert_eq!(
            folds(&[0, 1], None, 3, 0, 0).unwrap_err().to_string(),
            "number of folds must be in 2..=2 (the number of rows), got 3"
        );
        assert!(folds(&[0, 1], None, 1, 0, 0).is_err());
    }
}
