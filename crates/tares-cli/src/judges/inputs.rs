//! Turns the features of a data set back into columns, which is what linear models and trees read.
//!
//! A data set holds what networks read: one 0/1 feature per level of a text column; for a missing number the mean, and a second
//! feature that marks it. The rules of the table say which features belong to one column, so text becomes one column of
//! categories again, and missing values are missing again. Numbers stay standardised: trees only compare them, and the linear
//! judge scales its columns itself.

use crate::ui::failure::Outcome;
use tares_core::{Dataset, Row};
use tares_data::{Reading, Rule};
use tares_judges::matrix::MISSING;
use tares_judges::{InputColumn, Matrix, TextCounts, TextOptions, one_column};

/// The columns of all rows, as they were before they became features, and texts as counts of n-grams. Each pixel of a picture
/// and each of a network's features is a column of numbers.
///
/// # Errors
/// There is no column, or a number is not finite.
pub fn columns(data: &Dataset, reading: &Reading) -> Outcome<Matrix> {
    matrix(data, reading, TextOptions::for_size(bytes(data)))
}

/// The same for rows that a finished model predicts; the model picks the columns it needs.
///
/// # Errors
/// As [`columns`].
pub fn new_columns(data: &Dataset, reading: &Reading) -> Outcome<Matrix> {
    matrix(data, reading, TextOptions::default())
}

fn matrix(data: &Dataset, reading: &Reading, options: TextOptions) -> Outcome<Matrix> {
    let texts = if reading.features.is_some() { Vec::new() } else { texts(data, options)? };
    Ok(Matrix::mixed(dense_columns(data, reading), texts)?)
}

/// The columns without the texts.
fn dense_columns(data: &Dataset, reading: &Reading) -> Vec<InputColumn> {
    let column = |feature: usize| -> Vec<f32> { (0..data.len()).map(|row| value(data.row(row), feature)).collect() };
    let Some(rules) = reading.table.as_ref().filter(|_| reading.features.is_none()) else {
        return (0..data.shape().size()).map(|feature| InputColumn::Numbers(column(feature))).collect();
    };
    let mut columns = Vec::with_capacity(rules.columns.len());
    let mut start = 0;
    for rule in rules.columns.iter().map(|column| &column.rule).filter(|rule| rule.width() > 0) {
        columns.push(match rule {
            Rule::Number { missing, .. } => {
                let mut numbers = column(start);
                if *missing {
                    let marks = column(start + 1);
                    numbers.iter_mut().zip(marks).filter(|(_, mark)| *mark == 1.0).for_each(|(x, _)| *x = f32::NAN);
                }
                InputColumn::Numbers(numbers)
            }
            Rule::Text { levels, other, missing } => {
                let known = levels.len() + usize::from(*other);
                let code = |row: usize| {
                    let hot = (0..rule.width()).find(|&level| value(data.row(row), start + level) == 1.0);
                    match hot {
                        Some(level) if level < known => level as u32,
                        Some(_) => MISSING,
                        // A level that training did not have counts as missing, or as one more category if training
                        // had no missing values.
                        None if *missing => MISSING,
                        None => known as u32,
                    }
                };
                InputColumn::Categories { codes: (0..data.len()).map(code).collect(), levels: known as u32 + 1 }
            }
            Rule::Words | Rule::Ignored => continue,
        });
        start += rule.width();
    }
    columns
}

/// The column of a table that alone tells nearly all labels, if there is one: its name, and the part of labels that it tells.
pub fn telling_column(data: &Dataset, reading: &Reading) -> Option<(String, f64)> {
    let rules = reading.table.as_ref().filter(|_| reading.features.is_none())?;
    let found = one_column::telling(&dense_columns(data, reading), data.given(), data.classes())?;
    let column = rules.columns.iter().filter(|column| column.rule.width() > 0).nth(found.column)?;
    Some((column.name.clone(), found.agreement))
}

/// The texts of all rows. The words of all columns are counted together, because a word mostly means the same in all of them,
/// and also per column, because it need not.
fn texts(data: &Dataset, options: TextOptions) -> tares_judges::Result<Vec<TextCounts>> {
    let columns = data.texts();
    let joined = |row: usize| columns.iter().map(|column| &*column.texts[row]).collect::<Vec<_>>().join("\n");
    let own_words = TextOptions { characters: (0, 0), ..options };
    match columns {
        [] => Ok(Vec::new()),
        [only] => Ok(vec![TextCounts::of(&only.texts, options)?]),
        several => {
            let all: Vec<String> = (0..data.len()).map(joined).collect();
            let own = several.iter().map(|column| TextCounts::of(&column.texts, own_words));
            std::iter::once(TextCounts::of(&all, options)).chain(own).collect()
        }
    }
}

/// Bytes of all texts together.
fn bytes(data: &Dataset) -> usize {
    data.texts().iter().flat_map(|column| &column.texts).map(|text| text.len()).sum()
}

/// A sentence if the texts are so long together that only a part of them is read.
pub fn text_note(data: &Dataset) -> Option<String> {
    let part = TextOptions::for_size(bytes(data)) != TextOptions::default();
    part.then(|| {
        format!(
            "the texts have {} MB: they are read by their words alone, not by runs of characters",
            bytes(data) / 1_000_000
        )
    })
}

fn value(row: Row<'_>, feature: usize) -> f32 {
    match row {
        Row::Bytes(bytes) => f32::from(bytes[feature]),
        Row::Floats(values) => values[feature],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tares_data::{LoadOptions, load, load_with};

    #[test]
    fn categories_and_missing_values_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, "age,town,label\n1,Rome,a\n,Oslo,b\n3,,a\n5,Rome,b\n").unwrap();
        let options = LoadOptions::default().with(|options| options.test_fraction = 0.0);
        let loaded = load(path.to_str().unwrap(), &options, &mut |_| {}).unwrap();
        let matrix = columns(&loaded.train, &loaded.reading).unwrap();
        let [InputColumn::Numbers(age), InputColumn::Categories { codes, levels }] = matrix.columns() else {
            panic!("{matrix:?}")
        };
        assert!(age[1].is_nan() && age[0] < age[2] && age[2] < age[3], "{age:?}");
        assert_eq!((codes.as_slice(), *levels), (&[1, 0, MISSING, 1][..], 3));

        // New rows have the same columns; a town that training did not have is like a missing one.
        let new = folder.path().join("new.csv");
        fs::write(&new, "town,age\nParis,3\n,1\nRome,\n").unwrap();
        let rows = load_with(new.to_str().unwrap(), &loaded.reading, &LoadOptions::default(), &mut |_| {}).unwrap();
        let matrix = columns(&rows.data, &loaded.reading).unwrap();
        let [InputColumn::Numbers(age), InputColumn::Categories { codes, .. }] = matrix.columns() else {
            panic!("{matrix:?}")
        };
        assert_eq!(codes, &[MISSING, MISSING, 1]);
        assert!(age[2].is_nan() && !age[0].is_nan());
    }
}
