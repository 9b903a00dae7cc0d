//! One column of one row group as texts: labels and names of rows, of text or whole numbers.

use super::ParquetFile;
use super::leaf::Leaf;
use super::number_pages::{NumberPages, Plain};
use crate::error::{DataError, Place, Result};
use parquet::basic::Type;
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::file::reader::ChunkReader;
use std::cell::Cell;
use tares_core::Label;
use tares_core::estimate::NO_LABEL;

/// Numbers read at a time.
const BATCH: usize = 1 << 10;

/// What is done with the row in the group and its text, if there is one.
type ForText<'a> = dyn FnMut(usize, Option<&str>) -> Result<()> + 'a;

impl<R: ChunkReader + 'static> ParquetFile<R> {
    /// Calls `cell` with every row of a column of text or whole numbers in a group.
    ///
    /// # Errors
    /// Damaged pages; another kind of column; text that is not UTF-8, with its row in the group; what `cell` returns.
    pub(crate) fn each_text(&self, group: usize, leaf: &Leaf, cell: &mut ForText<'_>) -> Result<()> {
        let (mut row, mut text) = (0, String::new());
        if leaf.is_whole() {
            return self.each_whole(group, leaf, &mut |value| {
                text.clear();
                if let Some(value) = value {
                    push_whole(&mut text, leaf.whole(value));
                }
                row += 1;
                cell(row - 1, value.is_some().then_some(text.as_str()))
            });
        }
        match &mut self.column(group, leaf)? {
            ColumnReader::ByteArrayColumnReader(reader) if leaf.text => {
                self.each(group, leaf, reader, &mut |value: Option<&ByteArray>| {
                    row += 1;
                    match value.map(|value| std::str::from_utf8(value.data())) {
                        None => cell(row - 1, None),
                        Some(Ok(text)) => cell(row - 1, Some(text)),
                        Some(Err(cause)) => {
                            let problem = format!("column \"{}\" holds bytes that are not text", leaf.name);
                            let place = Place::Row((self.first_row(group) + row - 1) as u64);
                            Err(DataError::decode(self.path(), place, problem, cause))
                        }
                    }
                })
            }
            _ => Err(self.bad(leaf, "must hold text or whole numbers".into())),
        }
    }

    /// The same for some rows of the group alone, ascending.
    ///
    /// # Errors
    /// As [`each_text`](Self::each_text).
    pub(crate) fn texts_at(&self, group: usize, leaf: &Leaf, rows: &[usize], cell: &mut ForText<'_>) -> Result<()> {
        if leaf.is_whole()
            && leaf.kind == Type::INT64
            && let Some(mut pages) = NumberPages::<i64>::open(self, group, leaf)?
        {
            let (mut next, mut text) = (0, String::new());
            for &row in rows {
                let mut value = [None];
                pages.skip(self, leaf, row - next)?;
                pages.read(self, leaf, &mut value, 1, |value| value)?;
                next = row + 1;
                text.clear();
                value.iter().flatten().for_each(|&value| push_whole(&mut text, leaf.whole(value)));
                cell(row, value[0].map(|_| text.as_str()))?;
            }
            return Ok(());
        }
        let mut wanted = rows.iter().copied().peekable();
        self.each_text(group, leaf, &mut |row, text| match wanted.next_if_eq(&row) {
            Some(row) => cell(row, text),
            None => Ok(()),
        })
    }

    /// The whole numbers of a column in a group as labels; [`NO_LABEL`] where there is none. `None` if one of them cannot be a label.
    ///
    /// # Errors
    /// Damaged pages; another kind of column.
    pub(crate) fn whole_labels(&self, group: usize, leaf: &Leaf) -> Result<Option<Vec<Label>>> {
        let fit = Cell::new(true);
        let label = |value: Option<i64>| {
            let Some(value) = value else { return NO_LABEL };
            let label = Label::try_from(leaf.whole(value)).unwrap_or(NO_LABEL);
            fit.set(fit.get() & (label != NO_LABEL));
            label
        };
        let known = match leaf.kind {
            Type::INT32 => NumberPages::<i32>::open(self, group, leaf)?
                .map(|pages| self.numbers_as_labels(group, leaf, pages, |value| label(value.map(i64::from)))),
            _ => NumberPages::<i64>::open(self, group, leaf)?
                .map(|pages| self.numbers_as_labels(group, leaf, pages, label)),
        };
        let labels = match known {
            Some(labels) => labels?,
            None => {
                let mut labels = Vec::new();
                self.each_whole(group, leaf, &mut |value| {
                    labels.push(label(value));
                    Ok(())
                })?;
                labels
            }
        };
        Ok(fit.get().then_some(labels))
    }

    /// All numbers of a column in a group, each as the label that `put` makes of it.
    fn numbers_as_labels<T: Plain>(
        &self,
        group: usize,
        leaf: &Leaf,
        mut pages: NumberPages<T>,
        put: impl Fn(Option<T>) -> Label,
    ) -> Result<Vec<Label>> {
        let rows = self.group_rows(group);
        // Room on the file's word, but not for more than a large group has.
        let mut all = Vec::with_capacity(rows.min(1 << 22));
        for first in (0..rows).step_by(1 << 16) {
            all.resize((first + (1 << 16)).min(rows), NO_LABEL);
            pages.read(self, leaf, &mut all[first..], 1, &put)?;
        }
        Ok(all)
    }

    /// Calls `each` with the stored whole numbers of a column in a group, `None` where there is none.
    fn each_whole(&self, group: usize, leaf: &Leaf, each: &mut dyn FnMut(Option<i64>) -> Result<()>) -> Result<()> {
        match leaf.kind {
            Type::INT32 => {
                if let Some(mut pages) = NumberPages::<i32>::open(self, group, leaf)? {
                    return self.each_number(group, leaf, &mut pages, i64::from, each);
                }
            }
            _ => {
                if let Some(mut pages) = NumberPages::<i64>::open(self, group, leaf)? {
                    return self.each_number(group, leaf, &mut pages, |value| value, each);
                }
            }
        }
        match &mut self.column(group, leaf)? {
            ColumnReader::Int32ColumnReader(reader) if leaf.is_whole() => {
                self.each(group, leaf, reader, &mut |value| each(value.map(|&value| i64::from(value))))
            }
            ColumnReader::Int64ColumnReader(reader) if leaf.is_whole() => {
                self.each(group, leaf, reader, &mut |value| each(value.copied()))
            }
            _ => Err(self.bad(leaf, "must hold whole numbers".into())),
        }
    }

    fn each_number<T: Plain>(
        &self,
        group: usize,
        leaf: &Leaf,
        pages: &mut NumberPages<T>,
        whole: impl Fn(T) -> i64,
        each: &mut dyn FnMut(Option<i64>) -> Result<()>,
    ) -> Result<()> {
        let (rows, mut batch) = (self.group_rows(group), [None; BATCH]);
        for first in (0..rows).step_by(BATCH) {
            let batch = &mut batch[..BATCH.min(rows - first)];
            pages.read(self, leaf, batch, 1, |value| value.map(&whole))?;
            batch.iter().try_for_each(|&value| each(value))?;
        }
        Ok(())
    }

    /// The first row of a group.
    pub(crate) fn first_row(&self, group: usize) -> usize {
        (0..group).map(|group| self.group_rows(group)).fold(0, usize::saturating_add)
    }
}

/// Appends the digits of a number: in place of `write!`, which takes most of the time where every row has a number for a name.
fn push_whole(text: &mut String, value: i128) {
    let Ok(mut left) = u64::try_from(value.unsigned_abs()) else {
        return text.push_str(&value.to_string());
    };
    if value < 0 {
        text.push('-');
    }
    let (mut digits, mut at) = ([0; 20], 20);
    while at == 20 || left > 0 {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    text.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_written_as_usual() {
        for value in [0, 7, -7, 10, 1234567890, i128::from(i64::MIN), i128::from(u64::MAX), i128::MAX] {
            let mut text = String::from("#");
            push_whole(&mut text, value);
            assert_eq!(text, format!("#{value}"));
        }
    }
}
