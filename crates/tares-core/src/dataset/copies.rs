//! [`Copies`]: rows with equal inputs that must be held out together.
//!
//! A judge that was trained on a copy of a row has seen the row's own label, right or wrong, and repeats it. So copies go into one fold.
//! But where rows have few different inputs (the 24 patterns of class, sex and age in the Titanic's 2,201 rows), equal rows are
//! independent observations, and the labels of the others are what a judge should learn. [`Dataset::copies`] tells the two apart.

use super::{Dataset, Label, Row};
use crate::fingerprint::Fingerprint;
use rayon::prelude::*;

/// A column of numbers is rich from more than this many different values, in [`SAMPLE`] rows.
const FEW_VALUES: usize = 20;
const SAMPLE: usize = 1_000;
/// Up to this many rows per different input, on average, groups are small.
const SMALL: usize = 4;
/// Labels agree if at most this share of copies has another label than most of its group. Independent labels, a share e of them
/// wrong, would differ within a pair with probability 2e(1 − e).
const DIFFER: f64 = 0.02;
/// A group with more than this share of the rows (and more than a handful) is a frequent input, such as an empty text.
const LARGEST_PART: usize = 20;
const HANDFUL: usize = 10;

/// Which rows are copies of which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    group_of: Vec<u32>,
    /// Rows that have an earlier row with equal inputs.
    pub rows: usize,
    /// Groups whose rows have different labels: at least one is wrong, or the inputs do not tell such rows apart.
    pub contradictions: usize,
}

impl Copies {
    /// For every row the first row with equal inputs: rows of the same number are one group.
    pub fn group_of(&self) -> &[u32] {
        &self.group_of
    }

    /// The same for some of the rows, in ascending order: for each the position of the first that is kept of its group.
    pub fn group_of_some(&self, rows: &[usize]) -> Vec<u32> {
        let mut place = vec![u32::MAX; self.group_of.len()];
        let group = |(position, &row): (usize, &usize)| {
            let first = &mut place[self.group_of[row] as usize];
            *first = (*first).min(position as u32);
            *first
        };
        rows.iter().enumerate().map(group).collect()
    }
}

impl Dataset {
    /// The rows that must be held out together because their inputs are equal; `None` without any.
    ///
    /// Equal rows are copies if two of three signs say so:
    ///
    /// 1. inputs are rich (a text, or numbers with many values): rows are hardly ever equal by chance;
    /// 2. groups are small, so most of what can be learnt is left when a group is held out;
    /// 3. labels agree within groups: independent observations would differ as often as labels are wrong.
    ///
    /// Copied rows of an all-categorical table have signs 2 and 3, copies of measurements that were labelled anew 1 and 2. Patterns that
    /// return by chance have none of them, or only the third where labels follow from the pattern.
    ///
    /// ```
    /// use tares_core::{Dataset, Shape};
    /// let rows: Vec<f32> = (0..60).map(|row| (row % 50) as f32).collect();
    /// let data = Dataset::new(rows, Shape::Flat(1), vec![0; 60], ["a", "b"])?;
    /// let copies = data.copies().unwrap();
    /// assert_eq!((copies.rows, copies.group_of()[53]), (10, 3));
    /// # Ok::<(), tares_core::Error>(())
    /// ```
    pub fn copies(&self) -> Option<Copies> {
        let groups = self.equal_rows();
        if groups.is_empty() || !self.are_copies(&groups) {
            return None;
        }
        let most = (self.len() / LARGEST_PART).max(HANDFUL);
        let mut copies = Copies { group_of: (0..self.len() as u32).collect(), rows: 0, contradictions: 0 };
        for group in groups.iter().filter(|group| group.len() <= most) {
            copies.rows += group.len() - 1;
            copies.contradictions += usize::from(self.differing(group) > 0);
            group.iter().for_each(|&row| copies.group_of[row as usize] = group[0]);
        }
        (copies.rows > 0).then_some(copies)
    }

    /// Groups of at least two rows with equal inputs: rows ascending, groups by their hash.
    fn equal_rows(&self) -> Vec<Vec<u32>> {
        let mut hashed: Vec<(u64, u32)> =
            (0..self.len()).into_par_iter().with_min_len(256).map(|row| (self.hash_of(row), row as u32)).collect();
        hashed.par_sort_unstable();
        let same = |a: &(u64, u32), b: &(u64, u32)| a.0 == b.0 && self.equal(a.1 as usize, b.1 as usize);
        let runs = hashed.chunk_by(same).filter(|run| run.len() > 1);
        runs.map(|run| run.iter().map(|&(_, row)| row).collect()).collect()
    }

    fn hash_of(&self, row: usize) -> u64 {
        let numbers = match self.row(row) {
            Row::Bytes(bytes) => Fingerprint::of_bytes(bytes),
            // Adding 0 makes -0 and 0, which are equal, the same bits.
            Row::Floats(values) => values
                .iter()
                .fold(Fingerprint::default(), |print, value| print.with(u64::from((value + 0.0).to_bits()))),
        };
        let text = |print: Fingerprint, text: &str| print.with(Fingerprint::of_bytes(text.as_bytes()).value());
        self.texts.iter().fold(numbers, |print, column| text(print, &column.texts[row])).value()
    }

    fn equal(&self, a: usize, b: usize) -> bool {
        self.row(a) == self.row(b) && self.texts.iter().all(|column| column.texts[a] == column.texts[b])
    }

    fn are_copies(&self, groups: &[Vec<u32>]) -> bool {
        let repeated: usize = groups.iter().map(|group| group.len() - 1).sum();
        let differing: usize = groups.iter().map(|group| self.differing(group)).sum();
        let small = self.len() <= SMALL * (self.len() - repeated);
        let agree = differing as f64 <= DIFFER * repeated as f64;
        [small, agree].iter().filter(|&&sign| sign).count() + usize::from((small || agree) && self.is_rich()) >= 2
    }

    /// Rows of a group whose label is not its most frequent one.
    fn differing(&self, group: &[u32]) -> usize {
        let mut labels: Vec<Label> = group.iter().map(|&row| self.given[row as usize]).collect();
        labels.sort_unstable();
        group.len() - labels.chunk_by(|a, b| a == b).map(<[Label]>::len).max().unwrap_or(0)
    }

    /// Whether rows have a text, or a number with many different values.
    fn is_rich(&self) -> bool {
        let step = self.len().div_ceil(SAMPLE);
        let many = |feature: usize| {
            let mut values: Vec<u32> = (0..self.len()).step_by(step).map(|row| self.bits(row, feature)).collect();
            values.sort_unstable();
            values.dedup();
            values.len() > FEW_VALUES
        };
        !self.texts.is_empty() || (0..self.shape.size()).into_par_iter().any(many)
    }

    fn bits(&self, row: usize, feature: usize) -> u32 {
        match self.row(row) {
            Row::Bytes(bytes) => u32::from(bytes[feature]),
            Row::Floats(values) => values[feature].to_bits(),
        }
    }
}

/// Deals rows into `count` folds, groups as a whole: the largest groups first, then in the order of `order`. Each goes to the fold that
/// has the fewest rows of its classes and, among those, the fewest rows. `None` with fewer groups than folds.
///
/// # Panics
/// If labels, groups and order are not equally long.
pub fn deal_groups(labels: &[Label], group_of: &[u32], order: &[usize], count: usize) -> Option<Vec<usize>> {
    assert!(
        labels.len() == group_of.len() && labels.len() == order.len(),
        "a label, a group and a place for every row"
    );
    let classes = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let mut members = vec![Vec::new(); labels.len()];
    group_of.iter().enumerate().for_each(|(row, &group)| members[group as usize].push(row));
    let mut units: Vec<Vec<usize>> = order
        .iter()
        .map(|&row| std::mem::take(&mut members[group_of[row] as usize]))
        .filter(|unit| !unit.is_empty())
        .collect();
    if units.len() < count {
        return None;
    }
    units.sort_by_key(|unit| std::cmp::Reverse(unit.len()));
    let mut of_class = vec![0; count * classes];
    let mut sizes = vec![0; count];
    let mut fold_of = vec![0; labels.len()];
    for unit in units {
        let crowd =
            |fold: usize| unit.iter().map(|&row| of_class[fold * classes + labels[row] as usize]).sum::<usize>();
        let fold = (0..count).min_by_key(|&fold| (crowd(fold), sizes[fold], fold)).unwrap_or(0);
        sizes[fold] += unit.len();
        for row in unit {
            of_class[fold * classes + labels[row] as usize] += 1;
            fold_of[row] = fold;
        }
    }
    Some(fold_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Shape, TextColumn};
    use crate::stream::stream;

    fn flat(rows: &[Vec<f32>], given: Vec<Label>) -> Dataset {
        Dataset::new(rows.concat(), Shape::Flat(rows[0].len()), given, ["a", "b"]).unwrap()
    }

    /// 200 rows of two measurements, then all of them once more.
    fn doubled(other_labels: bool) -> Dataset {
        let mut draw = stream(1, "test");
        let rows: Vec<Vec<f32>> = (0..200).map(|_| vec![draw.normal() as f32, draw.normal() as f32]).collect();
        let given: Vec<Label> = (0..200).map(|_| draw.below(2) as Label).collect();
        let again = given.iter().map(|&label| if other_labels && draw.below(4) == 0 { 1 - label } else { label });
        let labels = given.iter().copied().chain(again).collect();
        flat(&[&rows[..], &rows[..]].concat(), labels)
    }

    #[test]
    fn measurements_that_return_are_copies_with_the_same_labels_or_others() {
        let copies = doubled(false).copies().unwrap();
        assert_eq!((copies.rows, copies.contradictions), (200, 0));
        assert!((0..200).all(|row| copies.group_of()[row] == row as u32 && copies.group_of()[row + 200] == row as u32));
        assert_eq!(copies.group_of_some(&[3, 7, 203, 207, 399]), [0, 1, 0, 1, 4]);
        let copies = doubled(true).copies().unwrap();
        assert!(copies.rows == 200 && (30..70).contains(&copies.contradictions), "{}", copies.contradictions);
    }

    #[test]
    fn patterns_that_return_by_chance_are_no_copies() {
        let mut draw = stream(2, "test");
        let rows: Vec<Vec<f32>> = (0..2_000).map(|_| (0..4).map(|_| draw.below(2) as f32).collect()).collect();
        let noisy = rows.iter().map(|row| (draw.below(10) < 2 + 6 * row[0] as usize) as Label).collect();
        assert_eq!(flat(&rows, noisy).copies(), None);
        let of_pattern = rows.iter().map(|row| row[0] as Label).collect();
        assert_eq!(flat(&rows, of_pattern).copies(), None, "also where labels follow from the pattern");
    }

    #[test]
    fn copied_rows_of_categories_are_copies() {
        let pattern = |number: usize| (0..8).map(|bit| (number >> bit & 1) as f32).collect::<Vec<f32>>();
        let rows: Vec<Vec<f32>> = (0..512).map(|row| pattern(row % 256)).collect();
        let given: Vec<Label> = (0..512).map(|row| (row % 256 % 5 % 2) as Label).collect();
        assert_eq!(flat(&rows, given).copies().unwrap().rows, 256);
        let mut draw = stream(3, "test");
        let independent = (0..512).map(|_| draw.below(2) as Label).collect();
        assert_eq!(flat(&rows, independent).copies(), None);
    }

    #[test]
    fn texts_count_and_a_frequent_one_is_no_copy() {
        let text = |row: usize| if row < 300 { String::new() } else { format!("text {}", row % 600) };
        let column = TextColumn::new("t", (0..1_000).map(text));
        let data = Dataset::of_texts(vec![column], (0..1_000).map(|row| row % 2).collect(), ["a", "b"]).unwrap();
        let copies = data.copies().unwrap();
        // Rows 900.. repeat 300..; the 300 empty texts stay apart.
        assert_eq!((copies.rows, copies.group_of()[299], copies.group_of()[950]), (100, 299, 350));
    }

    #[test]
    fn rows_that_all_differ_have_no_copies() {
        let rows: Vec<Vec<f32>> = (0..50).map(|row| vec![row as f32]).collect();
        assert_eq!(flat(&rows, vec![0; 50]).copies(), None);
    }

    #[test]
    fn groups_stay_together_and_classes_are_spread() {
        for seed in 0..50 {
            let mut draw = stream(seed, "test");
            let groups = 10 + draw.below(60);
            let mut group_of = Vec::new();
            let mut labels = Vec::new();
            for _ in 0..groups {
                let (first, label) = (group_of.len() as u32, draw.below(3) as Label);
                let size = 1 + draw.below(3);
                group_of.extend(vec![first; size]);
                labels.extend(vec![label; size]);
            }
            let order = draw.permutation(labels.len());
            let folds = deal_groups(&labels, &group_of, &order, 5).unwrap();
            assert!((0..labels.len()).all(|row| folds[row] == folds[group_of[row] as usize]), "seed {seed}");
            for class in 0..3 {
                let held = |fold| (0..labels.len()).filter(|&row| folds[row] == fold && labels[row] == class).count();
                let counts: Vec<usize> = (0..5).map(held).collect();
                assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 3, "seed {seed}: {counts:?}");
            }
            assert!((0..5).all(|fold| folds.contains(&fold)), "seed {seed}");
        }
        assert_eq!(deal_groups(&[0, 0, 1], &[0, 0, 2], &[0, 1, 2], 3), None);
    }
}
