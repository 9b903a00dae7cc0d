//! [`NamedRows`]: the names of some rows, in as little memory as millions of them need.

/// Names of rows, in the order of the rows.
#[derive(Clone, Debug, Default)]
pub struct NamedRows {
    pub(super) blocks: Vec<NamedBlock>,
}

/// Rows that lie so near to each other, and have so little text, that 32 bits count them.
#[derive(Clone, Debug)]
pub(super) struct NamedBlock {
    first: usize,
    /// Counted from the first.
    rows: Vec<u32>,
    /// Where each name ends in the text.
    ends: Vec<u32>,
    text: String,
}

/// A block has no more text than this.
const MOST_TEXT: usize = 1 << 24;

impl NamedRows {
    /// Adds a row after all that are there.
    pub(super) fn push(&mut self, row: usize, name: &str) {
        let fits = |block: &NamedBlock| block.text.len() < MOST_TEXT && row - block.first <= u32::MAX as usize;
        if !self.blocks.last().is_some_and(fits) {
            self.blocks.push(NamedBlock { first: row, rows: Vec::new(), ends: Vec::new(), text: String::new() });
        }
        if let Some(block) = self.blocks.last_mut() {
            block.text.push_str(name);
            block.rows.push((row - block.first) as u32);
            block.ends.push(block.text.len() as u32);
        }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.rows.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The name of a row, if it is here.
    pub fn name(&self, row: usize) -> Option<&str> {
        let block = self.blocks.get(self.blocks.partition_point(|block| block.first <= row).checked_sub(1)?)?;
        let at = place(&block.rows, u32::try_from(row - block.first).ok()?)?;
        let start = at.checked_sub(1).map_or(0, |before| block.ends[before] as usize);
        block.text.get(start..block.ends[at] as usize)
    }
}

/// Where a number stands in an ascending list. Rows are spread evenly more or less, so the search begins near the place: a list of
/// suspects asks for millions of rows in no order, and every step elsewhere waits for memory.
fn place(rows: &[u32], wanted: u32) -> Option<usize> {
    let last = *rows.last()?;
    if wanted > last {
        return None;
    }
    let guess = (u64::from(wanted) * (rows.len() - 1) as u64 / u64::from(last).max(1)) as usize;
    let (mut low, mut high, mut step) = (guess, guess + 1, 16);
    while low > 0 && rows[low] > wanted {
        (low, step) = (low.saturating_sub(step), 2 * step);
    }
    while high < rows.len() && rows[high - 1] < wanted {
        (high, step) = ((high + step).min(rows.len()), 2 * step);
    }
    rows[low..high].binary_search(&wanted).ok().map(|at| low + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_in_even_and_uneven_lists() {
        let squares: Vec<u32> = (0..2000).map(|at| at * at).collect();
        let even: Vec<u32> = (0..2000).map(|at| 20 * at + at % 7).collect();
        for list in [&squares[..], &even, &[0], &[5], &[0, u32::MAX], &[]] {
            for wanted in (0..50_000).chain([3_996_001, 3_996_002, u32::MAX]) {
                assert_eq!(place(list, wanted), list.binary_search(&wanted).ok(), "{wanted}");
            }
        }
    }

    #[test]
    fn every_row_has_its_own_name_and_no_other() {
        let mut named = NamedRows::default();
        let rows = [3usize, 4, 9, 5_000_000_000, 5_000_000_007];
        rows.iter().for_each(|row| named.push(*row, &format!("row {row}")));
        named.push(6_000_000_000, "");
        for row in rows {
            assert_eq!(named.name(row), Some(format!("row {row}").as_str()));
        }
        assert_eq!((named.name(6_000_000_000), named.len()), (Some(""), 6));
        assert!([0, 2, 5, 10, 5_000_000_001, usize::MAX].iter().all(|&row| named.name(row).is_none()));
        assert!(NamedRows::default().is_empty() && NamedRows::default().name(0).is_none());
    }
}
