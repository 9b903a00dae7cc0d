//! A table of several row groups, on any number of threads.

use super::*;
use crate::table::rules::TableRules;
use bytes::Bytes;
use parquet::basic::Compression;
use parquet::data_type::{DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

const GROUPS: usize = 3;
const ROWS: usize = 5000;

/// Column 0 has many different numbers, 1 few, so that a dictionary holds them; of 2 and 3 some are missing.
fn number(row: usize, column: usize) -> Option<f64> {
    let number = match column {
        0 | 2 => (row * 7919 % 10_007) as f64 / 1024.0 - 3.0,
        _ => (row % 11) as f64 * 0.3,
    };
    (column < 2 || !(row.is_multiple_of(7) || (6000..6400).contains(&row))).then_some(number)
}

fn label(row: usize) -> i64 {
    (row * row % 5) as i64
}

/// A file of numbers and labels, of which a number may be another.
fn file(odd: Option<(usize, usize, f64)>) -> ParquetFile<Bytes> {
    let schema = "message rows { required double a; optional double b; optional double c; optional double d; \
                  optional int64 label; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties =
        WriterProperties::builder().set_compression(Compression::SNAPPY).set_data_page_row_count_limit(900);
    let properties = properties.set_write_batch_size(100).set_dictionary_page_size_limit(4000).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    for group in 0..GROUPS {
        let rows = group * ROWS..(group + 1) * ROWS;
        let mut cells = writer.next_row_group().unwrap();
        for column in 0..4 {
            let cell = |row: usize| match odd {
                Some((odd_row, odd_column, odd)) if (row, column) == (odd_row, odd_column) => Some(odd),
                _ => number(row, column),
            };
            let numbers: Vec<f64> = rows.clone().filter_map(cell).collect();
            let levels: Vec<i16> = rows.clone().map(|row| i16::from(cell(row).is_some())).collect();
            let mut out = cells.next_column().unwrap().unwrap();
            out.typed::<DoubleType>().write_batch(&numbers, (column > 0).then_some(&levels[..]), None).unwrap();
            out.close().unwrap();
        }
        let labels: Vec<i64> = rows.clone().map(label).collect();
        let mut out = cells.next_column().unwrap().unwrap();
        out.typed::<Int64Type>().write_batch(&labels, Some(&vec![1; ROWS]), None).unwrap();
        out.close().unwrap();
        cells.close().unwrap();
    }
    writer.close().unwrap();
    ParquetFile::new("t.parquet", Bytes::from(bytes)).unwrap()
}

fn on_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

#[test]
fn a_table_and_its_features_have_the_same_bits_on_any_number_of_threads() {
    let file = file(None);
    let rows: Vec<usize> = (0..GROUPS * ROWS).filter(|row| row % 9 != 4).collect();
    let read = || {
        let mut table = file.table_with(&file.leaves(), &["label"]).unwrap();
        let (codes, levels) = table.take_text("label").unwrap();
        let rules = |rows: &[usize]| {
            let columns = TableRules::fit(&table, rows, &[], true).unwrap();
            TableRules { label: None, id: None, header: true, delimiter: None, columns }
        };
        let all: Vec<usize> = (0..table.rows).collect();
        let features = [rules(&rows), rules(&all)].map(|rules| {
            let features = rules.features(&table).unwrap();
            (features.into_iter().map(f32::to_bits).collect::<Vec<_>>(), rules)
        });
        (table, codes, levels, features)
    };
    let (table, codes, levels, features) = on_threads(1, read);
    for (row, &code) in codes.iter().enumerate() {
        assert_eq!(levels[code as usize], label(row).to_string());
    }
    for (column, cells) in table.columns.iter().enumerate() {
        let Values::Numbers(numbers) = &cells.values else { panic!("{} holds text", cells.name) };
        for (row, value) in numbers.iter().enumerate() {
            assert_eq!(Some(*value).filter(|value| !value.is_nan()), number(row, column), "row {row} of {column}");
        }
    }
    for threads in [2, 3] {
        let (other, other_codes, other_levels, other_features) = on_threads(threads, read);
        for (one, other) in table.columns.iter().zip(&other.columns) {
            let bits = |column: &Column| match &column.values {
                Values::Numbers(numbers) => numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>(),
                Values::Text { .. } => Vec::new(),
            };
            assert_eq!(bits(one), bits(other));
        }
        assert_eq!((&codes, &levels), (&other_codes, &other_levels));
        assert!(features == other_features, "features on {threads} threads");
    }
}

#[test]
fn an_infinite_number_is_refused_with_its_column_and_its_row_in_the_file() {
    for (row, column, name) in [(2 * ROWS + 17, 0, "a"), (2 * ROWS + 17, 2, "c"), (ROWS + 4999, 3, "d")] {
        for threads in [1, 2] {
            let file = file(Some((row, column, f64::NEG_INFINITY)));
            let error = on_threads(threads, || file.table(&file.leaves()).unwrap_err().to_string());
            let expected = format!("t.parquet: row {row}: column \"{name}\" must hold finite numbers, got -inf");
            assert_eq!(error, expected);
        }
    }
}
