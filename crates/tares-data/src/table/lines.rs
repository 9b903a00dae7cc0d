//! [`Lines`]: where each row begins in a text file, for messages.

/// The line of a text file on which each row begins. Only the rows are kept that don't begin on the line after the row before
/// them: quoted line ends and blank lines are rare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    jumps: Vec<(usize, u64)>,
    rows: usize,
    expected: u64,
}

impl Lines {
    /// Adds the next row.
    pub(crate) fn push(&mut self, line: u64) {
        if line != self.expected {
            self.jumps.push((self.rows, line));
        }
        (self.rows, self.expected) = (self.rows + 1, line + 1);
    }

    /// Adds the rows of a piece of text, which begins behind `passed` lines and counts its own from 1.
    pub(crate) fn append(&mut self, piece: &Self, passed: u64) {
        if piece.rows == 0 {
            return;
        }
        for &(row, line) in &piece.jumps {
            if row > 0 || line + passed != self.expected {
                self.jumps.push((self.rows + row, line + passed));
            }
        }
        (self.rows, self.expected) = (self.rows + piece.rows, piece.expected + passed);
    }

    /// The line on which a row begins, counted from 1.
    pub fn of(&self, row: usize) -> u64 {
        match self.jumps[..self.jumps.partition_point(|(start, _)| *start <= row)].last() {
            Some((start, line)) => line + (row - start) as u64,
            None => row as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_exact_after_quoted_line_ends_and_blank_lines() {
        let mut lines = Lines::default();
        let expected = [2, 3, 7, 8, 10, 11];
        expected.iter().for_each(|&line| lines.push(line));
        assert_eq!((0..6).map(|row| lines.of(row)).collect::<Vec<_>>(), expected);
        assert_eq!(lines.jumps.len(), 3);
        for cut in 0..=6 {
            let mut pieces = Lines::default();
            for (piece, passed) in
                [(&expected[..cut], 0), (&expected[cut..], expected[..cut].last().map_or(0, |last| *last))]
            {
                let mut own = Lines::default();
                piece.iter().for_each(|line| own.push(line - passed));
                pieces.append(&own, passed);
            }
            assert_eq!(pieces, lines);
        }
    }
}
