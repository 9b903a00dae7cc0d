//! NumPy arrays → pictures or a table.
//!
//! Three sizes are grey pictures (rows, height, width), four are pictures with channels last (…, 1 or 3) or first. Two sizes
//! are a table of numbers whose columns are called `column 1`, `column 2`, …; one size is a table with one column.

use crate::error::{DataError, Place, Result};
use crate::format::npy::{Array, ElementKind, Header};
use crate::image::Pictures;
use crate::table::columns::{Column, Dictionary, RawTable, Values, is_missing};
use crate::table::labels::LabelColumn;
use std::path::{Path, PathBuf};
use tares_core::Shape;

/// Usual endings of the names of feature files, and of the label files that belong to them.
const FILE_PAIRS: [(&str, &str); 12] = [
    ("x_train", "y_train"),
    ("X_train", "y_train"),
    ("train_images", "train_labels"),
    ("x", "y"),
    ("X", "y"),
    ("X", "Y"),
    ("features", "labels"),
    ("embeddings", "labels"),
    ("images", "labels"),
    ("data", "labels"),
    ("data", "target"),
    ("inputs", "targets"),
];

const TEST_PAIRS: [(&str, &str); 4] =
    [("x_test", "y_test"), ("X_test", "y_test"), ("test_images", "test_labels"), ("x_val", "y_val")];

/// NPY files that make a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayFiles {
    /// Features and labels to train on; labels may be missing for new rows.
    pub train: (PathBuf, Option<PathBuf>),
    /// Features and labels to test on.
    pub test: Option<(PathBuf, PathBuf)>,
}

/// Finds usual names in a folder, plain or `.gz`.
pub fn find(folder: &Path) -> Option<ArrayFiles> {
    let file = |stem: &str| {
        ["npy", "npy.gz"].iter().map(|end| folder.join(format!("{stem}.{end}"))).find(|path| path.is_file())
    };
    let pair = |pairs: &[(&str, &str)]| pairs.iter().find_map(|(x, y)| Some((file(x)?, file(y)?)));
    let (x, y) = pair(&FILE_PAIRS)?;
    Some(ArrayFiles { train: (x, Some(y)), test: pair(&TEST_PAIRS) })
}

/// The label file next to a feature file, by its name.
pub fn labels_of(features: &Path) -> Option<PathBuf> {
    let name = features.file_name()?.to_str()?;
    let (stem, end) = name.split_once(".npy")?;
    FILE_PAIRS.iter().chain(&TEST_PAIRS).find_map(|(x, y)| {
        let before = stem.strip_suffix(x)?;
        let path = features.with_file_name(format!("{before}{y}.npy{end}"));
        path.is_file().then_some(path)
    })
}

/// Whether an array holds pictures.
pub fn is_pictures(header: &Header) -> bool {
    matches!(header.shape.len(), 3 | 4)
}

/// Pictures from an array of 3 or 4 sizes. Numbers that are not bytes must be 0..=255, or 0..=1 (then times 255).
///
/// # Errors
/// A shape that is no picture's; numbers outside both ranges.
pub(crate) fn pictures(array: Array) -> Result<Pictures> {
    let path = array.path().to_owned();
    let bad = |problem: String| DataError::format(&path, Place::File, problem);
    let (shape, channels_last) = match array.header().shape[..] {
        [_, height, width] => (Shape::Image { channels: 1, height, width }, false),
        [_, height, width, channels @ (1 | 3)] => (Shape::Image { channels, height, width }, channels > 1),
        [_, channels @ (1 | 3), height, width] => (Shape::Image { channels, height, width }, false),
        _ => return Err(bad(format!("pictures need 1 or 3 channels, got an array of {:?}", array.header().shape))),
    };
    let pixels = if array.header().kind == (ElementKind::Integer { size: 1, signed: false }) && !array.header().fortran
    {
        array.into_bytes().unwrap_or_default()
    } else {
        let numbers = array.numbers::<f32>()?;
        let whole = numbers.iter().all(|&n| (0.0..=255.0).contains(&n) && n.fract() == 0.0);
        let unit = numbers.iter().all(|&n| (0.0..=1.0).contains(&n));
        // An array of only zeros and ones is black and white.
        let unit = unit && !matches!(array.header().kind, ElementKind::Integer { .. });
        match (unit, whole) {
            (true, _) => numbers.iter().map(|n| (n * 255.0).round() as u8).collect(),
            (_, true) => numbers.iter().map(|&n| n as u8).collect(),
            _ => return Err(bad("pictures need numbers 0..=255 or 0..=1 (save them as uint8)".into())),
        }
    };
    let pixels = if channels_last { planes_first(&pixels, shape) } else { pixels };
    Ok(Pictures { path, shape, pixels, labels: Vec::new(), ids: None })
}

fn planes_first(pixels: &[u8], shape: Shape) -> Vec<u8> {
    let Shape::Image { channels, height, width } = shape else { return pixels.to_vec() };
    let plane = height * width;
    let mut out = vec![0; pixels.len()];
    for (from, to) in pixels.chunks_exact(channels * plane).zip(out.chunks_exact_mut(channels * plane)) {
        for (position, pixel) in from.chunks_exact(channels).enumerate() {
            for (channel, &value) in pixel.iter().enumerate() {
                to[channel * plane + position] = value;
            }
        }
    }
    out
}

/// A table from an array of one or two sizes.
///
/// # Errors
/// More sizes; text; numbers that are not finite (NaN is a missing value).
pub(crate) fn table(array: &Array) -> Result<RawTable> {
    let header = array.header();
    let path = array.path().to_owned();
    let (rows, width) = match header.shape[..] {
        [rows] => (rows, 1),
        [rows, width] => (rows, width),
        _ => {
            let problem = format!("a table needs an array of 2 sizes (rows, columns), got {:?}", header.shape);
            return Err(DataError::format(path, Place::File, problem));
        }
    };
    let numbers = array.numbers::<f64>()?;
    if let Some(position) = numbers.iter().position(|number| number.is_infinite()) {
        let problem = format!("column {} must hold finite numbers, got {}", position % width + 1, numbers[position]);
        return Err(DataError::format(path, Place::Row((position / width) as u64), problem));
    }
    let column = |column: usize| {
        let numbers = numbers.iter().skip(column).step_by(width.max(1)).copied();
        Column::new(format!("column {}", column + 1), Values::Numbers(numbers.collect()))
    };
    Ok(RawTable { path, columns: (0..width).map(column).collect(), rows, ..RawTable::default() })
}

/// The labels of an array of one size (or of one column).
///
/// # Errors
/// Another shape; a count other than `rows`.
pub(crate) fn labels(array: &Array, rows: usize) -> Result<LabelColumn> {
    let header = array.header();
    let bad = |problem: String| DataError::format(array.path(), Place::File, problem);
    if header.count() != header.rows() || header.shape.is_empty() {
        return Err(bad(format!("labels need an array of 1 size, got {:?}", header.shape)));
    }
    if header.rows() != rows {
        return Err(bad(format!("{} labels for {rows} rows of features", header.rows())));
    }
    // Among numbers NaN is no word that someone wrote.
    let is_number = header.kind.is_number();
    let mut dictionary = Dictionary::default();
    for text in array.texts()? {
        if text.is_empty() || (is_number && is_missing(&text)) {
            dictionary.push_missing();
        } else {
            dictionary.push(&text);
        }
    }
    let (codes, levels) = dictionary.into_parts();
    Ok(LabelColumn::of("labels", codes, levels))
}
