//! [`Reading`]: how the training rows were read, so that new rows are read the same way. Stored with a model.

use crate::source::Format;
use crate::table::rules::TableRules;
use serde::{Deserialize, Serialize};
use tares_core::Shape;

/// How to read new rows like the training rows. Stored with a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The format of the training data.
    pub format: Format,
    /// The classes; position is the label.
    pub class_names: Vec<String>,
    /// What one row looks like.
    pub row: RowShape,
    /// True if the features are bytes (pictures).
    pub bytes: bool,
    /// The rules of the columns, for tables.
    pub table: Option<TableRules>,
    /// Numbers per row, where a network's features replace the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<usize>,
}

/// [`Shape`], in the words of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowShape {
    /// A picture.
    Image {
        /// 1 for grey, 3 for colour.
        channels: usize,
        /// Rows of pixels.
        height: usize,
        /// Columns of pixels.
        width: usize,
    },
    /// A list of numbers.
    Flat(usize),
}

impl From<Shape> for RowShape {
    fn from(shape: Shape) -> Self {
        match shape {
            Shape::Image { channels, height, width } => Self::Image { channels, height, width },
            Shape::Flat(size) => Self::Flat(size),
        }
    }
}

impl From<RowShape> for Shape {
    fn from(shape: RowShape) -> Self {
        match shape {
            RowShape::Image { channels, height, width } => Self::Image { channels, height, width },
            RowShape::Flat(size) => Self::Flat(size),
        }
    }
}
