//! The samples of a batch, class by class.

use crate::dataset::Label;

/// Positions grouped by class (a counting sort), and which of them were kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    /// Where each class begins in `positions`; one more at the end.
    starts: Vec<usize>,
    positions: Vec<u32>,
    kept: Vec<bool>,
}

impl Parts {
    /// Groups new labels; nothing is kept yet.
    pub(super) fn start(&mut self, labels: &[Label], classes: usize) {
        self.starts.clear();
        self.starts.resize(classes + 1, 0);
        labels.iter().for_each(|&label| self.starts[label as usize] += 1);
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        // Filled from the back, so that positions stay ascending inside a class.
        self.positions.clear();
        self.positions.resize(labels.len(), 0);
        for (position, &label) in labels.iter().enumerate().rev() {
            self.starts[label as usize] -= 1;
            self.positions[self.starts[label as usize]] = position as u32;
        }
        self.kept.clear();
        self.kept.resize(labels.len(), false);
    }

    /// The positions of a class, ascending.
    pub(super) fn members(&self, class: Label) -> &[u32] {
        &self.positions[self.starts[class as usize]..self.starts[class as usize + 1]]
    }

    /// Marks members of a class as kept, by their place in it.
    pub(super) fn keep(&mut self, class: Label, places: &[u32]) {
        let start = self.starts[class as usize];
        places.iter().for_each(|&place| self.kept[self.positions[start + place as usize] as usize] = true);
    }

    /// All kept positions, ascending.
    pub(super) fn kept(&self) -> impl Iterator<Item = u32> {
        self.kept.iter().enumerate().filter(|(_, kept)| **kept).map(|(position, _)| position as u32)
    }
}
