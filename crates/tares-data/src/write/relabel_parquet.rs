//! Parquet with other values in the label column; the pages of all other columns are copied as they are.

use crate::error::{DataError, Place, Result};
use crate::format::parquet::{Leaf, ParquetFile, guarded, hugging_face_classes};
use crate::table::columns::label_position;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use std::sync::Arc;

/// The bytes of the file with new labels where `names` has one.
pub(crate) fn relabel<R: ChunkReader + 'static>(
    file: &ParquetFile<R>,
    label: Option<&str>,
    names: &[Option<&str>],
) -> Result<Vec<u8>> {
    let leaves: Vec<Leaf> = file.leaves().into_iter().filter(Leaf::is_cell).collect();
    let columns: Vec<&str> = leaves.iter().map(|leaf| leaf.name.as_str()).collect();
    let position = label_position(&columns, label, true).map_err(|source| DataError::content(file.path(), source))?;
    let leaf = &leaves[position];
    let classes = file.key_value("huggingface").and_then(|metadata| hugging_face_classes(&metadata, &leaf.name));
    // If the file's metadata names numbered classes, the column holds the numbers.
    let numbered: Vec<Option<String>> = names
        .iter()
        .map(|name| {
            let name = (*name)?;
            let number = classes.as_ref().and_then(|classes| classes.iter().position(|class| class == name));
            Some(number.map_or_else(|| name.to_owned(), |number| number.to_string()))
        })
        .collect();
    file.check_column(leaf)?;
    guarded(file.path(), || rewrite(file, leaf, &numbered)).map_err(|error| match error {
        DataError::Format { problem, cause, .. } => DataError::Format {
            path: file.path().to_owned(),
            place: Place::Part(format!("column \"{}\"", leaf.name)),
            problem,
            cause,
        },
        other => other,
    })
}

fn rewrite<R: ChunkReader + 'static>(
    file: &ParquetFile<R>,
    leaf: &Leaf,
    names: &[Option<String>],
) -> ParquetResult<Vec<u8>> {
    let reader = file.reader();
    let metadata = reader.metadata();
    let schema = metadata.file_metadata().schema_descr().root_schema_ptr();
    let codec = metadata.row_groups().first().map(|group| group.column(leaf.index).compression());
    let properties = WriterProperties::builder()
        .set_compression(codec.unwrap_or(parquet::basic::Compression::SNAPPY))
        .set_key_value_metadata(metadata.file_metadata().key_value_metadata().cloned())
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut start = 0;
    // A group without rows has no pages to copy.
    for (number, group) in metadata.row_groups().iter().enumerate().filter(|(_, group)| group.num_rows() > 0) {
        let rows = usize::try_from(group.num_rows())?;
        let mut out = writer.next_row_group()?;
        for (index, chunk) in group.columns().iter().enumerate() {
            if index != leaf.index {
                let close = ColumnCloseResult {
                    bytes_written: chunk.compressed_size() as u64,
                    rows_written: rows as u64,
                    metadata: chunk.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                out.append_column(file.bytes(), close)?;
                continue;
            }
            let end = (start + rows).min(names.len());
            let names = names.get(start..end).unwrap_or_default();
            let parsed =
                |name: &str| ParquetError::General(format!("class \"{name}\" is no value of the label column"));
            match reader.get_row_group(number)?.get_column_reader(index)? {
                ColumnReader::BoolColumnReader(values) => {
                    replace::<BoolType>(&mut out, leaf, values, rows, names, &|name| match name {
                        "0" | "false" => Ok(false),
                        "1" | "true" => Ok(true),
                        _ => Err(parsed(name)),
                    })?;
                }
                ColumnReader::Int32ColumnReader(values) => {
                    // Numbers without a sign are stored in the same bits.
                    replace::<Int32Type>(&mut out, leaf, values, rows, names, &|name| {
                        name.parse()
                            .or_else(|_| name.parse::<u32>().map(|value| value as i32))
                            .map_err(|_| parsed(name))
                    })?;
                }
                ColumnReader::Int64ColumnReader(values) => {
                    replace::<Int64Type>(&mut out, leaf, values, rows, names, &|name| {
                        name.parse()
                            .or_else(|_| name.parse::<u64>().map(|value| value as i64))
                            .map_err(|_| parsed(name))
                    })?;
                }
                ColumnReader::FloatColumnReader(values) => {
                    replace::<FloatType>(&mut out, leaf, values, rows, names, &|name| {
                        name.parse().map_err(|_| parsed(name))
                    })?;
                }
                ColumnReader::DoubleColumnReader(values) => {
                    replace::<DoubleType>(&mut out, leaf, values, rows, names, &|name| {
                        name.parse().map_err(|_| parsed(name))
                    })?;
                }
                ColumnReader::ByteArrayColumnReader(values) => {
                    replace::<ByteArrayType>(&mut out, leaf, values, rows, names, &|name| Ok(name.into()))?;
                }
                _ => return Err(ParquetError::General("the label column is neither numbers nor text".into())),
            }
        }
        out.close()?;
        start += rows;
    }
    writer.into_inner()
}

/// Writes one column again with new values.
fn replace<T: DataType>(
    out: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    leaf: &Leaf,
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    names: &[Option<String>],
    value: &dyn Fn(&str) -> ParquetResult<T::T>,
) -> ParquetResult<()> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let mut seen = 0;
    while seen < rows {
        let (records, ..) = reader.read_records((rows - seen).min(1 << 16), Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::General(format!("{seen} of {rows} rows are there")));
        }
        seen += records;
    }
    let mut present = 0;
    for row in 0..rows {
        if levels.get(row).is_none_or(|&level| level == leaf.defined()) {
            if let Some(Some(name)) = names.get(row) {
                values[present] = value(name)?;
            }
            present += 1;
        }
    }
    let mut column = out.next_column()?.ok_or_else(|| ParquetError::General("a column is missing".into()))?;
    let levels = (leaf.defined() > 0).then_some(levels.as_slice());
    column.typed::<T>().write_batch(&values, levels, None)?;
    column.close()
}
