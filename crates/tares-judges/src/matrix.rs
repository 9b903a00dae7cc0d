//! The inputs all judges share: N rows of dense columns (numbers or categories, both with missing values) and columns of
//! text, as counts of their n-grams.

use crate::error::{Result, same_length, value};
use crate::text::counts::TextCounts;

/// The code of a category that is not known.
pub const MISSING: u32 = u32::MAX;

/// One dense column, N values.
#[derive(Clone, Debug, PartialEq)]
pub enum InputColumn {
    /// Numbers; NaN where there is none.
    Numbers(Vec<f32>),
    /// Categories as codes 0..`levels`; [`MISSING`] where there is none. New rows may have codes that no training row had.
    Categories {
        /// A code per row.
        codes: Vec<u32>,
        /// How many codes there are.
        levels: u32,
    },
}

impl InputColumn {
    fn rows(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Categories { codes, .. } => codes.len(),
        }
    }

    fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Numbers(numbers) => Self::Numbers(rows.iter().map(|&row| numbers[row]).collect()),
            Self::Categories { codes, levels } => {
                Self::Categories { codes: rows.iter().map(|&row| codes[row]).collect(), levels: *levels }
            }
        }
    }

    fn check(&self, place: usize) -> Result<()> {
        let bad = match self {
            Self::Numbers(numbers) => numbers
                .iter()
                .position(|number| number.is_infinite())
                .map(|row| (row, "finite, or NaN where it is missing".to_owned(), numbers[row].to_string())),
            Self::Categories { codes, levels } => codes
                .iter()
                .position(|&code| code >= *levels && code != MISSING)
                .map(|row| (row, format!("in 0..{levels}"), codes[row].to_string())),
        };
        match bad {
            Some((row, allowed, got)) => {
                let what = if matches!(self, Self::Numbers(_)) { "number" } else { "category" };
                Err(tares_core::Error::value(what, allowed, got).at(format!("row {row}, column {place}")).into())
            }
            None => Ok(()),
        }
    }
}

/// Rows of which most entries are 0: (column, value) pairs, columns ascending within a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseRows {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
    width: usize,
}

impl SparseRows {
    pub(crate) fn empty(width: usize) -> Self {
        Self { starts: vec![0], width, ..Self::default() }
    }

    pub(crate) fn push(&mut self, row: &[(u32, f32)]) {
        self.columns.extend(row.iter().map(|entry| entry.0));
        self.values.extend(row.iter().map(|entry| entry.1));
        self.starts.push(self.columns.len());
    }

    /// N.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The entries that are not 0, in all rows.
    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Columns and values of one row.
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        let mut chosen = Self::empty(self.width);
        for &row in rows {
            let (columns, values) = self.row(row);
            chosen.columns.extend(columns);
            chosen.values.extend(values);
            chosen.starts.push(chosen.columns.len());
        }
        chosen
    }
}

/// The inputs of N rows. Checked when made, then immutable.
///
/// ```
/// use tares_judges::{InputColumn, Matrix, matrix::MISSING};
/// let age = InputColumn::Numbers(vec![31.0, f32::NAN, 57.0]);
/// let town = InputColumn::Categories { codes: vec![0, 1, MISSING], levels: 2 };
/// let matrix = Matrix::new(vec![age, town])?;
/// assert_eq!((matrix.rows(), matrix.columns().len()), (3, 2));
/// # Ok::<(), tares_judges::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: Vec<InputColumn>,
    texts: Vec<TextCounts>,
}

impl Matrix {
    /// Dense columns.
    ///
    /// # Errors
    /// No column; columns that are not equally long; infinite numbers; codes outside 0..levels.
    pub fn new(columns: Vec<InputColumn>) -> Result<Self> {
        Self::mixed(columns, Vec::new())
    }

    /// Dense columns and columns of text side by side; either may be absent.
    ///
    /// # Errors
    /// As [`new`](Self::new); texts of another number of rows.
    pub fn mixed(columns: Vec<InputColumn>, texts: Vec<TextCounts>) -> Result<Self> {
        let rows = match (columns.first(), texts.first()) {
            (Some(first), _) => first.rows(),
            (None, Some(first)) => first.rows(),
            (None, None) => return Err(tares_core::Error::empty("list of columns").into()),
        };
        for (place, column) in columns.iter().enumerate() {
            same_length(&format!("column {place}"), rows, column.rows())?;
            column.check(place)?;
        }
        for text in &texts {
            same_length("column of texts", rows, text.rows())?;
        }
        Ok(Self { rows, columns, texts })
    }

    /// Numbers row after row, `width` in each.
    ///
    /// # Errors
    /// As [`new`](Self::new); a last row that is not whole.
    pub fn from_rows(values: &[f32], width: usize) -> Result<Self> {
        if width == 0 || !values.len().is_multiple_of(width) {
            return Err(value("number of values", format!("a multiple of the {width} columns"), values.len()));
        }
        let column = |place| InputColumn::Numbers(values.iter().skip(place).step_by(width).copied().collect());
        Self::new((0..width).map(column).collect())
    }

    /// N.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The dense columns.
    pub fn columns(&self) -> &[InputColumn] {
        &self.columns
    }

    /// The columns of text.
    pub fn texts(&self) -> &[TextCounts] {
        &self.texts
    }

    /// The named rows, in that order.
    ///
    /// # Panics
    /// If a row is not below [`rows`](Self::rows).
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            rows: rows.len(),
            columns: self.columns.iter().map(|column| column.select(rows)).collect(),
            texts: self.texts.iter().map(|text| text.select(rows)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::TextOptions;

    #[test]
    fn bad_cells_are_named_by_row_and_column() {
        let say = |columns| Matrix::new(columns).unwrap_err().to_string();
        let numbers = |values: &[f32]| InputColumn::Numbers(values.to_vec());
        assert_eq!(
            say(vec![numbers(&[0.0, 1.0]), numbers(&[0.0, f32::INFINITY])]),
            "number must be finite, or NaN where it is missing, got inf at row 1, column 1"
        );
        assert_eq!(
            say(vec![InputColumn::Categories { codes: vec![0, 3], levels: 3 }]),
            "category must be in 0..3, got 3 at row 1, column 0"
        );
        assert_eq!(say(vec![numbers(&[0.0]), numbers(&[])]), "column 1 must have 1 entries, got 0");
    }

    #[test]
    fn selected_rows_come_in_the_order_asked_for() {
        let text = TextCounts::of(&["one", "two", "three"], TextOptions::default()).unwrap();
        let matrix = Matrix::mixed(vec![InputColumn::Numbers(vec![0.0, 1.0, 2.0])], vec![text]).unwrap();
        let chosen = matrix.select(&[2, 0]);
        assert_eq!(chosen.columns(), [InputColumn::Numbers(vec![2.0, 0.0])]);
        assert_eq!(chosen.texts(), [TextCounts::of(&["three", "one"], TextOptions::default()).unwrap()]);
    }

    #[test]
    fn columns_of_different_lengths_are_refused() {
        let text = |texts: &[&str]| TextCounts::of(texts, TextOptions::default()).unwrap();
        let numbers = || vec![InputColumn::Numbers(vec![0.0, 1.0])];
        let error = Matrix::mixed(numbers(), vec![text(&["one"])]).unwrap_err().to_string();
        assert_eq!(error, "column of texts must have 2 entries, got 1");
        assert!(Matrix::mixed(Vec::new(), vec![text(&["one"]), text(&["one", "two"])]).is_err());
        assert!(Matrix::mixed(Vec::new(), Vec::new()).is_err());
    }
}
