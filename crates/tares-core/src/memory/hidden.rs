//! What the rows tell whose labels were hidden from the network.

use super::Memory;
use crate::dataset::{Label, check_labels};
use crate::error::{Result, same_length};

/// The parts of the sure rows that may disagree less than all of them ...
const SURER: [f64; 3] = [0.5, 0.2, 0.1];
/// ... by so many standard errors.
const LOWER: f64 = 2.5;

/// How much better a memory knows the labels that the network was taught than those that were hidden from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memorised {
    /// The part of what was learnt about the visible labels that is not known about the hidden ones. 0: nothing is memorised; 1: nothing else.
    pub share: f64,
    /// The difference between visible and hidden rows in standard errors.
    pub errors: f64,
}

/// How well a memory knows hidden labels, on the rows of each class that it is surer of and on the others. 0: as often as by chance;
/// 1: always.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// How often the surer half of the answers agrees with the labels.
    pub sure: f64,
    /// How often the other half does.
    pub unsure: f64,
    /// The squared standard errors of both.
    pub squared_errors: [f64; 2],
}

impl Known {
    /// Whether the unsure answers are worth at least `part` of the sure ones, by so many standard errors.
    ///
    /// ```
    /// use tares_core::memory::Known;
    /// let known = |unsure| Known { sure: 0.4, unsure, squared_errors: [0.001, 0.001] };
    /// assert!(known(0.35).at_least(0.5, 1.0)); // 0.35 − 0.2 is more than √(0.001 + 0.25 · 0.001)
    /// assert!(!known(0.22).at_least(0.5, 1.0));
    /// ```
    pub fn at_least(&self, part: f64, errors: f64) -> bool {
        let [sure, unsure] = self.squared_errors;
        let error = (unsure + part * part * sure).sqrt();
        self.sure > 0.0 && self.unsure - part * self.sure >= errors * error
    }
}

impl Memory {
    /// How much of the visible labels is memorised, told by the rows whose labels are `hidden`. Nothing, with fewer than two rows of either kind.
    ///
    /// ```
    /// use tares_core::memory::Memory;
    /// let mut memory = Memory::new(4, 2);
    /// let given = [0, 1, 0, 1];
    /// // Visible labels are repeated, hidden ones are guessed.
    /// let answers = [[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.5, 0.5]];
    /// (0..4).for_each(|row| memory.remember(row, &answers[row], 0.0));
    /// let memorised = memory.memorised(&given, &[false, false, true, true])?;
    /// assert!((memorised.share - 1.0).abs() < 1e-6);
    /// # Ok::<(), tares_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Another number of labels than rows, or a label outside 0..K.
    ///
    /// # Panics
    /// If `hidden` has another length.
    pub fn memorised(&self, given: &[Label], hidden: &[bool]) -> Result<Memorised> {
        same_length("labels", self.rows(), given.len())?;
        check_labels("label", given, self.classes)?;
        assert_eq!(hidden.len(), given.len(), "one mark per row");
        let chance = chance(given, self.classes);
        let mut answer = vec![0.0; self.classes];
        let mut parts = [Spread::default(); 2];
        for (row, (&label, &hidden)) in given.iter().zip(hidden).enumerate() {
            self.answer(row, &mut answer);
            parts[usize::from(hidden)].add(f64::from(answer[label as usize]));
        }
        let [visible, hidden] = parts;
        if visible.count < 2.0 || hidden.count < 2.0 {
            return Ok(Memorised { share: 0.0, errors: 0.0 });
        }
        let gap = visible.mean() - hidden.mean();
        let error = (visible.variance() / visible.count + hidden.variance() / hidden.count).sqrt();
        let share = gap / (visible.mean() - chance).max(1e-9);
        Ok(Memorised { share, errors: gap / error.max(1e-9) })
    }

    /// How well the memory knows the labels of the `hidden` rows. Each half starts with half a right answer in one row.
    ///
    /// # Errors
    /// Another number of labels than rows, or a label outside 0..K.
    ///
    /// # Panics
    /// If `hidden` has another length.
    pub fn known(&self, given: &[Label], hidden: &[bool]) -> Result<Known> {
        assert_eq!(hidden.len(), self.rows(), "one mark per row");
        let hidden = (0..self.rows()).filter(|&row| hidden[row]);
        let mut parts = [Spread::default(); 2];
        for (class, rows) in self.surest(given, hidden, 1.0)?.iter().enumerate() {
            for (place, &row) in rows.iter().enumerate() {
                let unsure = place >= rows.len().div_ceil(2);
                parts[usize::from(unsure)].add(f64::from(u8::from(given[row] as usize == class)));
            }
        }
        let [sure, unsure] = parts.map(|part| (part.sum + 0.5) / (part.count + 1.0));
        let chance = chance(given, self.classes);
        let left = (1.0 - chance).max(1e-9);
        let squared = |share: f64, part: &Spread| share * (1.0 - share) / (part.count + 1.0) / (left * left);
        let squared_errors = [squared(sure, &parts[0]), squared(unsure, &parts[1])];
        Ok(Known { sure: (sure - chance) / left, unsure: (unsure - chance) / left, squared_errors })
    }

    /// How often the labels of the `hidden` rows differ from what the memory is surest of.
    ///
    /// Hard rows are among the surest `part` of a poor memory, and make it disagree with right labels. So half, a fifth and a tenth of that
    /// part are looked at too: the least disagreement counts that is lower than that of the whole part by 2.5 standard errors. Wrong labels
    /// alone would be as frequent on the surest rows as on all others.
    ///
    /// # Errors
    /// Another number of labels than rows, or a label outside 0..K.
    ///
    /// # Panics
    /// If `hidden` has another length.
    pub fn least_disagreement(&self, given: &[Label], hidden: &[bool], part: f64) -> Result<f64> {
        assert_eq!(hidden.len(), self.rows(), "one mark per row");
        let surest = |part: f64| -> Result<[f64; 2]> {
            let rows = (0..self.rows()).filter(|&row| hidden[row]);
            let sure = self.surest(given, rows.clone(), part)?.iter().map(Vec::len).sum::<usize>();
            Ok([self.disagreement(given, rows, part)?, sure as f64])
        };
        let [whole, rows] = surest(part)?;
        let mut least = whole;
        for fraction in SURER {
            let [rate, surer] = surest(part * fraction)?;
            // The rows of the smaller part are among those of the whole one.
            let error = (rate * (1.0 - rate) / (surer + 1.0) * (1.0 - surer / rows.max(1.0))).sqrt();
            if rate < whole - LOWER * error {
                least = least.min(rate);
            }
        }
        Ok(least)
    }
}

/// How often a label drawn at random is the right guess of another: the squared shares of the labels.
fn chance(given: &[Label], classes: usize) -> f64 {
    let mut shares = vec![0.0; classes];
    given.iter().for_each(|&label| shares[label as usize] += 1.0 / given.len() as f64);
    shares.iter().map(|share| share * share).sum()
}

/// Count, sum and sum of squares.
#[derive(Clone, Copy, Default)]
struct Spread {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Spread {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    fn variance(&self) -> f64 {
        (self.squares / self.count - self.mean() * self.mean()).max(0.0)
    }
}
