//! Columns of numbers, in all the ways writers store them.

use super::*;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{DoubleType, FloatType, Int64Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

const ROWS: usize = 5000;

fn number(row: usize, column: usize) -> f64 {
    // Few different numbers at first, as a dictionary holds them, then many.
    let row = if row < 2000 { row % 7 } else { row };
    f64::from((row * 31 + column * 17) as u32 % 1009) / 1024.0
}

fn missing(row: usize) -> bool {
    row % 5 == 3 || (1000..1600).contains(&row)
}

/// A required column, one of which no number is missing, one of which some are, a wide one, and whole numbers.
fn written(properties: WriterProperties) -> Vec<u8> {
    let schema =
        "message rows { required float a; optional float b; optional float c; optional double d; optional int64 e; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    for group in 0..2 {
        let mut rows = writer.next_row_group().unwrap();
        for column in 0..5 {
            let mut cells = rows.next_column().unwrap().unwrap();
            let lacks = |row: &usize| column >= 2 && missing(*row);
            let levels: Vec<i16> = (0..ROWS).map(|row| i16::from(!lacks(&row))).collect();
            let levels = (column > 0).then_some(&levels[..]);
            let numbers: Vec<f64> =
                (0..ROWS).filter(|row| !lacks(row)).map(|row| number(row + group, column)).collect();
            match column {
                0..3 => {
                    let numbers: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
                    cells.typed::<FloatType>().write_batch(&numbers, levels, None)
                }
                3 => cells.typed::<DoubleType>().write_batch(&numbers, levels, None),
                _ => {
                    let whole: Vec<i64> = numbers.iter().map(|&number| (1024.0 * number) as i64).collect();
                    cells.typed::<Int64Type>().write_batch(&whole, levels, None)
                }
            }
            .unwrap();
            cells.close().unwrap();
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn properties() -> Vec<WriterProperties> {
    let plain = || {
        let builder = WriterProperties::builder().set_data_page_row_count_limit(700).set_write_batch_size(100);
        builder.set_dictionary_page_size_limit(1000)
    };
    vec![
        plain().build(),
        plain().set_compression(Compression::SNAPPY).build(),
        plain().set_compression(Compression::SNAPPY).set_dictionary_enabled(false).build(),
        // These are left to Parquet's own reader.
        plain().set_compression(Compression::LZ4_RAW).build(),
        plain().set_writer_version(WriterVersion::PARQUET_2_0).build(),
        plain().set_dictionary_enabled(false).set_encoding(Encoding::BYTE_STREAM_SPLIT).build(),
    ]
}

/// The rows of a group, some at a time, of which `skip` are left out each time.
fn through(file: &ParquetFile<Bytes>, group: usize, step: usize, skip: usize) -> Result<Vec<(usize, Vec<f64>)>> {
    let leaves = &file.leaves()[..4];
    let mut cursor = GroupCursor::new(file, group, leaves)?;
    let mut found = Vec::new();
    while cursor.row() + skip + step <= ROWS {
        cursor.skip_to(file, leaves, cursor.row() + skip)?;
        let (first, mut out) = (cursor.row(), vec![0.0; 4 * step]);
        cursor.read(file, leaves, &mut out)?;
        found.extend(out.chunks_exact(4).enumerate().map(|(at, row)| (first + at, row.to_vec())));
    }
    Ok(found)
}

#[test]
fn every_number_is_the_one_that_was_written_however_it_is_stored_and_reached() {
    for (kind, properties) in properties().into_iter().enumerate() {
        let file = ParquetFile::new("rows.parquet", Bytes::from(written(properties))).unwrap();
        let own = GroupCursor::new(&file, 0, &file.leaves()[..4]).unwrap();
        assert_eq!(own.columns.iter().any(|column| matches!(column, Numbers::Other(_))), kind >= 3, "{kind}");
        for (step, skip) in [(ROWS, 0), (1, 0), (600, 0), (1, 77), (300, 701), (1, 2999)] {
            for group in 0..2 {
                let rows = through(&file, group, step, skip).unwrap();
                assert!(rows.len() >= step);
                for (row, numbers) in rows {
                    for (column, &got) in numbers.iter().enumerate() {
                        let wanted = number(row + group, column);
                        let lacks = column >= 2 && missing(row);
                        assert!(if lacks { got.is_nan() } else { got == wanted }, "{kind} {step} {skip} {row}");
                    }
                }
            }
        }
        let (mut all, leaf) = (Vec::new(), &file.leaves()[4]);
        file.each_text(1, leaf, &mut |row, text| {
            let wanted = (1024.0 * number(row + 1, 4)).to_string();
            assert_eq!(text, (!missing(row)).then_some(wanted.as_str()));
            all.push(text.map(str::to_owned));
            Ok(())
        })
        .unwrap();
        let wanted = [0, 3, 4, 1999, 2000, 4999];
        let mut some = Vec::new();
        let mut push = |row: usize, text: Option<&str>| {
            some.push((row, text.map(str::to_owned)));
            Ok(())
        };
        file.texts_at(1, leaf, &wanted, &mut push).unwrap();
        assert_eq!(some, wanted.map(|row| (row, all[row].clone())));
    }
}

/// Damaged bytes are an error or other numbers, never a panic or endless memory.
#[test]
fn damaged_pages_are_errors_or_other_numbers() {
    let mut draws = tares_core::stream(1, "damage");
    for properties in properties().into_iter().take(3) {
        let whole = written(properties);
        let mut refused = 0;
        for _ in 0..300 {
            let mut bytes = whole.clone();
            let places = 1 + draws.below(4);
            (0..places).for_each(|_| {
                let at = draws.below(bytes.len() - 1000);
                bytes[at] = draws.below(256) as u8;
            });
            let file = ParquetFile::new("rows.parquet", Bytes::from(bytes));
            refused += usize::from(file.and_then(|file| through(&file, 0, 600, 50)).is_err());
        }
        assert!(refused > 0);
    }
}
