//! [`OutTable`]: named columns → CSV, Parquet or NPY. What the program writes for people and other programs.

use crate::error::{DataError, Place, Result};
use crate::format::npy;
use crate::io::atomic;
use crate::write::cell;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use tares_core::Error;

/// Rows per Parquet row group.
const GROUP: usize = 1 << 20;

/// The cells of an output column.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Cells {
    U32(Vec<u32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Text(Vec<String>),
    Bool(Vec<bool>),
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::U32(cells) => cells.len(),
            Self::I64(cells) => cells.len(),
            Self::F32(cells) => cells.len(),
            Self::F64(cells) => cells.len(),
            Self::Text(cells) => cells.len(),
            Self::Bool(cells) => cells.len(),
        }
    }
}

macro_rules! cells_from {
    ($($variant:ident($kind:ty)),*) => {
        $(impl From<Vec<$kind>> for Cells {
            fn from(cells: Vec<$kind>) -> Self {
                Self::$variant(cells)
            }
        })*
    };
}

cells_from!(U32(u32), I64(i64), F32(f32), F64(f64), Text(String), Bool(bool));

/// The formats a table can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableFormat {
    /// Comma-separated text. Numbers are written so that they read back exactly; NaN is an empty cell.
    Csv,
    /// Parquet, Snappy-compressed.
    Parquet,
    /// One NumPy array: plain for a single column, with named fields for several.
    Npy,
}

impl TableFormat {
    /// The format that the end of a file's name says.
    ///
    /// # Errors
    /// Another ending.
    pub fn of(path: &Path) -> Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let end = name.rsplit_once('.').map_or("", |(_, end)| end);
        end.parse().map_err(|source| DataError::content(path, source))
    }
}

impl FromStr for TableFormat {
    type Err = Error;

    fn from_str(text: &str) -> tares_core::Result<Self> {
        match text {
            "csv" => Ok(Self::Csv),
            "parquet" => Ok(Self::Parquet),
            "npy" => Ok(Self::Npy),
            _ => Err(Error::unknown("table format", text, &["csv", "parquet", "npy"])),
        }
    }
}

/// Named columns of equal length.
///
/// ```
/// use tares_data::OutTable;
/// let table = OutTable::new().column("index", vec![3u32, 8])?.column("score", vec![0.25f64, f64::NAN])?;
/// let mut csv = Vec::new();
/// table.write_csv(&mut csv, false)?;
/// assert_eq!(String::from_utf8_lossy(&csv), "index,score\n3,0.25\n8,\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutTable {
    columns: Vec<(String, Cells)>,
}

impl OutTable {
    /// A table without columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a column.
    ///
    /// # Errors
    /// A name that is there already; another length than the columns before.
    pub fn column(mut self, name: &str, cells: impl Into<Cells>) -> tares_core::Result<Self> {
        let cells = cells.into();
        if self.columns.iter().any(|(known, _)| known == name) {
            return Err(Error::value("column names", "different from each other", format!("'{name}' twice")));
        }
        if let Some((_, first)) = self.columns.first()
            && first.len() != cells.len()
        {
            return Err(Error::length(format!("column '{name}'"), first.len(), cells.len()));
        }
        self.columns.push((name.to_owned(), cells));
        Ok(self)
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, cells)| cells.len())
    }

    /// Writes a file in the format that its name ends with; [`write_csv`](Self::write_csv) says what `guard` does.
    ///
    /// # Errors
    /// An unknown ending; what the operating system refuses.
    pub fn write(&self, path: &Path, guard: bool) -> Result<()> {
        self.write_as(path, TableFormat::of(path)?, guard)
    }

    /// Writes a file in a given format.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub fn write_as(&self, path: &Path, format: TableFormat, guard: bool) -> Result<()> {
        match format {
            TableFormat::Csv => atomic::write(path, |out| self.write_csv(out, guard)),
            TableFormat::Npy => atomic::write(path, |out| self.write_npy(out)),
            TableFormat::Parquet => {
                let bytes = self
                    .parquet_bytes()
                    .map_err(|cause| DataError::decode(path, Place::File, "cannot be written as Parquet", cause))?;
                atomic::write(path, |out| out.write_all(&bytes))
            }
        }
    }

    /// Writes CSV. With `guard`, text that a spreadsheet would run as a formula gets a `'` in front ([`cell::guarded`]).
    ///
    /// # Errors
    /// The writer's.
    pub fn write_csv(&self, mut out: impl Write, guard: bool) -> io::Result<()> {
        let text = |text: &str| if guard { cell::guarded(text).into_owned() } else { text.to_owned() };
        let mut line = String::new();
        cell::push_line(&mut line, self.columns.iter().map(|(name, _)| text(name)));
        out.write_all(line.as_bytes())?;
        for row in 0..self.rows() {
            let cell = |(_, cells): &(String, Cells)| match cells {
                Cells::U32(cells) => cells[row].to_string(),
                Cells::I64(cells) => cells[row].to_string(),
                Cells::F32(cells) if cells[row].is_nan() => String::new(),
                Cells::F32(cells) => cells[row].to_string(),
                Cells::F64(cells) if cells[row].is_nan() => String::new(),
                Cells::F64(cells) => cells[row].to_string(),
                Cells::Text(cells) => text(&cells[row]),
                Cells::Bool(cells) => cells[row].to_string(),
            };
            line.clear();
            cell::push_line(&mut line, self.columns.iter().map(cell));
            out.write_all(line.as_bytes())?;
        }
        out.flush()
    }

    /// Writes NPY: a plain array for one column, an array with named fields for several.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_npy(&self, mut out: impl Write) -> io::Result<()> {
        let fields: Vec<String> = self.columns.iter().map(|(_, cells)| descr(cells)).collect();
        let descr = match &fields[..] {
            [one] => format!("'{one}'"),
            fields => {
                let named = self.columns.iter().zip(fields);
                let named: Vec<String> =
                    named.map(|((name, _), kind)| format!("('{}', '{kind}')", quoted(name))).collect();
                format!("[{}]", named.join(", "))
            }
        };
        out.write_all(&npy::header_bytes(&descr, &[self.rows()]))?;
        let widths: Vec<usize> = self.columns.iter().map(|(_, cells)| text_width(cells)).collect();
        for row in 0..self.rows() {
            for ((_, cells), width) in self.columns.iter().zip(&widths) {
                match cells {
                    Cells::U32(cells) => out.write_all(&cells[row].to_le_bytes())?,
                    Cells::I64(cells) => out.write_all(&cells[row].to_le_bytes())?,
                    Cells::F32(cells) => out.write_all(&cells[row].to_le_bytes())?,
                    Cells::F64(cells) => out.write_all(&cells[row].to_le_bytes())?,
                    Cells::Bool(cells) => out.write_all(&[u8::from(cells[row])])?,
                    Cells::Text(cells) => {
                        let codes = cells[row].chars().map(u32::from).chain(std::iter::repeat(0));
                        codes.take(*width).try_for_each(|code| out.write_all(&code.to_le_bytes()))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn parquet_bytes(&self) -> parquet::errors::Result<Vec<u8>> {
        let field = |(name, cells): &(String, Cells)| {
            let (kind, logical) = match cells {
                Cells::U32(_) => (Physical::INT32, Some(LogicalType::integer(32, false))),
                Cells::I64(_) => (Physical::INT64, None),
                Cells::F32(_) => (Physical::FLOAT, None),
                Cells::F64(_) => (Physical::DOUBLE, None),
                Cells::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Cells::Bool(_) => (Physical::BOOLEAN, None),
            };
            let builder = Type::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED);
            Ok(Arc::new(builder.with_logical_type(logical).build()?))
        };
        let fields = self.columns.iter().map(field).collect::<parquet::errors::Result<Vec<_>>>()?;
        let schema = Arc::new(Type::group_type_builder("table").with_fields(fields).build()?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
        for start in (0..self.rows().max(1)).step_by(GROUP) {
            let end = (start + GROUP).min(self.rows());
            let mut group = writer.next_row_group()?;
            self.columns.iter().try_for_each(|(_, cells)| write_group(&mut group, cells, start, end))?;
            group.close()?;
        }
        writer.into_inner()
    }
}

fn write_group(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: &Cells,
    start: usize,
    end: usize,
) -> parquet::errors::Result<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    match cells {
        Cells::U32(cells) => {
            let values: Vec<i32> = cells[start..end].iter().map(|&value| value as i32).collect();
            column.typed::<Int32Type>().write_batch(&values, None, None)?;
        }
        Cells::I64(cells) => drop(column.typed::<Int64Type>().write_batch(&cells[start..end], None, None)?),
        Cells::F32(cells) => drop(column.typed::<FloatType>().write_batch(&cells[start..end], None, None)?),
        Cells::F64(cells) => drop(column.typed::<DoubleType>().write_batch(&cells[start..end], None, None)?),
        Cells::Bool(cells) => drop(column.typed::<BoolType>().write_batch(&cells[start..end], None, None)?),
        Cells::Text(cells) => {
            let values: Vec<ByteArray> = cells[start..end].iter().map(|text| text.as_str().into()).collect();
            column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
        }
    }
    column.close()
}

fn descr(cells: &Cells) -> String {
    match cells {
        Cells::U32(_) => "<u4".into(),
        Cells::I64(_) => "<i8".into(),
        Cells::F32(_) => "<f4".into(),
        Cells::F64(_) => "<f8".into(),
        Cells::Bool(_) => "|b1".into(),
        Cells::Text(_) => format!("<U{}", text_width(cells)),
    }
}

/// Characters of the longest text, at least one.
fn text_width(cells: &Cells) -> usize {
    match cells {
        Cells::Text(cells) => cells.iter().map(|text| text.chars().count()).max().unwrap_or(1).max(1),
        _ => 0,
    }
}

fn quoted(name: &str) -> String {
    name.replace('\\', "\\\\").replace('\'', "\\'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::parquet::ParquetFile;
    use crate::table::columns::Values;

    fn table() -> OutTable {
        OutTable::new()
            .column("index", vec![0u32, 4_000_000_000])
            .and_then(|table| table.column("big", vec![-1i64, i64::MAX]))
            .and_then(|table| table.column("p", vec![0.1f32, 1e-8]))
            .and_then(|table| table.column("q", vec![0.1f64, f64::NAN]))
            .and_then(|table| table.column("name", vec!["a,\"b\"".to_owned(), "=1+1é".to_owned()]))
            .and_then(|table| table.column("kept", vec![true, false]))
            .unwrap()
    }

    #[test]
    fn csv_quotes_what_needs_it_and_guards_formulas_when_asked() {
        let text = |guard| {
            let mut bytes = Vec::new();
            table().write_csv(&mut bytes, guard).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let expected = "index,big,p,q,name,kept\n0,-1,0.1,0.1,\"a,\"\"b\"\"\",true\n\
                        4000000000,9223372036854775807,0.00000001,,=1+1é,false\n";
        assert_eq!(text(false), expected);
        assert_eq!(text(true), expected.replace("=1+1é", "'=1+1é"));
    }

    #[test]
    fn parquet_reads_back() {
        let bytes = bytes::Bytes::from(table().parquet_bytes().unwrap());
        let file = ParquetFile::new("t.parquet", bytes).unwrap();
        let read = file.table(&file.leaves()).unwrap();
        assert_eq!(read.rows, 2);
        assert_eq!(read.columns[2].values, Values::Numbers(vec![f64::from(0.1f32), f64::from(1e-8f32)]));
        let names = vec!["a,\"b\"".to_owned(), "=1+1é".to_owned()];
        assert_eq!(read.columns[4].values, Values::Text { codes: vec![0, 1], levels: names });
    }

    #[test]
    fn npy_of_one_column_reads_back_and_several_are_fields() {
        let one = OutTable::new().column("y", vec![3u32, 1, 2]).unwrap();
        let mut bytes = Vec::new();
        one.write_npy(&mut bytes).unwrap();
        assert_eq!(npy::from_bytes("y.npy", bytes).unwrap().numbers::<f64>().unwrap(), [3.0, 1.0, 2.0]);
        let mut bytes = Vec::new();
        table().write_npy(&mut bytes).unwrap();
        let header = String::from_utf8_lossy(&bytes[10..192]).into_owned();
        assert!(header.contains(
            "[('index', '<u4'), ('big', '<i8'), ('p', '<f4'), ('q', '<f8'), ('name', '<U5'), ('kept', '|b1')]"
        ));
        // 4 + 8 + 4 + 8 + 5 · 4 + 1 bytes per row.
        assert_eq!(bytes.len(), 192 + 2 * 45);
    }

    #[test]
    fn columns_must_agree() {
        let error = OutTable::new().column("a", vec![1u32]).unwrap().column("b", vec![1.0f64, 2.0]).unwrap_err();
        assert_eq!(error.to_string(), "column 'b' must have 1 entries, got 2");
        let error = OutTable::new().column("a", vec![1u32]).unwrap().column("a", vec![1u32]).unwrap_err();
        assert_eq!(error.to_string(), "column names must be different from each other, got 'a' twice");
        assert!(TableFormat::of(Path::new("x.xlsx")).is_err());
    }
}
