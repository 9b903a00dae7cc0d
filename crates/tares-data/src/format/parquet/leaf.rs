//! [`Leaf`]: a column of a Parquet file that is not inside a list, and how its values are numbers or text.

use crate::table::columns::LeftOut;
use crate::table::date::in_days;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

/// A column that holds one value per row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its position among all columns of the file.
    pub index: usize,
    /// Its name; inside a structure `structure.name`.
    pub name: String,
    /// What is stored.
    pub kind: Type,
    /// True if it is text.
    pub text: bool,
    /// Integers without a sign.
    unsigned: bool,
    /// Decimals are whole numbers divided by 10 to this power.
    scale: Option<i32>,
    half: bool,
    /// For dates and moments: how many of the stored parts make a day.
    parts_per_day: Option<i64>,
    /// Whether it holds times of the day.
    clock: bool,
    /// The definition level of a value that is there.
    defined: i16,
    /// The definition level from which on a list has an entry.
    listed: i16,
    /// Whether it stands inside a list.
    repeated: bool,
}

impl Leaf {
    /// The columns of a schema that are not inside lists.
    pub(super) fn all(schema: &SchemaDescriptor) -> Vec<Self> {
        let columns = (0..schema.num_columns()).map(|index| (index, schema.column(index)));
        columns
            .filter(|(_, column)| column.max_rep_level() == 0)
            .map(|(index, column)| Self::of(index, &column))
            .collect()
    }

    /// The columns of a schema that are lists of floating-point numbers, called like the list.
    pub(super) fn lists(schema: &SchemaDescriptor) -> Vec<Self> {
        let columns = (0..schema.num_columns()).map(|index| (index, schema.column(index)));
        let lists = columns.filter(|(_, column)| column.max_rep_level() == 1);
        let leaves = lists.map(|(index, column)| {
            let name = column.path().parts().first().cloned().unwrap_or_default();
            Self { name, ..Self::of(index, &column) }
        });
        leaves.filter(|leaf| matches!(leaf.kind, Type::FLOAT | Type::DOUBLE)).collect()
    }

    fn of(index: usize, column: &ColumnDescriptor) -> Self {
        let (logical, converted) = (column.logical_type_ref(), column.converted_type());
        let unsigned = match logical {
            Some(LogicalType::Integer(integer)) => !integer.is_signed,
            _ => matches!(
                converted,
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
            ),
        };
        let scale = match logical {
            Some(LogicalType::Decimal(decimal)) => Some(decimal.scale),
            _ => (converted == ConvertedType::DECIMAL).then(|| column.type_scale()),
        };
        let parts_per_day = match (logical, converted) {
            (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => Some(1),
            (Some(LogicalType::Timestamp(moment)), _) => match moment.unit {
                TimeUnit::MILLIS => Some(86_400_000),
                TimeUnit::MICROS => Some(86_400_000_000),
                TimeUnit::NANOS => Some(86_400_000_000_000),
            },
            (None, ConvertedType::TIMESTAMP_MILLIS) => Some(86_400_000),
            (None, ConvertedType::TIMESTAMP_MICROS) => Some(86_400_000_000),
            _ => None,
        };
        let clock = matches!(
            (logical, converted),
            (Some(LogicalType::Time(_)), _) | (None, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS)
        );
        Self {
            index,
            name: column.path().string(),
            kind: column.physical_type(),
            text: matches!(logical, Some(LogicalType::String | LogicalType::Enum | LogicalType::Json))
                || converted == ConvertedType::UTF8,
            unsigned,
            scale: scale.map(|scale| scale.clamp(0, 300)),
            half: matches!(logical, Some(LogicalType::Float16)),
            parts_per_day,
            clock,
            defined: column.max_def_level(),
            listed: column.max_def_level() - i16::from(column.self_type().is_optional()),
            repeated: column.max_rep_level() > 0,
        }
    }

    /// The definition level from which on a list has an entry.
    pub(super) fn listed(&self) -> i16 {
        self.listed
    }

    /// Whether it stands inside a list.
    pub(super) fn repeated(&self) -> bool {
        self.repeated
    }

    /// Whether it holds whole numbers.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.kind, Type::INT32 | Type::INT64) && self.scale.unwrap_or(0) == 0
    }

    /// Whether it holds true and false.
    pub(crate) fn is_truth(&self) -> bool {
        self.kind == Type::BOOLEAN
    }

    /// Whether 64 bits with a sign hold each of its whole numbers.
    pub(crate) fn is_long(&self) -> bool {
        self.is_whole() && !(self.unsigned && self.kind == Type::INT64)
    }

    /// A number of fixed length: half precision, or a decimal.
    pub(super) fn fixed(&self, bytes: &[u8]) -> f64 {
        match bytes {
            [low, high] if self.half => half::f16::from_le_bytes([*low, *high]).to_f64(),
            _ if self.half => f64::NAN,
            _ => self.decimal(bytes),
        }
    }

    /// The definition level of a value that is there.
    pub(crate) fn defined(&self) -> i16 {
        self.defined
    }

    /// Whether 32 bits hold each of its numbers exactly.
    pub fn is_narrow(&self) -> bool {
        matches!(self.kind, Type::BOOLEAN | Type::FLOAT) || self.half
    }

    /// Whether it holds numbers (or booleans).
    pub fn is_number(&self) -> bool {
        let plain = matches!(self.kind, Type::BOOLEAN | Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE);
        let bytes = matches!(self.kind, Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY);
        plain || self.half || (bytes && self.scale.is_some())
    }

    /// Whether its cells can stand in a table.
    pub fn is_cell(&self) -> bool {
        self.is_number() || self.text
    }

    /// Whether it holds dates or moments, which are read as days since 1970.
    pub(crate) fn is_date(&self) -> bool {
        self.parts_per_day.is_some()
    }

    /// The same column with the numbers that are stored in place of days, as models from before days read them.
    pub(crate) fn stored(self) -> Self {
        Self { parts_per_day: None, ..self }
    }

    /// A stored integer as a number.
    pub(super) fn integer(&self, value: i64) -> f64 {
        if let Some(per_day) = self.parts_per_day {
            return in_days(0, value, per_day);
        }
        let whole = self.whole(value);
        whole as f64 / 10f64.powi(self.scale.unwrap_or(0))
    }

    /// A stored integer as text, exact where a 64-bit float is not.
    pub(super) fn integer_text(&self, value: i64) -> String {
        match self.scale {
            None | Some(0) => self.whole(value).to_string(),
            Some(_) => self.integer(value).to_string(),
        }
    }

    pub(super) fn whole(&self, value: i64) -> i128 {
        match (self.unsigned, self.kind) {
            (true, Type::INT32) => i128::from(value as u32),
            (true, _) => i128::from(value as u64),
            (false, _) => i128::from(value),
        }
    }

    /// A decimal of any length: a whole number, most significant byte first, divided by a power of ten.
    pub(super) fn decimal(&self, bytes: &[u8]) -> f64 {
        let scale = 10f64.powi(self.scale.unwrap_or(0));
        let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
        if bytes.len() <= 16 {
            let mut wide = [if negative { 0xff } else { 0 }; 16];
            wide[16 - bytes.len()..].copy_from_slice(bytes);
            return i128::from_be_bytes(wide) as f64 / scale;
        }
        let value = bytes.iter().fold(0.0, |value, &byte| 256.0 * value + f64::from(byte));
        let value = if negative { value - 256f64.powi(bytes.len() as i32) } else { value };
        value / scale
    }

    /// What is said about a column whose numbers are no plain numbers.
    pub(super) fn note(&self) -> Option<String> {
        let unit = match (self.is_date(), self.clock) {
            (true, _) => "days since 1970",
            (false, true) => "time since midnight",
            (false, false) => return None,
        };
        Some(format!("column \"{}\" is read as a number ({unit})", self.name))
    }
}

/// The columns of a schema that cannot stand in a table, each once, with the reason.
pub(super) fn left_out(schema: &SchemaDescriptor) -> Vec<LeftOut> {
    let mut found: Vec<LeftOut> = Vec::new();
    for index in 0..schema.num_columns() {
        let column = schema.column(index);
        let (name, why) = if column.max_rep_level() > 0 {
            // A list or a map has leaves of its own; people know it by its name.
            (column.path().parts().first().cloned().unwrap_or_default(), "holds lists")
        } else {
            match Leaf::of(index, &column) {
                leaf if leaf.is_cell() => continue,
                leaf if leaf.kind == Type::INT96 => (leaf.name, "holds times in an old format (INT96)"),
                leaf => (leaf.name, "holds bytes"),
            }
        };
        if !found.iter().any(|known| known.name == name) {
            found.push(LeftOut { name, why: why.into() });
        }
    }
    found
}
